//! Tests the output of `proctor generate tree`: the digest of the tree, and with options its entries.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::{SCRIPT, build_hostile, digest_in_python};
use crate::common::Project;

#[test]
fn the_command_prints_the_digest_that_the_script_computes() {
    let project = Project::new();
    build_hostile(&project.path());
    let output = project.proctor(["generate", "tree"]).success();
    assert_eq!(output.stdout, format!("{}\n", digest_in_python(&project.path(), &[])), "by the script `{SCRIPT}` of the pages");
    assert!(output.stderr.contains("`pipe` is a socket, a pipe or a device"), "{}", output.stderr);
}

#[test]
fn the_list_has_every_entry_and_one_line_for_each() {
    let project = Project::new();
    for (path, text) in
        [("src/a.py", "x"), ("odd\n\\name", "x"), ("out/a", "x"), ("proctor.toml", "[watch]\nignore = [\"/out/\"]\n")]
    {
        let path = project.path().join(OsStr::from_bytes(path.as_bytes()));
        fs::create_dir_all(path.parent().expect("a path below the root")).expect("a writable directory");
        fs::write(path, text).expect("a writable directory");
    }
    let output = project.proctor(["generate", "tree", "--list"]).success();
    let lines: Vec<(char, &str)> =
        output.stdout.lines().filter_map(|line| Some((line.chars().next()?, line.get(67..)?))).collect();
    assert_eq!(lines, [('f', "odd\\n\\\\name"), ('f', "proctor.toml"), ('d', "src"), ('f', "src/a.py")]);
    let digest = output.stdout.lines().last().expect("the digest is the last line");
    let output = project.proctor(["generate", "tree", "--list", "--json"]).success();
    let document: Value = serde_json::from_str(&output.stdout).expect("one document");
    assert_eq!(document["digest"], digest);
    assert_eq!((&document["format"], &document["files"]), (&Value::from("proctor-tree-v2"), &Value::from(3)));
    assert_eq!(document["entries"][3]["path"], "src/a.py");
    assert!(project.store().project_ids().is_empty(), "looking at a tree records nothing");
}

#[test]
fn a_wrong_pattern_is_named() {
    let project = Project::new();
    fs::write(project.path().join("proctor.toml"), "[watch]\nignore = [\"!a\"]\n").expect("a writable directory");
    let output = project.proctor(["generate", "tree", "--json"]).status(4);
    let document: Value = serde_json::from_str(&output.stdout).expect("one document");
    assert!(document["error"]["message"].is_string(), "{document}");
}

#[test]
fn what_is_known_of_a_tree_is_saved_in_private_and_may_be_damaged_or_gone() {
    let project = Project::new().toml("[[check]]\nname = \"nothing\"\ncommand = [\"true\"]\n");
    let saved = || {
        let [id] = &project.store().project_ids()[..] else { panic!("one project was registered") };
        project.root().join("state/proctor/trees").join(id)
    };
    let tree = || project.proctor(["run", "--json"]).success().json()["tree"]["before"].clone();
    let first = tree();
    let bytes = fs::read(saved()).expect("the index was saved");
    assert_eq!(fs::metadata(saved()).expect("the index was saved").permissions().mode() & 0o777, 0o600);
    for damaged in [&bytes[..bytes.len() / 2], b"", &[&b"x"[..], &bytes].concat()] {
        fs::write(saved(), damaged).expect("our own file");
        assert_eq!(tree(), first);
        assert_eq!(fs::read(saved()).expect("it was saved anew").len(), bytes.len());
    }
    fs::remove_file(saved()).expect("our own file");
    assert_eq!(tree(), first);
    project.save("new.py", "x");
    assert_ne!(tree(), first);
}
