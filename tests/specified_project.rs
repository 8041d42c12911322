//! Tests a project that has test specifications and no checks of its own: `fixtures/projects/invoices`, twelve tasks in six
//! files that depend on each other. Each task looks for a text in a file of its own below `data/`.

mod across_files;
mod first_contact;
mod saves;
mod served;

use std::fs;

use serde_json::Value;

use crate::common::{Output, Project};

/// The tasks in the order of their dependencies, and by their ids where these leave it open.
const ORDER: [&str; 12] = ["T102", "T103", "T104", "T105", "T107", "T108", "T109", "T110", "T112", "T106", "T111", "T101"];
/// The tasks that wait for the task of the totals, directly or through others.
const BEHIND_TOTALS: [&str; 5] = ["T108", "T109", "T110", "T111", "T101"];
const TOTALS: &str = "data/totals.txt";
const RIGHT_TOTALS: &str = "2.66\n";
const WRONG_TOTALS: &str = "2.67\n";

fn invoices() -> Project {
    Project::bundled("invoices")
}

/// Returns the tasks of the sealed runs, in the order of their commits.
#[track_caller]
fn runs(project: &Project) -> Vec<String> {
    project.store().committed_runs().iter().map(|run| run["task"].as_str().expect("a task").to_owned()).collect()
}

/// Returns the sealed report to which the project's link to its evidence leads.
#[track_caller]
fn report(project: &Project, task: &str) -> Value {
    let path = project.path().join("evidence").join(task).join("execution-report.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    serde_json::from_str(&text).expect("a report is JSON")
}

/// Returns the lines of the summary that a run of all tasks ends with, without the paths of the reports.
fn summary(output: &Output) -> Vec<String> {
    let lines = output.stdout.lines().skip_while(|line| !line.starts_with("12 tasks: "));
    lines.map(|line| line.split(" · evidence/").next().unwrap_or_default().trim_start().to_owned()).collect()
}

/// Replaces a text in a file of the project. Panics if the text is not there.
#[track_caller]
fn replace(project: &Project, path: &str, from: &str, to: &str) {
    let text = fs::read_to_string(project.path().join(path)).expect("the file is there");
    assert!(text.contains(from), "{from:?} is not in {text}");
    project.save(path, &text.replace(from, to));
}

#[test]
fn a_run_without_a_task_says_which_tasks_there_are() {
    let project = invoices();
    insta::assert_snapshot!(project.proctor(["run"]).status(2).snapshot(), @r"
    exit status: 2
    --- stderr
    error: the project has no checks of its own, and its test specifications have 12 tasks: say which is meant
      T102  The rates of all currencies are there
      T103  Every currency has its minor units · needs T102
      T104  The rule of rounding is half to even
      T105  Totals are rounded by the rule · needs T103, T104
      T107  The layout has a place for every field
      T108  The invoice shows the total · needs T105, T107
      T109  The file of an invoice has its number · needs T108
      T110  The mail to the customer names the file · needs T109
      T112  Taxes are rounded by the rule · needs T104
      T106  Discounts are taken before taxes · needs T112
      T111  The archive keeps every invoice · needs T106, T108
      T101  The release notes name every change · needs T110, T111
      hint: `proctor run --task T102` runs one, `proctor run --task '*'` all, in the order of their dependencies
    ");
    assert!(!project.path().join("evidence").exists(), "nothing was run or registered");
    let error = project.proctor(["plan", "--json"]).status(2).json();
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("12 tasks")), "{error}");
    project.proctor(["plan", "--task", "T101"]).success();
    let refused = project.proctor(["run", "--task", "*", "--check", "STEP.1"]).status(2);
    assert!(refused.stderr.contains("runs all tasks"), "{}", refused.snapshot());
    // The settings are those of every task, so a question about approvals needs none. `check` finds nothing wrong with the files.
    let approved = project.proctor(["approve"]).success();
    assert!(approved.stderr.contains("this is about its settings and task `T102`"), "{}", approved.snapshot());
    project.proctor(["check"]).success();
}

#[test]
fn the_only_task_is_run_without_being_named() {
    let project = invoices();
    for file in ["amounts", "base", "T101-release", "T110-mail", "T111-archive"] {
        fs::remove_file(project.path().join(format!("specs/{file}-test-specification.json"))).expect("it is ours");
    }
    let several = project.proctor(["run"]).status(2);
    assert!(several.stderr.contains("3 tasks"), "{}", several.snapshot());
    let text = fs::read_to_string(project.path().join("specs/output-test-specification.json")).expect("it is there");
    let mut document: Value = serde_json::from_str(&text).expect("it is JSON");
    document["tasks"].as_object_mut().expect("tasks").retain(|id, _| id == "T107");
    project.save("specs/output-test-specification.json", &document.to_string());
    let output = project.proctor(["run"]).success();
    assert!(output.stdout.contains("PASSED") && output.stdout.contains("evidence/T107/"), "{}", output.snapshot());
    assert_eq!(runs(&project), ["T107"]);
    let status = project.proctor(["status"]).success().stdout;
    assert!(status.starts_with("project · T107 · fresh PASS") && status.lines().count() == 1, "{status}");
    project.proctor(["wait", "--fresh"]).success();
    let listed = project.proctor(["service", "list"]).success().stdout;
    assert!(listed.contains("  T107 · last PASS of run ") && !listed.contains("no verdict"), "{listed}");
}

