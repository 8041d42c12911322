//! Tests the names of tests: that a person can paste them, and that runs whose records have other names are compared rightly.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{Output, Project, python_plain};
use crate::run::result;

const STOCK: &str = "\
import pytest


class TestStock:
    class TestInner:
        @pytest.mark.parametrize('text', ['a::b', 'x[0]', 'tests/c.py::d', 'größe', 'a b', '[', ']', \"it's $HOME\"])
        def test_text(self, text):
            assert text == 'another'


def test_plain():
    assert 1 == 2


def test_passes():
    pass
";

/// A script that stands for a wrapper of pytest. It writes the report of `report.xml` and ends with exit code `code`. proctor
/// finds no node ids unless the script prints where pytest runs.
const WRAPPER: &str = "\
cat header.txt
eval \"set -- $PYTEST_ADDOPTS\"
for word; do
    case $word in --junitxml=*) cp report.xml \"${word#--junitxml=}\" ;; esac
done
exit \"$(cat code)\"
";

/// Returns the failed tests in a report.
fn failures(report: &Value) -> Vec<Value> {
    result(report, "STEP.1")["result"]["testResults"]["failures"].as_array().expect("a list").clone()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("`{key}` is no text: {value}"))
}

/// Makes a project with a check whose report the test writes.
fn wrapped(header: &str, report: &str, code: &str) -> Project {
    let check = "[[check]]\nname = \"unit\"\ncommand = \"sh run.sh\"\ntool = \"pytest\"\n";
    let project = Project::new().toml(check).file("run.sh", WRAPPER).file("tests/test_a.py", "# two tests\n");
    project.file("header.txt", header).file("report.xml", report).file("code", code)
}

fn suite(cases: &[(&str, &str)]) -> String {
    let cases: String = cases
        .iter()
        .map(|(name, mark)| format!("<testcase classname=\"tests.test_a.TestX\" name=\"{name}\">{mark}</testcase>"))
        .collect();
    format!("<testsuites><testsuite tests=\"{}\">{cases}</testsuite></testsuites>", cases.matches("<testcase").count())
}

fn header(project: &Project) -> String {
    format!("rootdir: {}\n", project.path().display())
}

/// Returns the tests in a run's record.
fn recorded(output: &Output) -> Vec<(String, Option<String>)> {
    let bytes = fs::read(output.run_directory().join("STEP.1-test-results.json")).expect("the record is there");
    let record: Value = serde_json::from_slice(&bytes).expect("it is JSON");
    let tests = record["results"]["testResults"].as_array().expect("a list");
    tests.iter().map(|test| (text(test, "fullName").to_owned(), test["reportName"].as_str().map(str::to_owned))).collect()
}

#[test]
fn the_name_of_a_failed_test_runs_it_in_real_pytest() {
    let python = python_plain();
    let bin = python.parent().and_then(Path::to_str).expect("the path is text");
    let check = format!(
        "[[check]]\nname = \"pytest\"\ndirectory = \"back\"\ncommand = \"{bin}/python -m pytest -q -p no:cacheprovider\"\n"
    );
    let project = Project::new().toml(&check).file("back/tests/test_stock.py", STOCK).file("tests/test_stock.py", "# another\n");
    let output = project.proctor(["run"]).status(1);
    let report = output.report();
    let failures = failures(&report);
    assert_eq!(failures.len(), 9, "{report}");
    let names: Vec<&str> = failures.iter().map(|failure| text(failure, "testName")).collect();
    assert!(names.contains(&"tests/test_stock.py::TestStock::TestInner::test_text[tests/c.py::d]"), "{names:?}");
    assert!(names.contains(&"tests/test_stock.py::test_plain"), "{names:?}");
    let of_plain = failures.iter().find(|failure| text(failure, "testName").ends_with("test_plain")).expect("it failed");
    assert_eq!(text(of_plain, "reportName"), "tests.test_stock::test_plain");
    let pasted = |names: &[&str]| {
        let mut command = Command::new(&python);
        command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).args(names).current_dir(project.path().join("back"));
        let said = command.output().expect("Python starts");
        String::from_utf8(said.stdout).expect("pytest writes UTF-8")
    };
    for name in &names {
        assert!(pasted(&[name]).contains("\n1 failed in "), "{name}: {}", pasted(&[name]));
    }
    let alone = output.stdout.lines().find_map(|line| line.trim().strip_prefix("run it alone: ")).expect("a command");
    let expected = format!("cd back && {} -m pytest -p no:cacheprovider tests/test_stock.py::", python.display());
    assert!(alone.replace('\'', "").starts_with(&expected), "{alone}");
    let said = Command::new("sh").args(["-c", alone]).current_dir(project.path()).output().expect("a shell starts");
    assert!(String::from_utf8_lossy(&said.stdout).contains("1 failed"), "{alone}");
}

#[test]
fn a_run_is_compared_with_one_whose_record_has_the_names_of_before() {
    let both = suite(&[("test_one", ""), ("test_two[a::b]", "")]);
    let project = wrapped("", &both, "0");
    let before = project.proctor(["run"]).success();
    let names = ["tests.test_a.TestX::test_one", "tests.test_a.TestX::test_two[a::b]"];
    let before = recorded(&before);
    assert_eq!(before, names.map(|name| (name.to_owned(), None)), "as proctor 0.1.0 wrote them");

    project.save("header.txt", &header(&project));
    let now = project.proctor(["run"]).success();
    let nodes = ["tests/test_a.py::TestX::test_one", "tests/test_a.py::TestX::test_two[a::b]"];
    let expected: Vec<_> = nodes.iter().zip(names).map(|(node, name)| ((*node).to_owned(), Some(name.to_owned()))).collect();
    assert_eq!(recorded(&now), expected);
    let report = now.report();
    assert!(!report["notes"].to_string().contains("not there any more"), "nothing vanished: {}", report["notes"]);

    project.save("report.xml", &suite(&[("test_one", "")]));
    let fewer = project.proctor(["run"]).success().report();
    let said = fewer["notes"].to_string();
    assert!(said.contains("not there any more: `tests/test_a.py::TestX::test_two[a::b]`"), "{said}");

    // And back, as after a change that hides where pytest runs.
    project.save("report.xml", &both);
    project.proctor(["run"]).success();
    project.save("header.txt", "");
    let hidden = project.proctor(["run"]).success();
    assert_eq!(recorded(&hidden), before);
    assert!(!hidden.report()["notes"].to_string().contains("not there any more"), "nothing vanished");
}

#[test]
fn a_debt_keeps_its_id_when_its_test_gets_another_name() {
    let failed = suite(&[("test_one", "<failure message=\"ValueError: x\">no traceback</failure>"), ("test_two", "")]);
    let project = wrapped("", &failed, "1");
    let ids = |output: &Output| {
        let bytes = fs::read(output.run_directory().join("technical-debt-data.json")).expect("there is debt");
        let debt: Value = serde_json::from_slice(&bytes).expect("it is JSON");
        let item = &debt["debtItems"][0];
        assert!(item.is_object(), "{debt}");
        (text(item, "debtId").to_owned(), text(item, "fingerprint").to_owned())
    };
    let run = || {
        let output = project.proctor(["run"]).status(1);
        (text(&failures(&output.report())[0], "testName").to_owned(), ids(&output))
    };
    let (old_name, old_ids) = run();
    project.save("header.txt", &header(&project));
    let (new_name, new_ids) = run();
    assert_eq!(old_name, "tests.test_a.TestX::test_one");
    assert_eq!(new_name, "tests/test_a.py::TestX::test_one");
    assert_eq!(old_ids, new_ids);
}
