//! Tests reports of any command, which a check's `report` names, on a snapshot and in the project itself. Node writes the reports where
//! it is installed.

use std::fs;

use serde_json::json;

use crate::common::{IN_PLACE, Output, Project};

const JUNIT: &str = "<testsuite name=\"s\" tests=\"1\"><testcase classname=\"shop\" name=\"sells\" time=\"0.1\"/></testsuite>";

/// Returns a project whose only check runs `check.sh` and names a report.
fn project(report: &str, more: &str) -> Project {
    Project::new()
        .file(".gitignore", "out/\nevidence\n")
        .toml(&format!("[[check]]\nname = \"e2e\"\ncommand = [\"sh\", \"check.sh\"]\nreport = {report}\n{more}"))
}

fn code(output: &Output) -> String {
    let code = &output.report()["stepExecution"]["results"][0]["classification"]["code"];
    code.as_str().expect("a code").to_owned()
}

fn write(path: &str, text: &str) -> String {
    format!("mkdir -p \"$(dirname \"{path}\")\" && printf '%s' '{text}' > \"{path}\"\n")
}

#[test]
fn a_command_of_no_known_tool_is_judged_by_the_report_that_it_writes() {
    let project = project("{ file = \"$PROCTOR_OUT/junit.xml\" }", "");
    project.save("check.sh", &write("$PROCTOR_OUT/junit.xml", JUNIT));
    let green = project.proctor(["run"]).success();
    assert_eq!(code(&green), "TESTS_PASSED");
    assert!(green.stdout.contains("1 passed"), "{}", green.stdout);
    assert_eq!(fs::read_to_string(green.run_directory().join("STEP.1-test-report.txt")).expect("evidence"), JUNIT);
    // Whatever its exit code, a command without a report has proved nothing, and neither has one whose report is torn.
    project.save("check.sh", "exit 0\n");
    let nothing = project.proctor(["run"]).failure();
    assert_eq!(code(&nothing), "REPORT_MISSING");
    assert!(nothing.stdout.contains("wrote no new report `$PROCTOR_OUT/junit.xml`"), "{}", nothing.stdout);
    project.save("check.sh", &write("$PROCTOR_OUT/junit.xml", &JUNIT[..60]));
    assert_eq!(code(&project.proctor(["run"]).failure()), "REPORT_UNREADABLE");
    let red =
        JUNIT.replace("time=\"0.1\"/>", "file=\"shop.js\"><failure message=\"404 is not 200\">at shop.js:3</failure></testcase>");
    project.save("check.sh", &(write("$PROCTOR_OUT/junit.xml", &red) + "exit 1\n"));
    let failed = project.proctor(["run"]).failure();
    let tests = failed.report()["stepExecution"]["results"][0]["result"]["testResults"].clone();
    assert_eq!((&tests["failed"], &tests["failures"][0]["testName"]), (&json!(1), &json!("shop > sells")));
    assert!(failed.stdout.contains("404 is not 200"), "{}", failed.stdout);
    project.save("check.sh", &write("$PROCTOR_OUT/junit.xml", &red));
    assert_eq!(code(&project.proctor(["run"]).failure()), "INCONSISTENT", "exit code 0 beside a failure");
}

#[test]
fn an_old_report_is_never_counted() {
    for place in ["", IN_PLACE] {
        let project = project("{ file = \"out/junit.xml\", format = \"junit\" }", place);
        project.save("out/junit.xml", JUNIT);
        // Nothing is written, or only the time of what was there.
        for text in
            ["exit 0\n", "mkdir -p out && touch out/other && chmod -R u+rw out; [ ! -e out/junit.xml ] || touch out/junit.xml\n"]
        {
            project.save("check.sh", text);
            assert_eq!(code(&project.proctor(["run"]).failure()), "REPORT_MISSING", "{place}{text}");
            assert_eq!(fs::read_to_string(project.path().join("out/junit.xml")).expect("it was put back"), JUNIT);
        }
        project.save("check.sh", &write("out/junit.xml", JUNIT));
        assert_eq!(code(&project.proctor(["run"]).success()), "TESTS_PASSED", "{place}");
    }
    // A report that is a file of the tree is refused, because each run would begin with it.
    let tracked = project("{ file = \"kept/junit.xml\" }", "");
    tracked.save("kept/junit.xml", JUNIT);
    tracked.save("check.sh", &write("kept/junit.xml", JUNIT));
    let refused = tracked.proctor(["run"]).status(4);
    assert!(refused.stderr.contains("the `report` of `e2e` is part of the tree: `kept/junit.xml`"), "{}", refused.stderr);
}

