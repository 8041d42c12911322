//! Tests directories of installed packages: checks see what somebody changes in them from outside, and what a check
//! writes into them stays with that check.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Project, WRITES_TO_SHARED, poll};
use crate::run::{result, run_directories};

const LATE: Duration = Duration::from_secs(60);

/// The directory of Python's packages in the project's environment.
const PACKAGES: &str = ".venv/lib/python3.11/site-packages";

/// A project with environments in the root and in a package below it, and one check. `snapshot` is the setting's value.
fn project(script: &str, snapshot: &str, settings: &str) -> Project {
    let script = serde_json::to_string(script).expect("a string can be written");
    let sandbox = WRITES_TO_SHARED.replace("[sandbox]", &format!("[sandbox]\nsnapshot = \"{snapshot}\""));
    let toml = format!("{sandbox}{settings}[[check]]\nname = \"check\"\ncommand = [\"fake-tool\", \"--script\", {script}]\n");
    Project::new()
        .toml(&toml)
        .file(".venv/pyvenv.cfg", "home = /usr/bin\n")
        .file(".venv/bin/python", "#!/bin/sh\n")
        .file(&format!("{PACKAGES}/good-1.dist-info/RECORD"), "good/__init__.py,sha256=x,1\n")
        .file("web/package.json", "{}")
        .file("web/node_modules/.package-lock.json", "{}")
        .file("web/node_modules/.bin/tool", "#!/bin/sh\n")
}

/// Runs `proctor run`, expects exit code 0, and returns the report.
#[track_caller]
fn run(project: &Project) -> Value {
    project.proctor(["run"]).success().report()
}

fn digest(report: &Value) -> &str {
    report["environment"]["digest"].as_str().expect("a digest")
}

/// Returns the statuses of all runs, oldest first, and what moved during each.
fn runs(project: &Project) -> Vec<(String, Vec<String>)> {
    let report = |path: &std::path::PathBuf| -> Value {
        let text = fs::read_to_string(path.join("execution-report.json")).expect("it is sealed");
        serde_json::from_str(&text).expect("it is JSON")
    };
    let facts = |report: Value| {
        let status = report["executionSummary"]["overallStatus"].as_str().expect("a status").to_owned();
        let moved = report["tree"]["moved"].as_array().into_iter().flatten();
        (status, moved.filter_map(|path| path.as_str().map(str::to_owned)).collect())
    };
    run_directories(project).iter().map(report).map(facts).collect()
}

#[test]
fn what_somebody_plants_between_two_runs_makes_another_environment() {
    for (path, text) in [
        (".venv/bin/python", "#!/bin/sh\nexit 0\n"),
        (".venv/lib/python3.11/site-packages/planted.pth", "import os\n"),
        (".venv/lib/python3.11/site-packages/sitecustomize.py", "import os\n"),
        ("web/node_modules/.bin/tool", "#!/bin/sh\nexit 0\n"),
        ("web/node_modules/.package-lock.json", "{\"packages\": {}}"),
    ] {
        let project = project("true", "require", "[run]\nreuse = \"always\"\n");
        let first = run(&project);
        let again = run(&project);
        assert_eq!(digest(&again), digest(&first), "{path}");
        assert!(!result(&again, "STEP.1")["reused"].is_null(), "{path}: the same environment");
        project.save(path, text);
        let planted = run(&project);
        assert_ne!(digest(&planted), digest(&first), "{path}");
        assert!(result(&planted, "STEP.1")["reused"].is_null(), "{path}: another environment");
        let component = |report: &Value, name: &str| {
            let components = report["environment"]["components"].as_array().expect("a list");
            components.iter().find(|one| one["name"] == name).map(|one| one["sha256"].clone())
        };
        for name in [".venv", "web/node_modules"] {
            assert!(component(&first, name).is_some(), "{name}");
            assert_eq!(component(&first, name) != component(&planted, name), path.starts_with(name), "{path}: {name}");
        }
    }
}

#[test]
fn what_a_check_plants_on_a_snapshot_is_no_part_of_any_environment() {
    let script = format!(
        "test ! -e {PACKAGES}/planted.pth && touch {PACKAGES}/planted.pth && echo x > .venv/bin/python && \
         echo x > web/node_modules/.package-lock.json && mkdir web/node_modules/planted"
    );
    let project = project(&script, "require", "");
    let first = run(&project);
    assert_eq!(digest(&run(&project)), digest(&first));
    assert_eq!(runs(&project), [("SUCCESS".to_owned(), vec![]), ("SUCCESS".to_owned(), vec![])]);
}

