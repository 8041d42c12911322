//! Tests steps that run at the same time: what they wait for, how they end, and that the report is the same as if they
//! had run one after another.

use std::fs;
use std::time::Duration;

use proctor_model::{ActionId, FileCheck, Plan, StopReason};
use proctor_project::Progress;
use serde_json::{Value, json};

use crate::common::{Project, SHARED_AND_IN_PLACE, WRITES_TO_SHARED, processes_of};
use crate::run::planned::{carry_out_and_tell, file, run_plan};
use crate::run::{beside, check, cleanup, exists, project, result};

/// A check that makes a file and waits for the file of another check. If the two ran one after the other, the first
/// would wait forever.
const MEETS: &str =
    "#!/bin/sh\ntouch ../shared/$1\necho \"$1 begins\"\nuntil [ -e ../shared/$2 ]; do sleep 0.01; done\necho \"$1 ends\"\n";

fn meeting(pairs: &[(&str, &str)]) -> Project {
    let of = |(own, other): &(&str, &str)| {
        format!(
            "[[check]]\nname = \"{own}\"\ncommand = [\"bin/meet\", \"{own}\", \"{other}\"]\ntimeout = \"60s\"\ngrace = \"200ms\"\n"
        )
    };
    let toml = WRITES_TO_SHARED.to_owned() + &pairs.iter().map(of).collect::<String>();
    project(&toml).executable("bin/meet", MEETS)
}

pub(super) fn words(report: &Value) -> Vec<Value> {
    let results = report["stepExecution"]["results"].as_array().expect("a list");
    results.iter().map(|one| if one["status"].is_null() { one["skipReason"].clone() } else { one["status"].clone() }).collect()
}

fn log(project: &Project, step: &str) -> String {
    let path = project.store().run_directory("default").join(format!("{step}-terminal-output.log"));
    fs::read_to_string(path).expect("the log is kept")
}

#[test]
fn checks_that_wait_for_each_other_meet_and_each_has_its_own_output() {
    let project = meeting(&[("a", "b"), ("b", "c"), ("c", "a")]);
    let report = run_plan(&project, |plan| plan.parallel = true);
    assert_eq!(words(&report), [json!("SUCCESS"), json!("SUCCESS"), json!("SUCCESS")]);
    for (step, name) in [("STEP.1", "a"), ("STEP.2", "b"), ("STEP.3", "c")] {
        assert_eq!(log(&project, step), format!("{name} begins\n{name} ends\n"));
    }
    assert_eq!(processes_of(project.root()), []);
}

#[test]
fn the_setting_says_so_too_and_the_screen_has_a_line_for_each() {
    let project = meeting(&[("a", "b"), ("b", "a")]);
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    project.save("proctor.toml", &(toml + "[run]\nparallel = true\n[queue]\nmax_parallel = 2\n"));
    let shown = project.proctor(["run"]).success().snapshot();
    for line in ["✓ a  ", "✓ b  "] {
        assert_eq!(shown.matches(line).count(), 1, "{shown}");
    }
}

/// A launcher that no further step needs is told to end while others go on. A further attempt of a check must not be given to it.
#[test]
fn a_check_is_tried_again_while_others_go_on_and_launchers_are_told_to_end() {
    let check = |name: &str, script: &str| {
        format!("[[check]]\nname = \"{name}\"\ncommand = [\"fake-tool\", \"--script\", \"{script}\"]\ntimeout = \"60s\"\n")
    };
    let toml = [
        WRITES_TO_SHARED.to_owned(),
        check("long", "until [ -e ../shared/again ]; do sleep 0.01; done"),
        check(
            "tried",
            "until [ -e ../shared/short ]; do sleep 0.01; done; sleep 0.2; \
             [ -e ../shared/once ] && exec touch ../shared/again; touch ../shared/once; exit 1",
        ),
        "retries = 1\n".to_owned(),
        check("short", "touch ../shared/short"),
        "[run]\nparallel = true\n[queue]\nmax_parallel = 3\n".to_owned(),
    ];
    let project = project(&toml.concat());
    let run = project.proctor(["run"]).success();
    assert!(run.stdout.contains("succeeded at attempt 2") && !run.stderr.contains("own fault"), "{}", run.snapshot());
}

