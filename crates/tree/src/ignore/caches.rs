//! Decides by the name of a cache how its tool finds out that the cache is out of date, and which caches no check sees.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use proctor_wire::wire;

use CacheKind::{Content, TimeOrder, TimeOrderOfOutputs};

use crate::ignore::class::{IgnoredClass, class_of};
use proctor_model::NameRule::{self, Begins, Ends, Is};
use proctor_model::{Tool, ToolClass};

/// The owner's right to execute a file.
const EXECUTABLE: u32 = 0o100;

/// How a tool finds out that its cache is out of date. This decides when proctor must drop a kept cache.
#[wire(Copy, PartialOrd, Ord, Hash, kebab)]
pub enum CacheKind {
    /// The tool compares contents, or it notices every time or size that differs from the recorded one.
    Content,
    /// The tool takes an input for unchanged if the input is older than the cache. The cache holds everything that the
    /// tool makes.
    TimeOrder,
    /// The tool takes an input for unchanged if the input is older than the cache, and it writes its products (the
    /// files that it builds) outside of the cache. It would not make missing products again, so such a cache is kept
    /// only if the check wrote nothing but caches.
    TimeOrderOfOutputs,
}

/// The caches whose tools compare the times of files with the time of the cache. All other caches are
/// [`CacheKind::Content`].
const BY_TIME: &[(NameRule, CacheKind)] = &[
    // `tsc -b`. The products lie in `outDir`.
    (Ends(".tsbuildinfo"), TimeOrderOfOutputs),
    // Gradle. The products lie in `build`.
    (Is(".gradle"), TimeOrderOfOutputs),
    // The build directory of cargo.
    (Is("target"), TimeOrder),
    (Is(".next"), TimeOrder),
    (Is(".nuxt"), TimeOrder),
    (Is(".svelte-kit"), TimeOrder),
];

/// The caches inside of directories of installed packages, such as `node_modules`.
pub const CACHES_IN_ENVIRONMENTS: &[&str] = &[
    // Used by babel-loader, eslint, prettier and others, and by packages that download programs when they are installed.
    DOWNLOADS,
    // By these, Turborepo and Nx show the output of an earlier run in place of running a task.
    ".cache/turbo",
    ".cache/nx",
    // Vite's optimised dependencies, and the results of Vitest before version 1.
    ".vite",
    ".vitest",
    // The build information of projects that were made with Vite's templates.
    ".tmp",
];

/// The cache in which installed packages have downloads too.
const DOWNLOADS: &str = ".cache";

/// How many entries of a directory in [`DOWNLOADS`] are searched for a program. A download has one near its top.
const MOST_SEARCHED: usize = 256;

/// Returns the caches in a directory of installed packages that checks do not see, by their paths in it: what a tool left there in a
/// run by hand may decide its result.
pub fn hidden_caches(environment: &Path) -> Vec<String> {
    let names = CACHES_IN_ENVIRONMENTS.iter().filter(|name| !name.contains('/')).map(|name| (*name).to_owned());
    let entries = fs::read_dir(environment.join(DOWNLOADS)).into_iter().flatten().flatten();
    let entries = entries.filter_map(|entry| Some(format!("{DOWNLOADS}/{}", entry.file_name().to_str()?)));
    let is_hidden = |path: PathBuf| path.symlink_metadata().is_ok() && is_hidden_cache(&path);
    names.chain(entries).filter(|name| is_hidden(environment.join(name))).collect()
}

/// Returns whether checks do not see what lies at a path in a directory of installed packages. Of `.cache` they see only entries with a
/// program in them: such an entry is a download of a package, and any other one may be left from a tool's run.
pub fn is_hidden_cache(path: &Path) -> bool {
    let names = [path.parent().and_then(Path::file_name), path.file_name()];
    let [Some(above), Some(name)] = names.map(|name| name.and_then(OsStr::to_str)) else { return false };
    let is_row = |name: &str| CACHES_IN_ENVIRONMENTS.contains(&name);
    match above == DOWNLOADS {
        true => is_row(&format!("{above}/{name}")) || !holds_program(path.to_owned()),
        false => name != DOWNLOADS && is_row(name),
    }
}

/// Returns whether there is a file that its owner may execute, at a path or a little below it.
fn holds_program(path: PathBuf) -> bool {
    let (mut waiting, mut searched) = (VecDeque::from([path]), 0);
    while let Some(path) = waiting.pop_front().filter(|_| searched < MOST_SEARCHED) {
        searched += 1;
        match path.metadata() {
            Ok(found) if found.is_dir() => {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                waiting.extend(entries.take(MOST_SEARCHED).map(|entry| entry.path()));
            }
            Ok(found) if found.is_file() && found.mode() & EXECUTABLE != 0 => return true,
            Ok(_) | Err(_) => {}
        }
    }
    false
}

