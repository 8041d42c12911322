//! Tests against wrong judgements of the lint: right commands and conditions that look wrong, and wrong ones that look
//! right.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::ROUNDING;
use super::mutations::{Edit, added, condition, faults_of, step, task};
use crate::config::SpecificationSettings;
use crate::spec::specification::{SpecificationContext, read_filled_specification};

/// Returns the codes of the faults that edits of the sample specification add to those it already has.
fn codes_of(edits: &[Edit]) -> BTreeSet<String> {
    faults_of(edits).difference(&faults_of(&[])).map(|(code, _)| code.clone()).collect()
}

/// Returns the edits that turn the second step into a command, with or without a shell.
fn command(text: &str, shell: Option<&str>) -> Vec<Edit> {
    let mut edits = vec![(step(1, "/parameters/command"), json!(text))];
    edits.extend(shell.map(|shell| (step(1, "/parameters/shell"), json!(shell))));
    edits
}

#[track_caller]
fn assert_codes(edits: &[Edit], expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(|code| (*code).to_owned()).collect();
    assert_eq!(codes_of(edits), expected, "{edits:?}");
}

#[test]
fn what_is_a_format_of_a_program_is_no_placeholder() {
    for text in [
        "go list -f '{{.Dir}}' ./...",
        "docker inspect --format '{{.State.Running}}' db",
        "go list -f '{{range .Deps}}{{.}}{{else}}none{{end}}'",
        "gh pr view --template '{{ .title }}'",
    ] {
        assert_codes(&command(text, None), &[]);
    }
    for text in
        ["grep -q {{NAME}} a", "grep -q {{ app.name }} a", "grep -q '{\"a\":{{{LEAST_LINES}}}}' a", "grep {{_x1}} {{.a}} b"]
    {
        assert_codes(&command(text, None), &["PLACEHOLDER"]);
    }
}

