//! Tests of situations that the kernel cannot be made to produce reliably. The tests hand events to the worker as the
//! backend would.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tempfile::TempDir;

use crate::ignore::{Matcher, MatcherSettings};
use crate::watch::hub::WatchHub;
use crate::watch::inbox::{InboxHandle, Message};
use crate::watch::interpret::RawHint;
use crate::watch::worker::Worker;
use crate::watch::{Pace, WatchError, Watcher};
use proctor_model::{PollReason, SyncId, TreePath, WatchHint, WatchProblem};

/// An hour between polls and no scans: during a test neither happens.
const PACE: Pace = Pace { poll: Duration::from_secs(3600), sweep: None };

fn start(root: &Path) -> (Watcher, Receiver<WatchHint>) {
    let (sender, hints) = channel();
    let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let watcher =
        Watcher::start(root, matcher, &PACE, move |hint| drop(sender.send(hint))).expect("a directory that can be watched");
    (watcher, hints)
}

/// Waits for a hint; on failure it shows the hints that came instead.
fn wait_for(hints: &Receiver<WatchHint>, expected: &WatchHint) {
    let mut seen = Vec::new();
    while let Ok(hint) = hints.recv_timeout(Duration::from_secs(10)) {
        if hint == *expected {
            return;
        }
        seen.push(hint);
    }
    panic!("waited for {expected:?}, saw {seen:?}");
}

fn saved(path: &str) -> WatchHint {
    WatchHint::Saved(TreePath::try_from(path).expect("a clean path"))
}

#[test]
fn an_overflow_places_all_watches_anew_and_asks_for_a_full_look() {
    let root = TempDir::new().expect("a temporary directory");
    fs::create_dir_all(root.path().join("a/b")).expect("a writable directory");
    let (watcher, hints) = start(root.path());
    watcher.push(Message::Event(RawHint::Overflow));
    wait_for(&hints, &WatchHint::LookAgain(WatchProblem::Overflow));
    assert_eq!(watcher.watches(), 3);
    fs::write(root.path().join("a/b/c"), "x").expect("a writable file");
    wait_for(&hints, &saved("a/b/c"));
}

#[test]
fn errors_of_the_backend_ask_for_a_full_look() {
    let root = TempDir::new().expect("a temporary directory");
    let (watcher, hints) = start(root.path());
    watcher.push(Message::Event(RawHint::Backend("broken".to_owned())));
    wait_for(&hints, &WatchHint::LookAgain(WatchProblem::Backend("broken".to_owned())));
}

#[test]
fn a_directory_that_is_said_to_be_gone_and_is_not_stays_watched() {
    let root = TempDir::new().expect("a temporary directory");
    fs::create_dir_all(root.path().join("a/b")).expect("a writable directory");
    fs::write(root.path().join("a/b/old"), "x").expect("a writable file");
    let (watcher, hints) = start(root.path());
    watcher.push(Message::Event(RawHint::Vanished(root.path().join("a"))));
    wait_for(&hints, &saved("a/b/old"));
    assert_eq!(watcher.watches(), 3);
    fs::write(root.path().join("a/b/new"), "x").expect("a writable file");
    wait_for(&hints, &saved("a/b/new"));
}

#[test]
fn a_root_that_cannot_be_watched_is_an_error() {
    let root = TempDir::new().expect("a temporary directory");
    let matcher = || Matcher::new(&MatcherSettings::default()).expect("no patterns");
    fs::write(root.path().join("file"), "x").expect("a writable file");
    for name in ["missing", "file"] {
        let error = Watcher::start(&root.path().join(name), matcher(), &PACE, drop).expect_err("no directory");
        assert!(matches!(error, WatchError::Root { .. }), "{error:?}");
    }
    let error = Watcher::start(Path::new("relative"), matcher(), &PACE, drop).expect_err("no absolute path");
    assert!(matches!(error, WatchError::Relative { .. }), "{error:?}");
}

#[test]
fn dropping_a_watcher_ends_its_threads() {
    let root = TempDir::new().expect("a temporary directory");
    let (watcher, hints) = start(root.path());
    fs::write(root.path().join("a"), "x").expect("a writable file");
    wait_for(&hints, &saved("a"));
    drop(watcher);
    // When `drop` returns, the worker has dropped its end of the channel, so no further hint can arrive.
    let rest = std::iter::repeat_with(|| hints.try_recv()).take_while(Result::is_ok).count();
    assert!(rest < 10 && hints.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected));
}

/// Returns a worker that does nothing by itself, and the receiver of its hints.
fn idle_worker(root: &Path) -> (Worker, Receiver<WatchHint>) {
    // The tests call the worker directly, so nobody reads the inbox.
    let member = WatchHub::start().expect("a hub").join(InboxHandle::open()).expect("a member");
    let (sender, hints) = channel();
    let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let send = Box::new(move |hint| drop(sender.send(hint)));
    let count = Arc::new(AtomicUsize::new(0));
    (Worker::start(root, matcher, &PACE, member, count, send).expect("a directory to watch"), hints)
}

#[test]
fn where_nothing_is_heard_of_everything_is_polled_until_something_is() {
    let root = TempDir::new().expect("a temporary directory");
    fs::create_dir_all(root.path().join("a/b")).expect("a writable directory");
    let (mut worker, hints) = idle_worker(root.path());
    assert!(worker.awaits_cookie(), "a file was made to see whether it is heard of");
    worker.sync(SyncId(1));
    worker.distrust_events();
    let said: Vec<WatchHint> = hints.try_iter().collect();
    let unsynced = WatchHint::LookAgain(WatchProblem::Unsynced);
    assert_eq!(said, [WatchHint::Polling(PollReason::Deaf), unsynced.clone(), WatchHint::Synced(SyncId(1))]);
    fs::write(root.path().join("a/b/c"), "x").expect("a writable file");
    worker.poll_round();
    assert_eq!(hints.try_iter().collect::<Vec<_>>(), [saved("a/b/c")]);
    fs::write(root.path().join("a/b/d"), "x").expect("a writable file");
    worker.sync(SyncId(2));
    assert_eq!(hints.try_iter().collect::<Vec<_>>(), [saved("a/b/d"), WatchHint::Synced(SyncId(2))]);
    worker.follow(RawHint::Created(root.path().join(".proctor-cookie-1-1")));
    assert!(!worker.has_no_events() && worker.places.polled.is_empty(), "it was only late");
    assert_eq!(hints.try_iter().collect::<Vec<_>>(), [unsynced]);
}

#[test]
fn a_name_that_is_gone_when_its_creation_is_heard_of_came_to_be_all_the_same() {
    let root = TempDir::new().expect("a temporary directory");
    let (mut worker, hints) = idle_worker(root.path());
    let temporary = root.path().join(".a.tmp1");
    // An editor has written the file and renamed it before the worker reads the first event.
    fs::write(root.path().join("a"), "x").expect("a writable file");
    worker.follow(RawHint::Created(temporary.clone()));
    worker.follow(RawHint::Saved(temporary.clone()));
    worker.follow(RawHint::Vanished(temporary));
    worker.follow(RawHint::Appeared(root.path().join("a")));
    let path = || TreePath::try_from(&b".a.tmp1"[..]).expect("a name");
    let expected = [WatchHint::Created(path()), WatchHint::Saved(path()), WatchHint::Removed(path()), saved("a")];
    assert_eq!(hints.try_iter().collect::<Vec<_>>(), expected);
}
