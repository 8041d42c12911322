//! Tests that answers about a verdict have what failed in them, with and without the service.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Project, WRITES_TO_SHARED, Watch};
use crate::page::ask_socket;

/// The time limit of every wait. A wait normally takes far less.
const LATE: Duration = Duration::from_secs(60);
/// A check that stands for pytest: its report is made from `tests.txt`, whose lines are names of tests that fail.
pub(crate) const SCRIPT: &str = r#"
eval "set -- $PYTEST_ADDOPTS"
for word; do case $word in --junitxml=*) report="${word#--junitxml=}" ;; esac; done
count=1
cases='<testcase classname="tests.test_a" name="test_good" time="0.001"/>'
while read -r name; do
    count=$((count + 1))
    cases="$cases<testcase classname=\"tests.test_a\" name=\"$name\" file=\"tests/test_a.py\" line=\"6\"><failure message=\"assert 1 == 2\">    def $name():
&gt;       assert 1 == 2
E       assert 1 == 2

tests/test_a.py:7: AssertionError</failure></testcase>"
done < tests.txt
echo "<testsuites><testsuite name=\"s\" tests=\"$count\">$cases</testsuite></testsuites>" > "$report"
test ! -s tests.txt
"#;

/// Returns a project whose tests with these names fail.
pub(crate) fn project(failing: &str) -> Project {
    let check = "[[check]]\nname = \"unit\"\ncommand = \"sh run.sh\"\ntool = \"pytest\"\n";
    let toml = format!("{WRITES_TO_SHARED}{check}\n[[check]]\nname = \"build\"\ncommand = [\"true\"]\n");
    Project::new().toml(&toml).file("run.sh", SCRIPT).file("tests.txt", failing).file("tests/test_a.py", "x\n")
}

#[track_caller]
fn serve(project: &Project) -> Watch<'_> {
    let mut daemon = project.proctor(["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", LATE, |line| line.starts_with("listening on"));
    project.proctor(["service", "add"]).success();
    daemon
}

/// Returns what failed in the only task of an answer.
#[track_caller]
fn failures(tasks: &Value) -> &Value {
    let failures = &tasks[0]["failures"];
    assert!(failures.is_object(), "{tasks}");
    failures
}

#[test]
fn answers_have_what_failed_since_when_and_what_to_do_with_and_without_the_service() {
    let project = project("test_bad\n");
    project.proctor(["run"]).failure();
    project.save("a.txt", "another tree\n");
    let waited = project.proctor(["wait", "--fresh", "--json"]).failure().json();
    let here = failures(&waited["project"]["tasks"]).clone();
    assert_eq!(here["total"], 1);
    let failure = &here["failures"][0];
    for (key, expected) in
        [("kind", "test"), ("check", "unit"), ("actionId", "STEP.1"), ("file", "tests/test_a.py"), ("message", "assert 1 == 2")]
    {
        assert_eq!(failure[key], expected, "{failure}");
    }
    assert!(failure["test"].as_str().is_some_and(|test| test.ends_with("test_bad")), "{failure}");
    assert_eq!(failure["excerpt"][1], ">       assert 1 == 2");
    let runs = project.store().committed_runs();
    assert_eq!((&failure["since"]["runId"], &failure["since"]["runs"]), (&runs[0]["runId"], &Value::from(2)), "{failure}");
    assert_eq!(here["next"][0]["check"], "unit");
    assert!(here["next"][0]["message"].as_str().is_some_and(|words| !words.is_empty()), "{here}");

    let people = project.proctor(["wait", "--fresh"]).failure().stdout;
    for words in ["fresh FAIL", "✗ unit", "test_bad", "│ >       assert 1 == 2", "fails since run"] {
        assert!(people.contains(words), "{words} in {people}");
    }
    let status = project.proctor(["status", "--json"]).success().json();
    assert_eq!(failures(&status["projects"][0]["tasks"]), &here);
    let plain = project.proctor(["status"]).success().stdout;
    assert!(!plain.contains("test_bad"), "one line for each task: {plain}");

    let daemon = serve(&project);
    let waited = project.proctor(["wait", "--fresh", "--json"]).failure().json();
    assert_eq!(waited["project"]["serving"], "served");
    assert_eq!(failures(&waited["project"]["tasks"]), &here);
    let status = project.proctor(["status", "--json"]).success().json();
    assert!(status["service"].is_object(), "{status}");
    assert_eq!(failures(&status["projects"][0]["tasks"]), &here);
    drop(daemon);

    project.save("tests.txt", "");
    let waited = project.proctor(["wait", "--fresh", "--json"]).success().json();
    assert_eq!(waited["project"]["tasks"][0].get("failures"), None, "{waited}");
}

