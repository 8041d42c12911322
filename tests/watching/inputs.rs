//! Tests the hints for saves in the inputs of a project: files and directories beside it.

use std::fs;
use std::sync::mpsc::channel;

use proctor_model::{TreePath, WatchHint};
use proctor_tree::InputPlace;
use proctor_tree::ignore::{Matcher, MatcherSettings};
use proctor_tree::watch::Watcher;
use tempfile::TempDir;

use super::{PACE, Watched};

/// Watches `project`, whose inputs are `shared`, `base.json` and `none/later`, which is not there.
fn watched() -> Watched {
    let home = TempDir::new().expect("a temporary directory");
    let base = home.path().canonicalize().expect("it is there");
    for (name, text) in [("project/a.py", "1"), ("shared/deep/conv.py", "1"), ("base.json", "{}"), ("other/x.py", "1")] {
        fs::create_dir_all(base.join(name).parent().expect("a parent")).expect("a writable directory");
        fs::write(base.join(name), text).expect("a writable file");
    }
    let inputs =
        ["shared", "base.json", "none/later"].map(|name| InputPlace { name: format!("../{name}"), path: base.join(name) });
    let settings = MatcherSettings { inputs: inputs.to_vec(), ..MatcherSettings::default() };
    let matcher = Matcher::new(&settings).expect("good patterns");
    let (sender, hints) = channel();
    let (root, outside) = (base.join("project"), base.clone());
    let watcher = Watcher::start(&root, matcher, &PACE, move |hint| drop(sender.send(hint))).expect("a directory to watch");
    Watched { watcher, hints, root, _home: home, outside }
}

fn saved(watched: &Watched, name: &str) -> WatchHint {
    WatchHint::Saved(TreePath::beside(&watched.root, &watched.outside.join(name)))
}

#[test]
fn a_save_in_an_input_is_a_save_and_one_beside_it_is_not() {
    let watched = watched();
    let write = |name: &str| fs::write(watched.outside.join(name), "2").expect("a writable file");
    write("other/x.py");
    fs::create_dir(watched.outside.join("shared/deep/__pycache__")).expect("a writable directory");
    write("shared/deep/conv.py");
    let before = watched.wait_for(&saved(&watched, "shared/deep/conv.py"));
    assert!(
        before.iter().all(|hint| matches!(hint, WatchHint::Writing(path) if path.to_string() == "../shared/deep/conv.py")),
        "{before:?}"
    );
    // An editor saves by a rename, after which the old inode tells nothing.
    for text in ["3", "4"] {
        fs::write(watched.outside.join("base.json.new"), text).expect("a writable file");
        fs::rename(watched.outside.join("base.json.new"), watched.outside.join("base.json")).expect("our file");
        watched.wait_for(&saved(&watched, "base.json"));
    }
    fs::remove_file(watched.outside.join("shared/deep/conv.py")).expect("our file");
    watched.wait_for_hint(|hint| matches!(hint, WatchHint::Removed(path) if path.to_string() == "../shared/deep/conv.py"));
}

#[test]
fn a_save_of_rules_above_an_input_is_a_save() {
    let watched = watched();
    fs::write(watched.outside.join(".gitignore"), "dist/\n").expect("a writable file");
    watched.wait_for(&saved(&watched, ".gitignore"));
}

#[test]
fn a_new_directory_in_an_input_and_an_input_that_comes_later_are_watched() {
    let watched = watched();
    let make = |name: &str| fs::create_dir_all(watched.outside.join(name)).expect("a writable directory");
    make("shared/new");
    watched.wait_for(&saved(&watched, "shared/new"));
    fs::write(watched.outside.join("shared/new/b.py"), "1").expect("a writable file");
    watched.wait_for(&saved(&watched, "shared/new/b.py"));
    make("none");
    watched.wait_for(&saved(&watched, "none"));
    make("none/later");
    watched.wait_for(&saved(&watched, "none/later"));
    fs::write(watched.outside.join("none/later/c.py"), "1").expect("a writable file");
    watched.wait_for(&saved(&watched, "none/later/c.py"));
}
