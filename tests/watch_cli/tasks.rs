//! Tests how a watch shows the tasks of test specifications on its screen.

use super::LATE;
use crate::specification_runs::{project, task};

#[test]
fn one_task_is_watched_without_checks_of_the_project() {
    let project = project(&[task("T117"), task("T118")]);
    let mut watch = project.watch(["--task", "T117"]);
    watch.wait_for_line("the approval", LATE, |line| line.contains("`T117`") && line.contains("approved by this run"));
    watch.wait_for_line("a verdict", LATE, |line| line.contains("evidence/T117"));
    project.save("totals.txt", "odd\n");
    watch.wait_for_line("another verdict", LATE, |line| line.contains("FAIL"));
    let tasks: Vec<_> = project.store().committed_runs().iter().map(|run| run["task"].clone()).collect();
    assert_eq!(tasks, ["T117", "T117"]);
    assert_eq!(watch.interrupt().status, 130);
}

#[test]
fn the_tasks_of_the_configuration_are_run_one_after_the_other() {
    let settings = "[[check]]\nname = \"unit\"\ncommand = [\"true\"]\n\n[watch]\ntasks = [\"default\", \"T117\"]\n";
    let project = project(&[task("T117")]).toml(settings);
    let mut watch = project.watch([] as [&str; 0]);
    for task in ["default", "T117", "default", "T117"] {
        watch.wait_for_line(task, LATE, |line| line.contains(&format!("evidence/{task}")));
        if project.store().committed_runs().len() == 2 && task == "T117" {
            project.save("totals.txt", "half-even 2.66 again\n");
        }
    }
    assert_eq!(watch.interrupt().status, 130);
}