#[test]
fn the_files_of_a_glob_are_one_report_and_findings_have_a_policy() {
    // The old report that is set aside is no new one.
    let old = project("{ file = \"out/TEST-*\" }", IN_PLACE);
    old.save("out/TEST-a.xml", JUNIT);
    old.save("check.sh", "exit 0\n");
    assert_eq!(code(&old.proctor(["run"]).failure()), "REPORT_MISSING");
    for place in ["", IN_PLACE] {
        let several = project("{ file = \"out/TEST-*.xml\" }", place);
        several.save("out/TEST-old.xml", "<testsuite tests=\"1\"><testcase name=\"old\"><failure/></testcase></testsuite>");
        several.save("check.sh", &(write("out/TEST-a.xml", JUNIT) + &write("out/TEST-b.xml", JUNIT) + &write("out/b.xml", "x")));
        let green = several.proctor(["run"]).success();
        assert_eq!(green.report()["stepExecution"]["results"][0]["result"]["testResults"]["passed"], json!(2), "{place}");
    }
    let sarif = project("{ file = \"$PROCTOR_OUT/a.sarif\", format = \"sarif\" }", "policy.treat_warnings_as_errors = true\n");
    let with = |results: &str| {
        let report = format!("{{\"runs\":[{{\"artifacts\":[{{\"location\":{{\"uri\":\"a.py\"}}}}],\"results\":[{results}]}}]}}");
        write("$PROCTOR_OUT/a.sarif", &report)
    };
    sarif.save("check.sh", &with(""));
    assert_eq!(code(&sarif.proctor(["run"]).success()), "CLEAN");
    sarif.save("check.sh", &with("{\"level\":\"warning\",\"message\":{\"text\":\"odd\"}}"));
    assert_eq!(code(&sarif.proctor(["run"]).failure()), "FINDINGS");
}

#[test]
fn a_report_beside_a_tool_that_is_read_already_is_refused_with_a_way_out() {
    let wrong = Project::new()
        .toml("[[check]]\nname = \"t\"\ncommand = [\"pytest\"]\nreport = { file = \"out/a.xml\", format = \"xml\" }\n");
    let told = wrong.proctor(["run"]).status(4).stderr;
    assert!(told.contains("check[1].report.format") && told.contains("\"junit\""), "{told}");
    let wrong = Project::new().toml("[[check]]\nname = \"t\"\ncommand = [\"pytest\"]\nreport = { file = \"out/a.xml\" }\n");
    let told = wrong.proctor(["run"]).status(4).stderr;
    assert!(told.contains("the results of pytest are read without it") && told.contains("tool = \"generic\""), "{told}");
    // A runner that is asked for such a report may have one of its own.
    let own = project("{ file = \"$PROCTOR_OUT/a.xml\" }", "tool = \"mocha\"\n");
    own.save("check.sh", &write("$PROCTOR_OUT/a.xml", JUNIT));
    assert_eq!(code(&own.proctor(["run"]).success()), "TESTS_PASSED");
    for file in ["../a.xml", "*.xml", "$PROCTOR_OUT/", "$PROCTOR_OUT/../a.xml"] {
        let wrong = project(&format!("{{ file = \"{file}\" }}"), "");
        assert!(wrong.proctor(["run"]).status(4).stderr.contains("check[1].report.file"), "{file}");
    }
}

#[test]
fn the_reports_of_nodes_own_runner_are_read() {
    let version = std::process::Command::new("node").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        return;
    }
    for (reporter, name) in [("junit", "a.xml"), ("tap", "a.tap")] {
        let project = project(&format!("{{ file = \"$PROCTOR_OUT/{name}\" }}"), "");
        project.save(
            "check.sh",
            &format!("node --test --test-reporter={reporter} --test-reporter-destination=\"$PROCTOR_OUT/{name}\"\n"),
        );
        let test = "const { test, describe } = require('node:test');\nconst assert = require('node:assert');\n\
             describe('shop', () => { test('sells', () => { assert.strictEqual(WORTH, 3); }); });\n";
        project.save("a.test.js", &test.replace("WORTH", "3"));
        let green = project.proctor(["run"]).success();
        assert_eq!(code(&green), "TESTS_PASSED", "{reporter}");
        project.save("a.test.js", &test.replace("WORTH", "4"));
        let red = project.proctor(["run"]).failure();
        assert_eq!(code(&red), "TESTS_FAILED", "{reporter}");
        assert!(red.stdout.contains("4 !== 3") || red.stdout.contains("strictly"), "{}", red.stdout);
    }
}