#[test]
fn an_environment_that_is_changed_while_a_check_runs_is_found() {
    let waits = "set -e; touch ../shared/begun; while [ -e ../shared/hold ]; do sleep 0.01; done; ls";
    for snapshot in ["require", "off"] {
        let project = project(waits, snapshot, "");
        fs::write(project.shared("hold"), "").expect("it is ours");
        let running = project.proctor(["run"]).watch();
        let begun = project.shared("begun");
        poll(LATE, "the check", || if begun.exists() { Ok(()) } else { Err("it has not begun") });
        project.save(&format!("{PACKAGES}/planted.pth"), "import os\n");
        project.save("web/node_modules/.bin/tool", "#!/bin/sh\nexit 0\n");
        // These saves write the same content again, or write files that do not decide how tools work. So they do not
        // count as moved.
        project.save(".venv/pyvenv.cfg", "home = /usr/bin\n");
        project.save(&format!("{PACKAGES}/good/__init__.py"), "");
        project.save("web/node_modules/.vite/results.json", "{}");
        fs::remove_file(project.shared("hold")).expect("it was held");
        let ended = running.ended();
        assert_eq!(ended.status, 0, "{}", ended.snapshot());
        assert!(ended.stderr.contains("changed while the checks ran: they are run once more"), "{}", ended.snapshot());
        let moved = vec![format!("{PACKAGES}/planted.pth"), "web/node_modules/.bin/tool".to_owned()];
        assert_eq!(runs(&project), [("MOVED".to_owned(), moved), ("SUCCESS".to_owned(), vec![])], "{snapshot}");
    }
}

#[test]
fn what_a_check_writes_into_its_environment_in_place_is_no_move_unless_it_decides() {
    let script = format!(
        "set -e; mkdir -p {PACKAGES}/good/__pycache__ web/node_modules/.vite; date +%N > {PACKAGES}/good/__pycache__/x.pyc; \
         date +%N > web/node_modules/.vite/results.json; \
         cp {PACKAGES}/good-1.dist-info/RECORD again; mv again {PACKAGES}/good-1.dist-info/RECORD"
    );
    let settings = "[watch]\nignore = [\"again\"]\n";
    let project = project(&script, "off", settings);
    let first = run(&project);
    assert_eq!(digest(&run(&project)), digest(&first));
    assert_eq!(runs(&project), [("SUCCESS".to_owned(), vec![]), ("SUCCESS".to_owned(), vec![])]);
}

/// Where there are layers, what a check in the project writes to installed packages is dropped.
#[test]
fn what_a_check_in_place_plants_is_dropped_where_there_are_layers() {
    let script = format!("test -e {PACKAGES}/planted.pth || echo x > {PACKAGES}/planted.pth\n");
    let project = project("sh plant.sh", "off", "").file("plant.sh", &script);
    for _ in 0..2 {
        let output = project.proctor(["run"]).success();
        assert!(output.stdout.contains("is dropped: a check does not change installed packages"), "{}", output.stdout);
    }
    assert_eq!(runs(&project), [("SUCCESS".to_owned(), vec![]), ("SUCCESS".to_owned(), vec![])]);
    assert!(!project.path().join(PACKAGES).join("planted.pth").exists());
}

/// Where there are none, nobody can tell the check's own change from somebody else's: no run rests on it, and none is repeated.
#[test]
fn what_a_check_in_place_plants_without_layers_counts_for_no_verdict_until_somebody_writes_it_again() {
    let planted = format!("{PACKAGES}/planted.pth");
    let script = format!("test -e {planted} || echo x > {planted}\n");
    let project = project("sh plant.sh", "off", "").file("plant.sh", &script).env("PROCTOR_TEST_ISOLATION", "landlock");
    let moved = ("MOVED".to_owned(), vec![planted.clone()]);
    for count in 1..3 {
        let output = project.proctor(["run"]).status(5);
        assert!(output.stdout.contains(&format!("`touch {planted}`")), "{}", output.stdout);
        assert_eq!(runs(&project), vec![moved.clone(); count]);
    }
    let status = project.proctor(["status"]).any_status();
    assert!(!status.stdout.contains("fresh PASS"), "{}", status.stdout);
    // A person's word.
    project.save(&planted, "x\n");
    run(&project);
    assert_eq!(runs(&project)[2], ("SUCCESS".to_owned(), vec![]));
}

