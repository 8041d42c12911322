//! Tests what is known about past runs and tests: `proctor log`, `history`, `flaky`, `slow` and `diff`, the index that they read, and the
//! row of blocks in `proctor watch`.
#![expect(clippy::disallowed_methods, reason = "the tests change files as people do")]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Project, WRITES_TO_SHARED, python_plain};

/// The time limit of every wait. A wait normally takes far less.
const LATE: Duration = Duration::from_secs(60);
/// A check that stands for pytest. Its report lies outside of the project, so that equal trees can have different results.
const SCRIPT: &str = "\
eval \"set -- $PYTEST_ADDOPTS\"
for word; do
    case $word in --junitxml=*) cp ../shared/report.xml \"${word#--junitxml=}\" ;; esac
done
exit \"$(cat ../shared/code)\"
";

/// How a test ends in the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Passes,
    Fails,
    Skips,
}

use End::{Fails, Passes, Skips};

pub(crate) fn project() -> Project {
    let check = "[[check]]\nname = \"unit\"\ncommand = \"sh run.sh\"\ntool = \"pytest\"\n";
    Project::new().toml(&format!("{WRITES_TO_SHARED}{check}")).file("run.sh", SCRIPT).file("a.txt", "one\n")
}

/// Writes the report of the next run: each test with its name as it stands in XML, its seconds and its end.
fn next_report(project: &Project, tests: &[(&str, &str, End)]) {
    let one = |(name, seconds, end): &(&str, &str, End)| {
        let time = if seconds.is_empty() { String::new() } else { format!(" time=\"{seconds}\"") };
        let failure = match end {
            Passes => "",
            Fails => "<failure message=\"E   broke\">E   broke\nmore</failure>",
            Skips => "<skipped/>",
        };
        format!("<testcase classname=\"a\" name=\"{name}\"{time}>{failure}</testcase>")
    };
    let cases: String = tests.iter().map(one).collect();
    let report = format!("<testsuites><testsuite name=\"s\" tests=\"{}\">{cases}</testsuite></testsuites>", tests.len());
    fs::write(project.shared("report.xml"), report).expect("the directory is ours");
    let code = if tests.iter().any(|(_, _, end)| *end == Fails) { "1" } else { "0" };
    fs::write(project.shared("code"), code).expect("the directory is ours");
}

/// Runs the check with these tests.
pub(crate) fn run(project: &Project, tests: &[(&str, &str, End)]) {
    next_report(project, tests);
    project.proctor(["run"]).any_status();
}

fn json(project: &Project, arguments: &[&str]) -> Value {
    project.proctor(arguments.iter().chain(&["--json"])).success().json()
}

fn ids(tests: &Value) -> Vec<String> {
    let id = |test: &Value| test["test"]["id"].as_str().expect("it has an id").to_owned();
    tests.as_array().unwrap_or_else(|| panic!("no list: {tests}")).iter().map(id).collect()
}

/// A flaky test, one that is gone later, and one that breaks and is mended; four runs on two trees.
fn with_a_past() -> Project {
    let project = project();
    run(&project, &[("flips", "0.001", Passes), ("leaves", "0.002", Passes), ("stays", "0.003", Passes)]);
    run(&project, &[("flips", "0.001", Fails), ("leaves", "0.002", Passes), ("stays", "0.004", Passes)]);
    project.save("a.txt", "two\n");
    run(&project, &[("flips", "0.001", Passes), ("comes", "", Passes), ("stays", "0.005", Fails)]);
    run(&project, &[("flips", "0.001", Passes), ("comes", "", Passes), ("stays", "0.700", Fails)]);
    project
}

/// Questions about the past of [`with_a_past`].
const QUESTIONS: [&[&str]; 8] = [
    &["log"],
    &["log", "--failed"],
    &["log", "--test", "flips", "--failed"],
    &["log", "--task", "default", "--since", "1d"],
    &["history", "leaves"],
    &["history", "flaky"],
    &["history", "slow"],
    &["history", "diff", "1", "3"],
];

/// The answers that must be the same whenever the index is made.
fn answers(project: &Project) -> Vec<Value> {
    QUESTIONS.iter().map(|question| json(project, question)).collect()
}

