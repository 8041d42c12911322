//! A run by changed rules leaves nothing to a run by approved ones: two projects with the same past, of which one was judged by changed
//! rules meanwhile, have the same last run, and the same answers about the past of its tests.
#![expect(clippy::disallowed_methods, reason = "the tests change files as people do")]

use std::fs;

use serde_json::Value;

use crate::common::{Project, Redactions, WRITES_TO_SHARED, redact};

/// A check that stands for pytest. Its report lies outside of the project, so that equal trees can have different results; the message of
/// its failure says how often the check's own cache was used.
const UNIT: &str = "\
used=$(cat \"$XDG_CACHE_HOME/used\" 2>/dev/null)x
echo \"$used\" > \"$XDG_CACHE_HOME/used\"
eval \"set -- $PYTEST_ADDOPTS\"
for word; do
    case $word in --junitxml=*) sed \"s/USED/$used/\" ../shared/report.xml > \"${word#--junitxml=}\" ;; esac
done
exit \"$(cat ../shared/code)\"
";

/// The rules: a check with tests, one that always warns, and a prerequisite that makes a file once.
const RULES: &str = "\
[run]
reuse = \"always\"

[policy]
linting = \"never\"

[[prerequisite]]
name = \"made\"
command = [\"fake-tool\", \"--script\", \"echo made > made.txt\"]
when_changed = [\"a.txt\"]
creates = [\"made.txt\"]

[[check]]
name = \"unit\"
command = [\"sh\", \"run.sh\"]
tool = \"pytest\"
timeout = \"60s\"

[[check]]
name = \"style\"
command = [\"fake-tool\", \"--script\", \"echo 'a.txt:1:1: E501 too long'; exit 1\"]
tool = \"flake8\"
paths = [\"a.txt\"]
";

/// Whether the project was judged by changed rules between its runs by approved ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    ChangedRules,
}

fn rules() -> String {
    format!("{WRITES_TO_SHARED}{RULES}")
}

/// Runs all checks with tests that end in this way.
fn run(project: &Project, tests: &[(&str, bool)]) -> Value {
    let one = |(name, passes): &(&str, bool)| {
        let failure = if *passes { "" } else { "<failure message=\"E   USED\">E   USED</failure>" };
        format!("<testcase classname=\"a\" name=\"{name}\" time=\"0.001\">{failure}</testcase>")
    };
    let cases: String = tests.iter().map(one).collect();
    let report = format!("<testsuites><testsuite name=\"s\" tests=\"{}\">{cases}</testsuite></testsuites>", tests.len());
    fs::write(project.shared("report.xml"), report).expect("the directory is ours");
    let code = if tests.iter().all(|(_, passes)| *passes) { "0" } else { "1" };
    fs::write(project.shared("code"), code).expect("the directory is ours");
    project.proctor(["run", "--json"]).any_status().json()
}

/// Returns a project with one failed run by approved rules, after `begin`. With [`Meanwhile::ChangedRules`] it was judged by others after that: its
/// tests flipped on one tree, a test went away, and a check passed.
fn project(meanwhile: Meanwhile, begin: impl Fn(&Project)) -> Project {
    let project = Project::new().toml(&rules()).file("run.sh", UNIT).file("a.txt", "one\n").file(".gitignore", "made.txt\n");
    begin(&project);
    run(&project, &[("flips", true), ("stays", false), ("leaves", true)]);
    if meanwhile == Meanwhile::ChangedRules {
        project.save("proctor.toml", &rules().replace("60s", "61s").replace("exit 1", "exit 0"));
        for passes in [true, false, true] {
            let report = run(&project, &[("flips", passes), ("stays", passes)]);
            assert_eq!(report["rulesChanged"], serde_json::json!(["unit: timeout", "style: command"]), "{report}");
        }
        project.save("proctor.toml", &rules());
    }
    project
}

/// The names of values that differ from run to run.
const DIFFERING: [&str; 8] = ["uration", "Time", "Ms", "ytes", "rocessId", "sequence", "started", "memory"];

/// Returns a document without what differs from run to run. Each run by approved rules has a name of its own.
fn comparable(project: &Project, document: &Value) -> String {
    let mut redactions = Redactions::new();
    let (mut approved, mut changed) = (0, 0);
    for run in project.store().committed_runs() {
        let (count, what) = match run["conditions"].get("rulesChanged") {
            None => (&mut approved, "approved"),
            Some(_) => (&mut changed, "changed"),
        };
        *count += 1;
        redactions.add(run["runId"].as_str().expect("a run has an id"), &format!("<{what} run {count}>"));
    }
    redactions.add(&project.path().to_string_lossy(), "<project>");
    project.store().project_ids().iter().for_each(|id| redactions.add(id, "<project id>"));
    redact(&serde_json::to_string_pretty(&without_differing(document)).expect("it is JSON"), &redactions)
}

fn without_differing(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let differs = |name: &str| DIFFERING.iter().any(|part| name.contains(part));
            let kept = fields.iter().filter(|(name, _)| !differs(name));
            kept.map(|(name, value)| (name.clone(), without_differing(value))).collect()
        }
        Value::Array(values) => values.iter().map(without_differing).collect(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other.clone(),
    }
}

/// Compares what a question to both projects is answered.
#[track_caller]
fn are_equal(begin: impl Fn(&Project), ask: impl Fn(&Project) -> Vec<Value>) {
    let answers = [Meanwhile::Nothing, Meanwhile::ChangedRules].map(|meanwhile| {
        let project = project(meanwhile, &begin);
        ask(&project).iter().map(|answer| comparable(&project, answer)).collect::<Vec<_>>().join("\n")
    });
    let [without, with] = answers.each_ref().map(|answer| answer.lines().collect::<Vec<_>>());
    let differing: Vec<_> = without.iter().zip(&with).filter(|(without, with)| without != with).collect();
    assert!(without == with, "{differing:#?}\n{} and {} lines", without.len(), with.len());
}

fn last_record(project: &Project) -> Value {
    project.store().committed_runs().pop().expect("a run was sealed")
}

#[test]
fn the_next_run_and_the_past_of_its_tests_are_what_they_are_without_it() {
    let nothing = |_: &Project| ();
    are_equal(nothing, |project| {
        let report = run(project, &[("flips", false), ("stays", false)]);
        let asked = [&["history", "flaky"][..], &["history", "slow"], &["history", "flips"], &["log", "--test", "stays"]];
        let past = asked.map(|question| project.proctor(question).arguments(["--json"]).any_status().json());
        [report, last_record(project)].into_iter().chain(past).collect()
    });
}

#[test]
fn a_cycle_and_its_attempts_are_what_they_are_without_it() {
    let begin = |project: &Project| drop(project.proctor(["tdd", "start"]).success());
    are_equal(begin, |project| {
        let report = run(project, &[("flips", false), ("stays", false)]);
        assert_eq!(report["tdd"]["started"], true, "{report}");
        vec![report, last_record(project), project.proctor(["tdd", "show", "--json"]).success().json()]
    });
}
