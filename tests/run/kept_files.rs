//! Tests the files that checks write on a snapshot and that `writes` names: they are copied to the project after the
//! run.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Output, Project, poll};
use crate::specification_runs::{FILE, specification, task};

const LATE: Duration = Duration::from_secs(60);

/// A project with one check, a shell script on a snapshot, whose `writes` are these.
fn project(writes: &str, script: &str) -> Project {
    Project::new().toml(&toml(writes, script))
}

fn toml(writes: &str, script: &str) -> String {
    let script = serde_json::to_string(script).expect("a string can be written");
    format!(
        "[sandbox]\nsnapshot = \"require\"\nwritable = [\"../shared\"]\n\
         [[check]]\nname = \"tests\"\ncommand = [\"fake-tool\", \"--script\", {script}]\nwrites = {writes}\n"
    )
}

fn snapshot(output: &Output) -> Value {
    output.report()["tree"]["snapshot"].clone()
}

/// Returns the entry of a written path in the report.
fn written(output: &Output, path: &str) -> Value {
    let snapshot = snapshot(output);
    let entries = snapshot["written"].as_array().expect("a list");
    entries.iter().find(|one| one["path"] == path).unwrap_or_else(|| panic!("{path}: {snapshot}")).clone()
}

fn text(project: &Project, name: &str) -> Option<String> {
    fs::read_to_string(project.path().join(name)).ok()
}

/// Returns the names of all entries in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_a_check_writes_where_writes_says_is_in_the_project_after_the_run_also_when_it_failed() {
    let script = "set -e; mkdir -p htmlcov/deep; echo 1 > htmlcov/deep/index.html; echo 2 > coverage.xml; chmod 4755 coverage.xml; \
                  echo x > other.txt; mkdir d; echo x > d/e; echo x > d/f; rm gone.txt; exit 1";
    let project = project("[\"htmlcov\", \"coverage.xml\", \"gone.txt\"]", script).file("gone.txt", "stays");
    let output = project.proctor(["run"]).status(1);
    assert_eq!(text(&project, "htmlcov/deep/index.html").as_deref(), Some("1\n"));
    assert_eq!(text(&project, "coverage.xml").as_deref(), Some("2\n"));
    assert_eq!(fs::metadata(project.path().join("coverage.xml")).expect("a file").permissions().mode() & 0o7777, 0o755);
    assert_eq!((text(&project, "gone.txt").as_deref(), text(&project, "other.txt")), (Some("stays"), None));
    assert!(!names(&project.path()).iter().any(|name| name.ends_with('~')), "{:?}", names(&project.path()));
    let snapshot = snapshot(&output);
    assert_eq!(snapshot["keptCount"], 2, "{snapshot}");
    assert_eq!(snapshot["writesToKeep"], serde_json::json!(["d/**", "other.txt"]));
    assert_eq!(written(&output, "coverage.xml")["kept"], true);
    assert_eq!(written(&output, "other.txt")["kept"], Value::Null);
    assert_eq!(written(&output, "gone.txt")["notKept"], "the check removed it, and no file of the project is removed");
    let line = "kept in the project: coverage.xml (2B), htmlcov/deep/index.html (2B); the checks wrote";
    assert!(output.stdout.contains(line), "{}", output.stdout);
    assert!(output.stdout.contains("; to keep: writes = [\"d/**\", \"other.txt\"]"), "{}", output.stdout);
}

