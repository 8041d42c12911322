//! Watching real directories: what editors, tools and people do, and the hints that come of it.
//!
//! What is known to go wrong elsewhere, and the test that shows that it does not here (`storms` and `triggers` are in `watch_cli`,
//! `storm` is `watch_storm.rs`, `engine` is `src/daemon/engine/tests.rs`, `within` is `src/watch/tests.rs`):
//!
//! | case | test |
//! |---|---|
//! | `mkdir d; write d/f` at once; `mkdir -p` of six levels and a write; 1,000 times | `a_file_written_into_directories_made_at_once_is_never_missed` |
//! | a directory with files is renamed into the watch | `what_lies_in_a_directory_that_is_moved_in_is_saved_and_watched` |
//! | a watched file is saved by rename again and again | `a_save_by_a_temporary_file_and_a_rename_names_the_file` |
//! | one save of an editor is one run | `every_editors_save_names_the_file_and_nothing_else`, `storms::saves_of_an_editor…` |
//! | vim's probe file, backup and swap file | `vims_dance_names_the_file_and_nothing_else`, `every_editors_save…` |
//! | a slow reader, an overflow without a path | `storms::events_that_the_kernel_lost…`, `within::an_overflow…` |
//! | the root is removed and made again, moved away and back | `a_root_that_vanishes_is_named_and_watched_again_when_it_is_back` |
//! | a link in a workspace (pnpm) hides the real file's events | `a_link_to_a_directory_is_not_followed`, `a_workspace_of_links_is_heard_of_by_its_real_paths` |
//! | a directory is renamed inside the watch, then written | `a_renamed_directory_is_heard_of_by_its_new_name` |
//! | a save during a run | `engine::a_save_during_a_run…`, `watch_cli::runs` |
//! | a checkout of 10,000 files | `a_checkout_of_ten_thousand_files_is_heard_of_in_full` |
//! | the limit on watches, at the start and later; the limit on instances | `reaching_the_kernels_limits…` |
//! | a mount without events | `within::where_nothing_is_heard_of…`, `src/watch/filesystem.rs`, polling as under the limits |
//! | a rebase of 50 commits; a lock; a conflict | `storms::a_rebase…`, `storms::a_lock…`, `storms::a_conflict…` |
//! | two worktrees of one repository | `what_git_is_in_the_middle_of_is_read_from_its_files` |
//! | ignored trees cost no watch | `what_does_not_belong_to_the_tree_costs_no_watch_and_gives_no_hint` |
//! | reading is not heard of | `a_changed_mode_is_saved_and_reading_is_not`, `opening_ten_thousand_files…` |
//! | a sync barrier | `a_sync_is_answered_after_every_save_before_it` |
//! | missed anyway (a store through a mapping) | `storms::what_was_saved_without_an_event_is_found_by_the_sweep` |
//! | everything at random | `storm` |
#![expect(clippy::disallowed_methods, reason = "the tests save files as editors do")]

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use proctor::ignore::{Matcher, MatcherSettings, Verdict};
use proctor::model::{GitOperation, PollReason, SyncId, TreePath, WatchHint, WatchProblem};
use proctor::watch::{GIT_MARKS, GitFiles, Pace, Watcher};
use tempfile::TempDir;

/// The bound of every wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// Nothing is polled or swept while a test goes on, unless it says so.
const PACE: Pace = Pace { poll: Duration::from_secs(3600), sweep: None };

/// A watched directory. Fields are dropped in order: the watcher before its directory.
struct Watched {
    watcher: Watcher,
    hints: Receiver<WatchHint>,
    root: PathBuf,
    _home: TempDir,
    outside: PathBuf,
}