/// What is never kept of a cache from one run to the next, by its name, each with the name of its directory if that matters. What
/// [`Tool::leftovers`] names of a test runner is not kept either: the runner, its plugins and the tests themselves remember there what
/// happened in a run, and no run is faster because of it.
const NEVER_KEPT: &[(Option<&str>, NameRule)] = &[
    // By these files a tool decides which tests it runs: a check whose last run failed would test less in its next run, and pass.
    // `pytest --last-failed` and `--stepwise` read these two, here in a directory that `cache_dir` names. Without them, all tests are run.
    (Some("cache"), Is("lastfailed")),
    (Some("cache"), Is("stepwise")),
    // `jest --onlyFailures`, in the directory that `cacheDirectory` names. Without the file, Jest finds no test and fails.
    (None, Begins("perf-cache-")),
    // By these, testmon, stestr, testrepository and nose leave out the tests that no change since their last run concerns, or run only the
    // tests that failed in it.
    (None, Begins(".testmondata")),
    (None, Is(".stestr")),
    (None, Is(".testrepository")),
    (None, Is(".noseids")),
];

/// Returns whether the entry of a cache at this path is never kept from one run to the next, nor shown to a check where a run by hand left
/// it in an ignored directory.
pub fn is_never_kept(path: &[u8]) -> bool {
    let mut names = path.rsplit(|byte| *byte == b'/');
    let (name, above) = (names.next().unwrap_or_default(), names.next());
    let is_in = |directory: &str| above == Some(directory.as_bytes());
    let is_of_tests = || {
        let runners = Tool::ALL.iter().filter(|tool| tool.class() == ToolClass::Test);
        runners.flat_map(|tool| tool.leftovers()).any(|(rule, _)| rule.matches(name))
    };
    NEVER_KEPT.iter().any(|(directory, rule)| rule.matches(name) && directory.is_none_or(is_in)) || is_of_tests()
}

impl CacheKind {
    /// Returns whether the tool compares times: it takes an input for unchanged if the input is older than the cache.
    pub fn compares_by_time(self) -> bool {
        match self {
            Content => false,
            TimeOrder | TimeOrderOfOutputs => true,
        }
    }
}

/// Returns the kind of the cache with this name; `None` if no cache has this name.
pub fn cache_kind(name: &[u8]) -> Option<CacheKind> {
    if class_of(name) != IgnoredClass::Cache {
        return None;
    }
    Some(BY_TIME.iter().find(|(rule, _)| rule.matches(name)).map_or(Content, |(_, kind)| *kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_has_a_kind_and_nothing_else_has_one() {
        let kinds = [
            (".mypy_cache", Some(Content)),
            (".pytest_cache", Some(Content)),
            (".ruff_cache", Some(Content)),
            (".eslintcache", Some(Content)),
            ("app.tsbuildinfo", Some(TimeOrderOfOutputs)),
            ("target", Some(TimeOrder)),
            (".next", Some(TimeOrder)),
            ("dist", None),
            ("node_modules", None),
            ("__pycache__", None),
            ("src", None),
        ];
        for (name, kind) in kinds {
            assert_eq!(cache_kind(name.as_bytes()), kind, "{name}");
        }
    }

    #[test]
    fn what_remembers_tests_is_told_from_the_rest_of_a_cache() {
        let is_dropped = |path: &str| is_never_kept(path.as_bytes());
        let dropped = [
            ".pytest_cache",
            "a/.pytest_cache",
            ".cache/v/cache/lastfailed",
            "x/cache/stepwise",
            ".cache/jest/perf-cache-1f",
            "a/.testmondata",
            ".testmondata-shm",
            ".stestr",
        ];
        assert!(dropped.iter().all(|path| is_dropped(path)));
        let others = [".mypy_cache", "target/debug/stepwise", "lastfailed", ".cache/jest/haste-map-1f"];
        assert!(!others.iter().any(|path| is_dropped(path)));
    }

    #[test]
    fn every_row_is_the_name_of_a_cache() {
        for (rule, kind) in BY_TIME {
            assert_eq!(cache_kind(rule.glob().replace('*', "x").as_bytes()), Some(*kind));
        }
    }
}