#[test]
fn each_command_finds_what_it_is_for() {
    let project = with_a_past();
    let log = json(&project, &["log"]);
    let runs = log["runs"].as_array().expect("a list");
    let flaky: Vec<bool> = runs.iter().map(|run| run["flaky"] == true).collect();
    assert_eq!((log["schema"].as_str(), flaky), (Some("proctor-log-v1"), vec![false, false, true, false]));
    assert_eq!((&runs[2]["tests"]["passed"], &runs[2]["tests"]["failed"]), (&2.into(), &1.into()), "{log}");
    assert_eq!(runs[2]["failedTests"].as_array().map(Vec::len), Some(1));
    assert!(runs[0]["duration"].as_u64().is_some(), "{log}");

    let flaky = json(&project, &["history", "flaky"]);
    assert_eq!(ids(&flaky["flaky"]), ["a::flips"], "{flaky}");
    assert_eq!((&flaky["flaky"][0]["failed"], &flaky["flaky"][0]["passed"]), (&1.into(), &1.into()));
    assert_eq!(flaky["flaky"][0]["message"], "E   broke");

    let gone = json(&project, &["history", "a::leaves"])["past"].clone();
    assert_eq!((&gone["runsWithoutIt"], &gone["counts"]["passed"]), (&2.into(), &2.into()), "{gone}");
    let stays = json(&project, &["history", "stays"])["past"].clone();
    assert_eq!((&stays["lastChange"]["from"], &stays["lastChange"]["to"]), (&"passed".into(), &"failed".into()), "{stays}");
    let durations: Vec<_> = stays["results"].as_array().expect("a list").iter().map(|one| one["durationUs"].as_u64()).collect();
    assert_eq!(durations, [Some(700_000), Some(5000), Some(4000), Some(3000)]);
    assert_eq!(json(&project, &["history", "comes"])["past"]["typicalDurationUs"], Value::Null, "the report has no durations");

    let diff = json(&project, &["history", "diff", "1", "3"])["comparison"].clone();
    let lists = ["newlyFailing", "mended", "gone", "new"].map(|list| ids(&diff[list]));
    assert_eq!(lists, [vec!["a::stays"], vec![], vec!["a::leaves"], vec!["a::comes"]], "{diff}");
    let back = json(&project, &["history", "diff", "4", "2"])["comparison"].clone();
    assert_eq!((ids(&back["newlyFailing"]), ids(&back["mended"])), (vec!["a::flips".to_owned()], vec!["a::stays".to_owned()]));
    assert_eq!(ids(&json(&project, &["history", "diff", "3"])["comparison"]["slower"]), ["a::stays"]);

    let taken = project.proctor(["log", "--test", "flips"]).success();
    assert!(taken.stderr.starts_with("note: this is about `a::flips` of unit\n"), "{}", taken.stderr);
    let failed = json(&project, &["log", "--test", "a::flips", "--failed"]);
    assert_eq!(failed["runs"].as_array().map(Vec::len), Some(1), "{failed}");
    let shown = project.proctor(["log"]).success().stdout;
    assert!(
        shown.lines().nth(2).is_some_and(|line| line.contains("2 passed, 1 failed  failed: unit (a::flips)  flaky")),
        "{shown}"
    );
    let shown = project.proctor(["history", "flips"]).success().stdout;
    assert!(shown.contains("flaky: passed and failed on 1 tree"), "{shown}");
}

#[test]
fn a_red_run_is_flaky_only_if_every_failure_in_it_is() {
    let project = project();
    run(&project, &[("flips", "", Passes), ("real", "", Passes)]);
    project.save("a.txt", "two\n");
    run(&project, &[("flips", "", Fails), ("real", "", Fails)]);
    run(&project, &[("flips", "", Passes), ("real", "", Fails)]);
    project.save("a.txt", "three\n");
    run(&project, &[("flips", "", Fails), ("real", "", Passes)]);
    run(&project, &[("flips", "", Passes), ("real", "", Passes)]);
    let log = json(&project, &["log"]);
    let flaky: Vec<bool> = log["runs"].as_array().expect("a list").iter().map(|run| run["flaky"] == true).collect();
    assert_eq!(flaky, [false, true, false, false, false], "{log:#}");
}

#[test]
fn the_index_made_again_from_the_evidence_gives_the_same_answers() {
    let project = with_a_past();
    let before = answers(&project);
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _may_not_be_there = fs::remove_file(project.root().join("state/proctor").join(name));
    }
    assert_eq!(answers(&project), before);
    // No seal covers these rows. What another program wrote there is neither believed nor waited for, and the rest of the file stays.
    let statements = [
        "UPDATE history_results SET outcomes = x'ffff'",
        "UPDATE history_results SET durations = x'07'",
        "UPDATE history_rosters SET tests = x'ff'",
        "UPDATE history_runs SET status = 'X', run_id = 'x'",
        "UPDATE history_positions SET sequence = -1",
        "UPDATE history_positions SET sequence = 99999",
        "UPDATE history_positions SET bytes = -1",
        "UPDATE history_positions SET sequence = 0",
        "DELETE FROM history_runs; UPDATE history_positions SET sequence = 99999",
    ];
    for statement in statements {
        for (place, question) in QUESTIONS.iter().enumerate() {
            let index = rusqlite::Connection::open(project.root().join("state/proctor/state.db")).expect("it opens");
            index.execute_batch(statement).expect("it can be written");
            drop(index);
            let answer = project.proctor(question.iter().chain(&["--json"])).success();
            assert_eq!(answer.json(), before[place], "{statement}: {question:?}");
            assert!(!answer.stderr.contains("the index was damaged"), "{statement}: {}", answer.snapshot());
        }
    }
}