/// A run that a newer save stops, and one whose process dies, get no verdict, and what their checks left is not adopted either.
#[test]
fn what_a_check_planted_in_a_run_that_was_stopped_or_died_counts_for_no_verdict() {
    let planted = format!("{PACKAGES}/planted.pth");
    let script = format!(
        "if [ -e ../shared/hold ]; then echo x > {planted}; touch ../shared/begun; \
         while [ -e ../shared/hold ]; do sleep 0.01; done; fi; test -e a.txt"
    );
    for how in ["stopped", "died"] {
        let project = project(&script, "off", "").file("a.txt", "one\n").env("PROCTOR_TEST_ISOLATION", "landlock");
        run(&project);
        fs::write(project.shared("hold"), "").expect("it is ours");
        let is_there = |name: &str| {
            let path = project.shared(name);
            poll(LATE, name, || if path.exists() { Ok(()) } else { Err("it is not there") });
        };
        if how == "stopped" {
            project.save("a.txt", "two\n");
            let mut watch = project.watch(["."]);
            is_there("begun");
            project.save("a.txt", "three\n");
            watch.wait_for_line("the notice", LATE, |line| line.ends_with("stopping the checks and starting again"));
            fs::remove_file(project.shared("hold")).expect("it was held");
            let verdict = watch.wait_for_verdict();
            assert_eq!(verdict["overallStatus"], "MOVED", "{verdict}");
            watch.interrupt();
        } else {
            let mut running = project.proctor(["run"]).watch();
            is_there("begun");
            running.signal(nix::sys::signal::Signal::SIGKILL);
            assert_eq!(running.ended().status, 137);
            fs::remove_file(project.shared("hold")).expect("it was held");
        }
        for _ in 0..2 {
            let output = project.proctor(["run"]).status(5);
            assert!(output.stdout.contains(&format!("`touch {planted}`")), "{how}: {}", output.stdout);
        }
        project.save(&planted, "x\n");
        run(&project);
    }
}

#[test]
fn what_a_prerequisite_installs_is_no_move() {
    let install = format!("date +%N > {PACKAGES}/good-1.dist-info/RECORD");
    let install = serde_json::to_string(&install).expect("a string can be written");
    let prerequisite = format!("[[prerequisite]]\nname = \"install\"\ncommand = [\"fake-tool\", \"--script\", {install}]\n");
    for snapshot in ["auto", "off"] {
        let project = project("true", snapshot, &prerequisite);
        run(&project);
        let record = fs::read_to_string(project.path().join(PACKAGES).join("good-1.dist-info/RECORD")).expect("it is there");
        assert!(!record.starts_with("good/"), "{snapshot}: the prerequisite ran");
        assert_eq!(runs(&project), [("SUCCESS".to_owned(), vec![])], "{snapshot}");
    }
}

/// Files inside of packages are too many to be read before each verdict. A verdict that is asked for with fresh caches reads them.
#[test]
fn a_file_that_is_edited_by_hand_deep_in_a_package_is_seen_with_fresh_caches_only() {
    let deep = ["web/node_modules/left-pad/lib/index.js", ".venv/lib/python3.11/site-packages/good/deep/inner.py"];
    let waits = "set -e; touch ../shared/begun; while [ -e ../shared/hold ]; do sleep 0.01; done; ls";
    let mut project = project(waits, "require", "");
    for path in deep {
        project = project.file(path, "as it was installed");
    }
    let fresh = |project: &Project| project.proctor(["run", "--fresh-caches"]).success().report();
    let (kept, full) = (run(&project), fresh(&project));
    assert_eq!(digest(&fresh(&project)), digest(&full));
    // The files keep their earlier times, so only the content shows the edit.
    for path in deep {
        let path = project.path().join(path);
        let before = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a time");
        fs::write(&path, "as it was insta11ed").expect("ours");
        fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(before)).expect("ours");
    }
    assert_eq!(digest(&run(&project)), digest(&kept));
    let edited = fresh(&project);
    assert_ne!(digest(&edited), digest(&full));
    for name in [".venv, every file", "web/node_modules, every file"] {
        let component = |report: &Value| {
            let components = report["environment"]["components"].as_array().expect("a list");
            components.iter().find(|one| one["name"] == name).map(|one| one["sha256"].clone()).expect("it is listed")
        };
        assert_ne!(component(&edited), component(&full), "{name}");
    }
    // An edit while the checks run makes a run with fresh caches MOVED. A file that tools write themselves does not.
    fs::write(project.shared("hold"), "").expect("it is ours");
    fs::remove_file(project.shared("begun")).expect("a run began");
    let running = project.proctor(["run", "--fresh-caches"]).watch();
    let begun = project.shared("begun");
    poll(LATE, "the check", || if begun.exists() { Ok(()) } else { Err("it has not begun") });
    project.save(deep[0], "edited");
    project.save("web/node_modules/.vite/results.json", "{}");
    project.save(&format!("{PACKAGES}/good/__pycache__/x.pyc"), "");
    fs::remove_file(project.shared("hold")).expect("it was held");
    let ended = running.ended();
    assert_eq!(ended.status, 0, "{}", ended.snapshot());
    let moved = runs(&project).into_iter().rev().nth(1).expect("a run that moved");
    assert_eq!(moved, ("MOVED".to_owned(), vec![deep[0].to_owned()]), "{}", ended.snapshot());
}