/// Keys of a report whose values differ in every run, because they depend on times, ids or paths.
const OF_A_RUN: &[&str] = &[
    "executionId",
    "reportHash",
    "planDigest",
    "generatedAt",
    "startTime",
    "endTime",
    "duration",
    "actualDuration",
    "totalDuration",
    "lastModified",
];

/// Returns a report as text without the values that differ in every run. Records and frames contain times, so their
/// digests are removed too.
pub(super) fn timeless(mut report: Value, root: &str) -> String {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|key, _| !OF_A_RUN.contains(&key.as_str()));
                fields.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    strip(&mut report);
    report["project"]["id"] = Value::Null;
    report["environment"]["digest"] = Value::Null;
    report["environment"]["variables"] = Value::Null;
    for file in report["evidenceFiles"].as_array_mut().expect("a list") {
        if !file["name"].as_str().expect("a name").ends_with(".log") {
            (file["bytes"], file["sha256"]) = (Value::Null, Value::Null);
        }
    }
    format!("{report:#}").replace(root, "<root>")
}

/// Returns a project whose steps end in many ways: successes, a failure, a step that needs the failed one, a file, a
/// repeated attempt, a missing program.
fn mixed() -> Project {
    let flaky = "#!/bin/sh\n[ -e ../shared/tried ] || { touch ../shared/tried; exit 1; }\n";
    let toml = WRITES_TO_SHARED.to_owned()
        + &check("slow", &["--sleep", "150", "--stdout", "slow\n"])
        + &check("quick", &["--stdout", "quick\n"])
        + &check("red", &["--exit", "1", "--stdout", "red\n"])
        + "after = [\"slow\"]\n"
        + &check("needs red", &[])
        + "after = [\"red\"]\n"
        + "[[check]]\nname = \"flaky\"\ncommand = [\"bin/flaky\"]\nretries = 2\n"
        + "[[check]]\nname = \"nowhere\"\ncommand = [\"bin/nowhere\"]\n"
        + &check("a file", &[])
        + &cleanup("end", &["--stdout", "end\n"]);
    project(&toml).executable("bin/flaky", flaky)
}

#[test]
fn a_report_does_not_show_whether_steps_went_on_at_the_same_time() {
    let carried = |parallel: bool| {
        let project = mixed();
        let report = run_plan(&project, |plan| {
            plan.parallel = parallel;
            plan.steps[6] = file(&plan.steps[6], "proctor.toml", FileCheck::Exists);
        });
        let started = words(&report);
        (timeless(report, &project.root().display().to_string()), started)
    };
    let ((one, words), (other, _)) = (carried(false), carried(true));
    let shown = ["SUCCESS", "SUCCESS", "EXECUTION_ERROR", "dependency-failed", "SUCCESS", "EXECUTION_ERROR", "SUCCESS"];
    assert_eq!(words, shown.map(Value::from));
    assert_eq!(one, other);
}

#[test]
fn after_a_failure_what_goes_on_ends_and_what_has_not_started_is_skipped() {
    let waits = |name: &str| (name.to_owned(), "go".to_owned());
    let pairs = [waits("a"), waits("b"), waits("c"), waits("d"), waits("e")];
    let pairs: Vec<_> = pairs.iter().map(|(one, other)| (one.as_str(), other.as_str())).collect();
    let fails = "#!/bin/sh\nfor name in b c d; do until [ -e ../shared/$name ]; do sleep 0.01; done; done\nexit 1\n";
    let project = meeting(&pairs).executable("bin/fails", fails);
    let go = beside(&project, "go");
    let mut tell = |progress: &Progress, _: &_| {
        if let Progress::ActionEnded(ended) = progress
            && ended.action_id == ActionId::numbered("STEP", 1)
        {
            fs::write(&go, "").expect("the directory is ours");
        }
    };
    // The queue lets four steps run at the same time, so the fifth could start only after the first has ended.
    let shape = |plan: &mut Plan| {
        plan.parallel = true;
        plan.steps[0].command.argv = vec!["bin/fails".to_owned()];
        plan.steps[0].continue_on_failure = false;
    };
    let report = carry_out_and_tell(&project, shape, &mut tell);
    let success = || json!("SUCCESS");
    assert_eq!(words(&report), [json!("EXECUTION_ERROR"), success(), success(), success(), json!("after-failure")]);
    assert!(!exists(&beside(&project, "e")));
}

