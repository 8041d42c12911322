//! Tests `proctor review`, and reviews within a run, with small scripts as reviewers (seed 003).

use std::fs;

use serde_json::{Value, json};

use crate::common::{Output, Project, WRITES_TO_SHARED, fake_tool, python_plain};

const APPROVAL: &str = "### Assessment\n\n**Ready to merge? Yes**\n\n**Reasoning:** All acceptance criteria met.\n";
const REJECTION: &str = "### Assessment\n\nReady to merge? No\n\nThe queue loses messages.\n";
const PRAISE: &str = "The implementation is solid. No blocking issues found.\n";
const MORE_PRAISE: &str = "Great work! The code quality is high and meets all standards.\n";

/// A reviewer. It records its prompt and arguments, and prints the file `answers/N` at its N-th call.
const REVIEWER: &str = r#"#!/bin/sh
n=$(($(cat ../shared/count 2>/dev/null || echo 0) + 1))
echo "$n" > ../shared/count
cat > "../shared/prompt-$n"
printf '%s\n' "$@" > "../shared/arguments-$n"
cat "answers/$n"
[ ! -f "answers/then-$n" ] || . "./answers/then-$n"
"#;

fn project(rest: &str, answers: &[&str]) -> Project {
    let toml = WRITES_TO_SHARED.to_owned() + rest;
    let project = Project::new().with_program(fake_tool()).toml(&toml).executable("bin/reviewer", REVIEWER);
    answers.iter().enumerate().fold(project, |project, (index, text)| project.file(&format!("answers/{}", index + 1), text))
}

fn review(project: &Project, status: i32) -> Output {
    let arguments = ["review", "--json", "--prompt", "prompt.md", "--command", "bin/reviewer", "--model", "x", "--json"];
    project.save("prompt.md", "Review this.\nBinary verdict required.\n");
    project.proctor(arguments).status(status)
}

fn readings(document: &Value) -> Vec<&str> {
    let attempts = document["attempts"].as_array().expect("a list");
    attempts.iter().map(|one| one["reading"].as_str().expect("a word")).collect()
}

fn asked(project: &Project) -> String {
    fs::read_to_string(project.shared("count")).unwrap_or_default().trim().to_owned()
}

#[test]
fn an_explicit_yes_approves_at_once_and_everything_is_kept() {
    let project = project("", &[APPROVAL]);
    let output = review(&project, 0);
    let document = output.json();
    assert_eq!((&document["verdict"], &document["reason"]), (&json!("APPROVED"), &json!("Code review APPROVED")));
    assert_eq!((readings(&document), asked(&project)), (vec!["APPROVED"], "1".to_owned()));
    let attempt = &document["attempts"][0];
    assert_eq!((&attempt["excerpt"], &attempt["exitCode"]), (&json!(APPROVAL), &json!(0)));
    let given = fs::read_to_string(project.shared("prompt-1")).expect("it was read");
    assert_eq!(given, "Review this.\nBinary verdict required.\n");
    let arguments = fs::read_to_string(project.shared("arguments-1")).expect("noted");
    assert_eq!(arguments, "--model\nx\n--json\n", "the rest of the line is the reviewer's");
    let directory = project.store().run_directory("review");
    assert_eq!(fs::read_to_string(directory.join("STEP.1-review.log")).expect("kept"), APPROVAL);
    assert_eq!(fs::read_to_string(directory.join("STEP.1-review-prompt.txt")).expect("kept"), given);
    let kept = fs::read_to_string(directory.join("STEP.1-review-verdict.json")).expect("kept");
    assert_eq!(serde_json::from_str::<Value>(&kept).expect("JSON")["attempts"], document["attempts"]);
    let report = project.store().report("review");
    assert_eq!(report["stepExecution"]["results"][0]["result"]["review"]["verdict"], "APPROVED");
    assert_eq!(report["stepExecution"]["results"][0]["type"], "REVIEW");
    assert_eq!(project.store().committed_runs().last().expect("a run")["task"], "review");
}

