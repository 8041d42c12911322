//! Why the watchers of the crate `notify` are not used (G2): saves that they do not tell, each beside what this module does with it.

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use notify::{Config, Event, INotifyWatcher, PollWatcher, RecursiveMode, Watcher};

use crate::watch::stamps::{NameChange, compare, read_snapshot};

const LATE: Duration = Duration::from_secs(60);

/// Returns the paths of which events come, up to the event of `last`. Every event before it has come by then.
#[track_caller]
fn told_until(events: &Receiver<notify::Result<Event>>, last: &Path) -> BTreeSet<PathBuf> {
    let mut told = BTreeSet::new();
    while !told.contains(last) {
        let event = events.recv_timeout(LATE).expect("the last file is told").expect("no error");
        told.extend(event.paths);
    }
    told
}

fn write(path: &Path, text: &str, modified: SystemTime) {
    fs::write(path, text).expect("it is ours");
    let file = File::options().write(true).open(path).expect("it is ours");
    file.set_times(FileTimes::new().set_modified(modified)).expect("it is ours");
}

/// `PollWatcher` compares times of modification in whole seconds, and tells a file only if its time grew. Asked to compare contents, it
/// reads every file in every round, and still tells no changed mode, which the digest of the tree has.
#[test]
fn polling_by_notify_misses_an_older_time_a_second_save_within_a_second_and_a_mode() {
    let start = UNIX_EPOCH + Duration::from_secs(1_774_949_403);
    for (reads_contents, missed) in [(false, vec!["mode", "older", "same-second"]), (true, vec!["mode"])] {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        for name in ["mode", "older", "same-second"] {
            write(&path(name), "one", start);
        }
        let (sender, events) = channel();
        let config = Config::default().with_manual_polling().with_compare_contents(reads_contents);
        let mut watcher = PollWatcher::new(sender, config).expect("it needs nothing");
        watcher.watch(directory.path(), RecursiveMode::Recursive).expect("the directory is there");
        let before = read_snapshot(directory.path(), |_, _| true).expect("it is there");
        // `mv`, `cp -p`, `tar` and `rsync` bring a file with the time that it had elsewhere.
        write(&path("older"), "two", start - Duration::from_secs(10));
        write(&path("same-second"), "two", start + Duration::from_millis(300));
        fs::set_permissions(path("mode"), Permissions::from_mode(0o755)).expect("it is ours");
        let ours = compare(&before, &read_snapshot(directory.path(), |_, _| true).expect("it is there"));
        let mut told = BTreeSet::new();
        // What the first round tells has come before the last file of the second round.
        for round in ["round-1", "round-2"] {
            fs::write(path(round), "").expect("it is ours");
            watcher.poll().expect("it polls");
            told.extend(told_until(&events, &path(round)));
        }
        let edited = ["mode", "older", "same-second"];
        let not_told: Vec<&str> = edited.into_iter().filter(|name| !told.contains(&path(name))).collect();
        assert_eq!(not_told, missed, "compares contents: {reads_contents}");
        assert_eq!(ours, edited.map(|name| (name.as_bytes().to_vec(), NameChange::Changed)));
    }
}

/// notify knows each directory by one path, the one that was watched last, and gives the directory up as a whole when this path is. The
/// hub keeps a watch until nobody asks for it: the directories of two projects, of git and of inputs can be the same.
#[test]
fn the_inotify_watcher_of_notify_gives_up_a_directory_of_two_paths_with_one_of_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    fs::create_dir(path("real")).and_then(|()| fs::create_dir(path("other"))).expect("it is ours");
    symlink(path("real"), path("alias")).expect("it is ours");
    let (sender, events) = channel();
    let mut watcher = INotifyWatcher::new(sender, Config::default()).expect("an instance is left");
    for name in ["real", "alias", "other"] {
        watcher.watch(&path(name), RecursiveMode::NonRecursive).expect("the directory is there");
    }
    fs::write(path("real/first"), "").expect("it is ours");
    fs::write(path("other/first"), "").expect("it is ours");
    let told = told_until(&events, &path("other/first"));
    assert!(told.contains(&path("alias/first")) && !told.contains(&path("real/first")), "{told:?}");
    watcher.unwatch(&path("alias")).expect("it is watched");
    fs::write(path("real/second"), "").expect("it is ours");
    fs::write(path("other/second"), "").expect("it is ours");
    let told = told_until(&events, &path("other/second"));
    assert!(!told.contains(&path("real/second")), "`real` is still asked for: {told:?}");
}
