//! Tests the limits of one action: the result of a command that prints nothing for too long, or that prints too much.

use std::fs;

use serde_json::Value;

use crate::common::{Output, Project, fake_tool};

const LOG: &str = "STEP.1-terminal-output.log";
const LONG: &str = "600000";

/// Runs a project whose only check is `fake-tool` with `words` as arguments. `settings` are put first in
/// `proctor.toml`.
fn run(settings: &str, words: &[&str]) -> (Project, Output) {
    let command: Vec<&str> = [fake_tool().to_str().expect("a path of ours")].into_iter().chain(words.iter().copied()).collect();
    let command = serde_json::to_string(&command).expect("words are JSON");
    let toml = format!("{settings}\n[[check]]\nname = \"check\"\ncommand = {command}\n");
    let project = Project::new().toml(&toml);
    let output = project.proctor(["run"]).any_status();
    (project, output)
}

fn only_result(report: &Value) -> &Value {
    &report["stepExecution"]["results"][0]
}

#[test]
fn a_command_that_prints_nothing_for_too_long_is_stopped_and_the_report_says_which_limit_that_was() {
    let (_project, output) = run("[defaults]\nidle_timeout = \"1s\"\n", &["--stdout", "so far\n", "--sleep", LONG]);
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ check                no output for <time> <time>
           The command printed nothing for <time> and was stopped (SIGTERM); find out what it waits for, make it print while it works, or raise `idle_timeout`
           │ so far
           all of its output: `proctor show --log check`
    FAILED · check failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    let report = output.report();
    let silent = only_result(&report);
    assert_eq!((&report["limit"], &silent["status"]), (&"idle".into(), &"TIMEOUT".into()));
    let told = &silent["classification"];
    assert_eq!((&told["limit"], &told["timeoutValue"], &told["outputLimit"]), (&"idle".into(), &1000.into(), &Value::Null));
    let outcome = &silent["result"];
    assert_eq!((&outcome["timeout"], &outcome["partialOutput"]), (&1000.into(), &"so far\n".into()));
    assert_eq!(silent["debtGeneration"]["title"], "Operation Timeout: No output for 1s");
}

#[test]
fn a_command_that_prints_all_the_time_is_not_idle() {
    let words: Vec<&str> = ["--stdout", ".", "--sleep", "250"].into_iter().cycle().take(4 * 8).collect();
    let (_project, output) = run("[defaults]\nidle_timeout = \"1500ms\"\n", &words);
    assert_eq!(output.status, 0, "{}", output.snapshot());
}

#[test]
fn a_command_that_prints_too_much_is_stopped_and_its_log_ends_at_the_limit() {
    let (_project, output) = run(
        "[defaults]\nmax_output = \"64KiB\"\ngrace = \"300ms\"\n",
        &["--ignore-term", "--repeated-bytes", "50000000", "6c696e650a", "--sleep", LONG],
    );
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ check                printed over 64KiB <time>
           The command printed more than 64KiB and was stopped (SIGKILL); make it print less or raise `max_output`. Its log ends at that limit
           │ line
           │ line
           │ line
           │ line
           │ … lines are left out
           │ line
           │ line
           │ line
           │ line
           │ line
           │ l
           its output up to the limit: `proctor show --log check`
    FAILED · check failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    let report = output.report();
    let flood = only_result(&report);
    assert_eq!((&report["limit"], &flood["status"]), (&"output".into(), &"TIMEOUT".into()));
    let told = &flood["classification"];
    assert_eq!((&told["limit"], &told["timeoutValue"], &told["outputLimit"]), (&"output".into(), &Value::Null, &65536.into()));
    assert_eq!((&flood["result"]["timeout"], &flood["result"]["stdoutShown"]["totalBytes"]), (&Value::Null, &65536.into()));
    let log = fs::read(output.run_directory().join(LOG)).unwrap();
    let printed: Vec<u8> = b"line\n".iter().copied().cycle().take(65536).collect();
    assert!(log == printed, "the first 64 KiB are kept exactly, and nothing else: {} bytes", log.len());
}

#[test]
fn the_limit_of_output_is_exact_also_where_the_command_ends_by_itself_at_once() {
    for _ in 0..5 {
        let (_project, within) = run("[defaults]\nmax_output = \"1MiB\"\n", &["--stdout-bytes", "1048576"]);
        assert_eq!(within.status, 0, "{}", within.snapshot());
        let (_project, beyond) =
            run("[defaults]\nmax_output = \"1MiB\"\n", &["--stdout-bytes", "1048570", "--stderr", "7 more."]);
        assert_eq!(only_result(&beyond.report())["status"], "TIMEOUT", "{}", beyond.snapshot());
    }
}

#[test]
fn the_limits_of_a_check_go_before_those_of_all_and_can_be_switched_off() {
    let both = "[defaults]\nidle_timeout = \"200ms\"\nmax_output = \"1KiB\"\n";
    let project = Project::new();
    let tool = fake_tool().to_str().expect("a path of ours").to_owned();
    let command = serde_json::to_string(&[&tool, "--stdout-bytes", "5000", "--sleep", "600"]).unwrap();
    let own = "idle_timeout = \"off\"\nmax_output = \"off\"\n";
    let project = project.toml(&format!("{both}[[check]]\nname = \"check\"\ncommand = {command}\n{own}"));
    project.proctor(["run"]).success();
}