#[test]
fn an_output_without_the_field_is_asked_for_once_more_with_the_same_words_and_bytes() {
    let project = project("", &[PRAISE, APPROVAL]);
    let output = review(&project, 0);
    let document = output.json();
    assert_eq!(document["reason"], "Code review APPROVED (retry succeeded)");
    assert_eq!((readings(&document), asked(&project)), (vec!["MISSING_FIELD", "APPROVED"], "2".to_owned()));
    assert!(output.stderr.contains("Code review output missing 'Ready to merge?' field - retrying once"), "{}", output.stderr);
    for key in ["argvSha256", "promptSha256"] {
        assert_eq!(document["attempts"][0][key], document["attempts"][1][key], "{key}");
        assert!(document["attempts"][0][key].is_string());
    }
    let noted = |name: &str| fs::read(project.shared(name)).expect("noted");
    assert_eq!(noted("prompt-1"), noted("prompt-2"));
    assert_eq!(noted("arguments-1"), noted("arguments-2"));
    let directory = project.store().run_directory("review");
    assert_eq!(fs::read_to_string(directory.join("STEP.1-review.log")).expect("kept"), PRAISE);
    assert_eq!(fs::read_to_string(directory.join("STEP.1-attempt-2-review.log")).expect("kept"), APPROVAL);
    let entry = &project.store().report("review")["stepExecution"]["results"][0];
    assert_eq!((&entry["attempts"], &entry["flaky"]), (&json!(2), &Value::Null), "a retry of a review hides nothing");
}

#[test]
fn two_outputs_without_a_verdict_stop_everything_and_both_are_shown() {
    let project = project("", &[PRAISE, MORE_PRAISE, APPROVAL]);
    let output = project.proctor(["review", "--command", "bin/reviewer"]).status(3);
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 3
    --- stdout
    First attempt output (excerpt):
      The implementation is solid. No blocking issues found.
    Retry attempt output (excerpt):
      Great work! The code quality is high and meets all standards.
    Code review failed twice with malformed output: the first attempt is missing the 'Ready to merge?' field; the retry is missing the 'Ready to merge?' field
    INDETERMINATE · evidence/review/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    note: review: Code review output missing 'Ready to merge?' field - retrying once
    hint: Review agent may not be following template - check code-reviewer skill
    "#);
    assert_eq!(asked(&project), "2", "there is no third attempt");
    let entry = &project.store().report("review")["stepExecution"]["results"][0];
    assert_eq!((&entry["status"], &entry["blocking"]), (&json!("EXECUTION_ERROR"), &json!(true)));
    assert_eq!(entry["classification"]["errorType"], "NO_VERDICT");
    assert_eq!(entry["agentAction"]["action"], "ASK_HUMAN");
    assert_eq!(entry["debtGeneration"]["shouldGenerate"], false, "nothing is made of free text");
    assert_eq!(fs::read(project.shared("prompt-1")).expect("noted"), b"", "nothing is read from our own input");
}

#[test]
fn a_rejection_is_never_asked_again() {
    for (answer, reason) in [
        (REJECTION, "Review explicitly rejected"),
        ("**Ready to merge? With fixes**\n", "Review requires fixes before proceeding"),
    ] {
        let project = project("", &[answer, APPROVAL]);
        let document = review(&project, 1).json();
        assert_eq!((&document["verdict"], &document["reason"]), (&json!("REJECTED"), &json!(reason)));
        assert_eq!((readings(&document), asked(&project)), (vec!["REJECTED"], "1".to_owned()));
        let entry = &project.store().report("review")["stepExecution"]["results"][0];
        assert_eq!((&entry["status"], &entry["blocking"]), (&json!("VALIDATION_FAILURE"), &json!(true)));
    }
}

