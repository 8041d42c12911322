//! What the results of a run may depend on beside the tree, as the ledger records it. `proctor gate` asks for it.
//!
//! What started a run, such as a save or a request.

use std::collections::BTreeMap;
use std::fmt;

use proctor_wire::wire;

use crate::{Digest, RunId, Timestamp, has_word};

/// The most paths that [`IgnoredFiles`] names. More are counted, and a commit whose run had more is not proved by it.
pub const MOST_IGNORED_NAMED: usize = 200;

/// The most rewritten files that [`RunConditions`] names. One is enough to know that a run says nothing of its tree.
pub const MOST_REWRITTEN_NAMED: usize = 20;

/// What the results of a run may depend on beside the tree that was tested.
#[wire(schema, sparse)]
pub struct RunConditions {
    /// The kernel and the processor of the machine, for example `linux-x86_64`.
    pub platform: String,
    /// The project's directory in git's working tree, empty for the root of the working tree; `None` outside of a repository. Only
    /// there does a run in another worktree say something of this project.
    pub directory: Option<String>,
    /// The ignored files that checks could read; `None` if they could not be listed.
    pub ignored: Option<IgnoredFiles>,
    /// The caches that tools found; `None` if that is not known, because the files that checks could read were not listed.
    pub caches: Option<CachesSeen>,
    /// The files of the tree that a step changed or removed in its copy, and the files it made there that decide how checks work and
    /// that no rule ignores: results are about other content than the tree's. What `writes` names and snapshots of tests count only if
    /// other steps saw the change. At most [`MOST_REWRITTEN_NAMED`], relative to the project's root.
    pub rewritten: Vec<String>,
    /// The files of the tree that a step wrote in its copy and that had the tree's content again when it ended. What the step read in
    /// between is not known. At most [`MOST_REWRITTEN_NAMED`], relative to the project's root.
    pub restored: Vec<String>,
    /// The open channels by which checks read files that no digest names: an open world, and what the settings show.
    pub unnamed: Vec<String>,
    /// The files of installed packages that changed while checks ran that could write them: by path, relative to the project's root,
    /// a stamp by which a later run finds out whether somebody wrote the file again. Until then no run has a verdict.
    pub left_in_environment: BTreeMap<String, String>,
    /// The toolchains and installed packages that the checks could see. Empty in lines of earlier versions of proctor, which did not
    /// look at them as a whole.
    pub toolchains: Vec<ToolchainRecord>,
    /// The names of the inputs by which the tree digest names files beside the project, as `inputs` of `[project]` has them or would
    /// have them; `None` in lines of earlier versions of proctor. What a project's files lead to may depend on what is installed.
    pub inputs: Option<Vec<String>>,
    /// When the look at the toolchains began, which is after the prerequisites and before the checks. What is written to a toolchain
    /// later may have been there in another form for a check.
    pub toolchains_looked: Option<Timestamp>,
    /// The programs of checks that were found by another way than the approved ones, in words for people.
    pub other_programs: Vec<String>,
    /// Which rules were not the approved ones; `None` if all were.
    pub rules_changed: Option<ChangedRules>,
    /// The project's test command that no check of the run's plan runs, such as `"test" of package.json (mocha)`. Ledger lines of earlier
    /// versions of proctor have no such field, and count as if a check ran it.
    pub tests_not_run: Option<String>,
    /// The id of the commit that was checked out when the run ended; `None` outside of a repository, before the first commit, and in lines
    /// of earlier versions of proctor. It says which runs are of this branch. It does not say that the tree is the commit's.
    pub head: Option<String>,
    /// How many tests the run had less than the last whole run before it; `None` if there are not fewer.
    pub fewer_tests: Option<FewerTests>,
}

/// How many tests a run had less than the last whole run of an ancestor of its tree, over the checks that both carried out.
#[wire(schema)]
pub struct FewerTests {
    /// The earlier run.
    pub since: RunId,
    /// How many tests it had.
    pub before: u64,
    /// How many tests this run has.
    pub now: u64,
}

/// The rules of a run that nobody had approved when it began.
#[wire(schema)]
pub struct ChangedRules {
    /// The digest of the plan and of the project's settings: a later approval of just these makes the run count.
    pub rules: Digest,
    /// What differed from the approved rules, such as `pytest: command, timeout`.
    pub changed: Vec<String>,
    /// Whether files had left the tree. No approval makes such a run count: the checks run again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_files: bool,
}

/// A directory outside of the tree that checks could see and that others than root can write: an installed toolchain, or installed
/// packages.
#[wire(schema, sparse)]
pub struct ToolchainRecord {
    /// Relative to the project's root if the directory lies in it; `~/` stands for the user's home directory.
    pub path: String,
    /// The digest of every name and file in it; `None` if it was not hashed yet, or cannot be read.
    pub content: Option<Digest>,
    /// Whether the run compared the stamp of every file, and not only those of the directories.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub every_file: bool,
}

