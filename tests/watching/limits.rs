//! Tests a watcher at the kernel's limits on inotify watches and on inotify instances.

use std::fs;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use proctor_model::{PollReason, SyncId, WatchHint, WatchProblem};
use proctor_tree::ignore::{Matcher, MatcherSettings};
use proctor_tree::watch::{Pace, Watcher};

use super::{PATIENCE, Watched, about, path, removed, saved};

#[test]
fn reaching_the_kernels_limits_is_said_with_the_path_and_what_to_do() {
    // In a new user namespace the limits can be lowered without an effect on other programs.
    let this = std::env::current_exe().expect("this program");
    for (limit, number, inside) in [
        ("max_inotify_watches", 3, "watching::limits::under_a_limit_of_three_watches"),
        ("max_inotify_instances", 0, "watching::limits::under_a_limit_of_no_instance"),
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
    // When a watch becomes free, it is used for a directory that was polled before.
    fs::remove_dir_all(watched.at("a")).expect("our directory");
    watched.wait_for_watches(3);
    fs::write(watched.at("b/c/last"), "x").expect("a writable file");
    watched.wait_for_saves(&["b/c/last"]);
    // A watcher that starts when the kernel's limit on watches is used up must poll every directory.
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
