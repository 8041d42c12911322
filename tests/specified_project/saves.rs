//! Saves while `proctor run --task '*'` goes on, and waiting for all tasks without the service.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use super::{ORDER, invoices, replace, report, runs, summary};
use crate::common::{Output, Project, WRITES_TO_SHARED, poll};

/// The longest wait for a task's step to begin.
const BEGUN: Duration = Duration::from_secs(60);

/// The step of the first task. Each time it says in which call it is, and waits to be let on.
const HOLD: &str = "#!/bin/sh\nnumber=0\nwhile [ -e SHARED/begun.$number ]; do number=$((number + 1)); done\n\
                    touch SHARED/begun.$number\ntries=0\n\
                    while [ ! -e SHARED/go.$number ]; do tries=$((tries + 1)); [ $tries -gt 1200 ] && exit 1; sleep 0.05; done\n";

/// Runs all tasks, and saves a file during each of the first `saves` of its `calls` of the first task's step.
#[track_caller]
fn run_with_saves(project: &Project, saves: usize, calls: usize) -> Output {
    let run = project.proctor(["run", "--task", "*"]).watch();
    for number in 0..calls {
        let begun = project.shared(&format!("begun.{number}"));
        poll(BEGUN, "the step to begin", || begun.exists().then_some(()).ok_or("it has not begun"));
        if number < saves {
            project.save("data/more.txt", &format!("{number}\n"));
        }
        fs::write(project.shared(&format!("go.{number}")), "").expect("it is ours");
    }
    run.ended()
}

fn held_invoices() -> Project {
    let project = invoices().toml(WRITES_TO_SHARED);
    let shared = project.shared("");
    let script = HOLD.replace("SHARED", shared.to_str().expect("our paths are UTF-8").trim_end_matches('/'));
    let project = project.executable("bin/hold", &script);
    replace(&project, "specs/base-test-specification.json", "grep -F 'EUR' data/rates.txt", "bin/hold");
    project
}

#[test]
fn what_a_save_made_outdated_is_run_once_more() {
    let project = held_invoices();
    let output = run_with_saves(&project, 1, 2);
    assert_eq!(output.status, 0, "{}", output.snapshot());
    assert!(output.stderr.contains("run once more"), "{}", output.snapshot());
    assert_eq!(summary(&output)[0], "12 tasks: 12 PASSED", "{}", output.snapshot());
    let trees: Vec<Value> = ORDER.iter().map(|task| report(&project, task)["tree"]["before"].clone()).collect();
    assert!(trees.iter().all(|tree| *tree == trees[0]), "all verdicts are about the same files: {trees:?}");
    assert_eq!(runs(&project).iter().filter(|task| *task == "T102").count(), 2, "{:?}", runs(&project));
    assert_eq!(runs(&project).iter().filter(|task| *task == "T107").count(), 1, "what was run on the new files is not repeated");
}

#[test]
fn verdicts_about_different_files_are_neither_green_nor_red() {
    let project = held_invoices();
    let output = run_with_saves(&project, 2, 2);
    assert_eq!(output.status, 5, "{}", output.snapshot());
    assert!(output.stderr.contains("changed again while the tasks ran"), "{}", output.snapshot());
    assert!(output.stderr.contains("hint: run the command once more"), "{}", output.snapshot());
}

#[test]
#[ignore = "long tier"]
fn waiting_for_all_tasks_without_the_service_opens_the_store_once() {
    let project = invoices();
    project.proctor(["run", "--task", "*"]).success();
    project.save("data/more.txt", "1\n");
    let output = project.proctor(["wait", "--fresh", "--timeout", "120s"]).success();
    assert_eq!(runs(&project)[ORDER.len()..], ORDER);
    assert!(!output.stderr.contains("there is no log"), "{}", output.snapshot());
}