impl ToolchainRecord {
    /// Returns whether it is the user's own settings of a tool, which no other machine has.
    pub fn is_settings(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        has_word("config config.toml gradle.properties init.d init.gradle init.gradle.kts", name)
    }
}

/// The ignored files that checks could read. They belong to no tree, and a clone of the commit lacks them. Installed packages,
/// caches and outputs are not counted.
#[wire(Default, schema, sparse)]
pub struct IgnoredFiles {
    /// The number of `paths`, and of those that are not named: too many, or taken out of what other people read.
    pub count: u64,
    /// The files, and the directories of which every file is ignored, relative to the project's root. A directory ends with a
    /// slash. At most [`MOST_IGNORED_NAMED`].
    pub paths: Vec<String>,
    /// The directories of installed packages, and in a run in the project itself also outputs and caches, relative to the
    /// project's root. They are named, and do not count as ignored files.
    pub others: Vec<String>,
}

/// The caches of earlier runs that the checks of a run found. Python modules that proctor compiled from the tree's own files are no such
/// cache: no code of the project takes part in that.
#[wire(Copy, kebab, schema)]
pub enum CachesSeen {
    /// At least one check found a cache that a check of an earlier run had left: its own on a snapshot, any one in the project itself.
    /// Earlier versions of proctor recorded this of every run that did not begin with empty caches.
    Kept,
    /// The checks found no cache.
    Fresh,
}

impl RunConditions {
    /// Returns the name of the machine's platform.
    pub fn platform_here() -> String {
        format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH)
    }
}

impl fmt::Display for FewerTests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, now, .. } = self;
        let tests = if *now == 1 { "test" } else { "tests" };
        match before.saturating_sub(*now) {
            1 => write!(formatter, "{now} {tests}, {before} before: 1 is gone"),
            gone => write!(formatter, "{now} {tests}, {before} before: {gone} are gone"),
        }
    }
}

impl IgnoredFiles {
    /// Adds a path, and counts it only if enough paths are named.
    pub fn add(&mut self, path: String) {
        self.count += 1;
        if self.paths.len() < MOST_IGNORED_NAMED {
            self.paths.push(path);
        }
    }

    /// Takes out the names for which `may_be_named` is false. They count as unnamed, those of `others` too, because no policy can accept a
    /// file without its name.
    pub fn unname(&mut self, may_be_named: impl Fn(&str) -> bool) {
        let before = self.others.len();
        self.paths.retain(|path| may_be_named(path));
        self.others.retain(|path| may_be_named(path));
        self.count += (before - self.others.len()) as u64;
    }

    /// Returns how many paths are counted and not named.
    pub fn unnamed(&self) -> u64 {
        self.count.saturating_sub(self.paths.len() as u64)
    }
}

/// The event that started a run, and the changed paths that caused it.
#[wire(open, schema, sparse)]
pub struct Trigger {
    pub kind: TriggerKind,
    /// The first changed paths that caused the run, for display: at most [`Trigger::SHOWN_PATHS`] paths.
    pub paths: Vec<String>,
}

/// The kinds of events that start a run.
#[wire(Copy, Hash, kebab, schema)]
pub enum TriggerKind {
    /// A person or a script asked for the run: `proctor run`, Enter in `proctor watch`.
    Request,
    /// `proctor watch` has just started.
    Start,
    /// A file was saved.
    Save,
    /// The tree changed during the last run, so the run is repeated (S6).
    Moved,
    /// A command waits for a verdict on the current tree: `proctor wait --fresh`.
    Wait,
}

impl Trigger {
    /// The most paths that a trigger stores.
    pub const SHOWN_PATHS: usize = 20;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_beyond_the_limit_are_counted() {
        let mut files = IgnoredFiles::default();
        (0..MOST_IGNORED_NAMED + 3).for_each(|number| files.add(number.to_string()));
        assert_eq!((files.paths.len(), files.unnamed()), (MOST_IGNORED_NAMED, 3));
    }

    #[test]
    fn what_may_not_be_named_is_counted_wherever_it_stood() {
        let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        let mut files = IgnoredFiles { count: 3, paths: owned(&["a", "hidden"]), others: owned(&["hidden/", "venv/"]) };
        files.unname(|path| !path.starts_with("hidden"));
        assert_eq!(files, IgnoredFiles { count: 4, paths: owned(&["a"]), others: owned(&["venv/"]) });
        assert_eq!(files.unnamed(), 3);
    }

    #[test]
    fn what_is_not_known_is_left_out_of_the_ledger() {
        let conditions = RunConditions {
            platform: "linux-x86_64".to_owned(),
            directory: None,
            ignored: None,
            caches: None,
            rewritten: Vec::new(),
            restored: Vec::new(),
            unnamed: Vec::new(),
            left_in_environment: BTreeMap::new(),
            toolchains: Vec::new(),
            inputs: None,
            toolchains_looked: None,
            other_programs: Vec::new(),
            rules_changed: None,
            tests_not_run: None,
            head: None,
            fewer_tests: None,
        };
        assert_eq!(serde_json::to_string(&conditions).unwrap(), r#"{"platform":"linux-x86_64"}"#);
    }
}