#[test]
fn each_change_of_an_outcome_is_a_difference() {
    let project = project();
    run(&project, &[("a", "0.001", Passes), ("b", "0.001", Skips), ("c", "0.001", Passes)]);
    run(&project, &[("a", "0.001", Skips), ("b", "0.001", Passes), ("c", "0.001", Passes)]);
    let diff = json(&project, &["history", "diff", "1", "2"])["comparison"].clone();
    assert_eq!(
        (ids(&diff["changed"]), &diff["notCompared"]),
        (vec!["a::a".to_owned(), "a::b".to_owned()], &Value::Array(vec![]))
    );
    let shown = project.proctor(["history", "diff", "1", "2"]).success().stdout;
    assert!(shown.contains("a::a: passed → skipped") && !shown.contains("every check"), "{shown}");
    run(&project, &[("a", "0.001", Skips), ("b", "0.001", Passes), ("c", "0.001", Passes)]);
    let same = project.proctor(["history", "diff", "2", "3"]).success().stdout;
    assert!(same.contains("every check and test ended as before"), "{same}");
}

/// Saves the file of tests with this text, and runs pytest on it.
fn run_file(project: &Project, text: &str) {
    project.save("test_a.py", text);
    project.proctor(["run"]).success();
}

#[test]
fn a_renamed_test_is_one_test_with_one_past() {
    let python = python_plain();
    let check = format!("[[check]]\nname = \"unit\"\ncommand = [\"{}\", \"-m\", \"pytest\"]\n", python.display());
    let project = Project::new().toml(&check);
    run_file(&project, "def test_sum():\n    assert 1 + 1 == 2\n\ndef test_b():\n    pass\n");
    run_file(&project, "def test_adds():\n    assert 1 + 1 == 2\n\ndef test_b():\n    pass\n");
    for answers in 0..2 {
        for name in ["test_a.py::test_adds", "test_a.py::test_sum"] {
            let past = json(&project, &["history", name]);
            assert_eq!(past["past"]["test"]["id"], "test_a.py::test_adds", "{past}");
            assert_eq!(past["past"]["counts"]["passed"], 2, "{past}");
            assert_eq!(past["past"]["formerNames"][0]["id"], "test_a.py::test_sum", "{past}");
            assert!(past["past"]["formerNames"][0]["renamedIn"].as_str().is_some_and(|run| run.ends_with("000002")), "{past}");
        }
        let diff = json(&project, &["history", "diff", "1", "2"]);
        assert_eq!(diff["comparison"]["renamed"][0]["formerId"], "test_a.py::test_sum", "{diff}");
        assert_eq!((&diff["comparison"]["gone"], &diff["comparison"]["new"]), (&Value::Array(vec![]), &Value::Array(vec![])));
        // The index is made again from the evidence.
        if answers == 0 {
            for name in ["state.db", "state.db-wal", "state.db-shm"] {
                let _not_there = fs::remove_file(project.root().join("state/proctor").join(name));
            }
        }
    }
    let shown = project.proctor(["history", "test_sum"]).success().stdout;
    assert!(shown.contains("was named test_a.py::test_sum until run"), "{shown}");
    let shown = project.proctor(["history", "diff", "1", "2"]).success().stdout;
    assert!(shown.contains("renamed (1):\n  test_a.py::test_sum → test_a.py::test_adds"), "{shown}");
    run_file(&project, "def test_adds():\n    assert 1 + 1 == 2\n\ndef test_c():\n    assert True\n");
    let diff = json(&project, &["history", "diff", "2", "3"]);
    assert_eq!(
        (ids(&diff["comparison"]["gone"]), ids(&diff["comparison"]["new"])),
        (vec!["test_a.py::test_b".to_owned()], vec!["test_a.py::test_c".to_owned()])
    );
}

