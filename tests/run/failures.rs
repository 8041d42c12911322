//! Tests what `run`, `show` and `watch` say about failed tests, with real pytest.

use std::path::Path;

use crate::common::{Project, python_plain};

const STOCK: &str = "def find(item):\n    return item['sku']\n";

const TESTS: &str = "\
import pytest
from stock import find


@pytest.mark.parametrize('n', range(29))
def test_n(n):
    assert n == n + 1


class TestFind:
    def test_price(self):
        find({})

    def test_order(self):
        assert find({'price': 1}) == 3


def test_table(database):
    pass


@pytest.fixture
def server():
    raise RuntimeError('no server')


def test_server(server):
    pass
";

/// Makes a project with 33 failing tests, of which one has 29 cases.
fn project() -> Project {
    let python = python_plain();
    let bin = python.parent().and_then(Path::to_str).expect("the path is text");
    let check = format!("[[check]]\nname = \"pytest\"\ncommand = \"{bin}/python -m pytest -p no:cacheprovider\"\n");
    Project::new().file("stock.py", STOCK).file("conftest.py", "").file("tests/test_stock.py", TESTS).toml(&check)
}

/// Returns a screen with the interpreter's place replaced.
fn screen(text: &str) -> String {
    let python = python_plain();
    text.replace(&python.display().to_string(), "<python>")
}

#[test]
fn every_cause_is_on_the_screen_and_the_first_failure_with_its_assertion() {
    let project = project();
    let output = project.proctor(["run"]).status(1);
    insta::assert_snapshot!(screen(&output.snapshot()));
    assert!(!output.stdout.contains('\x1b'), "a pipe gets no control sequences");
    let log = project.proctor(["show", "--log", "pytest"]).success().stdout;
    assert!(log.contains("31 failed, 2 errors"), "the command that the screen names prints the log: {log}");
    let is_of_checks = |line: &&str| !line.starts_with("  log of") && !line.starts_with("debt:");
    // `show` has the same lines between its own first line and the places of the files.
    // A run that takes longer than a second has a line about its progress too.
    let is_result = |line: &&str| !line.starts_with("  … ");
    let of_run: Vec<&str> = output.stdout.lines().take_while(is_of_checks).filter(is_result).collect();
    let shown = project.proctor(["show"]).success().stdout;
    let of_show: Vec<&str> = shown.lines().skip(1).take_while(is_of_checks).collect();
    assert_eq!(of_show, of_run);
}

#[test]
fn all_or_none_of_the_failures_are_shown_on_request() {
    let project = project();
    let none = project.proctor(["run", "--failures", "none"]).status(1).stdout;
    assert!(none.contains("31 failed, 2 errors") && !none.contains('│'), "{none}");
    for command in ["run", "show"] {
        let all = project.proctor([command, "--failures", "all"]).any_status().stdout;
        assert_eq!(all.matches("assert n == n + 1").count(), 29, "{all}");
        assert!(all.contains("RuntimeError: no server") && all.contains("fixture 'database' not found"), "{all}");
    }
}
