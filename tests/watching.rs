//! Watches real directories, and tests which hints follow when editors, tools and people change files.
//!
//! Cases that are known to go wrong in other programs, each with the test that shows that it works here (`storms` and
//! `triggers` are in `watch_cli`, `storm` is `watch_storm.rs`, `engine` is `crates/service/src/engine/tests.rs`, `within` is
//! `crates/tree/src/watch/tests.rs`):
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
//! | a mount without events | `within::where_nothing_is_heard_of…`, `crates/tree/src/watch/places.rs`, polling as under the limits |
//! | a rebase of 50 commits; a lock; a conflict | `storms::a_rebase…`, `storms::a_lock…`, `storms::a_conflict…` |
//! | two worktrees of one repository | `what_git_is_in_the_middle_of_is_read_from_its_files` |
//! | ignored trees cost no watch | `what_does_not_belong_to_the_tree_costs_no_watch_and_gives_no_hint` |
//! | reading a file gives no hint | `a_changed_mode_is_saved_and_reading_is_not`, `opening_ten_thousand_files…` |
//! | a sync barrier | `a_sync_is_answered_after_every_save_before_it` |
//! | a change without an event (a store through a mapping) | `storms::what_was_saved_without_an_event_is_found_by_the_sweep` |
//! | random changes | `storm` |
//! | random changes of ignored inputs, also with lost events | `ignored_inputs` |
#![expect(clippy::disallowed_methods, reason = "the tests save files as editors do")]

mod directories;
mod ignored_inputs;
mod inputs;
mod limits;
mod questions;
mod rules;
mod saves;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use proctor_model::{TreePath, WatchHint};
use proctor_tree::ignore::{Matcher, MatcherSettings};
use proctor_tree::watch::{Pace, Watcher};
use tempfile::TempDir;

use crate::common::poll;

/// The time limit of every wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// During a test no directory is polled, and no scan of the whole tree is asked for, unless the test sets another pace.
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

    /// Waits until every one of these files was hinted at as saved. Returns all hints up to then.
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

    /// Waits for a hint for which `is_it` is true. Returns all hints up to and including it.
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

    /// Saves a last file and returns every hint up to that file's. Events keep their order, so no earlier hint can come
    /// later.
    #[track_caller]
    fn everything_so_far(&self) -> Vec<WatchHint> {
        fs::write(self.at("the-last-file"), "x").expect("a writable file");
        let mut seen = self.wait_for_saves(&["the-last-file"]);
        seen.retain(|hint| !matches!(hint, WatchHint::Saved(path) | WatchHint::Created(path) | WatchHint::Writing(path) if path.name() == b"the-last-file"));
        seen
    }

    #[track_caller]
    fn wait_for_watches(&self, expected: usize) {
        poll(PATIENCE, &format!("{expected} watches"), || {
            let watches = self.watcher.watches();
            if watches == expected { Ok(()) } else { Err(watches) }
        });
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
        WatchHint::Saved(hinted)
        | WatchHint::Created(hinted)
        | WatchHint::Writing(hinted)
        | WatchHint::Removed(hinted)
        | WatchHint::IgnoredCame(hinted) => *hinted == path(name),
        WatchHint::Approved
        | WatchHint::LookAgain(_)
        | WatchHint::Polling(_)
        | WatchHint::RootVanished
        | WatchHint::Synced(_) => false,
    }
}

fn saved(name: &str) -> WatchHint {
    WatchHint::Saved(path(name))
}
