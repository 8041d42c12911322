//! Tests which files a watcher counts as part of the tree, and what happens when the ignore rules change.

use std::fs;
use std::os::unix::fs::symlink;

use proctor_model::{WatchHint, WatchProblem};
use proctor_tree::ignore::{MatcherSettings, OwnLink};

use super::{Watched, path, saved};
use crate::tracked::git;

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
fn proctors_own_link_gives_no_hint_and_what_else_has_its_name_does() {
    let own_link = Some(OwnLink { leads_into: "/store/evidence".into() });
    let watched = Watched::with_settings(&[("a", "")], &MatcherSettings { own_link, ..MatcherSettings::default() });
    symlink("/store/evidence/shop-00000001", watched.at("evidence")).expect("a new name");
    assert_eq!(watched.everything_so_far(), []);
    fs::remove_file(watched.at("evidence")).expect("our link");
    watched.wait_for(&WatchHint::Removed(path("evidence")));
    symlink("/elsewhere", watched.at("evidence")).expect("a new name");
    watched.wait_for_saves(&["evidence"]);
    fs::create_dir(watched.at("web")).expect("a new name");
    symlink("/store/evidence/web-00000002", watched.at("web/evidence")).expect("a new name");
    assert!(!watched.everything_so_far().contains(&saved("web/evidence")), "the link of a project in a subdirectory");
    fs::remove_file(watched.at("evidence")).expect("our link");
    fs::create_dir(watched.at("evidence")).expect("a new name");
    fs::write(watched.at("evidence/test_a.py"), "").expect("a writable file");
    watched.wait_for_saves(&["evidence/test_a.py"]);
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
fn what_git_begins_and_ceases_to_track_is_heard_of_and_watched() {
    let watched = Watched::new(&[(".gitignore", "out/\n"), ("out/deep/x", ""), ("out/y", ""), ("a", "")]);
    git(&watched.root, &["init", "-q"]);
    git(&watched.root, &["add", "a"]);
    assert_eq!(watched.everything_so_far(), [], "what belongs to the tree anyway");
    assert_eq!(watched.watcher.watches(), 1);
    git(&watched.root, &["add", "-f", "out/deep/x"]);
    watched.wait_for_saves(&["out/deep/x"]);
    assert_eq!(watched.watcher.watches(), 3);
    fs::write(watched.at("out/y"), "changed").expect("a writable file");
    fs::write(watched.at("out/deep/x"), "changed").expect("a writable file");
    let seen = watched.wait_for_saves(&["out/deep/x"]);
    assert!(!seen.contains(&saved("out/y")), "{seen:?}");
    git(&watched.root, &["rm", "-fq", "--cached", "out/deep/x"]);
    watched.wait_for_saves(&["out/deep/x"]);
    assert_eq!(watched.watcher.watches(), 1);
    fs::write(watched.at("out/deep/x"), "changed again").expect("a writable file");
    assert_eq!(watched.everything_so_far(), []);
}
