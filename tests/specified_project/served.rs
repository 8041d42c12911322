//! A project with specifications only in `proctor watch` and in the service.

use std::time::Duration;

use serde_json::Value;

use super::{BEHIND_TOTALS, ORDER, RIGHT_TOTALS, TOTALS, WRONG_TOTALS, invoices, replace, report, runs};
use crate::common::{Project, poll};
use crate::daemon::{LATE, start_serving};

/// The longest wait for twelve tasks.
const ALL: Duration = Duration::from_secs(120);

/// Returns the state of each task as `proctor status` has it.
#[track_caller]
fn states(project: &Project) -> Vec<(String, String)> {
    let status = project.proctor(["status", "--json"]).success().json();
    let tasks = status["projects"][0]["tasks"].as_array().expect("tasks").clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    tasks.iter().map(|task| (text(&task["task"]), format!("{} {}", text(&task["state"]), text(&task["result"])))).collect()
}

#[test]
#[ignore = "long tier"]
fn a_watch_runs_all_tasks_at_every_save() {
    let project = invoices();
    let mut watch = project.watch([] as [&str; 0]);
    for task in ORDER {
        watch.wait_for_line(task, ALL, |line| line.contains(&format!("PASSED · evidence/{task}/")));
    }
    assert_eq!(runs(&project), ORDER);
    project.save(TOTALS, WRONG_TOTALS);
    watch.wait_for_line("the red task", ALL, |line| line.contains("FAILED") && line.contains("evidence/T105/"));
    watch.wait_for_line("a task behind it", LATE, |line| line.contains("`T108` depends on what is not complete"));
    watch.wait_for_line("the last task", LATE, |line| line.contains("`T101` depends on what is not complete"));
    // With the content of before, nothing would be run: it is known.
    project.save(TOTALS, &format!("{RIGHT_TOTALS}\n"));
    for task in ORDER {
        watch.wait_for_line(task, ALL, |line| line.contains(&format!("PASSED · evidence/{task}/")));
    }
    // A wrong specification is sealed once, and the others go on.
    replace(&project, "specs/T110-mail-test-specification.json", "\"EXISTS\"", "\"EXIST\"");
    watch.wait_for_line("the refusal", ALL, |line| line.contains("SPECIFICATION ERROR · evidence/T110/"));
    watch.wait_for_line("a task after it", ALL, |line| line.contains("PASSED · evidence/T111/"));
    assert_eq!(watch.interrupt().status, 130);
}

#[test]
#[ignore = "long tier"]
fn the_service_takes_the_project_and_runs_breaks_and_mends_its_tasks() {
    let project = invoices();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh", "--timeout", "120s"]).success();
    assert_eq!(runs(&project), ORDER, "the start runs each once, and the wait none again");
    let green = ORDER.map(|task| (task.to_owned(), "fresh PASSED".to_owned())).to_vec();
    assert_eq!(states(&project), green);
    let listed = project.proctor(["service", "list"]).success().stdout;
    assert!(ORDER.iter().all(|task| listed.contains(&format!("  {task} · last PASS of run "))), "{listed}");
    assert!(listed.contains("  served ") && !listed.contains("default"), "{listed}");

    project.save(TOTALS, WRONG_TOTALS);
    let answer = project.proctor(["wait", "--fresh", "--timeout", "120s", "--json"]).status(1).json();
    let state = |task: &str| {
        let tasks = answer["project"]["tasks"].as_array().expect("tasks");
        tasks.iter().find(|status| status["task"] == task).map(|status| status["exitCode"].clone())
    };
    assert_eq!((state("T105"), state("T104")), (Some(1.into()), Some(0.into())), "{answer:#}");
    for task in BEHIND_TOTALS {
        assert_eq!(state(task), Some(5.into()), "{task} was not judged on these files: {answer:#}");
    }
    // The service makes the run for the command.
    let refused = project.proctor(["run", "--task", "T108"]).status(1);
    assert!(refused.stderr.contains("T105: "), "{}", refused.snapshot());
    let all = project.proctor(["run", "--task", "*"]).status(1);
    assert!(all.stdout.contains("12 tasks: 6 PASSED, 1 FAILED, 5 not run"), "{}", all.snapshot());

    project.save(TOTALS, RIGHT_TOTALS);
    project.proctor(["wait", "--fresh", "--timeout", "120s"]).success();
    assert_eq!(states(&project), green);

    // A save that makes a specification wrong leaves a sealed report, and the mended one is judged again.
    replace(&project, "specs/T110-mail-test-specification.json", "\"EXISTS\"", "\"EXIST\"");
    let sealed = poll(LATE, "the sealed refusal", || {
        let report = report(&project, "T110");
        if report["executionSummary"]["overallStatus"] == "SPECIFICATION_ERROR" { Ok(report) } else { Err(report.to_string()) }
    });
    assert_eq!(sealed["executionSummary"]["actionCounts"]["total"], 2);
    project.proctor(["wait", "--fresh", "--timeout", "120s"]).status(4);
    replace(&project, "specs/T110-mail-test-specification.json", "\"EXIST\"", "\"EXISTS\"");
    project.proctor(["wait", "--fresh", "--timeout", "120s"]).success();
    assert_eq!(states(&project), green);
    daemon.interrupt();
}

#[test]
fn a_task_that_is_wrong_when_the_service_starts_has_its_report_too() {
    let project = invoices();
    replace(&project, "specs/T110-mail-test-specification.json", "\"EXISTS\"", "\"EXIST\"");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh", "--timeout", "120s"]).status(4);
    let sealed = poll(LATE, "the sealed refusal", || {
        let runs = runs(&project);
        if runs.contains(&"T110".to_owned()) { Ok(report(&project, "T110")) } else { Err(format!("{runs:?}")) }
    });
    assert_eq!(sealed["executionSummary"]["overallStatus"], "SPECIFICATION_ERROR");
    daemon.interrupt();
}

/// Nothing can be run from a wrong specification, so the answer is what is wrong, and the refusal is sealed.
#[test]
#[ignore = "long tier"]
fn a_retest_of_a_wrong_specification_is_answered_with_what_is_wrong() {
    let project = invoices();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh", "--timeout", "120s"]).success();
    replace(&project, "specs/T110-mail-test-specification.json", "\"EXISTS\"", "\"EXIST\"");
    let answer = project.proctor(["request", "retest", "--task", "T110", "--json"]).status(4).json();
    let errors = answer["errors"].to_string();
    assert_eq!(answer["accepted"], false, "{answer:#}");
    assert!(errors.contains("it is `EXIST`") && errors.contains("did you mean `EXISTS`?"), "{answer:#}");
    assert_eq!(report(&project, "T110")["executionSummary"]["overallStatus"], "SPECIFICATION_ERROR");
    daemon.interrupt();
}