#[test]
fn the_third_rejection_in_a_row_needs_a_person_and_an_approval_begins_anew() {
    let project = project("", &[REJECTION, REJECTION, REJECTION, APPROVAL, REJECTION]);
    for (status, counted) in [(1, 1), (1, 2), (3, 3), (0, 0), (1, 1)] {
        review(&project, status);
        let entry = &project.store().report("review")["stepExecution"]["results"][0];
        assert_eq!(entry["result"]["review"]["rejections"], counted);
    }
}

#[test]
fn the_retry_rejects_as_a_first_attempt_does() {
    let project = project("", &[PRAISE, REJECTION, APPROVAL]);
    let document = review(&project, 1).json();
    assert_eq!((&document["verdict"], asked(&project)), (&json!("REJECTED"), "2".to_owned()));
}

#[test]
fn a_reviewer_that_fails_has_no_verdict_whatever_it_printed() {
    let failing = |name: &str| project("", &[APPROVAL, APPROVAL]).file(name, "exit 1\n");
    let project = failing("answers/then-1").file("answers/then-2", "kill -9 $$\n");
    let document = review(&project, 3).json();
    assert_eq!((readings(&document), &document["verdict"]), (vec!["TRANSPORT", "TRANSPORT"], &json!("INDETERMINATE")));
    let project = failing("answers/then-1");
    assert_eq!(review(&project, 0).json()["reason"], "Code review APPROVED (retry succeeded)");
}

#[test]
fn an_approval_after_a_failed_attempt_that_rejected_does_not_count() {
    let project = project("", &[REJECTION, APPROVAL]).file("answers/then-1", "exit 1\n");
    let document = review(&project, 3).json();
    assert_eq!((readings(&document), &document["verdict"]), (vec!["TRANSPORT", "APPROVED"], &json!("INDETERMINATE")));
}

#[test]
fn a_reviewer_that_hangs_or_prints_too_much_has_no_verdict() {
    let project = project("[defaults]\ntimeout = \"500ms\"\ngrace = \"100ms\"\n", &[APPROVAL, APPROVAL])
        .file("answers/then-1", "sleep 60\n")
        .file("answers/then-2", "head -c 1100000 /dev/zero | tr '\\0' x\n");
    let document = review(&project, 3).json();
    assert_eq!(readings(&document), ["TRANSPORT", "TOO_LONG"]);
    let entry = &project.store().report("review")["stepExecution"]["results"][0];
    assert_eq!(entry["classification"]["code"], "NO_VERDICT");
}

#[test]
fn a_reviewer_that_is_not_there_is_not_asked_again_and_a_person_is_needed() {
    let project = project("", &[]);
    let document = project.proctor(["review", "--json", "--command", "no-such-reviewer"]).status(3).json();
    assert_eq!((&document["verdict"], readings(&document).len()), (&json!("INDETERMINATE"), 0));
    assert!(document["reason"].as_str().expect("a text").contains("no-such-reviewer"), "{document}");
    project.proctor(["review", "--prompt", "gone.md", "--command", "bin/reviewer"]).status(2);
    project.proctor(["review", "--command"]).status(2);
    assert_eq!(asked(&project), "");
}

#[test]
fn a_project_that_changes_while_it_is_reviewed_has_no_verdict() {
    let project = project("snapshot = \"off\"\n", &[APPROVAL]).file("answers/then-1", "echo changed > changed.txt\n");
    let document = review(&project, 5).json();
    assert_eq!((&document["verdict"], asked(&project)), (&json!("INDETERMINATE"), "1".to_owned()));
    assert_eq!(document["reason"], "The project changed while it was reviewed");
}

#[test]
fn emphasis_around_the_label_alone_can_be_refused() {
    let project = project("", &["**Ready to merge?** Yes\n", "**Ready to merge?** Yes\n"]);
    let document = project.proctor(["review", "--json", "--refuse-split-emphasis", "--command", "bin/reviewer"]).status(3).json();
    assert!(document["reason"].as_str().expect("a text").contains("identical output"), "{document}");
}

