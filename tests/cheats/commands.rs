//! Tries cheats that replace the command, the tool, or the environment in which they run.

use std::os::unix::fs::symlink;

use crate::cheats::{FAILING, code, command, configuration_changed, notes, pytest, reason};
use crate::common::{Project, fake_tool, node_modules};

#[test]
fn t07_says_that_the_tool_is_broken_and_goes_on() {
    let project = command("[\"pytest-of-the-other-machine\", \"-q\"]", "tool = \"pytest\"").file("test_a.py", FAILING);
    let report = project.proctor(["run"]).failure().report();
    assert_eq!(code(&report), "TOOL_NOT_FOUND", "{}", reason(&report));
    let answer = project.proctor(["request", "status", "COMPLETE", "--json"]).any_status();
    assert_eq!((answer.status == 0, &answer.json()["computedStatus"]), (false, &"INCOMPLETE".into()));
}

#[test]
fn t08_runs_a_command_that_only_sounds_like_the_tests() {
    let project = pytest("", "").file("test_a.py", FAILING);
    project.proctor(["run"]).failure();
    let before = project.store().report("default");
    project
        .save("proctor.toml", "[[check]]\nname = \"tests\"\ntool = \"pytest\"\ncommand = [\"echo\", \"12 passed in 0.10s\"]\n");
    // A changed command proves nothing before a person has approved it, and is no success, because it writes no report of tests.
    let report = project.proctor(["run"]).failure().report();
    assert_eq!(code(&report), "REPORT_MISSING");
    assert_eq!(report["rulesChanged"], serde_json::json!(["tests: command"]));
    assert_eq!(configuration_changed(&report), ["proctor.toml"]);
    assert_ne!(report["testSpecification"]["planDigest"], before["testSpecification"]["planDigest"]);
}

#[test]
fn t13_weakens_what_is_asked_for() {
    let project = command("[\"fake-tool\", \"--exit\", \"3\"]", "").with_program(fake_tool());
    project.proctor(["run"]).failure();
    project.save(
        "proctor.toml",
        "[[check]]\nname = \"check\"\ncommand = [\"fake-tool\", \"--exit\", \"3\"]\nexpected_exit_codes = [3]\n",
    );
    let report = project.proctor(["run"]).success().report();
    assert_eq!(report["rulesChanged"], serde_json::json!(["check: expected_exit_codes"]));
    project.proctor(["request", "status", "COMPLETE"]).status(3);
    assert_eq!(configuration_changed(&report), ["proctor.toml"], "it is named in the report");
}

#[test]
fn t18_masks_the_exit_code() {
    for masked in ["pytest -q || true", "pytest -q; exit 0", "pytest -q | tail -n 1", "pytest -q || exit 0", "pytest -q; true"] {
        let project = Project::new().file("test_a.py", FAILING);
        project.save("proctor.toml", &format!("[[check]]\nname = \"tests\"\nshell = true\ncommand = \"{masked}\"\n"));
        let refused = project.proctor(["run"]).status(4);
        assert!(refused.stderr.contains("proctor.toml"), "{masked}: {}", refused.snapshot());
        project.save("proctor.toml", &format!("[[check]]\nname = \"tests\"\ncommand = \"{masked}\"\n"));
        project.proctor(["run"]).status(4);
    }
}

#[test]
fn t19_puts_a_fake_tool_where_the_real_one_was() {
    let fake = "#!/bin/sh\nexit 0\n";
    let project = Project::new().toml("[[check]]\nname = \"types\"\ncommand = [\"node_modules/.bin/tsc\", \"--noEmit\"]\n");
    project.save("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}, \"files\": [\"a.ts\"]}\n");
    let project = project.file("a.ts", "export const answer: number = 'no';\n");
    symlink(node_modules(), project.path().join("node_modules")).expect("the project is ours");
    let real = project.proctor(["run"]).failure().report();
    assert_eq!(code(&real), "FINDINGS");
    std::fs::remove_file(project.path().join("node_modules")).expect("it is ours");
    let project = project.executable("node_modules/.bin/tsc", fake);
    let report = project.proctor(["run"]).success().report();
    let notes = notes(&report);
    assert!(notes.contains("environment: not what it was in exec-") && notes.contains("node_modules/.bin/tsc"), "{notes}");
    assert_ne!(report["environment"]["digest"], real["environment"]["digest"]);
}

#[test]
fn t24_sets_variables_that_change_what_tools_do() {
    let project = pytest("", "").file("test_a.py", FAILING).file("shim/sitecustomize.py", "import os\n\nos._exit(0)\n");
    let shim = project.path().join("shim");
    let project = project
        .env("PYTEST_ADDOPTS", "--collect-only")
        .env("PYTHONPATH", shim)
        .env("PYTEST_PLUGINS", "nothing")
        .env("LD_PRELOAD", "/nowhere.so")
        .env("NODE_OPTIONS", "--require /nowhere.js")
        .env("BASH_ENV", "/nowhere.sh");
    let report = project.proctor(["run"]).failure().report();
    assert_eq!(code(&report), "TESTS_FAILED");
    let names = report["environment"]["names"].to_string();
    for name in ["PYTEST_ADDOPTS", "PYTHONPATH", "LD_PRELOAD", "NODE_OPTIONS", "BASH_ENV"] {
        assert!(!names.contains(name), "{names}");
    }
}

#[test]
fn t24_a_variable_that_the_settings_pass_on_is_named_in_the_report() {
    let project = pytest("", "[environment]\npass_environment = [\"PYTEST_ADDOPTS\"]\n").file("test_a.py", FAILING);
    let report = project.env("PYTEST_ADDOPTS", "--collect-only").proctor(["run"]).failure().report();
    assert_eq!(code(&report), "NO_TESTS_EXECUTED");
    assert!(report["environment"]["names"].to_string().contains("PYTEST_ADDOPTS"));
}