/// The answers stay on the machine, where somebody has to know which file is meant. What leaves it names no path.
#[test]
fn a_users_own_path_is_shown_on_screen_socket_and_page_and_leaves_the_machine_in_no_export() {
    const PATH: &str = "/srv/people/ada/plan.txt";
    let project = Project::new().toml(&format!("[[check]]\nname = \"plan\"\ncommand = [\"ls\", \"{PATH}\"]\n"));
    project.proctor(["run"]).failure();
    for arguments in [vec!["wait", "--fresh"], vec!["wait", "--fresh", "--json"], vec!["status", "--json"]] {
        let said = project.proctor(&arguments).any_status().stdout;
        assert!(said.contains(PATH) && !said.contains("[redacted"), "{arguments:?}: {said}");
    }
    let daemon = serve(&project);
    let projects = ask_socket(&project, "GET /v1/projects", "").1;
    let id = projects["projects"][0]["id"].as_str().expect("an id").to_owned();
    // The page reads the same route.
    let (code, verdict) = ask_socket(&project, &format!("GET /v1/projects/{id}/verdict"), "");
    assert_eq!(code, 200, "{verdict}");
    let told = failures(&verdict["project"]["tasks"]);
    assert!(told["failures"][0]["excerpt"].to_string().contains(PATH), "{told}");
    daemon.interrupt();
    let formats = ["markdown", "html", "sarif", "ctrf", "junit"];
    let exported = formats.map(|format| project.proctor(["export", "--format", format]).success().stdout).concat();
    assert!(!exported.contains("/srv/people") && exported.contains("[redacted: path]"), "{exported}");
}

#[test]
fn a_report_that_is_gone_or_changed_is_named_and_nothing_is_made_up() {
    let project = project("test_bad\n");
    project.proctor(["run"]).failure();
    let runs = project.store().committed_runs();
    let run = runs[0]["runId"].as_str().expect("an id");
    let reports = project.root().join("state/proctor/evidence");
    let mut changed = 0;
    for entry in walk(&reports) {
        if entry.ends_with(format!("{run}/execution-report.json")) {
            let text = fs::read_to_string(&entry).expect("it is ours");
            fs::write(&entry, text.replace("assert 1 == 2", "assert 1 == 3")).expect("it is ours");
            changed += 1;
        }
    }
    assert_eq!(changed, 1, "the report of {run} below {}", reports.display());
    let waited = project.proctor(["wait", "--fresh", "--timeout", "0", "--json"]).any_status().json();
    let told = failures(&waited["project"]["tasks"]);
    assert!(told["problem"].as_str().is_some_and(|problem| !problem.is_empty()), "{told}");
    assert_eq!((&told["total"], &told["failures"]), (&Value::from(1), &Value::Array(Vec::new())), "{told}");
    assert!(!waited.to_string().contains("1 == 3"), "{waited}");
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let below = |entry: &fs::DirEntry| if entry.path().is_dir() { walk(&entry.path()) } else { vec![entry.path()] };
    entries.iter().flat_map(below).collect()
}
