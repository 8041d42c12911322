//! Errors that show only when all specification files of a project are compared, and files that cannot be read: each names
//! its file and its place.

use std::fs;

use super::{invoices, replace, report, runs};
use crate::common::Project;

/// Returns the standard error of a run that was refused for a wrong specification.
#[track_caller]
fn refused(project: &Project, task: &str) -> String {
    project.proctor(["run", "--task", task]).status(4).stderr
}

#[test]
fn a_dependency_on_a_task_that_is_nowhere_names_the_place_and_the_nearest_task() {
    let project = invoices();
    replace(&project, "specs/T110-mail-test-specification.json", "\"T109\"", "\"T190\"");
    let said = refused(&project, "T110");
    let place = "specs/T110-mail-test-specification.json:25:9: error[TASK_NOWHERE] /tasks/T110/dependencies/0: no test \
                 specification has a task `T190`";
    assert!(said.contains(place) && said.contains("did you mean `T109`?"), "{said}");
    assert!(said.contains("the tasks are: T101, T102"), "{said}");
    let sealed = report(&project, "T110");
    assert_eq!(sealed["executionSummary"]["overallStatus"], "SPECIFICATION_ERROR");
    assert_eq!(sealed["specificationErrors"][0]["instancePath"], "/tasks/T110/dependencies/0");
    // The tasks of the other files are as they were. `check` and an agent's request say the same as the run.
    project.proctor(["run", "--task", "T102"]).success();
    assert!(project.proctor(["check"]).status(4).stdout.contains("TASK_NOWHERE"));
    assert!(project.proctor(["request", "fix", "--task", "T110"]).status(4).stdout.contains("TASK_NOWHERE"));
    let all = project.proctor(["run", "--task", "*"]).status(4);
    assert!(all.stdout.contains("T110  SPECIFICATION ERROR") && all.stdout.contains("T101  not run"), "{}", all.snapshot());
}

#[test]
fn tasks_of_several_files_that_wait_for_each_other_are_told_by_their_way() {
    let project = invoices();
    replace(&project, "specs/base-test-specification.json", "\"T102\"\n", "\"T101\"\n");
    let said = refused(&project, "T110");
    let place = "specs/T110-mail-test-specification.json:25:9: error[TASK_CYCLE] /tasks/T110/dependencies/0: `T110` waits for \
                 itself: T110 → T109 → T108 → T105 → T103 → T101 → T110";
    assert!(said.contains(place), "{said}");
    project.proctor(["run", "--task", "T102"]).success();
    // The task of the discounts waits for no task of the circle, so it runs in its turn.
    let all = project.proctor(["run", "--task", "*"]).status(4);
    assert!(all.stdout.contains("T106  PASSED") && all.stdout.contains("T103  SPECIFICATION ERROR"), "{}", all.snapshot());
}

#[test]
fn two_files_with_one_task_are_both_named() {
    let project = invoices();
    let text = fs::read_to_string(project.path().join("specs/T110-mail-test-specification.json")).expect("it is there");
    project.save("specs/T110-again-test-specification.json", &text);
    let said = refused(&project, "T110");
    let both = "`specs/T110-again-test-specification.json:20:5` and `specs/T110-mail-test-specification.json:20:5` both have a \
                task `T110`";
    assert!(said.contains(both) && said.contains("hint: give one of them another id"), "{said}");
    let sealed = report(&project, "T110");
    let errors = sealed["specificationErrors"].as_array().expect("a list");
    assert_eq!(errors.len(), 2, "one at each place: {errors:#?}");
    assert_eq!((&errors[0]["code"], &errors[0]["line"]), (&"TASK_TWICE".into(), &20.into()));
    assert!(project.proctor(["check"]).status(4).stdout.contains("TASK_TWICE"));
    assert_eq!(project.proctor(["run", "--task", "*"]).status(4).stdout.matches("T110  SPECIFICATION ERROR").count(), 1);
}

#[test]
fn files_that_cannot_be_read_are_named_with_the_place_and_keep_no_other_file_from_running() {
    let project = invoices();
    let bytes = b"{\n  \"schemaVersion\": \"2.0.0\",\n  \"metadata\": { \"projectName\": \"caf\xe9\" }\n}\n";
    fs::write(project.path().join("specs/T113-test-specification.json"), bytes).expect("it is ours");
    let place = "specs/T113-test-specification.json:3:36: error[UNREADABLE]: the file is not UTF-8";
    let checked = project.proctor(["check"]).status(4);
    assert!(checked.stdout.contains(place) && checked.stdout.contains("save the file in UTF-8"), "{}", checked.snapshot());
    assert!(checked.stdout.contains("✓ specs/base-test-specification.json"), "the others are checked: {}", checked.snapshot());
    // The file is named after the task, so the task's report has the error.
    assert!(refused(&project, "T113").contains(place));
    assert_eq!(report(&project, "T113")["specificationErrors"][0]["line"], 3);
    let listed = project.proctor(["run"]).status(2);
    assert!(listed.stderr.contains(place) && listed.stderr.contains("12 tasks"), "{}", listed.snapshot());
    let all = project.proctor(["run", "--task", "*"]).status(4);
    assert!(all.stdout.contains("12 tasks: 12 PASSED") && all.stderr.contains(place), "{}", all.snapshot());
    assert_eq!(runs(&project).len(), 13);
    assert!(project.proctor(["status"]).success().stdout.contains(place));

    fs::remove_file(project.path().join("specs/T113-test-specification.json")).expect("it is ours");
    let fifo = project.path().join("specs/T114-test-specification.json");
    std::os::unix::fs::symlink("/nowhere/at/all.json", &fifo).expect("it is ours");
    let said = project.proctor(["check"]).status(4).stdout;
    assert!(said.contains("specs/T114-test-specification.json: error[UNREADABLE]: the file cannot be read: "), "{said}");
    fs::remove_file(fifo).expect("it is ours");
    project.proctor(["run", "--task", "*"]).success();
}
