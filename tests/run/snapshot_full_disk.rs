//! Tests a disk that is full while a snapshot is made, used or taken down: the run says so and what to do, and no file is
//! lost or half written.
//!
//! The disks are small file systems that the script mounts in a mount namespace of its own.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Output, Project, proctor};

/// Runs a script in a mount namespace of its own. It starts in the directory around project and store, and has the functions `run
/// NAME` for a run whose report becomes `shared/NAME`, and `enlarge DIRECTORY`.
#[track_caller]
fn with_small_disk(project: &Project, script: &str) -> Output {
    let functions = "run() { (cd project && code=0; \"$0\" run --json >../shared/$1 2>../shared/$1.said || code=$?; echo $1 $code) }\n\
                     enlarge() { mount -o remount,size=64m,nr_inodes=100k \"$1\"; }\n";
    let script = format!("{functions}cd \"$ROOT\"\n{script}");
    let program = proctor().to_str().expect("the build directory is UTF-8");
    let words = ["-Urm", "sh", "-euc", &script, program];
    project.command(Path::new("unshare"), words).env("ROOT", project.root().display().to_string()).success()
}

fn said(project: &Project, name: &str) -> String {
    fs::read_to_string(project.shared(name)).unwrap_or_default()
}

fn report(project: &Project, name: &str) -> Value {
    serde_json::from_str(&said(project, name))
        .unwrap_or_else(|error| panic!("{error}: {}", said(project, &format!("{name}.said"))))
}

fn notes(report: &Value) -> String {
    report["notes"].to_string()
}

#[test]
fn a_first_copy_that_does_not_fit_runs_nothing_and_leaves_no_half_copy() {
    let toml = "[[check]]\nname = \"x\"\ncommand = [\"touch\", \"../shared/ran\"]\n\
                [sandbox]\nwritable = [\"../shared\"]\n";
    let project = Project::new().file("a.txt", "hi").file("big", &"x".repeat(6_000_000));
    let project = project.toml(&format!("{toml}snapshot = \"require\"\n"));
    let script = "mount -t tmpfs -o size=4m none state; run required; \
                  sed -i s/require/auto/ project/proctor.toml; run full; test ! -e shared/ran; find state/proctor/snapshots -type f >shared/left; \
                  enlarge state; run later";
    let output = with_small_disk(&project, script);
    assert_eq!(output.stdout, "required 5\nfull 5\nlater 0\n", "{}", said(&project, "full.said"));
    for name in ["required", "full"] {
        let said = said(&project, name);
        assert!(said.contains("No space left on device") && said.contains("free some space there"), "{said}");
    }
    assert_eq!(said(&project, "left"), "", "the half copy is removed");
    assert_eq!(report(&project, "later")["tree"]["snapshot"]["tested"], "snapshot");
}

#[test]
fn a_layer_that_cannot_be_made_ends_the_run_with_a_hint_and_the_next_one_is_whole() {
    let fill = "import itertools, os\nif os.path.exists(\"full\"):\n    try:\n        for number in itertools.count():\n            \
                open(f\"made{number}\", \"w\").close()\n    except OSError:\n        pass\n";
    let check = |name: &str, command: &str| format!("[[check]]\nname = \"{name}\"\ncommand = {command}\n");
    // The first check uses up all inodes, so that the second check's layer cannot be made.
    let toml = check("one", "[\"python3\", \"fill.py\"]") + &check("two", "[\"touch\", \"second\"]");
    let project = Project::new().file("full", "").file("fill.py", fill).toml(&toml);
    let script = "mount -t tmpfs -o size=64m,nr_inodes=600 none state; run full; enlarge state; rm project/full; run later; \
                  ls state/proctor/snapshots/*/layers >shared/left; cd project; \"$0\" verify >/dev/null";
    let output = with_small_disk(&project, script);
    assert_eq!(output.stdout, "full 5\nlater 0\n", "{}", said(&project, "full.said"));
    let full = said(&project, "full");
    assert!(full.contains("No space left on device") && full.contains("free some space there"), "{full}");
    assert_eq!(
        (report(&project, "later")["tree"]["snapshot"]["tested"].as_str(), said(&project, "left").as_str()),
        (Some("snapshot"), "")
    );
}

#[test]
fn a_copy_to_the_project_that_does_not_fit_is_noted_and_leaves_the_old_file() {
    let make = "set -e\nmkdir -p out\ncp big out/old\ncp big out/new\necho small >out/small\n";
    let toml = "[[check]]\nname = \"x\"\ncommand = [\"sh\", \"make.sh\"]\nwrites = [\"out/**\"]\n";
    let project = Project::new().toml(toml).file("make.sh", make).file(".gitignore", "out/\n").file("out/old", "old\n");
    let project = project.file("big", &"x".repeat(3_000_000));
    let script = "mv project whole; mkdir project; mount -t tmpfs -o size=5m none project; cp -a whole/. project; \
                  run full; ls -A project/out >shared/left; cat project/out/old >shared/old; \
                  enlarge project; run later; ls -A project/out >shared/later.left; wc -c <project/out/old >shared/later.old; \
                  umount project; rmdir project; mv whole project";
    let output = with_small_disk(&project, script);
    assert_eq!(output.stdout, "full 0\nlater 0\n", "{}", said(&project, "full.said"));
    let noted = notes(&report(&project, "full"));
    assert!(noted.contains("not copied to the project") && noted.contains("free some space there"), "{noted}");
    assert_eq!([said(&project, "left"), said(&project, "old")], ["old\nsmall\n", "old\n"]);
    assert_eq!([said(&project, "later.left"), said(&project, "later.old")], ["new\nold\nsmall\n", "3000000\n"]);
}

#[test]
fn kept_caches_that_cannot_be_merged_are_dropped_with_a_note_and_cost_no_verdict() {
    let fill = "import os\nos.makedirs(\".mypy_cache\", exist_ok=True)\nopen(\".mypy_cache/a\", \"w\").write(\"1\")\n\
                if os.path.exists(\"full\"):\n    try:\n        with open(\".mypy_cache/big\", \"wb\", buffering=0) as big:\n            \
                while big.write(bytes(4096)):\n                pass\n    except OSError:\n        pass\n";
    let toml = "[[check]]\nname = \"x\"\ncommand = [\"python3\", \"fill.py\"]\n";
    let project = Project::new().toml(toml).file("fill.py", fill).file("full", "");
    let script = "mount -t tmpfs -o size=8m none state; run full; ls state/proctor/snapshots/*/caches >shared/left; \
                  rm project/full; run later; cd project; \"$0\" verify >/dev/null";
    let output = with_small_disk(&project, script);
    // The space of the dropped cache is free only when the check's file system is unmounted, which may be too late for the evidence.
    if output.stdout == "full 5\nlater 0\n" {
        let full = said(&project, "full");
        assert!(full.contains("No space left on device") && full.contains("free some space there"), "{full}");
    } else {
        assert_eq!(output.stdout, "full 0\nlater 0\n", "{}", said(&project, "full.said"));
        let noted = notes(&report(&project, "full"));
        assert!(noted.contains("the tool's cache was dropped") && noted.contains("free some space there"), "{noted}");
    }
    assert!(!said(&project, "left").lines().any(|name| name.len() == 32), "{}", said(&project, "left"));
}
