//! Tests `proctor tdd`, and runs in a cycle of RED, GREEN and REFACTOR with real pytest.

mod asked;
mod cycle;
mod limits;
mod person;
mod red;
mod seed_table;

use serde_json::{Value, json};

use crate::common::{Output, Project, python_plain};

const PASSING: &str = "def test_it():\n    assert 1 == 1\n";

const FAILING: &str = "def test_it():\n    assert 1 == 2\n";

const EMPTY: &str = "# no tests yet\n";

/// Returns a project whose only check is pytest, with `settings` after it in `proctor.toml`.
pub(crate) fn project(settings: &str) -> Project {
    let python = python_plain();
    let check = format!("[[check]]\nname = \"tests\"\ncommand = [{:?}, \"-m\", \"pytest\", \"-q\"]\n", python.to_string_lossy());
    Project::new().toml(&format!("{check}{settings}"))
}

/// Runs the check on `tests` as the project's only test file, and expects `status`.
#[track_caller]
fn run(project: &Project, tests: &str, status: i32) -> Output {
    project.save("test_it.py", tests);
    project.proctor(["run"]).status(status)
}

#[track_caller]
fn tdd(project: &Project, arguments: &[&str]) -> Output {
    project.proctor(["tdd"]).arguments(arguments).success()
}

/// Returns the last line of the output without the report's path, which is the same in every run.
#[track_caller]
fn last_line(output: &Output) -> String {
    let line = output.stdout.lines().last().expect("a run says something");
    let (line, path) = line.rsplit_once(" · ").expect("the last line ends with the report's path");
    assert_eq!(path, "evidence/default/execution-report.json");
    line.to_owned()
}

/// Returns the newest run's route with its rule, the phase before and after it, and the number of attempts.
#[track_caller]
fn routed(output: &Output) -> Value {
    let report = output.report();
    json!([
        report["route"]["nextNode"],
        report["route"]["kind"],
        report["tdd"]["phase"],
        report["tdd"]["phaseAfter"],
        report["tdd"]["attempts"],
    ])
}
