//! Tests that fewer tests than in the last whole run of an ancestor of the tree are said on the last line.

use serde_json::json;

use crate::common::Project;
use crate::gate::{commit, git};

/// A check whose report has one test for each line of `tests.txt`. A line that begins with `!` fails.
const COUNTED: &str = "[[check]]\nname = \"unit\"\ncommand = [\"sh\", \"run.sh\"]\nreport = { file = \"out/junit.xml\" }\n";
const RUN: &str = "\
mkdir -p out
exec 3>out/junit.xml
echo '<testsuites><testsuite name=\"t\">' >&3
code=0
while read -r name; do
    case $name in
        !*) echo \"<testcase classname='t' name='$name'><failure message='x'/></testcase>\" >&3; code=1 ;;
        *) echo \"<testcase classname='t' name='$name'/>\" >&3 ;;
    esac
done < tests.txt
echo '</testsuite></testsuites>' >&3
exit $code
";

fn tests(count: usize) -> String {
    (0..count).map(|number| format!("test_{number}\n")).collect()
}

fn counted() -> Project {
    let project = Project::new().toml(COUNTED).file("run.sh", RUN).file(".gitignore", "out/\n");
    git(&project, &["init", "--quiet"]);
    commit(&project, "tests.txt", &tests(9));
    project
}

/// Runs the checks and returns the last line.
#[track_caller]
fn last_line(project: &Project) -> String {
    let run = project.proctor(["run"]).any_status();
    let line = run.stdout.lines().rfind(|line| line.starts_with("PASSED") || line.starts_with("FAILED"));
    line.unwrap_or_else(|| panic!("no verdict: {}{}", run.stdout, run.stderr)).to_owned()
}

#[test]
fn fewer_tests_than_an_ancestor_had_are_said_and_those_of_another_branch_are_not() {
    let project = counted();
    assert!(!last_line(&project).contains("before"));
    // Another branch has more tests, and its runs say nothing of this one.
    git(&project, &["switch", "--quiet", "-c", "more"]);
    commit(&project, "tests.txt", &tests(12));
    assert!(!last_line(&project).contains("before"));
    git(&project, &["switch", "--quiet", "main"]);
    commit(&project, "a.txt", "another file\n");
    let line = last_line(&project);
    assert!(line.starts_with("PASSED") && !line.contains("before"), "{line}");

    commit(&project, "tests.txt", &tests(5));
    let line = last_line(&project);
    assert!(line.starts_with("PASSED · 5 tests, 9 before: 4 are gone"), "{line}");
    // The same tree is no ancestor of itself.
    let line = last_line(&project);
    assert!(line.contains("5 tests, 9 before: 4 are gone"), "{line}");
    let report = project.proctor(["run"]).success().report();
    assert_eq!((&report["fewerTests"]["before"], &report["fewerTests"]["now"]), (&json!(9), &json!(5)));
    let status = project.proctor(["status"]).success();
    assert!(status.stdout.contains("5 tests, 9 before: 4 are gone"), "{}", status.stdout);
    let document = project.proctor(["status", "--json"]).success().stdout;
    assert!(document.contains("\"fewerTests\""), "{document}");
    commit(&project, "a.txt", "and then on\n");
    assert!(!last_line(&project).contains("before"));
}

#[test]
fn tests_that_are_gone_are_said_until_they_are_back_or_something_is_committed() {
    let project = counted();
    commit(&project, "a.txt", "one\n");
    assert!(!last_line(&project).contains("before"));
    project.save("tests.txt", &tests(1));
    let line = last_line(&project);
    assert!(line.starts_with("PASSED · 1 test, 9 before: 8 are gone"), "{line}");
    let since = project.proctor(["run"]).success().report()["fewerTests"]["since"].clone();
    // Another file is saved: the run before had too few tests itself.
    for text in ["two\n", "three\n"] {
        project.save("a.txt", text);
        let line = last_line(&project);
        assert!(line.starts_with("PASSED · 1 test, 9 before: 8 are gone"), "{line}");
    }
    // A run in which the tests do not run to the end changes nothing.
    project.save("run.sh", "exit 3\n");
    assert!(last_line(&project).starts_with("FAILED"));
    project.save("run.sh", RUN);
    project.save("tests.txt", &tests(6));
    let run = project.proctor(["run"]).success();
    let fewer = &run.report()["fewerTests"];
    assert_eq!(fewer, &json!({ "since": since, "before": 9, "now": 6 }));

    project.save("tests.txt", &tests(9));
    assert!(!last_line(&project).contains("before"));
    project.save("a.txt", "four\n");
    assert!(!last_line(&project).contains("before"));
    project.save("tests.txt", &tests(8));
    let line = last_line(&project);
    assert!(line.starts_with("PASSED · 8 tests, 9 before: 1 is gone"), "{line}");
    project.save("a.txt", "five\n");
    assert!(last_line(&project).contains("9 before: 1 is gone"));
    commit(&project, "a.txt", "six\n");
    let line = last_line(&project);
    assert!(line.starts_with("PASSED") && !line.contains("before"), "{line}");
}

#[test]
fn tests_that_are_gone_are_named_after_an_amended_commit() {
    let project = counted();
    assert!(last_line(&project).starts_with("PASSED"));
    project.save("tests.txt", &tests(5));
    git(&project, &["commit", "--quiet", "--amend", "--all", "-m", "another change"]);
    let said = project.proctor(["run"]).success().report()["notes"].to_string();
    assert!(said.contains("4 test(s) that passed in exec-") && said.contains("are not there any more"), "{said}");
}

#[test]
fn tests_that_failed_and_were_taken_away_are_gone_all_the_same() {
    let project = counted();
    project.save("tests.txt", &format!("{}!bad\n", tests(4)));
    assert!(last_line(&project).starts_with("FAILED"));
    project.save("tests.txt", &tests(4));
    let line = last_line(&project);
    assert!(line.starts_with("PASSED · 4 tests, 5 before: 1 is gone"), "{line}");
}