#[test]
fn a_run_that_cannot_be_read_keeps_no_other_one_out() {
    let project = with_a_past();
    let evidence = project.root().join("state/proctor/evidence");
    let runs = evidence.join(project.store().project_ids().pop().expect("registered")).join("default/runs");
    let mut names: Vec<PathBuf> = fs::read_dir(runs).expect("it is there").map(|entry| entry.expect("read").path()).collect();
    names.retain(|path| path.is_dir());
    names.sort();
    // The report of the second run is a directory, and that of the third one a link to itself.
    let report = |run: &PathBuf| run.join("execution-report.json");
    fs::remove_file(report(&names[1])).expect("the store is ours");
    fs::create_dir(report(&names[1])).expect("the store is ours");
    fs::remove_file(report(&names[2])).expect("the store is ours");
    std::os::unix::fs::symlink("execution-report.json", report(&names[2])).expect("the store is ours");
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _may_not_be_there = fs::remove_file(project.root().join("state/proctor").join(name));
    }
    let past = json(&project, &["history", "stays"])["past"].clone();
    assert_eq!(past["results"].as_array().map(Vec::len), Some(2), "{past}");
    let failed = json(&project, &["log", "--failed"]);
    assert_eq!(failed["runs"].as_array().map(Vec::len), Some(3), "the ledger still has the verdicts: {failed}");
}

#[test]
fn runs_whose_evidence_is_gone_are_known_and_marked() {
    let project = with_a_past();
    let directory = |number: &str| -> PathBuf {
        let log = json(&project, &["log"]);
        let runs = log["runs"].as_array().expect("a list");
        let id = |run: &Value| run["runId"].as_str().expect("an id").to_owned();
        let id = runs.iter().map(id).find(|id| id.ends_with(number)).expect("the run is listed");
        let evidence = project.root().join("state/proctor/evidence");
        evidence.join(project.store().project_ids().pop().expect("registered")).join("default/runs").join(id)
    };
    fs::remove_dir_all(directory("1")).expect("the store is ours");
    let state = |number: usize| json(&project, &["log"])["runs"][4 - number]["evidence"].clone();
    assert_eq!((state(1), state(2)), ("missing".into(), "kept".into()));
    let filtered = json(&project, &["log", "--task", "default"]);
    assert_eq!(filtered["runs"][3]["evidence"], "missing", "{filtered}");
    let shown = project.proctor(["history", "flips"]).success().stdout;
    assert_eq!(shown.matches("no longer provable: evidence missing").count(), 1, "{shown}");
    assert!(project.proctor(["log"]).success().stdout.contains("evidence missing"));
    assert_eq!(ids(&json(&project, &["history", "flaky"])["flaky"]), ["a::flips"], "what was known stays known");

    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    project.save("proctor.toml", &format!("{toml}[evidence]\nkeep_runs = 1\n"));
    project.approve();
    project.proctor(["prune"]).success();
    let history = json(&project, &["history", "flips"]);
    let states: Vec<&str> =
        history["past"]["results"].as_array().expect("a list").iter().filter_map(|one| one["evidence"].as_str()).collect();
    assert_eq!(states.len(), 4, "{history}");
    assert!(states.contains(&"pruned"), "{history}");
    project.proctor(["verify"]).any_status();
}