/// Settings with a review between two checks. The check after the review makes a file, which shows that this check was
/// started.
const GATED: &str = r#"
[[check]]
name = "before"
command = ["fake-tool"]

[[check]]
name = "review"
tool = "review"
command = ["bin/reviewer"]
prompt = "docs/review.md"

[[check]]
name = "deploy"
command = ["fake-tool", "--touch", "../shared/deployed"]
"#;

fn gated(answers: &[&str]) -> Project {
    project(GATED, answers).file("docs/review.md", "Review it.\n")
}

fn result<'report>(report: &'report Value, name: &str) -> &'report Value {
    let results = report["stepExecution"]["results"].as_array().expect("a list");
    results.iter().find(|one| one["name"] == name).expect("it is in the report")
}

#[test]
fn within_a_run_nothing_behind_a_review_starts_without_its_approval() {
    let project = gated(&[PRAISE, APPROVAL]);
    project.proctor(["run"]).success();
    assert!(project.shared("deployed").exists());
    assert_eq!(fs::read_to_string(project.shared("prompt-2")).expect("noted"), "Review it.\n");

    let project = gated(&[REJECTION]);
    let report = project.proctor(["run", "--json"]).status(1).json();
    assert_eq!(result(&report, "before")["status"], "SUCCESS");
    assert_eq!(result(&report, "review")["status"], "VALIDATION_FAILURE");
    assert_eq!(result(&report, "deploy")["skipReason"], "dependency-failed");
    assert!(!project.shared("deployed").exists());

    let project = gated(&[PRAISE, MORE_PRAISE]);
    let report = project.proctor(["run", "--json"]).status(3).json();
    assert_eq!(result(&report, "review")["classification"]["code"], "NO_VERDICT");
    assert_eq!(result(&report, "deploy")["skipReason"], "dependency-failed");
    assert_eq!(result(&report, "review")["result"]["review"]["attempts"].as_array().expect("a list").len(), 2);
}

#[test]
fn where_checks_go_on_side_by_side_a_review_is_asked_again_and_holds_back_what_stands_behind_it() {
    let side_by_side = |answers: &[&str]| {
        let settings = format!("{GATED}[run]\nparallel = true\n");
        project(&settings, answers).file("docs/review.md", "Review it.\n")
    };
    let project = side_by_side(&[PRAISE, APPROVAL]);
    let report = project.proctor(["run", "--json"]).success().json();
    let attempts = &result(&report, "review")["result"]["review"]["attempts"];
    assert_eq!((&attempts[0]["reading"], &attempts[1]["reading"]), (&json!("MISSING_FIELD"), &json!("APPROVED")));
    assert_eq!(fs::read_to_string(project.shared("prompt-1")).expect("noted"), "Review it.\n");
    assert_eq!(fs::read_to_string(project.shared("prompt-2")).expect("noted"), "Review it.\n");
    assert!(project.shared("deployed").exists());

    let project = side_by_side(&[REJECTION]);
    let report = project.proctor(["run", "--json"]).status(1).json();
    assert_eq!(result(&report, "deploy")["skipReason"], "dependency-failed");
    assert!(!project.shared("deployed").exists());
}

#[test]
fn naming_a_check_does_not_go_round_the_review_before_it() {
    let project = gated(&[REJECTION]);
    let report = project.proctor(["run", "--check", "deploy", "--json"]).status(1).json();
    assert_eq!(result(&report, "before")["skipReason"], "not-selected");
    assert_eq!(result(&report, "review")["status"], "VALIDATION_FAILURE");
    assert!(!project.shared("deployed").exists());
}

#[test]
fn a_prompt_that_is_not_in_the_project_is_no_prompt() {
    let project = gated(&[APPROVAL]);
    fs::remove_file(project.path().join("docs/review.md")).expect("it is there");
    std::os::unix::fs::symlink("/etc/hostname", project.path().join("docs/review.md")).expect("made");
    let report = project.proctor(["run", "--json"]).status(3).json();
    let reason = result(&report, "review")["classification"]["reason"].as_str().expect("a text");
    assert!(reason.contains("docs/review.md"), "{reason}");
    assert_eq!((asked(&project).as_str(), project.shared("deployed").exists()), ("", false));
}

