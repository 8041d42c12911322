//! Decides by the name of a cache how its tool finds out that the cache is out of date. Pure.

use proctor_wire::wire;

use CacheKind::{Content, TimeOrder, TimeOrderOfOutputs};

use crate::ignore::class::{IgnoredClass, class_of};
use proctor_model::NameRule::{self, Begins, Ends, Is};
use proctor_model::{Tool, ToolClass, TreePath};

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

/// A cache in a directory of installed packages, such as `node_modules/.cache`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheInEnvironment {
    pub name: &'static str,
    /// Whether a check sees the files that the project's own directory of this name holds. A file that the check itself
    /// writes there hides the project's file of the same name.
    pub shows_live: bool,
}

/// The caches inside of directories of installed packages.
pub const CACHES_IN_ENVIRONMENTS: &[CacheInEnvironment] = &[
    // Used by babel-loader, prettier, terser and others. Some packages download programs into this directory when they
    // are installed, so checks need the files that it has in the project.
    CacheInEnvironment { name: ".cache", shows_live: true },
    // By these, Turborepo and Nx show the output of an earlier run in place of running a task.
    CacheInEnvironment { name: ".cache/turbo", shows_live: false },
    CacheInEnvironment { name: ".cache/nx", shows_live: false },
    // Vite's optimised dependencies, and the results of Vitest before version 1.
    CacheInEnvironment { name: ".vite", shows_live: false },
    CacheInEnvironment { name: ".vitest", shows_live: false },
    // The build information of projects that were made with Vite's templates.
    CacheInEnvironment { name: ".tmp", shows_live: false },
];

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

/// Returns whether the entry of a cache at this path is never kept from one run to the next.
pub fn is_never_kept(path: &TreePath) -> bool {
    let is_in = |name: &str| path.parent().is_some_and(|parent| parent.name() == name.as_bytes());
    let is_of_tests = || {
        let runners = Tool::ALL.iter().filter(|tool| tool.class() == ToolClass::Test);
        runners.flat_map(|tool| tool.leftovers()).any(|(rule, _)| rule.matches(path.name()))
    };
    NEVER_KEPT.iter().any(|(directory, rule)| rule.matches(path.name()) && directory.is_none_or(is_in)) || is_of_tests()
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
        let is_dropped = |path: &str| is_never_kept(&TreePath::try_from(path).expect("a path"));
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