#[test]
#[ignore = "long tier"]
fn all_tasks_run_in_the_order_of_their_dependencies_are_broken_and_mended() {
    let project = invoices();
    let output = project.proctor(["run", "--task", "*"]).success();
    assert_eq!(runs(&project), ORDER);
    let expected: Vec<String> =
        ["12 tasks: 12 PASSED".to_owned()].into_iter().chain(ORDER.map(|task| format!("{task}  PASSED"))).collect();
    assert_eq!(summary(&output), expected, "{}", output.snapshot());
    assert_eq!(report(&project, "T101")["completionCriteriaEvaluation"]["completionStatus"], "COMPLETE");

    // Every task is judged anew on the changed tree. Those behind the red one are not run, and say why.
    project.save(TOTALS, WRONG_TOTALS);
    let output = project.proctor(["run", "--task", "*"]).status(1);
    let lines = summary(&output);
    assert_eq!(lines[0], "12 tasks: 6 PASSED, 1 FAILED, 5 not run", "{}", output.snapshot());
    for (line, task) in lines[1..].iter().zip(ORDER) {
        let expected = match task {
            "T105" => "T105  FAILED".to_owned(),
            _ if BEHIND_TOTALS.contains(&task) => {
                format!("{task}  not run · `{task}` depends on what is not complete: nothing was run")
            }
            _ => format!("{task}  PASSED"),
        };
        assert!(line.starts_with(&expected), "{line}\n{}", output.snapshot());
    }
    assert_eq!(runs(&project).len(), 12 + 7);
    let document = project.proctor(["run", "--task", "*", "--json"]).status(1).json();
    assert_eq!((&document["schema"], &document["exitCode"]), (&"proctor-run-all-v1".into(), &1.into()));
    let tasks = document["tasks"].as_array().expect("a list");
    let codes: Vec<_> = tasks.iter().map(|task| (task["task"].as_str().expect("an id"), task["exitCode"].clone())).collect();
    assert_eq!(codes.iter().map(|(task, _)| *task).collect::<Vec<_>>(), ORDER);
    assert!(codes.iter().all(|(task, code)| (*code == 0) == (*task != "T105" && !BEHIND_TOTALS.contains(task))), "{document:#}");
    assert!(tasks[3]["report"].as_str().is_some_and(|path| path.ends_with("T105/execution-report.json")), "{document:#}");
    assert!(tasks[5]["runId"].is_null(), "T108 was not run: {document:#}");
    let status = project.proctor(["status"]).success().stdout;
    assert!(status.contains("project · T105 · fresh FAIL"), "{status}");
    assert!(status.contains("project · T108 · stale") && !status.contains("default"), "{status}");

    project.save(TOTALS, RIGHT_TOTALS);
    let output = project.proctor(["run", "--task", "*"]).success();
    assert_eq!(summary(&output)[0], "12 tasks: 12 PASSED", "{}", output.snapshot());
    let status = project.proctor(["status"]).success().stdout;
    assert_eq!(status.matches("fresh PASS").count(), 12, "{status}");
    project.proctor(["verify", "--all"]).success();
}

#[test]
#[ignore = "long tier"]
fn a_wait_without_a_task_waits_for_all_and_any_red_one_is_red() {
    let project = invoices();
    let unregistered = project.proctor(["wait", "--fresh"]).status(3);
    assert!(unregistered.stdout.contains("nothing was run here yet"), "{}", unregistered.snapshot());
    project.proctor(["run", "--task", "T102"]).success();
    let answer = project.proctor(["wait", "--fresh", "--json"]).success().json();
    let tasks: Vec<&str> =
        answer["project"]["tasks"].as_array().expect("tasks").iter().map(|task| task["task"].as_str().expect("an id")).collect();
    assert_eq!((tasks, &answer["exitCode"]), (ORDER.to_vec(), &0.into()), "{answer:#}");
    project.save(TOTALS, WRONG_TOTALS);
    let answer = project.proctor(["wait", "--fresh", "--task", "*"]).status(1);
    assert!(answer.stdout.contains("T105 · fresh FAIL"), "{}", answer.snapshot());
    let listed = project.proctor(["service", "list"]).success().stdout;
    assert!(listed.contains("  T105 · last FAIL of run ") && listed.contains("  T101 · last PASS of run "), "{listed}");
    // A file in which no task can be read may hold a task that nobody judged.
    project.save(TOTALS, RIGHT_TOTALS);
    project.save("specs/T113-test-specification.json", "{");
    let waited = project.proctor(["wait", "--fresh"]).status(4);
    assert!(waited.stdout.contains("specs/T113-test-specification.json:1:1: error[SYNTAX]"), "{}", waited.snapshot());
}

#[test]
fn a_project_with_checks_runs_its_checks_and_names_its_tasks_only_where_they_are_asked_for() {
    let project = invoices().toml("[[check]]\nname = \"unit\"\ncommand = [\"true\"]\n");
    project.proctor(["run"]).success();
    assert_eq!(runs(&project), ["default"]);
    let status = project.proctor(["status"]).success().stdout;
    assert_eq!(status.lines().count(), 1, "{status}");
    project.proctor(["run", "--task", "*"]).success();
    assert_eq!(runs(&project)[1..], ORDER);
    let empty = Project::new().toml("[[check]]\nname = \"unit\"\ncommand = [\"true\"]\n");
    let refused = empty.proctor(["run", "--task", "*"]).status(2);
    assert!(refused.stderr.contains("no test specification"), "{}", refused.snapshot());
}