#[test]
fn a_step_of_a_specification_is_a_review_and_holds_back_what_stands_behind_it() {
    let specification = json!({
        "schemaVersion": "2.0.0",
        "metadata": { "projectName": "p", "sprintId": "SPRINT_012", "generatedAt": "2026-03-04T09:15:00.000Z", "generatedBy": "by hand" },
        "globalConfiguration": { "workspaceRoot": "/srv/p", "evidenceDirectory": "evidence" },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND"] },
        "tasks": { "T117": {
            "taskId": "T117", "title": "A reviewed deployment of the whole",
            "description": "What is deployed was approved by somebody who has read it, and by nobody's silence.",
            "testExecution": {
                "prerequisites": [],
                "steps": [
                    { "actionId": "STEP.1", "type": "TERMINAL_COMMAND", "description": "asks the reviewer",
                      "parameters": { "command": "bin/reviewer", "workingDirectory": "/srv/p" }, "continueOnFailure": true,
                      "proctor": { "version": "1.0.0", "review": { "prompt": "/srv/p/docs/review.md" } } },
                    { "actionId": "STEP.2", "type": "TERMINAL_COMMAND", "description": "deploys the whole",
                      "parameters": { "command": "fake-tool --touch ../shared/deployed", "workingDirectory": "/srv/p" } }
                ],
                "cleanup": []
            },
            "validationCriteria": {
                "successConditions": [{ "condition": "STEP.1.success === true", "description": "The review approves" }],
                "failureConditions": [], "expectedOutput": {}
            },
            "completionCriteria": { "allStepsMustPass": true, "requiredEvidence": [] }
        } }
    });
    let of = |answers: &[&str]| {
        let checks = "[[check]]\nname = \"unit\"\ncommand = [\"true\"]\n";
        let project = project(checks, answers).file("docs/review.md", "Review it.\n");
        project.file("T117-test-specification.json", &serde_json::to_string_pretty(&specification).expect("JSON"))
    };
    let project = of(&[PRAISE, APPROVAL]);
    let report = project.proctor(["run", "--task", "T117", "--json"]).success().json();
    assert_eq!(report["stepExecution"]["results"][0]["type"], "REVIEW");
    assert_eq!(fs::read_to_string(project.shared("prompt-2")).expect("noted"), "Review it.\n");
    assert!(project.shared("deployed").exists());
    let project = of(&[PRAISE, MORE_PRAISE]);
    let report = project.proctor(["run", "--task", "T117", "--json"]).status(3).json();
    assert_eq!(report["stepExecution"]["results"][1]["skipReason"], "dependency-failed");
    assert!(!project.shared("deployed").exists());
}

#[test]
fn inside_a_cycle_a_review_without_a_verdict_pauses_the_task_although_its_tests_pass() {
    let python = python_plain();
    let toml = format!("[[check]]\nname = \"tests\"\ncommand = [{:?}, \"-m\", \"pytest\", \"-q\"]\n", python.to_string_lossy());
    let project = project(&(toml + GATED), &[PRAISE, MORE_PRAISE]).file("docs/review.md", "Review it.\n");
    let project = project.file("test_it.py", "def test_it():\n    assert 1 == 1\n");
    project.proctor(["tdd", "start", "--phase", "green"]).success();
    let report = project.proctor(["run", "--json"]).status(3).json();
    assert_eq!((&report["route"]["nextNode"], &report["route"]["requiresHuman"]), (&json!("HUMAN_REVIEW"), &json!(true)));
    assert_eq!((&report["tdd"]["phase"], &report["tdd"]["phaseAfter"]), (&json!("GREEN"), &json!("GREEN")));
    project.proctor(["run"]).status(3);
    assert_eq!(asked(&project), "2", "a task that waits for a person asks nobody else");
}
