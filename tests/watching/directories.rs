//! Tests the hints for directories that are made, moved, linked, removed and made again, the project's root among them.

use std::fs;
use std::os::unix::fs::symlink;

use proctor_model::{WatchHint, WatchProblem};

use super::{Watched, about, removed, saved};

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
