//! Tests runs that do not end with the last action: time-outs, interruptions, trees that change, processes that are left
//! behind.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Output, Project, WRITES_TO_SHARED, processes_of};
use crate::run::{beside, check, cleanup, exists, project, result, run_directories};

const LATE: Duration = Duration::from_secs(30);
const LONG: &str = "600000";

#[test]
fn a_check_that_takes_too_long_is_stopped_with_everything_it_started() {
    let slow = ["--ignore-term", "--stdout", "so far\n", "--fork-sleep", LONG, "--sleep", LONG];
    let toml = check("slow", &slow) + "timeout = \"300ms\"\ngrace = \"200ms\"\n" + &check("quick", &[]);
    let project = project(&toml);
    let output = project.proctor(["run"]).failure();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ slow                 timed out after <time> <time>
           The command was still running after <time> and was stopped (SIGKILL); make it faster or raise `timeout`
           │ so far
           all of its output: `proctor show --log slow`
      ✓ quick                done <time>
    FAILED · slow failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    assert_eq!(processes_of(project.root()), []);
    let report = output.report();
    let slow = result(&report, "STEP.1");
    assert_eq!(slow["status"], "TIMEOUT");
    let outcome = &slow["result"];
    assert_eq!((&outcome["killed"], &outcome["signal"]), (&true.into(), &"SIGKILL".into()));
    assert_eq!((&outcome["partialOutput"], &outcome["timeout"]), (&"so far\n".into(), &300.into()));
    assert!(outcome["exitCode"].is_null());
    let took = outcome["actualDuration"].as_u64().unwrap();
    assert!((300..5000).contains(&took), "{took} ms");
    let (started, updated) = (&report["executionSummary"]["startTime"], &outcome["lastUpdate"]);
    assert!(updated.as_str().unwrap() >= started.as_str().unwrap(), "{updated} is not after {started}");
    assert_eq!(slow["classification"]["code"], "TIMED_OUT");
    assert_eq!(slow["classification"]["timeoutValue"], 300);
    assert_eq!(result(&report, "STEP.2")["status"], "SUCCESS", "the others still run");
}

#[test]
fn a_check_that_exits_zero_when_it_is_stopped_has_timed_out_all_the_same() {
    let script = "#!/bin/sh\ntrap 'exit 0' TERM INT\nwhile :; do sleep 0.01; done\n";
    let toml = "[[check]]\nname = \"polite\"\ncommand = [\"./polite\"]\ntimeout = \"200ms\"\n";
    let project = project(toml).executable("polite", script);
    let output = project.proctor(["run"]).failure();
    let report = output.report();
    assert_eq!(result(&report, "STEP.1")["status"], "TIMEOUT", "{}", output.snapshot());
    assert_eq!(result(&report, "STEP.1")["result"]["killed"], true);
}

#[test]
fn clean_up_runs_after_a_failing_check() {
    let project = project("");
    let cleaned = beside(&project, "cleaned");
    project.save(
        "proctor.toml",
        &(WRITES_TO_SHARED.to_owned() + &check("red", &["--exit", "1"]) + &cleanup("tidy up", &["--touch", &cleaned])),
    );
    project.proctor(["run"]).failure();
    assert!(exists(&cleaned));
}

