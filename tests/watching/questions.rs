//! Tests a watcher's answers to syncs and sweeps, the last event of a path, and the git operation that is under way.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use proctor_model::{GitOperation, SyncId, WatchHint, WatchProblem};
use proctor_tree::ignore::{IgnoreVerdict, Matcher, MatcherSettings};
use proctor_tree::watch::{GIT_MARKS, GitFiles, Pace, Watcher};
use tempfile::TempDir;

use super::{PACE, Watched, last, path, saved};

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
    // A user who may write anywhere (root) can make the sync's file in spite of the mode. The sync then works without a
    // full scan.
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
    assert_eq!((kept.event, kept.decision.verdict, kept.decision.rule), ("closed after writing", IgnoreVerdict::In, None));
    let dropped = handle.explain(&path("b.log")).expect("it was saved");
    let rule = dropped.decision.rule.expect("a rule decided");
    assert_eq!((dropped.decision.verdict, rule.line, rule.pattern.as_str()), (IgnoreVerdict::Out, Some(1), "*.log"));
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