impl Watched {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with_settings(files, &MatcherSettings::default())
    }

    fn with_settings(files: &[(&str, &str)], settings: &MatcherSettings) -> Self {
        Self::with(files, settings, &PACE)
    }

    fn with(files: &[(&str, &str)], settings: &MatcherSettings, pace: &Pace) -> Self {
        let home = TempDir::new().expect("a temporary directory");
        let (root, outside) = (home.path().join("project"), home.path().join("outside"));
        [&root, &outside].iter().for_each(|path| fs::create_dir(path).expect("a writable directory"));
        for (name, content) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a path below the root")).expect("a writable directory");
            fs::write(path, content).expect("a writable file");
        }
        let (sender, hints) = channel();
        let matcher = Matcher::new(settings).expect("good patterns");
        let watcher = Watcher::start(&root, matcher, pace, move |hint| drop(sender.send(hint))).expect("a directory to watch");
        Self { watcher, hints, root, _home: home, outside }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Waits until all of these were hinted at as saved, and returns everything that was seen by then.
    #[track_caller]
    fn wait_for_saves(&self, names: &[&str]) -> Vec<WatchHint> {
        let mut missing: BTreeSet<TreePath> = names.iter().map(|name| path(name)).collect();
        let mut seen = Vec::new();
        while !missing.is_empty() {
            match self.hints.recv_timeout(PATIENCE) {
                Ok(hint) => {
                    if let WatchHint::Saved(path) = &hint {
                        missing.remove(path);
                    }
                    seen.push(hint);
                }
                Err(error) => panic!("{error}: missing {}; last seen {:?}", names_of(&missing), last(&seen)),
            }
        }
        seen
    }

    /// Waits for a hint, and returns everything up to it and with it.
    #[track_caller]
    fn wait_for_hint(&self, is_it: impl Fn(&WatchHint) -> bool) -> Vec<WatchHint> {
        let mut seen = Vec::new();
        while !seen.last().is_some_and(&is_it) {
            match self.hints.recv_timeout(PATIENCE) {
                Ok(hint) => seen.push(hint),
                Err(error) => panic!("{error}: last seen {:?}", last(&seen)),
            }
        }
        seen
    }

    #[track_caller]
    fn wait_for(&self, expected: &WatchHint) -> Vec<WatchHint> {
        let mut seen = Vec::new();
        loop {
            match self.hints.recv_timeout(PATIENCE) {
                Ok(hint) if hint == *expected => return seen,
                Ok(hint) => seen.push(hint),
                Err(error) => panic!("{error}: waited for {expected:?}, last seen {:?}", last(&seen)),
            }
        }
    }

    /// Saves a last file and returns every hint up to it: what has not come by then will not come, for events keep their order.
    #[track_caller]
    fn everything_so_far(&self) -> Vec<WatchHint> {
        fs::write(self.at("the-last-file"), "x").expect("a writable file");
        let mut seen = self.wait_for_saves(&["the-last-file"]);
        seen.retain(|hint| !matches!(hint, WatchHint::Saved(path) | WatchHint::Created(path) | WatchHint::Writing(path) if path.name() == b"the-last-file"));
        seen
    }

    #[track_caller]
    fn wait_for_watches(&self, expected: usize) {
        for _ in 0..1_000 {
            if self.watcher.watches() == expected {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("waited for {expected} watches, last seen {}", self.watcher.watches());
    }
}

fn path(name: &str) -> TreePath {
    TreePath::try_from(name).expect("a clean path")
}

fn names_of(paths: &BTreeSet<TreePath>) -> String {
    paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn last(seen: &[WatchHint]) -> &[WatchHint] {
    &seen[seen.len().saturating_sub(10)..]
}

fn removed(name: &str) -> WatchHint {
    WatchHint::Removed(path(name))
}

/// Returns whether a hint is about this path and no other.
fn about(hint: &WatchHint, name: &str) -> bool {
    match hint {
        WatchHint::Saved(hinted) | WatchHint::Created(hinted) | WatchHint::Writing(hinted) | WatchHint::Removed(hinted) => {
            *hinted == path(name)
        }
        WatchHint::LookAgain(_) | WatchHint::Polling(_) | WatchHint::RootVanished | WatchHint::Synced(_) => false,
    }
}

fn saved(name: &str) -> WatchHint {
    WatchHint::Saved(path(name))
}

#[test]
fn a_save_in_place_is_writing_and_then_saved() {
    let watched = Watched::new(&[("src/a.py", "1")]);
    let mut file = OpenOptions::new().write(true).truncate(true).open(watched.at("src/a.py")).expect("a writable file");
    file.write_all(b"22").expect("a writable file");
    assert_eq!(watched.hints.recv_timeout(PATIENCE), Ok(WatchHint::Writing(path("src/a.py"))));
    drop(file);
    let seen = watched.wait_for_saves(&["src/a.py"]);
    assert!(seen[..seen.len() - 1].iter().all(|hint| *hint == WatchHint::Writing(path("src/a.py"))), "{seen:?}");
}

#[test]
fn a_save_by_a_temporary_file_and_a_rename_names_the_file() {
    let watched = Watched::new(&[("a.py", "1")]);
    for round in 0..5 {
        fs::write(watched.at(".a.py.tmp"), format!("{round}")).expect("a writable file");
        fs::rename(watched.at(".a.py.tmp"), watched.at("a.py")).expect("our file");
        watched.wait_for_saves(&["a.py"]);
    }
}

#[test]
fn vims_dance_names_the_file_and_nothing_else() {
    let watched = Watched::new(&[("a.py", "1")]);
    drop(File::create(watched.at(".a.py.swp")).expect("a writable directory"));
    drop(File::create(watched.at("4913")).expect("a writable directory"));
    fs::remove_file(watched.at("4913")).expect("our file");
    fs::rename(watched.at("a.py"), watched.at("a.py~")).expect("our file");
    fs::write(watched.at("a.py"), "2").expect("a writable directory");
    fs::remove_file(watched.at("a.py~")).expect("our file");
    fs::remove_file(watched.at(".a.py.swp")).expect("our file");
    let seen = watched.everything_so_far();
    assert!(seen.contains(&saved("a.py")), "{seen:?}");
    assert!(seen.iter().all(|hint| about(hint, "a.py")), "{seen:?}");
}

#[test]
fn the_safe_write_of_jetbrains_names_the_file_and_nothing_else() {
    let watched = Watched::new(&[("a.py", "1")]);
    fs::write(watched.at("a.py___jb_tmp___"), "2").expect("a writable directory");
    fs::rename(watched.at("a.py"), watched.at("a.py___jb_old___")).expect("our file");
    fs::rename(watched.at("a.py___jb_tmp___"), watched.at("a.py")).expect("our file");
    fs::remove_file(watched.at("a.py___jb_old___")).expect("our file");
    let seen = watched.everything_so_far();
    assert!(seen.contains(&saved("a.py")) && seen.iter().all(|hint| about(hint, "a.py")), "{seen:?}");
}

/// A step of an editor.
#[derive(Debug, Clone, Copy)]
enum Step {
    Write(&'static str),
    Rename(&'static str, &'static str),
    Copy(&'static str, &'static str),
    Link(&'static str),
    Remove(&'static str),
    Mode(&'static str),
}

/// What editors do for one save of `a.py`, from their documentation and sources. A temporary that is no name of the always-ignored
/// kind is hinted at too, and gone by the end.
const EDITORS: &[(&str, &str, &[Step])] = &[
    ("in place, as VS Code, nano, ed", "", &[Step::Write("a.py")]),
    ("vim, backupcopy=yes", "", &[Step::Copy("a.py", "a.py~"), Step::Write("a.py"), Step::Remove("a.py~"), Step::Mode("a.py")]),
    (
        "vim, backupcopy=no, backup kept",
        "",
        &[Step::Write("4913"), Step::Remove("4913"), Step::Rename("a.py", "a.py~"), Step::Write("a.py")],
    ),
    ("helix", "a.py.bck", &[Step::Rename("a.py", "a.py.bck"), Step::Write("a.py"), Step::Remove("a.py.bck")]),
    (
        "emacs",
        "",
        &[
            Step::Link(".#a.py"),
            Step::Write("#a.py#"),
            Step::Rename("a.py", "a.py~"),
            Step::Write("a.py"),
            Step::Remove(".#a.py"),
            Step::Remove("#a.py#"),
        ],
    ),
    (
        "JetBrains, safe write",
        "",
        &[
            Step::Write("a.py___jb_tmp___"),
            Step::Rename("a.py", "a.py___jb_old___"),
            Step::Rename("a.py___jb_tmp___", "a.py"),
            Step::Remove("a.py___jb_old___"),
        ],
    ),
    (
        "GNOME",
        "",
        &[Step::Write(".goutputstream-X2K4Z1"), Step::Copy("a.py", "a.py~"), Step::Rename(".goutputstream-X2K4Z1", "a.py")],
    ),
    (
        "Kate and other Qt programs",
        "a.py.RkTqWz",
        &[
            Step::Write(".a.py.kate-swp"),
            Step::Write("a.py.RkTqWz"),
            Step::Mode("a.py.RkTqWz"),
            Step::Rename("a.py.RkTqWz", "a.py"),
            Step::Remove(".a.py.kate-swp"),
        ],
    ),
    ("sed -i", "sedaB3x9Q", &[Step::Write("sedaB3x9Q"), Step::Mode("sedaB3x9Q"), Step::Rename("sedaB3x9Q", "a.py")]),
];

#[test]
fn every_editors_save_names_the_file_and_nothing_else() {
    for (editor, temporary, steps) in EDITORS {
        let watched = Watched::new(&[("a.py", "1")]);
        for step in *steps {
            let done = match step {
                Step::Write(name) => fs::write(watched.at(name), "2"),
                Step::Rename(from, to) => fs::rename(watched.at(from), watched.at(to)),
                Step::Copy(from, to) => fs::copy(watched.at(from), watched.at(to)).map(drop),
                Step::Link(name) => symlink("someone@somewhere.1", watched.at(name)),
                Step::Remove(name) => fs::remove_file(watched.at(name)),
                Step::Mode(name) => fs::set_permissions(watched.at(name), fs::Permissions::from_mode(0o644)),
            };
            done.unwrap_or_else(|error| panic!("{editor}: {step:?}: {error}"));
        }
        let seen = watched.everything_so_far();
        assert!(seen.contains(&saved("a.py")), "{editor}: {seen:?}");
        let is_expected = |hint: &WatchHint| about(hint, "a.py") || (!temporary.is_empty() && about(hint, temporary));
        assert!(seen.iter().all(is_expected), "{editor}: {seen:?}");
    }
}

#[test]
fn a_workspace_of_links_is_heard_of_by_its_real_paths() {
    let watched = Watched::new(&[("packages/z/x.py", ""), ("packages/app/main.py", ""), ("node_modules/.keep", "")]);
    symlink("../packages/z", watched.at("node_modules/z")).expect("a link");
    symlink("../z", watched.at("packages/app/linked-z")).expect("a link");
    watched.wait_for_saves(&["packages/app/linked-z"]);
    fs::write(watched.at("node_modules/z/x.py"), "through the link").expect("a writable file");
    fs::write(watched.at("packages/app/linked-z/y.py"), "through the other").expect("a writable file");
    let seen = watched.wait_for_saves(&["packages/z/x.py", "packages/z/y.py"]);
    assert!(seen.iter().all(|hint| about(hint, "packages/z/x.py") || about(hint, "packages/z/y.py")), "{seen:?}");
}

#[test]
fn a_checkout_of_ten_thousand_files_is_heard_of_in_full() {
    let watched = Watched::new(&[("first", "")]);
    let names: Vec<String> = (0..10_000).map(|number| format!("d{}/e{}/f{number}", number % 10, number % 100)).collect();
    for number in 0..100 {
        fs::create_dir_all(watched.at(&format!("d{}/e{number}", number % 10))).expect("a writable directory");
    }
    for name in &names {
        fs::write(watched.at(name), "x").expect("a writable file");
    }
    let seen = watched.wait_for_saves(&names.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(!seen.iter().any(|hint| matches!(hint, WatchHint::LookAgain(_))), "nothing was lost");
}

#[test]
fn a_deleted_file_is_removed() {
    let watched = Watched::new(&[("src/a.py", "1")]);
    fs::remove_file(watched.at("src/a.py")).expect("our file");
    assert_eq!(watched.everything_so_far(), [removed("src/a.py")]);
}

#[test]
fn links_and_hard_links_are_saved_at_once() {
    let watched = Watched::new(&[("a", "1")]);
    symlink("a", watched.at("soft")).expect("a link");
    fs::hard_link(watched.at("a"), watched.at("hard")).expect("a link");
    watched.wait_for_saves(&["soft", "hard"]);
}

#[test]
fn a_write_to_a_file_with_several_names_asks_for_a_look_at_all_of_them() {
    let watched = Watched::new(&[("d/a", "1"), ("b", "1")]);
    fs::hard_link(watched.at("d/a"), watched.at("other")).expect("a link");
    watched.everything_so_far();
    fs::write(watched.at("d/a"), "2").expect("a writable file");
    watched.wait_for(&WatchHint::LookAgain(WatchProblem::SeveralNames(path("d/a"))));
    watched.everything_so_far();
    fs::write(watched.at("b"), "2").expect("a writable file");
    assert!(!watched.everything_so_far().iter().any(|hint| matches!(hint, WatchHint::LookAgain(_))));
}

#[test]
fn a_changed_mode_is_saved_and_reading_is_not() {
    let watched = Watched::new(&[("run", "x"), ("d/a", "1")]);
    for _ in 0..10 {
        fs::read(watched.at("run")).expect("our file");
        fs::read_dir(watched.at("d")).expect("our directory").for_each(drop);
    }
    assert_eq!(watched.everything_so_far(), []);
    fs::set_permissions(watched.at("run"), fs::Permissions::from_mode(0o755)).expect("our file");
    watched.wait_for_saves(&["run"]);
}

#[test]
fn a_file_written_into_directories_made_at_once_is_never_missed() {
    let watched = Watched::new(&[]);
    for round in 0..1_000 {
        let name = if round % 2 == 0 { format!("r{round}/file") } else { format!("r{round}/a/b/c/d/e/file") };
        fs::create_dir_all(watched.at(&name).parent().expect("a path below the root")).expect("a writable directory");
        fs::write(watched.at(&name), "x").expect("a writable file");
    }
    let name = |round| if round % 2 == 0 { format!("r{round}/file") } else { format!("r{round}/a/b/c/d/e/file") };
    let names: Vec<String> = (0..1_000).map(name).collect();
    watched.wait_for_saves(&names.iter().map(String::as_str).collect::<Vec<_>>());
    watched.wait_for_watches(1 + 500 + 500 * 6);
    fs::write(watched.at("r7/a/b/c/d/e/file"), "y").expect("a writable file");
    watched.wait_for_saves(&["r7/a/b/c/d/e/file"]);
}

#[test]
fn what_lies_in_a_directory_that_is_moved_in_is_saved_and_watched() {
    let watched = Watched::new(&[]);
    fs::create_dir_all(watched.outside.join("d/deep")).expect("a writable directory");
    fs::write(watched.outside.join("d/deep/a"), "x").expect("a writable file");
    fs::write(watched.outside.join("d/b.pyc"), "x").expect("a writable file");
    fs::rename(watched.outside.join("d"), watched.at("d")).expect("our directory");
    let seen = watched.wait_for_saves(&["d/deep/a"]);
    assert!(!seen.contains(&saved("d/b.pyc")), "{seen:?}");
    fs::write(watched.at("d/deep/new"), "x").expect("a writable file");
    watched.wait_for_saves(&["d/deep/new"]);
}

#[test]
fn a_directory_that_is_moved_away_costs_no_watch_and_is_not_heard_of() {
    let watched = Watched::new(&[("d/deep/a", "x"), ("e/a", "x")]);
    watched.wait_for_watches(4);
    fs::rename(watched.at("d"), watched.outside.join("d")).expect("our directory");
    watched.wait_for(&removed("d"));
    watched.wait_for_watches(2);
    fs::write(watched.outside.join("d/deep/a"), "y").expect("a writable file");
    assert_eq!(watched.everything_so_far().iter().filter(|hint| **hint != removed("d")).count(), 0);
}

#[test]
fn a_renamed_directory_is_heard_of_by_its_new_name() {
    let watched = Watched::new(&[("old/deep/a", "x")]);
    for round in 0..20 {
        let (from, to) = if round % 2 == 0 { ("old", "new") } else { ("new", "old") };
        fs::rename(watched.at(from), watched.at(to)).expect("our directory");
        fs::write(watched.at(to).join("deep/a"), format!("{round}")).expect("a writable file");
        watched.wait_for_saves(&[&format!("{to}/deep/a")]);
    }
    watched.everything_so_far();
    watched.wait_for_watches(3);
    fs::write(watched.at("old/deep/last"), "x").expect("a writable file");
    watched.wait_for_saves(&["old/deep/last"]);
}

#[test]
fn directories_that_are_removed_and_made_again_stay_watched() {
    let watched = Watched::new(&[("d/e/a", "x")]);
    for round in 0..30 {
        fs::remove_dir_all(watched.at("d")).expect("our directory");
        fs::create_dir_all(watched.at("d/e")).expect("a writable directory");
        fs::write(watched.at("d/e/a"), format!("{round}")).expect("a writable file");
    }
    watched.everything_so_far();
    watched.wait_for_watches(3);
    fs::write(watched.at("d/e/last"), "x").expect("a writable file");
    watched.wait_for_saves(&["d/e/last"]);
}

#[test]
fn a_directory_moved_into_a_new_one_stays_watched() {
    let watched = Watched::new(&[("start/deep/a", "x")]);
    let mut at = "start".to_owned();
    for round in 0..20 {
        let parent = format!("p{round}");
        fs::create_dir(watched.at(&parent)).expect("a writable directory");
        let next = format!("{parent}/moved");
        fs::rename(watched.at(&at), watched.at(&next)).expect("our directory");
        at = next;
    }
    watched.everything_so_far();
    let last = format!("{at}/deep/last");
    fs::write(watched.at(&last), "x").expect("a writable file");
    watched.wait_for_saves(&[&last]);
    watched.wait_for_watches(1 + 20 + 2);
}

#[test]
fn what_does_not_belong_to_the_tree_costs_no_watch_and_gives_no_hint() {
    let files =
        [(".gitignore", "build/\n*.log\n"), ("build/deep/x", ""), ("node_modules/p/i.js", ""), (".git/refs/x", ""), ("a", "")];
    let watched = Watched::new(&files);
    assert_eq!(watched.watcher.watches(), 1);
    for name in ["build/deep/x", "node_modules/p/i.js", ".git/refs/x", "a.log"] {
        fs::write(watched.at(name), "changed").expect("a writable file");
    }
    fs::create_dir_all(watched.at("node_modules/q/r")).expect("a writable directory");
    fs::create_dir_all(watched.at("__pycache__")).expect("a writable directory");
    fs::write(watched.at("__pycache__/a.pyc"), "x").expect("a writable file");
    assert_eq!(watched.everything_so_far(), []);
    assert_eq!(watched.watcher.watches(), 1);
}

#[test]
fn an_included_file_in_an_excluded_directory_is_heard_of() {
    let settings = MatcherSettings { include: vec!["out/gen/*.json".to_owned()], ..MatcherSettings::default() };
    let watched = Watched::with_settings(&[(".gitignore", "out\n"), ("out/gen/a.json", ""), ("out/x/y", "")], &settings);
    assert_eq!(watched.watcher.watches(), 3);
    fs::write(watched.at("out/gen/b.txt"), "x").expect("a writable file");
    fs::write(watched.at("out/gen/a.json"), "x").expect("a writable file");
    let seen = watched.wait_for_saves(&["out/gen/a.json"]);
    assert!(!seen.contains(&saved("out/gen/b.txt")), "{seen:?}");
}

#[test]
fn a_changed_rules_file_places_the_watches_anew_and_asks_for_a_full_look() {
    let watched = Watched::new(&[(".gitignore", "build/\n"), ("build/deep/x", ""), ("src/a", "")]);
    assert_eq!(watched.watcher.watches(), 2);
    let changed = |name: &str| WatchHint::LookAgain(WatchProblem::RulesChanged(path(name)));
    fs::write(watched.at(".gitignore"), "src/\n").expect("a writable file");
    watched.wait_for(&changed(".gitignore"));
    assert_eq!(watched.watcher.watches(), 3);
    fs::write(watched.at("build/deep/x"), "1").expect("a writable file");
    watched.wait_for_saves(&["build/deep/x"]);
    fs::write(watched.at("src/a"), "1").expect("a writable file");
    assert!(!watched.everything_so_far().contains(&saved("src/a")));
    fs::write(watched.at("rules.tmp"), "deep\n").expect("a writable file");
    fs::rename(watched.at("rules.tmp"), watched.at("build/.ignore")).expect("our file");
    watched.wait_for(&changed("build/.ignore"));
    assert_eq!(watched.watcher.watches(), 2);
    fs::remove_file(watched.at(".gitignore")).expect("our file");
    watched.wait_for(&changed(".gitignore"));
    assert_eq!(watched.watcher.watches(), 3);
}

#[test]
fn a_rules_file_written_with_the_same_rules_asks_for_nothing_but_a_look_at_itself() {
    let watched = Watched::new(&[(".gitignore", "build/\n")]);
    fs::write(watched.at(".gitignore.new"), "build/\n").expect("a writable file");
    fs::rename(watched.at(".gitignore.new"), watched.at(".gitignore")).expect("our file");
    let seen = watched.everything_so_far();
    assert!(seen.contains(&saved(".gitignore")) && !seen.iter().any(|hint| matches!(hint, WatchHint::LookAgain(_))), "{seen:?}");
}

#[test]
fn a_link_to_a_directory_is_not_followed() {
    let watched = Watched::new(&[("packages/z/x.py", "")]);
    symlink(&watched.outside, watched.at("away")).expect("a link");
    symlink("packages/z", watched.at("zz")).expect("a link");
    watched.wait_for_saves(&["away", "zz"]);
    fs::write(watched.outside.join("file"), "x").expect("a writable file");
    fs::write(watched.at("packages/z/x.py"), "x").expect("a writable file");
    let seen = watched.everything_so_far();
    assert!(seen.contains(&saved("packages/z/x.py")), "{seen:?}");
    assert!(seen.iter().all(|hint| about(hint, "packages/z/x.py")), "{seen:?}");
    assert_eq!(watched.watcher.watches(), 3);
}

#[test]
fn a_burst_of_five_thousand_files_is_heard_of_in_full() {
    let watched = Watched::new(&[("d/first", "")]);
    let names: Vec<String> = (0..5_000).map(|number| format!("d/f{number}")).collect();
    for name in &names {
        fs::write(watched.at(name), "x").expect("a writable file");
    }
    let seen = watched.wait_for_saves(&names.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(!seen.iter().any(|hint| matches!(hint, WatchHint::LookAgain(_))));
}

#[test]
fn a_root_that_vanishes_is_named_and_watched_again_when_it_is_back() {
    let watched = Watched::new(&[("src/a", "")]);
    fs::remove_dir_all(&watched.root).expect("our directory");
    watched.wait_for(&WatchHint::RootVanished);
    assert_eq!(watched.watcher.watches(), 0);
    fs::create_dir_all(watched.at("new")).expect("a writable directory");
    watched.wait_for(&WatchHint::LookAgain(WatchProblem::RootReturned));
    fs::write(watched.at("new/a"), "x").expect("a writable file");
    watched.wait_for_saves(&["new/a"]);
    fs::rename(&watched.root, watched.outside.join("elsewhere")).expect("our directory");
    watched.wait_for(&WatchHint::RootVanished);
    fs::rename(watched.outside.join("elsewhere"), &watched.root).expect("our directory");
    watched.wait_for(&WatchHint::LookAgain(WatchProblem::RootReturned));
    fs::write(watched.at("new/b"), "x").expect("a writable file");
    watched.wait_for_saves(&["new/b"]);
}

#[test]
fn placing_all_watches_anew_loses_none() {
    let watched = Watched::new(&[("a/b/c", ""), ("d/e", "")]);
    watched.watcher.rearm();
    watched.wait_for(&WatchHint::LookAgain(WatchProblem::Overflow));
    assert_eq!(watched.watcher.watches(), 4);
    fs::write(watched.at("a/b/c"), "x").expect("a writable file");
    watched.wait_for_saves(&["a/b/c"]);
}

#[test]
fn reaching_the_kernels_limits_is_said_with_the_path_and_what_to_do() {
    // In a user namespace of its own the limits can be lowered without touching anybody else's.
    let this = std::env::current_exe().expect("this program");
    for (limit, number, inside) in [
        ("max_inotify_watches", 3, "watching::under_a_limit_of_three_watches"),
        ("max_inotify_instances", 0, "watching::under_a_limit_of_no_instance"),
    ] {
        let lowered = format!("echo {number} > /proc/sys/user/{limit} && exec \"$0\" --exact \"$1\" --ignored");
        let output = Command::new("unshare").args(["-Ur", "sh", "-c", &lowered]).arg(&this).arg(inside).output();
        let Ok(output) = output else { return };
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let is_forbidden_here = !output.status.success() && !text.contains("test result:");
        assert!(is_forbidden_here || text.contains("test result: ok. 1 passed"), "{text}");
    }
}

#[test]
#[ignore = "run by another test in a user namespace"]
fn under_a_limit_of_no_instance() {
    if fs::read_to_string("/proc/sys/user/max_inotify_instances").is_ok_and(|limit| limit.trim() != "0") {
        return;
    }
    let pace = Pace { poll: Duration::from_millis(50), sweep: None };
    let watched = Watched::with(&[("a/x", ""), ("build/y", ""), (".gitignore", "build/\n")], &MatcherSettings::default(), &pace);
    watched.wait_for_hint(|hint| matches!(hint, WatchHint::Polling(PollReason::TooManyInstances { .. })));
    fs::write(watched.at("a/x"), "x").expect("a writable file");
    watched.wait_for_saves(&["a/x"]);
    fs::write(watched.at("build/y"), "x").expect("a writable file");
    fs::create_dir_all(watched.at("b/c")).expect("a writable directory");
    fs::write(watched.at("b/c/d"), "x").expect("a writable file");
    let seen = watched.wait_for_saves(&["b/c/d"]);
    assert!(!seen.iter().any(|hint| about(hint, "build/y")), "{seen:?}");
    fs::write(watched.at(".gitignore"), "").expect("a writable file");
    watched.wait_for(&WatchHint::LookAgain(WatchProblem::RulesChanged(path(".gitignore"))));
    fs::write(watched.at("build/y"), "longer").expect("a writable file");
    watched.wait_for_saves(&["build/y"]);
    fs::write(watched.at("last"), "x").expect("a writable file");
    watched.watcher.handle().sync(SyncId(4));
    assert!(watched.wait_for(&WatchHint::Synced(SyncId(4))).contains(&saved("last")), "a sync looks at once");
    fs::remove_dir_all(&watched.root).expect("our directory");
    watched.wait_for(&WatchHint::RootVanished);
    fs::create_dir(&watched.root).expect("our directory");
    watched.wait_for(&WatchHint::LookAgain(WatchProblem::RootReturned));
}

#[test]
#[ignore = "run by another test in a user namespace"]
fn under_a_limit_of_three_watches() {
    if fs::read_to_string("/proc/sys/user/max_inotify_watches").is_ok_and(|limit| limit.trim() != "3") {
        return;
    }
    let pace = Pace { poll: Duration::from_millis(50), sweep: None };
    let watched = Watched::with(&[("a/x", "")], &MatcherSettings::default(), &pace);
    fs::create_dir_all(watched.at("b/c/d")).expect("a writable directory");
    let seen = watched.wait_for_hint(|hint| matches!(hint, WatchHint::Polling(PollReason::TooManyWatches { .. })));
    let Some(WatchHint::Polling(PollReason::TooManyWatches { path: first, raise_to })) = seen.last() else { panic!("{seen:?}") };
    assert_eq!(first, &path("b/c"));
    assert!(*raise_to >= 524_288);
    assert_eq!(watched.watcher.watches(), 3);
    fs::write(watched.at("b/c/d/polled"), "x").expect("a writable file");
    fs::write(watched.at("a/watched"), "x").expect("a writable file");
    watched.wait_for_saves(&["b/c/d/polled", "a/watched"]);
    fs::write(watched.at("b/c/d/polled"), "other").expect("a writable file");
    watched.wait_for_saves(&["b/c/d/polled"]);
    fs::create_dir_all(watched.at("b/c/e/f")).expect("a writable directory");
    fs::write(watched.at("b/c/e/f/deep"), "x").expect("a writable file");
    watched.wait_for_saves(&["b/c/e/f/deep"]);
    fs::remove_dir_all(watched.at("b/c/e")).expect("our directory");
    watched.wait_for(&removed("b/c/e"));
    // A watch that comes free is taken for what is polled.
    fs::remove_dir_all(watched.at("a")).expect("our directory");
    watched.wait_for_watches(3);
    fs::write(watched.at("b/c/last"), "x").expect("a writable file");
    watched.wait_for_saves(&["b/c/last"]);
    // Whoever begins when no watch is left polls everything.
    let (sender, hints) = channel();
    let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let second = Watcher::start(&watched.root, matcher, &pace, move |hint| drop(sender.send(hint))).expect("all is polled");
    assert_eq!(second.watches(), 0);
    fs::write(watched.at("b/c/d/polled"), "third content").expect("a writable file");
    let is_heard = std::iter::from_fn(|| hints.recv_timeout(PATIENCE).ok()).any(|hint| hint == saved("b/c/d/polled"));
    assert!(is_heard);
    watched.watcher.handle().sync(SyncId(1));
    watched.wait_for(&WatchHint::Synced(SyncId(1)));
}

#[test]
fn a_sync_is_answered_after_every_save_before_it() {
    let watched = Watched::new(&[("d/first", "")]);
    let handle = watched.watcher.handle();
    for round in 0..100 {
        let name = format!("r{round}/deep/file");
        fs::create_dir_all(watched.at(&name).parent().expect("a path below the root")).expect("a writable directory");
        fs::write(watched.at(&name), "x").expect("a writable file");
        handle.sync(SyncId(round));
        let seen = watched.wait_for(&WatchHint::Synced(SyncId(round)));
        assert!(seen.contains(&saved(&name)), "{round}: {:?}", last(&seen));
    }
    assert!(no_cookie_in(&watched.root));
    assert!(!watched.everything_so_far().iter().any(|hint| format!("{hint:?}").contains("cookie")));
}

#[test]
fn a_sync_of_a_root_that_nothing_can_be_made_in_asks_for_a_full_look() {
    let watched = Watched::new(&[("d/first", "")]);
    fs::set_permissions(&watched.root, fs::Permissions::from_mode(0o555)).expect("our directory");
    // Whoever may write anywhere makes its file all the same, and answers without the full look.
    let is_refused = File::create(watched.at("x")).is_err();
    watched.watcher.handle().sync(SyncId(7));
    let seen = watched.wait_for(&WatchHint::Synced(SyncId(7)));
    assert!(seen.contains(&WatchHint::LookAgain(WatchProblem::Unsynced)) || !is_refused, "{seen:?}");
    fs::set_permissions(&watched.root, fs::Permissions::from_mode(0o755)).expect("our directory");
}

#[test]
fn a_sync_is_answered_also_when_the_root_is_gone_or_events_are_lost() {
    let watched = Watched::new(&[("a", "")]);
    let handle = watched.watcher.handle();
    handle.sync(SyncId(1));
    watched.watcher.rearm();
    handle.sync(SyncId(2));
    watched.wait_for(&WatchHint::Synced(SyncId(2)));
    fs::remove_dir_all(&watched.root).expect("our directory");
    watched.wait_for(&WatchHint::RootVanished);
    handle.sync(SyncId(3));
    watched.wait_for(&WatchHint::Synced(SyncId(3)));
}

#[test]
fn what_a_killed_process_left_is_removed() {
    let home = TempDir::new().expect("a temporary directory");
    fs::write(home.path().join(".proctor-cookie-1-1"), "").expect("a writable file");
    let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let watcher = Watcher::start(home.path(), matcher, &PACE, drop).expect("a directory to watch");
    assert!(no_cookie_in(home.path()));
    drop(watcher);
}

fn no_cookie_in(root: &std::path::Path) -> bool {
    let is_cookie = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".proctor-cookie-");
    !fs::read_dir(root).expect("our directory").flatten().any(|entry| is_cookie(&entry))
}

#[test]
fn a_sweep_is_asked_for_every_so_often() {
    let pace = Pace { sweep: Some(Duration::from_millis(20)), ..PACE };
    let watched = Watched::with(&[("a", "")], &MatcherSettings::default(), &pace);
    for _ in 0..3 {
        watched.wait_for(&WatchHint::LookAgain(WatchProblem::Sweep));
    }
}

#[test]
fn the_last_event_of_a_path_is_accounted_for_with_the_rule_that_decided() {
    let watched = Watched::new(&[(".gitignore", "*.log\n"), ("a.py", "")]);
    let handle = watched.watcher.handle();
    assert_eq!(handle.explain(&path("a.py")), None, "nothing was heard of it");
    for name in ["a.py", "b.log"] {
        fs::write(watched.at(name), "x").expect("a writable file");
    }
    watched.everything_so_far();
    let kept = handle.explain(&path("a.py")).expect("it was saved");
    assert_eq!((kept.event, kept.decision.verdict, kept.decision.rule), ("closed after writing", Verdict::In, None));
    let dropped = handle.explain(&path("b.log")).expect("it was saved");
    let rule = dropped.decision.rule.expect("a rule decided");
    assert_eq!((dropped.decision.verdict, rule.line, rule.pattern.as_str()), (Verdict::Out, Some(1), "*.log"));
}

#[test]
fn what_git_is_in_the_middle_of_is_read_from_its_files() {
    let watched = Watched::new(&[("package/a", ""), (".git/HEAD", "")]);
    let git = GitFiles::find(&watched.at("package"));
    assert_eq!(git.read(), None);
    for (name, operation) in GIT_MARKS {
        fs::write(watched.at(".git").join(name), "").expect("a writable file");
        assert_eq!(git.read(), Some(*operation), "{name}: found from a directory of the repository");
        fs::remove_file(watched.at(".git").join(name)).expect("our file");
    }
    fs::create_dir(watched.at(".git/rebase-merge")).expect("a writable directory");
    fs::write(watched.at(".git/index.lock"), "").expect("a writable file");
    assert_eq!(git.read(), Some(GitOperation::Rebase), "the index is locked again and again while it goes on");
    let worktree = watched.outside.join("worktree");
    fs::create_dir_all(&worktree).expect("a writable directory");
    fs::create_dir_all(watched.at(".git/worktrees/one")).expect("a writable directory");
    fs::write(watched.at(".git/worktrees/one/MERGE_HEAD"), "").expect("a writable file");
    for pointer in [watched.at(".git/worktrees/one").display().to_string(), "../../project/.git/worktrees/one".to_owned()] {
        fs::write(worktree.join(".git"), format!("gitdir: {pointer}\n")).expect("a writable file");
        assert_eq!(GitFiles::find(&worktree).read(), Some(GitOperation::Merge), "{pointer}");
    }
    fs::write(worktree.join(".git"), "what is this").expect("a writable file");
    assert_eq!(GitFiles::find(&worktree).read(), None);
}

#[test]
fn opening_ten_thousand_files_is_not_heard_of_and_loses_nothing() {
    let names: Vec<String> = (0..1_000).map(|number| format!("d{}/f{number}", number % 50)).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let watched = Watched::new(&files);
    // A pytest run over 1,000 files opens each of them about once.
    for _ in 0..10 {
        names.iter().for_each(|name| drop(fs::read(watched.at(name)).expect("our file")));
    }
    assert_eq!(watched.everything_so_far(), []);
}