#[test]
fn a_url_may_begin_with_a_secret_and_with_nothing_else_that_is_no_scheme() {
    let codes = |url: &str, secrets: &[&str]| {
        let text = ROUNDING.replacen("http://127.0.0.1:4173/totals\"", &format!("{url}\""), 1);
        assert_ne!(text, ROUNDING, "the address stands in it");
        let settings = SpecificationSettings {
            from_environment: secrets.iter().map(|name| (*name).to_owned()).collect(),
            ..SpecificationSettings::default()
        };
        let project = SpecificationContext { project_root: Path::new("/srv/billing-core") };
        let reading = read_filled_specification(&text, "a.json", project, &settings);
        reading.faults.iter().filter(|fault| fault.is_hard()).map(|fault| fault.code().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(codes("{{BASE}}/totals", &["BASE"]), [] as [&str; 0]);
    assert_eq!(codes("{{BASE}}/totals", &[]), ["PLACEHOLDER"]);
    assert_eq!(codes("ftp://{{BASE}}/totals", &["BASE"]), ["URL_SCHEME"]);
}

/// In `argv`, as in `command`, `$` is not a placeholder: the user either calls a shell or means the character itself.
#[test]
fn variables_of_words_are_left_alone_as_those_of_a_command_are() {
    let argv = |words: Value| vec![(step(1, "/proctor"), added(json!({ "argv": words })))];
    assert_codes(&argv(json!(["bash", "-c", "test -n \"${CI}\""])), &[]);
    assert_codes(&argv(json!(["grep", "{{NAME}}", "a"])), &["PLACEHOLDER"]);
    let url = |url: &str| vec![(step(2, "/parameters/url"), json!(url))];
    assert_codes(&url("http://${HOST}/totals"), &["PLACEHOLDER"]);
    let path = |text: &str| vec![(step(0, "/parameters/environment"), json!({ "DATA": text }))];
    assert_codes(&path("${WORKSPACE_ROOT}/data"), &[]);
    assert_codes(&path("${WORKSPACE_ROOT}/${SET}"), &["PLACEHOLDER"]);
}

#[test]
fn a_script_proves_something_if_a_part_of_it_can_fail_and_decides() {
    for script in [
        "echo start && npx tsc --noEmit",
        "echo start; npx tsc --noEmit",
        "echo start\nnpx tsc --noEmit",
        "printf x | grep -q y",
        "set -e\nnpx tsc --noEmit\nprintf done",
        "set -o errexit\nnpx tsc --noEmit\nprintf done",
        "echo nothing is built; exit 1",
        "CI=1 npx tsc --noEmit",
    ] {
        assert_codes(&command(script, Some("bash")), &[]);
    }
    for script in ["echo start && true", "echo 'a && npx tsc'", "A=1 /bin/echo \"npx tsc; $A\" 2>&1", "A=1", "exit 0"] {
        assert_codes(&command(script, Some("sh")), &["COMMAND_PROVES_NOTHING"]);
    }
    for script in [
        "npx tsc --noEmit; printf done",
        "npx tsc --noEmit || /usr/bin/printf 'it failed'",
        "export CI=1 && echo $(npx tsc)",
        "grep -e total a.csv; printf done",
        "set -x\nnpx tsc --noEmit\nprintf done",
        "set -- every\nnpx tsc --noEmit\nprintf done",
    ] {
        assert_codes(&command(script, Some("sh")), &["COMMAND_HIDES_FAILURE"]);
    }
    assert_codes(&command("bash -c 'echo a && true'", None), &["COMMAND_PROVES_NOTHING"]);
    for text in ["bash -c 'echo a && npx tsc'", "bash -ec 'npx tsc; printf done'", "bash -o errexit -c 'npx tsc; printf done'"] {
        assert_codes(&command(text, None), &[]);
    }
    assert_codes(&command("bash --noprofile -c 'npx tsc; printf done'", None), &["COMMAND_HIDES_FAILURE"]);
    assert_codes(&command("echo 'a && b'", None), &["COMMAND_PROVES_NOTHING"]);
}

#[test]
fn a_condition_that_is_met_when_tests_fail_is_noted_whatever_it_asks() {
    for text in [
        "STEP.1.failed === true",
        "STEP.1.failed",
        "STEP.1.success === false",
        "!STEP.1.success",
        "STEP.1.failed || STEP.2.success",
        "STEP.1.testsFailed > 0",
        "STEP.1.testsFailed !== 0",
        "STEP.1.testsFailed <= 5",
        "STEP.1.testsFailed > 5",
        "STEP.1.testsFailed > 5 && STEP.1.testsFailed < 7",
        "STEP.1.testsFailed === 3",
        "STEP.1.exitCode === 1 && STEP.1.testsFailed < 10",
    ] {
        assert_codes(&[(condition(0), json!(text))], &["CONDITION_ACCEPTS_FAILURE"]);
    }
}

#[test]
fn a_condition_that_failing_tests_do_not_meet_is_right() {
    for text in [
        "STEP.1.success",
        "STEP.1.success === true",
        "STEP.1.failed === false",
        "!STEP.1.failed",
        "STEP.1.testsFailed === 0",
        "STEP.1.testsFailed < 1",
        "STEP.1.testsFailed <= 0 && STEP.1.testsPassed >= 3",
        "STEP.1.testsPassed > 10",
        "STEP.1.testsPassed === STEP.1.testsTotal",
        "STEP.1.exitCode === 0 && STEP.2.success",
        "STEP.2.failed === false || STEP.1.success",
    ] {
        assert_codes(&[(condition(0), json!(text))], &[]);
    }
    // The rule against success conditions that accept a failure concerns only steps that run tests. Step 2 runs none,
    // so no fault is reported.
    assert_codes(&[(condition(1), json!("STEP.2.failed"))], &[]);
    let is_text = [(task("/title"), json!("Half-even rounding of {{.totals}}"))];
    assert_codes(&is_text, &[]);
}
