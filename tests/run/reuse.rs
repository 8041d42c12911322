//! Tests reused results: checks that would get the same result again are not run (`reuse`). Also the order in which
//! checks run (`order`).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::{Output, Project, WRITES_TO_SHARED, python_plain};
use crate::run::{result, run_directories};

/// A check that records its name and succeeds if `state.txt` contains `ok`.
fn check(name: &str, lines: &str) -> String {
    let script = format!("echo {name} >> ../shared/steps; cat state.txt; grep -q ok state.txt");
    format!("[[check]]\nname = \"{name}\"\ncommand = [\"fake-tool\", \"--script\", \"{script}\"]\n{lines}")
}

/// A project with these checks, `state.txt` and `other.txt`.
fn project(checks: &[String], settings: &str) -> Project {
    let project = Project::new().toml(&format!("{WRITES_TO_SHARED}{}{settings}", checks.concat()));
    project.file("state.txt", "ok\n").file("other.txt", "1\n")
}

fn always() -> Project {
    project(&[check("a", "")], "[run]\nreuse = \"always\"\n")
}

fn carried_out(project: &Project) -> Vec<String> {
    fs::read_to_string(project.shared("steps")).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Runs the checks. Returns the report, and the id of the run from which the first check's result was reused, if any.
#[track_caller]
fn run(project: &Project) -> (Value, Option<String>) {
    let output = project.proctor(["run"]).any_status();
    let report = output.report();
    let from = result(&report, "STEP.1")["reused"]["runId"].as_str().map(str::to_owned);
    assert_eq!(from.is_some(), output.stdout.contains("reused from run "), "{}", output.snapshot());
    (report, from)
}

#[track_caller]
fn id_of(report: &Value) -> String {
    report["authenticity"]["executionId"].as_str().expect("a run has an id").to_owned()
}

#[track_caller]
fn directory_of(project: &Project, run_id: &str) -> PathBuf {
    let directories = run_directories(project);
    directories.into_iter().find(|path| path.ends_with(run_id)).expect("the run has a directory")
}

/// A manipulation of a run's evidence. The second argument is the run's id.
type Harm = fn(&Project, &str);

/// Replaces a text in a file of the evidence, as somebody can do outside of a run.
#[track_caller]
fn tamper(path: PathBuf, from: &str, to: &str) {
    let text = fs::read_to_string(&path).expect("it can be read");
    assert!(text.contains(from), "{text}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(path, text.replace(from, to)).expect("it is ours");
}

#[test]
fn nothing_is_reused_where_nothing_is_said() {
    let project = project(&[check("a", "")], "");
    for _ in 0..2 {
        let (report, from) = run(&project);
        assert_eq!((from, report.get("reused")), (None, None));
    }
    assert_eq!(carried_out(&project).len(), 2);
    let runs = project.store().committed_runs();
    assert!(runs.iter().all(|run| run.get("inputs").is_none()), "{runs:#?}");
}

#[test]
fn a_tree_that_was_tested_before_gets_the_verdict_it_had() {
    let project = always();
    let (first, from) = run(&project);
    assert_eq!(from, None);
    project.save("state.txt", "ok, changed\n");
    assert_eq!(run(&project).1, None, "another tree");
    project.save("state.txt", "ok\n");
    let output = project.proctor(["run"]).success();
    let report = output.report();
    assert_eq!(carried_out(&project).len(), 2, "the third run started nothing");
    let (entry, earlier) = (result(&report, "STEP.1"), result(&first, "STEP.1"));
    assert_eq!(entry["reused"]["runId"], id_of(&first).as_str());
    assert_eq!((&entry["disposition"], &entry["status"]), (&json!("REUSED"), &json!("SUCCESS")));
    assert_eq!((&entry["result"], &entry["classification"]), (&earlier["result"], &earlier["classification"]));
    assert_eq!(report["reused"][0]["reportHash"], first["authenticity"]["reportHash"]);
    assert_eq!(
        report["executionSummary"]["actionCounts"],
        json!({"total": 1, "executed": 0, "skipped": 0, "reused": 1, "prerequisites": 0, "steps": 1, "cleanup": 0})
    );
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "COMPLETE");
    // The run that reused the result is sealed and in the ledger, but later runs do not reuse results from it.
    project
        .command("/usr/bin/sha256sum".as_ref(), ["-c", "SHA256SUMS"])
        .directory(output.run_directory().to_str().unwrap())
        .success();
    let runs = project.store().committed_runs();
    assert_eq!(runs.len(), 3);
    assert!(runs[2].get("inputs").is_none() && runs[0]["inputs"]["a"].is_string(), "{runs:#?}");
    assert_eq!(run(&project).1, Some(id_of(&first)), "the run that carried it out is named, not one that reused it");
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 0
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✓ a                    done                                       reused from run 1
    PASSED · 1 of 1 check (1 reused) · evidence/default/execution-report.json
    "#);
    assert_eq!(project.proctor(["show", "--log", "STEP.1"]).success().stdout, "ok\n", "its log lies where it was made");
    assert!(project.proctor(["show"]).success().stdout.contains("reused from run 1"));
}

/// `paths` say what triggers a check, and not what it reads. So a run that has nothing but results of another tree proves nothing:
/// its exit code and its words are those of `proctor status`.
#[test]
fn a_run_that_has_results_of_another_tree_only_proves_nothing_and_ends_with_5() {
    let paths = |name: &str| check(name, &format!("paths = [\"{name}/**\"]\n"));
    let project = project(&[paths("a"), paths("b")], "[run]\nreuse = \"always\"\n").file("a/x", "1\n").file("b/x", "1\n");
    project.proctor(["run"]).success();
    let same = project.proctor(["run"]).success();
    assert!(same.stdout.contains("PASSED · 2 of 2 checks (2 reused)"), "{}", same.snapshot());
    project.save("other.txt", "2\n");
    let none = project.proctor(["run"]).status(5);
    assert!(none.stdout.contains("UNPROVEN · 0 of 2 checks · "), "{}", none.snapshot());
    assert!(none.stderr.contains("hint: no check was run on this tree: `proctor wait --fresh` runs what is missing"));
    assert_eq!(none.report()["executionSummary"]["overallStatus"], "PARTIAL_SUCCESS");
    assert!(project.proctor(["show"]).success().stdout.contains("UNPROVEN · 0 of 2 checks"));
    let status = project.proctor(["status", "--json"]).success().json();
    assert_eq!(status["projects"][0]["tasks"][0]["exitCode"], 5, "{status}");
    project.save("a/x", "2\n");
    let one = project.proctor(["run"]).success();
    assert!(one.stdout.contains("PASSED · 1 of 2 checks · "), "{}", one.snapshot());
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(carried_out(&project), ["a", "b", "a", "b"]);
    let log = project.proctor(["log"]).success().stdout;
    let lines: Vec<&str> = log.lines().collect();
    let rows = [
        ("PASSED  ", Some("2 of 2 checks (1 reused)")),
        ("PASSED  ", Some("1 of 2 checks")),
        ("UNPROVEN  ", Some("0 of 2 checks")),
        ("PASSED  ", Some("2 of 2 checks (2 reused)")),
        ("PASSED  ", None),
    ];
    assert_eq!(lines.len(), rows.len(), "{log}");
    for (line, (word, counts)) in lines.iter().zip(rows) {
        assert!(line.contains(word) && counts.map_or(!line.contains(" of "), |counts| line.contains(counts)), "{line}");
    }
    let runs = project.proctor(["log", "--json"]).success().json();
    assert_eq!(runs["runs"][2]["checks"], json!({"all": 2, "proven": 0, "reused": 0}), "{runs}");
    // A run that fails by results of another tree is red as before.
    project.save("state.txt", "wrong\n");
    project.proctor(["run", "--check", "a", "--check", "b"]).failure();
    project.save("other.txt", "3\n");
    project.proctor(["run"]).failure();
}

#[test]
fn an_earlier_failure_stays_a_failure() {
    let project = always().file("state.txt", "wrong\n");
    let (first, _) = run(&project);
    let output = project.proctor(["run"]).failure();
    let report = output.report();
    let entry = result(&report, "STEP.1");
    assert_eq!((&entry["reused"]["runId"], &entry["blocking"]), (&json!(id_of(&first)), &json!(true)));
    assert_eq!(report["validationCriteriaEvaluation"], first["validationCriteriaEvaluation"]);
    assert!(output.stdout.contains("reused from run "), "{}", output.stdout);
    assert_eq!(carried_out(&project).len(), 1);
}

#[test]
fn another_environment_is_another_question() {
    let tool = |text: &str| format!("#!/bin/sh\n# {text}\necho tool >> ../shared/steps\n");
    let toml = format!(
        "{WRITES_TO_SHARED}[[check]]\nname = \"a\"\ncommand = \"our-tool\"\npaths = [\"state.txt\"]\nreuse = \"always\"\n"
    );
    let project =
        Project::new().toml(&toml).file("state.txt", "ok\n").file("other.txt", "1\n").file("requirements.txt", "a==1\n");
    let path = project.root().join("home/bin/our-tool");
    fs::create_dir(path.parent().unwrap()).unwrap();
    let write = |text: &str| {
        fs::write(&path, tool(text)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    write("one");
    let project = project.with_program(&path);
    let is_reused = |project: &Project| run(project).1.is_some();
    assert!(!is_reused(&project) && is_reused(&project));
    project.save("other.txt", "2\n");
    assert!(is_reused(&project), "the check does not depend on it");
    project.save("state.txt", "changed\n");
    assert!(!is_reused(&project) && is_reused(&project), "it depends on this one");
    project.save("requirements.txt", "a==2\n");
    assert!(!is_reused(&project) && is_reused(&project), "a lock file");
    write("two");
    assert!(!is_reused(&project) && is_reused(&project), "the tool's bytes");
    project.save("conftest.py", "");
    assert!(!is_reused(&project) && is_reused(&project), "the configuration of tools");
    let project = project.env("TZ", "UTC");
    assert!(!is_reused(&project) && is_reused(&project), "a variable");
    project.save("proctor.toml", &toml.replace("reuse", "timeout = \"3m\"\nreuse"));
    assert!(!is_reused(&project) && !is_reused(&project), "changed rules, by which nothing is kept for others");
    project.approve();
    assert!(!is_reused(&project) && is_reused(&project), "the check's own settings");
}

#[test]
fn evidence_that_is_not_what_it_was_stands_for_nothing() {
    let cases: [(&str, Harm); 4] = [
        ("its report", |project, id| {
            tamper(directory_of(project, id).join("execution-report.json"), "\"SUCCESS\"", "\"TIMEOUT\"")
        }),
        ("its log", |project, id| tamper(directory_of(project, id).join("STEP.1-terminal-output.log"), "ok", "no")),
        ("no report", |project, id| fs::remove_file(directory_of(project, id).join("execution-report.json")).unwrap()),
        ("no directory", |project, id| fs::remove_dir_all(directory_of(project, id)).unwrap()),
    ];
    for (what, harm) in cases {
        let project = always();
        let (first, _) = run(&project);
        harm(&project, &id_of(&first));
        assert_eq!(run(&project).1, None, "{what}");
        assert_eq!(carried_out(&project).len(), 2, "{what}");
        assert!(run(&project).1.is_some(), "{what}: the newer one is sound");
    }
}

#[test]
fn the_index_is_no_part_of_the_truth() {
    let project = always();
    let (first, _) = run(&project);
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _absent = fs::remove_file(project.root().join("state/proctor").join(name));
    }
    assert_eq!(run(&project).1, Some(id_of(&first)), "the ledger says it");
}

#[test]
fn a_check_that_is_named_a_phase_that_is_asked_for_and_an_attempt_of_a_cycle_are_carried_out() {
    let project = always();
    run(&project);
    let reused = |output: Output| result(&output.report(), "STEP.1").get("reused").is_some();
    assert!(reused(project.proctor(["run"]).success()));
    let report = project.proctor(["run", "--check", "a", "--json"]).success().json();
    assert!(result(&report, "STEP.1").get("reused").is_none(), "it was named");
    assert!(!reused(project.proctor(["run", "--phase", "refactor"]).success()));
    project.proctor(["tdd", "start"]).any_status();
    assert!(!reused(project.proctor(["run"]).any_status()), "an attempt counts");
    project.proctor(["tdd", "reset"]).any_status();
    assert!(reused(project.proctor(["run"]).success()));
}

#[test]
fn what_failed_for_another_reason_than_its_inputs_is_carried_out_again() {
    let slow = check("a", "timeout = \"200ms\"\ngrace = \"200ms\"\n").replace("cat", "sleep 60; cat");
    let project = project(&[slow], "[run]\nreuse = \"always\"\n");
    for _ in 0..2 {
        let (report, from) = run(&project);
        assert_eq!((result(&report, "STEP.1")["status"].as_str(), from), (Some("TIMEOUT"), None));
    }
    assert_eq!(carried_out(&project).len(), 2);
}

#[test]
fn prerequisites_and_clean_up_are_there_for_what_they_do() {
    let others = "[[prerequisite]]\nname = \"p\"\ncommand = \"echo p >> ../shared/steps\"\nshell = true\nwhen_changed = [\"missing\"]\n\
                  [[cleanup]]\nname = \"c\"\ncommand = \"echo c >> ../shared/steps\"\nshell = true\n";
    let project = project(&[check("a", "")], &format!("{others}[run]\nreuse = \"always\"\n"));
    run(&project);
    assert!(run(&project).1.is_some());
    assert_eq!(carried_out(&project), ["p", "a", "c", "p", "c"]);
}

#[test]
fn tests_that_are_reused_are_counted_and_routed_as_they_were() {
    let failing = "def test_one():\n    assert 1 == 2\n\n\ndef test_two():\n    pass\n";
    let python = python_plain();
    let toml = format!(
        "[[check]]\nname = \"tests\"\ncommand = [{:?}, \"-m\", \"pytest\"]\nreuse = \"always\"\n",
        python.to_str().unwrap()
    );
    let project = Project::new().toml(&toml).file("test_a.py", failing);
    let (first, _) = run(&project);
    assert_eq!(result(&first, "STEP.1")["status"], "TEST_FAILURE");
    let (again, from) = run(&project);
    assert_eq!(from, Some(id_of(&first)));
    assert_eq!(again["route"], first["route"]);
    assert_eq!(again["executionSummary"]["testResults"], first["executionSummary"]["testResults"]);
    assert_eq!(again["executionSummary"]["testResults"]["failed"], 1);
}

#[test]
fn what_failed_last_is_carried_out_first_and_keeps_its_number() {
    let broken = check("b", "").replace("grep -q ok", "grep -q fixed");
    let project = project(&[check("a", ""), broken, check("c", "")], "[run]\norder = \"failed-first\"\n");
    let ids = |report: &Value| -> Vec<String> {
        let results = report["stepExecution"]["results"].as_array().expect("there are checks");
        results.iter().map(|result| result["actionId"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids(&run(&project).0), ["STEP.1", "STEP.2", "STEP.3"], "nothing is known yet");
    assert_eq!(ids(&run(&project).0), ["STEP.2", "STEP.1", "STEP.3"]);
    // A run with `--check a` says nothing about the other checks.
    project.proctor(["run", "--check", "a"]).success();
    project.save("state.txt", "ok fixed\n");
    assert_eq!(ids(&run(&project).0), ["STEP.2", "STEP.1", "STEP.3"]);
    assert_eq!(ids(&run(&project).0), ["STEP.1", "STEP.2", "STEP.3"], "all succeeded");
    assert_eq!(carried_out(&project).join(""), "abcbacabacabc");
}

/// What a check reads of ignored files is no part of the tree, so an earlier result must not be reused after an ignored
/// file has changed.
#[test]
fn a_result_is_not_reused_for_another_ignored_input_or_another_place() {
    let toml = |more: &str| format!("{WRITES_TO_SHARED}{more}{}[run]\nreuse = \"always\"\n", check("a", ""));
    let project =
        always().toml(&toml("max_snapshot_bytes = \"1MiB\"\n")).file(".gitignore", ".env\nlarge\n").file(".env", "A=1\n");
    let (first, _) = run(&project);
    assert_eq!(run(&project).1.as_deref(), Some(id_of(&first).as_str()));
    project.save(".env", "A=2\n");
    let (second, from) = run(&project);
    assert_eq!((from, &second["tree"]["before"]), (None, &first["tree"]["before"]), "another ignored input");
    project.save(".env", "A=1\n");
    assert!(run(&project).1.is_some(), "the first input again");
    // More than a snapshot may hold: nothing runs before a person lets the checks run in the project itself.
    let large = project.path().join("large");
    fs::write(&large, vec![b'x'; 2 << 20]).expect("the project is ours");
    project.proctor(["run"]).status(3);
    fs::remove_file(large).expect("it was made");
    project.save("proctor.toml", &toml("snapshot = \"off\"\n"));
    project.approve();
    // A result is reused only in the place in which it was produced.
    for from_before in [false, true] {
        let (report, from) = run(&project);
        assert_eq!((&report["tree"]["snapshot"]["tested"], from.is_some()), (&"in-place".into(), from_before));
    }
    project.save("proctor.toml", &toml("max_snapshot_bytes = \"1MiB\"\n"));
    project.approve();
    let (_, from) = run(&project);
    assert_eq!(from.as_deref(), Some(id_of(&first).as_str()), "earned on a snapshot");
}