#[test]
fn a_file_that_is_saved_during_the_run_is_not_replaced() {
    let script = "set -e; cd ../shared; touch begun; while [ -e hold ]; do sleep 0.01; done; cd -; \
                  mkdir -p coverage; for f in tracked.txt removed.txt new.txt ignored.txt coverage/a; do echo checked > $f; done";
    let project = project("[\"*.txt\", \"coverage\"]", script)
        .file(".gitignore", "/ignored.txt\n/coverage/\n")
        .file("tracked.txt", "before")
        .file("removed.txt", "before")
        .file("ignored.txt", "before");
    fs::write(project.shared("hold"), "").expect("the directory is ours");
    let run = project.proctor(["run"]).watch();
    let begun = project.shared("begun");
    poll(LATE, "the check", || if begun.exists() { Ok(()) } else { Err("it has not begun") });
    for name in ["tracked.txt", "new.txt", "ignored.txt", "coverage/a"] {
        project.save(name, "saved");
    }
    fs::remove_file(project.path().join("removed.txt")).expect("a file");
    fs::remove_file(project.shared("hold")).expect("it was held");
    let output = run.ended();
    assert_eq!(output.status, 0, "{}", output.snapshot());
    for name in ["tracked.txt", "new.txt", "ignored.txt", "coverage/a"] {
        assert_eq!(text(&project, name).as_deref(), Some("saved"), "{name}");
        assert_eq!(written(&output, name)["notKept"], "the project's file changed during the run", "{name}");
    }
    assert_eq!(text(&project, "removed.txt"), None);
    let note = "note: tests: not copied to the project: `coverage/a`: the project's file changed during the run; ";
    assert!(output.stdout.contains(note) && output.stdout.contains("; and 2 more"), "{}", output.stdout);
}

#[test]
fn no_link_is_followed_and_nothing_but_regular_files_is_copied() {
    let script = "set -e; rm -f link.txt pipe; echo x > link.txt; rm -rf out; mkdir out; echo x > out/a; ln -s /etc/passwd made; \
                  mkfifo pipe; mkdir -p new; ln -s ../../shared new/to; echo x > dir";
    let project = project("[\"link.txt\", \"out\", \"made\", \"pipe\", \"new\", \"dir\"]", script).file("a.txt", "");
    let outside = project.shared("outside");
    fs::create_dir(&outside).expect("the directory is ours");
    fs::write(outside.join("link.txt"), "theirs").expect("the directory is ours");
    symlink(outside.join("link.txt"), project.path().join("link.txt")).expect("a link");
    symlink(&outside, project.path().join("out")).expect("a link");
    let output = project.proctor(["run"]).success();
    assert_eq!(names(&outside), ["link.txt"]);
    assert_eq!(fs::read_to_string(outside.join("link.txt")).expect("a file"), "theirs");
    for name in ["link.txt", "out/a"] {
        assert_eq!(written(&output, name)["notKept"], "the project has a link, or no regular file, at this path", "{name}");
    }
    for name in ["made", "pipe", "new/to"] {
        assert_eq!(written(&output, name)["notKept"], "it is no regular file", "{name}");
        assert!(project.path().join(name).symlink_metadata().is_err(), "{name}");
    }
    assert_eq!(text(&project, "dir").as_deref(), Some("x\n"));
}

#[test]
fn what_decides_about_runs_is_never_copied() {
    let files = [
        ".git/hooks/x",
        "sub/.git/config",
        "proctor.toml",
        ".gitignore",
        "sub/.ignore",
        "a-test-specification.json",
        "evidence/default/x",
        "node_modules/a/index.js",
        ".venv/bin/python",
    ];
    let script: String = files.map(|file| format!("mkdir -p $(dirname {file}); echo planted > {file}; ")).concat();
    let script =
        format!("set -e; {script} mkdir -p sub/__pycache__; echo planted > sub/__pycache__/a.pyc; echo x > sub/kept.txt");
    let project = project("[\"**\"]", &script).file("a.txt", "");
    let before = text(&project, "proctor.toml");
    let output = project.proctor(["run"]).success();
    assert_eq!(text(&project, "proctor.toml"), before);
    for file in files {
        assert_ne!(text(&project, file).as_deref(), Some("planted\n"), "{file}");
        assert!(written(&output, file)["notKept"].is_string(), "{file}");
    }
    assert_eq!(names(&project.path().join("sub")), ["kept.txt"]);
}

#[test]
fn a_file_with_the_same_content_is_not_written_again() {
    let project = project("[\"coverage.xml\", \"a.txt\"]", "echo same > coverage.xml; echo same > a.txt; chmod 600 a.txt")
        .file(".gitignore", "/coverage.xml\n")
        .file("a.txt", "same\n");
    project.proctor(["run"]).success();
    let stamp = |name: &str| {
        let metadata = fs::metadata(project.path().join(name)).expect("a file");
        (metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec())
    };
    let before = ["coverage.xml", "a.txt"].map(stamp);
    let output = project.proctor(["run"]).success();
    assert_eq!(["coverage.xml", "a.txt"].map(stamp), before);
    assert_eq!(snapshot(&output)["keptCount"], 2);
    assert_eq!(project.proctor(["status"]).success().status, 0, "the verdict is for the tree that is there");
}