#[test]
fn an_interrupted_run_is_sealed_without_a_verdict_and_cleaned_up_after() {
    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let project = project(&check("a", &[]));
        project.proctor(["run"]).success();
        let latest = project.store().run_directory("default");
        let (output, cleaned) = interrupted(&project, signal);
        assert_eq!(output.status, status, "{}", output.snapshot());
        assert!(cleaned, "clean-up always runs");
        assert_eq!(project.store().run_directory("default"), latest, "`latest` stays where it was");
        let runs = project.store().committed_runs();
        let last = runs.last().unwrap();
        assert_eq!((runs.len(), &last["overallStatus"]), (2, &"INTERRUPTED".into()));
        assert!(last["overallResult"].is_null() && last["tdd"].is_null() && last["route"].is_null(), "{last:#}");
        assert_eq!(processes_of(project.root()), []);
        let directory = run_directories(&project).pop().unwrap();
        project.command("sha256sum".as_ref(), ["-c", "--quiet", "SHA256SUMS"]).directory(directory.to_str().unwrap()).success();
        if signal == Signal::SIGINT {
            insta::assert_snapshot!(output.snapshot(), @"
            exit status: 130
            --- stdout
            proctor 0.1.0 · project · tree <digest>
              - slow                 stopped <time>
              ✓ tidy up              done <time>
              note: configuration changed since the last run: proctor.toml
            INTERRUPTED · no verdict · evidence/default/runs/<run>/execution-report.json
            --- stderr
            stopping; Ctrl-C again kills
            ");
            insta::assert_snapshot!(project.proctor(["log"]).success().snapshot(), @"
            exit status: 0
            --- stdout
               2  INTERRUPTED  tree <digest> <time> stopped before it had a result  <age>
               1  PASSED       tree <digest> <time> <age>
            ");
        }
    }
}

/// Runs checks and interrupts the first one. Returns the output, and whether the clean-up ran.
fn interrupted(project: &Project, signal: Signal) -> (Output, bool) {
    let (running, cleaned) = (beside(project, "running"), beside(project, "cleaned"));
    let checks = WRITES_TO_SHARED.to_owned()
        + &check("slow", &["--stdout", "so far", "--touch", &running, "--sleep", LONG])
        + &check("next", &[])
        + &cleanup("tidy up", &["--touch", &cleaned]);
    project.save("proctor.toml", &checks);
    project.approve();
    let mut run = project.proctor(["run"]).watch();
    run.wait_for_file("the check to run", LATE, &running);
    run.signal(signal);
    (run.ended(), exists(&cleaned))
}

#[test]
fn a_tree_that_moves_under_the_run_has_no_verdict() {
    let project = project(&check("a", &[])).file("snapshots/old.txt", "");
    project.proctor(["run"]).success();
    let latest = project.store().run_directory("default");
    let in_place = "[sandbox]\nsnapshot = \"off\"\n";
    let writes = "[[check]]\nname = \"writes\"\ncommand = [\"fake-tool\", \"--script\", \"date +%N > snapshots/new.txt\"]\n"
        .to_owned()
        + in_place;
    project.save("proctor.toml", &writes);
    project.approve();
    let output = project.proctor(["run"]).status(5);
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 5
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✓ writes               done <time>
    proctor 0.1.0 · project · tree <digest>
      ✓ writes               done <time>
      note: configuration changed since the last run: proctor.toml
      in place: the checks ran in the project, not on a snapshot: `[sandbox]` has `snapshot = "off"`
    MOVED · snapshots/new.txt changed while the checks ran, no verdict · evidence/default/runs/<run>/execution-report.json
    --- stderr
    snapshots/new.txt changed while the checks ran: they are run once more
    hint: if the checks write this themselves, add to `[watch]` in proctor.toml: ignore = ["/snapshots/new.txt"]
    "#);
    assert_eq!(project.store().run_directory("default"), latest, "`latest` stays where it was");
    let runs = project.store().committed_runs();
    assert_eq!(runs.last().unwrap()["overallStatus"], "MOVED");
    let report: Value = project.proctor(["show", "--json"]).success().json();
    assert_eq!(report["tree"]["moved"], serde_json::json!(["snapshots/new.txt"]));
    assert_ne!(report["tree"]["before"], report["tree"]["after"]);
    assert!(report["route"].is_null() && report["validationCriteriaEvaluation"]["overallResult"].is_null());
    // The hint's advice solves the problem, once a person has approved that files leave the tree.
    project.save("proctor.toml", &(writes + "[watch]\nignore = [\"snapshots\"]\n"));
    project.approve();
    project.proctor(["run"]).success();
}

#[test]
fn c17_what_a_command_leaves_behind_is_named_and_killed() {
    let project = project("");
    let pid_file = beside(&project, "pid");
    let leaves = ["--fork", "--pid-file", &pid_file, "--sleep", LONG, "--end", "--wait-for", &pid_file];
    project.save("proctor.toml", &(WRITES_TO_SHARED.to_owned() + &check("leaves", &leaves)));
    let output = project.proctor(["run"]).success();
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    assert_eq!(processes_of(project.root()), []);
    let named = format!(
        "left behind and killed: {} --pid-file {pid_file} --sleep {LONG} (pid {pid})",
        crate::common::fake_tool().display()
    );
    assert!(output.stdout.contains(&named), "{}", output.snapshot());
    let report = output.report();
    assert_eq!(result(&report, "STEP.1")["result"]["survivors"][0]["pid"].to_string(), pid);
    let isolation = &report["isolation"];
    assert_eq!(isolation["killedBy"], "pid-namespace");
    assert_eq!((&isolation["survivors"][0]["actionId"], isolation["survivors"][0]["pid"].to_string()), (&"STEP.1".into(), pid));
}

/// Servants of tools, such as esbuild's, end when the pipe of their master is closed.
#[test]
fn what_ends_when_the_command_has_ended_is_no_line() {
    let script = "mkfifo /tmp/to-servant\ncat /tmp/to-servant >/dev/null &\nexec 3>/tmp/to-servant\necho bundled\n";
    let toml = "[[check]]\nname = \"bundle\"\ncommand = [\"sh\", \"bundle.sh\"]\non_survivors = \"fail\"\n";
    let output = Project::new().toml(toml).file("bundle.sh", script).proctor(["run"]).success();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 0
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✓ bundle               done <time>
      note: bundle: what the shell script runs cannot be seen; set `tool` if its output should be read
    PASSED · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
}

#[test]
fn leaving_something_behind_can_be_a_failure() {
    let project = project(&(check("leaves", &["--fork-sleep", LONG]) + "on_survivors = \"fail\"\n"));
    let output = project.proctor(["run"]).failure();
    let report = output.report();
    let code = &result(&report, "STEP.1")["classification"]["code"];
    assert_eq!(code, "SURVIVORS_LEFT", "{}", output.snapshot());
    project.save("proctor.toml", &(check("leaves", &["--fork-sleep", LONG]) + "[defaults]\non_survivors = \"fail\"\n"));
    project.proctor(["run"]).failure();
}
