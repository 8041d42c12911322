//! Tests the end of a run: the exit code, the screen, the one JSON document, and what a run of only some checks must not
//! claim.

use std::fs;

use serde_json::Value;

use crate::common::Project;
use crate::run::{check, cleanup, prerequisite, project, result};

#[test]
fn a_green_run_ends_with_zero_and_names_its_report() {
    let project = project(&(prerequisite("packages", &[]) + &check("unit tests", &[]) + &cleanup("tidy up", &[])));
    let output = project.proctor(["run"]).success();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 0
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✓ packages             done <time>
      ✓ unit tests           done <time>
      ✓ tidy up              done <time>
    PASSED · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    assert_eq!(output.report()["executionSummary"]["overallStatus"], "SUCCESS");
    assert_eq!(output.report()["completionCriteriaEvaluation"]["completionStatus"], "COMPLETE");
    let second = project.proctor(["run"]).success();
    insta::assert_snapshot!(second.snapshot(), @"
    exit status: 0
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      - packages             unchanged
      ✓ unit tests           done <time>
      ✓ tidy up              done <time>
    PASSED · evidence/default/execution-report.json
    ");
}

#[test]
fn a_red_run_ends_with_one_and_shows_what_blocks_and_what_policy_allows() {
    let types = "src/cart.ts(14,7): error TS2322: Type 'string' is not assignable to type 'number'.\nsrc/cart.ts(20,3): error TS2304: Cannot find name 'totl'.\n";
    let style = r#"[{"filePath":"/shop/src/cart.ts","messages":[{"ruleId":"no-undef","severity":2,"message":"'totl' is not defined.","line":20,"column":3}],"suppressedMessages":[],"errorCount":1,"fatalErrorCount":0,"warningCount":0,"fixableErrorCount":0,"fixableWarningCount":0,"usedDeprecatedRules":[]}]"#;
    let toml = check("generic", &["--stdout", "1..3\nok 1\nok 2\nnot ok 3 - rounds half up\n", "--exit", "1"])
        + "[[check]]\nname = \"types\"\ntool = \"tsc\"\ncommand = [\"bin/types\"]\n"
        + "[[check]]\nname = \"style\"\ntool = \"eslint\"\ncommand = [\"bin/style\"]\npolicy = { block_on = \"never\" }\n"
        + "[[check]]\nname = \"house\"\ntool = \"eslint\"\ncommand = [\"bin/style\"]\npolicy = { block_on = \"warn-only\" }\n";
    let project = project(&toml)
        .executable("bin/types", &format!("#!/bin/sh\ncat <<'END'\n{types}END\nexit 2\n"))
        .executable("bin/style", &format!("#!/bin/sh\ncat <<'END'\n{style}\nEND\nexit 1\n"));
    let output = project.proctor(["run"]).failure();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ generic              exit 1 <time>
           │ 1..3
           │ ok 1
           │ ok 2
           │ not ok 3 - rounds half up
           all of its output: `proctor show --log generic`
      ✗ types                2 errors <time>
           src/cart.ts:14:7  TS2322  Type 'string' is not assignable to type 'number'.
           src/cart.ts:20:3  TS2304  Cannot find name 'totl'.
      ! style                1 error <time> allowed by policy
      ! house                1 error <time> allowed by policy
      log of types: `proctor show --log types`
    FAILED · generic and types failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    let report = output.report();
    assert_eq!(report["validationCriteriaEvaluation"]["overallResult"], "FAILED");
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE");
    let blocking = |id| result(&report, id)["blocking"].clone();
    assert_eq!((blocking("STEP.1"), blocking("STEP.2"), blocking("STEP.3")), (true.into(), true.into(), false.into()));
}

#[test]
fn an_exit_code_the_check_expects_is_a_success_and_zero_then_is_not() {
    let checks = check("three", &["--exit", "3"]) + "expected_exit_codes = [3]\n";
    project(&checks).proctor(["run"]).success();
    let checks = check("zero", &["--exit", "0"]) + "expected_exit_codes = [3]\n";
    let project = project(&checks);
    let output = project.proctor(["run"]).failure();
    assert_eq!(result(&output.report(), "STEP.1")["classification"]["code"], "UNEXPECTED_EXIT");
}

#[test]
fn a_check_that_dies_of_a_signal_is_named_with_it() {
    let project = project(&check("dies", &["--stderr", "about to fall\n", "--kill-self", "6"]));
    let output = project.proctor(["run"]).failure();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ dies                 SIGABRT <time>
           SIGABRT (a crash in native code) ended the command, and proctor did not send it; see the end of its log
           │ about to fall
           all of its output: `proctor show --log dies`
    FAILED · dies failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    let report = output.report();
    let dies = result(&report, "STEP.1");
    assert_eq!((&dies["result"]["signal"], &dies["result"]["killed"]), (&"SIGABRT".into(), &false.into()));
    assert!(dies["result"]["exitCode"].is_null());
}

#[test]
fn with_json_the_committed_report_is_all_of_the_output() {
    for (arguments, status) in [(vec!["--stdout", "noise"], 0), (vec!["--stderr", "noise", "--exit", "1"], 1)] {
        let project = project(&(check("talks", &arguments) + &cleanup("tidy up", &["--stdout", "more noise"])));
        let output = project.proctor(["run", "--json"]).status(status);
        let committed = fs::read_to_string(output.run_directory().join("execution-report.json")).unwrap();
        assert_eq!(output.stdout, committed);
        assert!(output.stderr.starts_with("registered `"), "a first run says where it keeps its evidence: {}", output.stderr);
        assert_eq!(project.proctor(["run", "--json"]).status(status).stderr, "");
    }
}

#[test]
fn three_failed_checks_are_named_and_of_more_the_first_two() {
    let failing = |names: &str| names.chars().map(|name| check(&name.to_string(), &["--exit", "1"])).collect::<String>();
    for (names, said) in [("abc", "FAILED · a, b and c failed · "), ("abcd", "FAILED · a, b and 2 more failed · ")] {
        let output = project(&failing(names)).proctor(["run"]).status(1);
        assert!(output.stdout.contains(said), "{}", output.snapshot());
    }
}

#[test]
fn some_checks_are_run_and_no_more_is_claimed() {
    let checks = check("a", &[]) + &check("b", &["--exit", "1"]) + &check("c", &[]) + &cleanup("tidy up", &[]);
    let project = project(&checks);
    let output = project.proctor(["run", "--check", "a"]).success();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 0
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✓ a                    done <time>
      ✓ tidy up              done <time>
    PASSED · 1 of 3 checks · evidence/default/runs/<run>/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    let report: Value = project.proctor(["show", "--json"]).success().json();
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE");
    assert_eq!(result(&report, "STEP.2")["skipReason"], "not-selected");
    assert!(result(&report, "STEP.2")["status"].is_null());
    let output = project.proctor(["run", "--check", "c", "--check", "a"]).success();
    assert!(output.stdout.contains("2 of 3 checks"), "{}", output.snapshot());
    project.proctor(["run", "--check", "a", "--check", "b"]).failure();
}

#[test]
fn a_project_elsewhere_is_run_by_its_path() {
    let project = project(&check("a", &["--stdout", "here", "--exit", "1"])).file("sub/x", "");
    let output = project.proctor(["run", ".."]).directory("sub").failure();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ a                    exit 1 <time>
           │ here
           all of its output: `proctor show --log a`
    FAILED · a failed · <project>/evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let project = project(&check("a", &[]));
    let colour = |output: &crate::common::Output| output.stdout.contains('\u{1b}');
    assert!(!colour(&project.proctor(["run"]).success()), "a pipe is no terminal");
    assert!(colour(&project.proctor(["run"]).env("CLICOLOR_FORCE", "1").success()));
    assert!(!colour(&project.proctor(["run"]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").success()));
}

#[test]
fn checks_run_where_they_are_told_to() {
    let toml = "[[check]]\nname = \"where\"\ncommand = [\"pwd\"]\ndirectory = \"deep/er\"\n";
    let project: Project = project(toml).file("deep/er/x", "");
    project.proctor(["run"]).success();
    let log = project.proctor(["show", "--log", "where"]).success();
    assert_eq!(log.stdout, format!("{}\n", project.path().join("deep/er").display()));
}

#[test]
fn the_printed_settings_are_a_configuration_that_changes_nothing() {
    let project = project(&check("a", &[]));
    let before = project.proctor(["run"]).success();
    let printed = project.proctor(["init", "--print"]).success().stdout;
    project.save("proctor.toml", &(printed + &check("a", &[])));
    let after = project.proctor(["run"]).success();
    let plan = |output: &crate::common::Output| output.report()["testSpecification"]["planDigest"].clone();
    assert_eq!(plan(&before), plan(&after));
}

#[test]
fn c33_what_blocks_decides_the_verdict_and_not_what_runs_next() {
    let project = project(&(check("blocks", &["--exit", "1"]) + &check("later", &[])));
    let report = project.proctor(["run"]).failure().report();
    let (first, second) = (crate::run::result(&report, "STEP.1"), crate::run::result(&report, "STEP.2"));
    assert_eq!((&first["blocking"], &second["status"]), (&true.into(), &"SUCCESS".into()));
    assert_eq!(report["validationCriteriaEvaluation"]["overallResult"], "FAILED");
    assert_eq!(report["executionSummary"]["overallStatus"], "PARTIAL_SUCCESS");
}
