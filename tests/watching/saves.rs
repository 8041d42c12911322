//! Tests the hints for one save: by a program, by editors, through links, and for changes of mode.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};

use proctor_model::{WatchHint, WatchProblem};

use super::{PATIENCE, Watched, about, path, removed, saved};

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

/// One change that an editor makes to a file while it saves.
#[derive(Debug, Clone, Copy)]
enum Step {
    Write(&'static str),
    Rename(&'static str, &'static str),
    Copy(&'static str, &'static str),
    Link(&'static str),
    Remove(&'static str),
    Mode(&'static str),
}

/// What editors do for one save of `a.py`, according to their documentation and sources. An editor's temporary file is
/// gone at the end. It gets hints too, unless its name is one that proctor always ignores.
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
fn opening_ten_thousand_files_is_not_heard_of_and_loses_nothing() {
    let names: Vec<String> = (0..1_000).map(|number| format!("d{}/f{number}", number % 50)).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let watched = Watched::new(&files);
    // A pytest run over 1,000 files opens each file about once. Opening files must give no hint.
    for _ in 0..10 {
        names.iter().for_each(|name| drop(fs::read(watched.at(name)).expect("our file")));
    }
    assert_eq!(watched.everything_so_far(), []);
}