#[test]
fn an_ignored_output_is_replaced_in_every_run_and_the_last_attempt_counts() {
    let script = "n=$(cat ../shared/n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > ../shared/n; echo $n > coverage.xml; \
                  [ $n = 1 ] && echo x > only-first.txt; [ $n -gt 1 ]";
    let mut toml = toml("[\"coverage.xml\", \"only-first.txt\"]", script);
    toml += "retries = 1\n";
    let project = Project::new().toml(&toml).file(".gitignore", "/coverage.xml\n");
    project.proctor(["run"]).success();
    assert_eq!((text(&project, "coverage.xml").as_deref(), text(&project, "only-first.txt")), (Some("2\n"), None));
    project.proctor(["run"]).success();
    assert_eq!(text(&project, "coverage.xml").as_deref(), Some("3\n"));
}

#[test]
fn what_a_check_that_was_stopped_wrote_is_not_copied() {
    let mut toml = toml("[\"half.xml\"]", "echo half > half.xml; sleep 60");
    toml += "timeout = \"500ms\"\ngrace = \"100ms\"\n";
    let project = Project::new().toml(&toml);
    let output = project.proctor(["run"]).any_status();
    assert_eq!(text(&project, "half.xml"), None);
    assert_eq!(written(&output, "half.xml")["notKept"], "the check did not end by itself");
}

#[test]
fn a_build_leaves_its_product_and_in_place_the_key_changes_nothing() {
    let build = "[[check]]\nname = \"build\"\ntool = \"compile\"\ncommand = [\"fake-tool\", \"--script\", \"mkdir -p target && cp a.txt target/app\"]\n\
                 writes = [\"target/app\"]\n";
    for snapshot in ["require", "off"] {
        let project = Project::new().toml(&format!("{build}[sandbox]\nsnapshot = \"{snapshot}\"\n"));
        let project = project.file("a.txt", "product").file(".gitignore", "/target/\n");
        project.proctor(["run"]).success();
        assert_eq!(text(&project, "target/app").as_deref(), Some("product"), "{snapshot}");
        project.save("a.txt", "newer");
        project.proctor(["run"]).success();
        assert_eq!(text(&project, "target/app").as_deref(), Some("newer"), "{snapshot}");
    }
}

#[test]
fn a_step_of_a_specification_keeps_what_its_writes_names_and_a_new_pattern_waits_for_approval() {
    let with_writes = |writes: Value| {
        let mut task = task("T117");
        let step = &mut task["testExecution"]["steps"][0];
        step["parameters"]["command"] = "sh write.sh".into();
        step["proctor"] = serde_json::json!({ "version": "1.0.0", "writes": writes });
        specification(&[task])
    };
    let project = Project::new()
        .toml("[sandbox]\nsnapshot = \"require\"\n")
        .file("totals.txt", "half-even 2.66\n")
        .file("write.sh", "cat totals.txt; mkdir -p coverage; echo 1 > coverage/a.xml; echo 2 > dropped.txt")
        .file(FILE, &with_writes(serde_json::json!(["./coverage/"])));
    let plan = project.proctor(["plan", "--task", "T117"]).success().stdout;
    assert!(plan.contains("keeps coverage in the project"), "{plan}");
    let output = project.proctor(["run", "--task", "T117"]).success();
    assert_eq!((text(&project, "coverage/a.xml").as_deref(), text(&project, "dropped.txt")), (Some("1\n"), None));
    let report = project.store().report("T117");
    assert_eq!(report["tree"]["snapshot"]["keptCount"], 1, "{}", output.snapshot());
    project.save(FILE, &with_writes(serde_json::json!(["coverage", "dropped.txt"])));
    let refused = project.proctor(["run", "--task", "T117"]).status(3);
    let said = "STEP.1: writes: [\"coverage\",\"dropped.txt\"] instead of ";
    assert!(refused.stderr.contains(said), "{}", refused.snapshot());
    assert_eq!(text(&project, "dropped.txt"), None);
}