#[test]
fn an_interrupt_stops_all_that_go_on_and_nothing_is_started_any_more() {
    let project = meeting(&[("a", "never"), ("b", "never"), ("c", "never"), ("d", "never"), ("e", "never")]);
    let mut started = 0;
    let mut tell = |progress: &Progress, control: &proctor_sandbox::process::ControlHandle| {
        started += usize::from(matches!(progress, Progress::ActionStarted(_)));
        if started == 4 {
            started += 1;
            control.stop(StopReason::Interrupted);
        }
    };
    let report = carry_out_and_tell(&project, |plan| plan.parallel = true, &mut tell);
    assert_eq!(report["executionSummary"]["overallStatus"], "INTERRUPTED", "{report:#}");
    assert_eq!(words(&report)[4], "stopped");
    let codes = (1..=4).map(|number| result(&report, &format!("STEP.{number}"))["classification"]["code"].clone());
    assert_eq!(codes.collect::<Vec<_>>(), vec![json!("STOPPED"); 4]);
    assert_eq!(processes_of(project.root()), []);
}

#[test]
fn the_time_of_the_run_holds_for_all_that_go_on() {
    let project = meeting(&[("a", "never"), ("b", "never"), ("c", "never"), ("d", "never"), ("e", "never")]);
    let shape = |plan: &mut Plan| {
        plan.parallel = true;
        plan.timeout = Some(Duration::from_millis(1500));
    };
    let report = run_plan(&project, shape);
    let timed_out = || json!("TIMEOUT");
    assert_eq!(words(&report), [timed_out(), timed_out(), timed_out(), timed_out(), json!("run-timed-out")]);
    let reason = &result(&report, "STEP.4")["classification"]["reason"];
    assert!(reason.as_str().expect("a text").contains("run as a whole (1.5 s)"), "{reason}");
    assert_eq!(processes_of(project.root()), []);
}

#[test]
fn checks_whose_reports_are_the_same_file_of_the_project_wait_for_each_other() {
    const REPORT: &str = "<testsuites><testsuite name='s' tests='1'><testcase classname='c' name='n'/></testsuite></testsuites>";
    let script = format!(
        "#!/bin/sh\nmkdir ../shared/inside || exit 7\n[ ! -e report.xml ] || exit 8\nsleep 0.1\nprintf %s \"{REPORT}\" > report.xml\nrmdir ../shared/inside\necho '1 passed in 0.01s'\n"
    );
    let of = |name: &str| {
        let path = if name == "b" { "sub/../report.xml" } else { "report.xml" };
        format!("[[check]]\nname = \"{name}\"\ntool = \"pytest\"\ncommand = [\"bin/pytest\", \"--junitxml={path}\"]\n")
    };
    // On a snapshot each check would have a file of its own.
    let toml = SHARED_AND_IN_PLACE.to_owned() + &["a", "b", "c"].map(of).concat();
    let project = project(&toml)
        .executable("bin/pytest", &script)
        .file("report.xml", REPORT)
        .file(".gitignore", "report.xml\n")
        .file("sub/kept", "");
    let report = run_plan(&project, |plan| plan.parallel = true);
    assert_eq!(words(&report), vec![json!("SUCCESS"); 3], "{report:#}");
}