#[test]
fn names_of_tests_are_foreign_text() {
    let project = project();
    let hostile = "t[\u{202e}&#x9;\u{9b}31m&lt;b&gt;|`$(x)` 'ä\u{200b}]";
    run(&project, &[(hostile, "0.001", Fails), ("plain", "0.001", Passes)]);
    run(&project, &[(hostile, "0.001", Passes), ("plain", "0.001", Passes)]);
    let flaky = json(&project, &["history", "flaky"]);
    let id = ids(&flaky["flaky"]).pop().expect("it is flaky");
    assert!(id.contains('\u{202e}') && id.contains("<b>"), "the document has the name as it is: {id}");
    for arguments in
        [&["log"][..], &["history", "flaky"], &["history", &id], &["history", "diff", "1", "2"], &["history", "slow"]]
    {
        let shown = project.proctor(arguments).success().stdout;
        assert!(!shown.contains(['\u{202e}', '\u{9b}', '\u{200b}']), "{arguments:?}: {shown}");
    }
    let key = flaky["flaky"][0]["test"]["key"].as_str().expect("a key").to_owned();
    assert_eq!(json(&project, &["history", &key])["past"]["test"]["id"], id.as_str());
    assert_eq!(json(&project, &["log", "--test", &id])["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_is_not_there_is_an_error_with_a_way_out() {
    let project = with_a_past();
    let rows: [(&[&str], &str); 6] = [
        (&["history", "nothing"], "no known test is named `nothing`"),
        (&["history", "a::"], "may mean 4 tests"),
        (&["log", "--since", "yesterday"], "`--since yesterday` is no time"),
        (&["log", "--test", "nothing"], "no known test is named `nothing`"),
        (&["history", "diff", "77"], "there is no finished run `77`"),
        (&["log", "--task", "../x"], "../x"),
    ];
    for (arguments, message) in rows {
        let output = project.proctor(arguments).status(2);
        assert!(output.stderr.contains(message) && output.stderr.contains("hint:"), "{arguments:?}: {}", output.snapshot());
    }
    assert_eq!(json(&project, &["log", "--task", "T9"])["runs"], Value::Array(Vec::new()));
    let unknown = project.proctor(["log", "--task", "T9"]).success();
    assert!(unknown.stderr.contains("no run of a task `T9` is known"), "{}", unknown.snapshot());
    let none = project.proctor(["log", "--since", "2999-01-01"]).success();
    assert_eq!((none.stdout.as_str(), none.stderr.contains("no run fits")), ("", true));
}

#[test]
fn a_run_adds_its_tests_when_its_verdict_was_told_and_a_purge_forgets_them() {
    let project = with_a_past();
    let count = |table: &str| -> i64 {
        let index = rusqlite::Connection::open(project.root().join("state/proctor/state.db")).expect("it opens");
        index.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("the table is there")
    };
    assert_eq!((count("history_runs"), count("history_tests")), (4, 4));
    let mut terminal = project.proctor(["service", "remove", "--purge"]).at_terminal();
    terminal.draws_one_of(&["anything else removes nothing: "]).expect("it asks");
    terminal.press("project\n");
    assert_eq!(terminal.ended().status, 0);
    let tables = ["history_runs", "history_tests", "history_results", "history_messages", "history_rosters"];
    assert_eq!(tables.map(count), [0; 5]);
    for name in ["state.db", "state.db-wal"] {
        let bytes = fs::read(project.root().join("state/proctor").join(name)).unwrap_or_default();
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!has("a::leaves") && !has("E   broke"), "{name} still has what was purged");
    }
}

#[test]
fn watch_shows_the_last_runs_of_each_check() {
    let project = project();
    run(&project, &[("flips", "0.001", Passes)]);
    run(&project, &[("flips", "0.001", Fails)]);
    let mut watch = project.proctor(["watch"]).env("LC_ALL", "C.UTF-8").watch();
    let line = watch.wait_for_line("the row of blocks", LATE, |line| line.starts_with("  unit  "));
    assert!(line.contains("▁▄▄") && line.contains("failing since ") && line.contains("flaky: 2 of the last 3"), "{line}");
    watch.interrupt();
    let mut watch = project.proctor(["watch"]).env("LC_ALL", "C").watch();
    watch.wait_for_line("the row in ASCII", LATE, |line| line.starts_with("  unit  last 4 runs: .~~~  "));
    watch.interrupt();
}

#[test]
fn a_run_is_exported_for_other_tools_and_is_red_in_each_form() {
    let project = with_a_past();
    let junit = project.proctor(["export", "2", "--format", "junit"]).success().stdout;
    assert!(junit.contains("<testsuite name=\"unit\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\""), "{junit}");
    assert!(junit.contains("<property name=\"proctor.status\" value=\"TEST_FAILURE\"/>"), "{junit}");
    let github = project.proctor(["export", "2", "--format", "github"]).success().stdout;
    assert!(github.starts_with("::error title=unit%3A a%3A%3Aflips::E   broke\n"), "{github}");
    let markdown = project.proctor(["export", "2", "--format", "markdown"]).success().stdout;
    assert!(markdown.starts_with("## FAILED") && markdown.contains("| unit | TEST_FAILURE |"), "{markdown}");
    let file = project.shared("junit.xml");
    let to = file.to_str().expect("UTF-8");
    project.proctor(["export", "2", "--format", "junit", "--to", to]).success();
    assert_eq!(fs::read_to_string(&file).expect("it is there"), junit);
    project.proctor(["export", "1", "--format", "junit", "--to", to]).success();
    assert_ne!(fs::read_to_string(&file).expect("it is there"), junit, "a file is replaced");
    fs::remove_file(&file).expect("the root is ours");
    std::os::unix::fs::symlink(project.path().join("proctor.toml"), &file).expect("the root is ours");
    let refused = project.proctor(["export", "2", "--format", "junit", "--to", to]).status(2);
    assert!(refused.stderr.contains("cannot write") && refused.stderr.contains("link"), "{}", refused.snapshot());
}
