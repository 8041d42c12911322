//! What another program changes in the store is never shown as a verdict: neither rows of the index, nor lines of the ledger,
//! nor files of a run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use crate::common::{KeptEvidence, Output, Project};

const NOTE: &str = "they were not believed, and were made anew from the ledger";

/// Returns a project whose first run passed and whose second run failed.
fn red_project() -> Project {
    let command = "[[check]]\nname = \"check\"\ncommand = [\"fake-tool\", \"--script\", \"echo hello; test ! -e bad\"]\n";
    let project = Project::new().toml(command).file("a.txt", "a");
    project.proctor(["run"]).success();
    fs::write(project.path().join("bad"), "").expect("the project is ours");
    assert_eq!(project.proctor(["run"]).any_status().status, 1);
    project
}

fn state(project: &Project) -> PathBuf {
    project.root().join("state/proctor")
}

fn is_red(output: &Output) {
    assert!(output.stdout.contains("fresh FAIL"), "{}", output.snapshot());
}

/// Every answer about the project is the one that the ledger gives.
fn answers_are_right(project: &Project, what: &str) {
    is_red(&project.proctor(["status"]).success());
    let waited = project.proctor(["wait", "--fresh", "--timeout", "0s"]).any_status();
    assert_eq!(waited.status, 1, "{what}: {}", waited.snapshot());
    let log = project.proctor(["log"]).success().stdout;
    let results: Vec<&str> = log.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(results, ["FAILED", "PASSED"], "{what}: {log}");
    let shown = project.proctor(["show"]).success().stdout;
    assert!(shown.contains("FAILED · check failed"), "{what}: {shown}");
    let shown = project.proctor(["show", "1"]).success().stdout;
    assert!(shown.contains("PASSED"), "{what}: {shown}");
}

#[test]
fn an_edited_index_is_never_believed() {
    let project = red_project();
    let statements = [
        "UPDATE runs SET result = 'PASSED', status = 'SUCCESS', blocking = 0, exit = 'PROCEED' WHERE sequence = 3",
        "UPDATE runs SET tree_digest = (SELECT tree_digest FROM runs WHERE sequence = 3) WHERE sequence = 2; \
         UPDATE runs SET counts = 0 WHERE sequence = 3; DELETE FROM checks",
        "DELETE FROM runs WHERE sequence = 3",
        "DELETE FROM runs WHERE sequence = 2",
        "UPDATE runs SET run_id = 'exec-20261125T144632.217Z-000009' WHERE sequence = 2",
        "DELETE FROM runs; DELETE FROM checks",
        "UPDATE positions SET applied_sequence = 2, applied_offset = 1",
        "DELETE FROM positions; UPDATE runs SET result = 'PASSED'",
        "DELETE FROM seals; UPDATE runs SET result = 'PASSED'",
        "UPDATE checks SET blocking = 'ALLOWED'",
        "INSERT INTO runs SELECT project, 9, 'exec-20261125T144632.217Z-000009', task, started, ended, 'SUCCESS', 1, 'PASSED', 0, \
         tree_digest, environment_digest, plan_digest, report_hash, manifest_hash, route, 'PROCEED', tree_format, tested, \
         isolation, coverage, changed_rules FROM runs WHERE sequence = 3",
        "UPDATE runs SET changed_rules = 1",
    ];
    for statement in statements {
        let other = Connection::open(state(&project).join("state.db")).expect("the index is there");
        other.execute_batch(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        drop(other);
        answers_are_right(&project, statement);
        project.proctor(["verify"]).success();
    }
    // The seal does not cover rows about pruned runs. Such a row is used only to find a ledger line, and no line says this.
    let other = Connection::open(state(&project).join("state.db")).expect("the index is there");
    other.execute_batch("INSERT INTO pruned SELECT project, run_id, 'keep_runs', 3 FROM runs").expect("nobody else writes");
    answers_are_right(&project, "rows about pruned runs");
    assert_eq!(project.proctor(["verify"]).any_status().status, 6);
}

#[test]
fn a_planted_project_without_a_ledger_is_nobodys_registration() {
    let project = red_project();
    let other = Connection::open(state(&project).join("state.db")).expect("the index is there");
    let planted = "UPDATE projects SET path = path || '-elsewhere', inode = 1; \
         INSERT INTO projects SELECT 'ghost-00000001', replace(path, '-elsewhere', ''), device, inode, git_common_directory, \
         plan_digest, 999 FROM projects";
    other.execute_batch(planted).unwrap_or_else(|error| panic!("{error}"));
    drop(other);
    answers_are_right(&project, "a planted project");
    project.proctor(["verify"]).success();
}

#[test]
fn whoever_changed_the_index_is_told_on_once() {
    let project = red_project();
    let other = Connection::open(state(&project).join("state.db")).expect("the index is there");
    other.execute_batch("UPDATE runs SET result = 'PASSED' WHERE sequence = 3").expect("nobody else writes");
    drop(other);
    let told = project.proctor(["status"]).success();
    is_red(&told);
    assert!(told.stderr.contains(NOTE), "{}", told.snapshot());
    assert_eq!(project.proctor(["status"]).success().stderr, "");
}

#[test]
fn an_edited_ledger_line_ends_every_answer_with_6() {
    let project = red_project();
    let ledger = KeptEvidence::only(&state(&project)).ledger;
    let text = fs::read_to_string(&ledger).expect("a project has a ledger");
    let forged = text.replacen("\"overallResult\":\"FAILED\"", "\"overallResult\":\"PASSED\"", 1);
    assert_ne!(text, forged);
    fs::write(&ledger, &forged).expect("the store is ours");
    for command in [&["status"][..], &["log"], &["show"], &["show", "2"], &["wait", "--fresh"], &["service", "list"]] {
        let output = project.proctor(command).any_status();
        assert_eq!(output.status, 6, "{command:?}: {}", output.snapshot());
        assert!(output.stderr.contains("ledger") && output.stderr.contains("line 3"), "{command:?}: {}", output.snapshot());
    }
    fs::write(&ledger, &text).expect("the store is ours");
    answers_are_right(&project, "the ledger is as before");
}

#[test]
fn a_store_that_a_newer_version_wrote_is_refused_by_name_and_left_as_it_is() {
    let project = red_project();
    let ledger = KeptEvidence::only(&state(&project)).ledger;
    let text = fs::read_to_string(&ledger).expect("a project has a ledger");
    let refuses = |said: &str| {
        for command in [&["status"][..], &["log"], &["run"], &["wait"]] {
            let output = project.proctor(command).any_status();
            assert_eq!(output.status, 2, "{command:?}: {}", output.snapshot());
            assert!(output.stderr.contains(said) && output.stderr.contains("newer"), "{command:?}: {}", output.snapshot());
        }
    };
    let line = text.lines().last().expect("lines").replace("proctor-ledger-v1", "proctor-ledger-v9");
    fs::write(&ledger, format!("{text}{line}\n")).expect("the store is ours");
    refuses("proctor-ledger-v9");
    fs::write(&ledger, &text).expect("the store is ours");
    let other = Connection::open(state(&project).join("state.db")).expect("the index is there");
    let (kept, newer): (i64, i64) = (other.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a number"), 999);
    other.pragma_update(None, "user_version", newer).expect("nobody else writes");
    refuses("state.db");
    other.pragma_update(None, "user_version", kept).expect("nobody else writes");
    answers_are_right(&project, "the store is as before");
}

#[test]
fn show_refuses_an_edited_report_and_an_edited_log() {
    let project = red_project();
    let run = run_directory(&project);
    let show = |arguments: &[&str]| {
        let output = project.proctor([&["show"], arguments].concat()).any_status();
        (output.status, output.stdout, output.stderr)
    };
    let refuses = |arguments: &[&str], file: &str| {
        let (status, stdout, stderr) = show(arguments);
        let shown = format!("{stdout}{stderr}");
        assert_eq!((status, shown.contains("FAILED"), shown.contains("hello")), (6, false, false), "{arguments:?}: {shown}");
        let name = run.file_name().and_then(|name| name.to_str()).expect("a run's id");
        assert!(shown.contains(file) && shown.contains(&format!("proctor verify {name}")), "{arguments:?}: {shown}");
    };
    let report = "execution-report.json";
    let log = names(&run).into_iter().find(|name| name.ends_with(".log")).expect("the check wrote something");
    for (file, forged) in [(report, None), (report, Some(("FAILED", "PASSED"))), ("SHA256SUMS", Some(("0", "1")))] {
        with_edit(&run.join(file), forged, || {
            refuses(&[], file);
            refuses(&["--json"], file);
            refuses(&["--log", "check"], file);
        });
    }
    for forged in [None, Some(("hello", "world"))] {
        with_edit(&run.join(&log), forged, || refuses(&["--log", "check"], &log));
    }
    assert_eq!(show(&["--log", "check"]).1, "hello\n");
    assert_eq!(show(&["--json"]).0, 0);
}

fn run_directory(project: &Project) -> PathBuf {
    let runs = KeptEvidence::only(&state(project)).task.join("runs");
    let newest = names(&runs).into_iter().max().expect("two runs were made");
    runs.join(newest)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("it is there").flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Replaces a text in a file of the store, or removes the file, while `then` runs. Afterwards the file is as before.
fn with_edit(path: &Path, edit: Option<(&str, &str)>, then: impl Fn()) {
    let directory = path.parent().expect("it lies in a run's directory");
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("the store is ours");
    let before = fs::read_to_string(path).expect("a text");
    fs::remove_file(path).expect("the store is ours");
    if let Some((old, new)) = edit {
        assert!(before.contains(old), "{} has no {old}", path.display());
        fs::write(path, before.replace(old, new)).expect("the store is ours");
    }
    then();
    let _absent = fs::remove_file(path);
    fs::write(path, before).expect("the store is ours");
}

fn edit_index(project: &Project, statements: &str) {
    let other = Connection::open(state(project).join("state.db")).expect("the index is there");
    other.execute_batch(statements).unwrap_or_else(|error| panic!("{statements}: {error}"));
}

#[test]
fn a_text_that_is_not_utf8_and_another_table_block_nothing() {
    let project = red_project();
    let text = "CAST(x'ff' AS TEXT)";
    let statements = [
        format!("UPDATE seals SET signature = {text}"),
        format!("UPDATE seals SET line = {text}"),
        format!("UPDATE runs SET task = {text} WHERE sequence = 3"),
        format!("UPDATE runs SET run_id = {text} WHERE sequence = 2"),
        format!("UPDATE runs SET status = {text}"),
        format!("UPDATE projects SET path = {text}"),
        format!("UPDATE projects SET id = {text}"),
        format!("UPDATE positions SET project = {text}"),
        format!("UPDATE checks SET name = {text}"),
        format!("INSERT INTO pruned SELECT project, {text}, {text}, 3 FROM runs WHERE sequence = 3"),
        "DROP TABLE seals".to_owned(),
        "DROP TABLE runs; CREATE TABLE runs (project TEXT)".to_owned(),
    ];
    for statement in statements {
        edit_index(&project, &statement);
        answers_are_right(&project, &statement);
    }
    let run = project.proctor(["run"]).any_status();
    assert_eq!(run.status, 1, "{}", run.snapshot());
}

#[test]
fn a_planted_row_about_inputs_makes_no_run_green() {
    let check = "[[check]]\nname = \"check\"\npaths = [\"a.txt\"]\ncommand = [\"/bin/grep\", \"-q\", \"good\", \"a.txt\"]\n";
    let project = Project::new().toml(&format!("{check}[run]\nreuse = \"always\"\n")).file("a.txt", "good");
    project.proctor(["run"]).success();
    project.save("a.txt", "bad");
    project.proctor(["run"]).status(1);
    edit_index(&project, "UPDATE inputs SET sequence = 2 WHERE sequence = 3");
    let output = project.proctor(["run"]).any_status();
    assert_eq!(output.status, 1, "{}", output.snapshot());
}

/// While another process prunes a run, the ledger says so before the index does.
#[test]
fn a_run_that_is_being_pruned_is_shown_as_pruned() {
    let project = Project::new().toml("[evidence]\nkeep_runs = 1\n[[check]]\nname = \"check\"\ncommand = \"true\"\n");
    (0..3).for_each(|_| drop(project.proctor(["run"]).success()));
    project.proctor(["prune"]).success();
    edit_index(&project, "DELETE FROM pruned");
    let shown = project.proctor(["show", "1"]).success();
    assert!(shown.stdout.contains("its files were removed"), "{}", shown.snapshot());
    for arguments in [["show", "1", "--json"].as_slice(), &["show", "1", "--log", "check"]] {
        let refused = project.proctor(arguments).any_status();
        let is_said = format!("{}{}", refused.stdout, refused.stderr).contains("was pruned");
        assert!(refused.status == 2 && is_said, "{arguments:?}: {}", refused.snapshot());
    }
}

#[test]
fn a_program_that_edits_the_index_all_the_time_is_never_believed() {
    let project = red_project();
    let (path, is_over) = (state(&project).join("state.db"), AtomicBool::new(false));
    let answers: Vec<Output> = std::thread::scope(|scope| {
        scope.spawn(|| {
            let other = Connection::open(&path).expect("the index is there");
            while !is_over.load(Ordering::Relaxed) {
                // While proctor writes, the file is locked.
                let edit = "UPDATE runs SET counts = 0 WHERE sequence = 3; UPDATE checks SET blocking = 'ALLOWED'";
                let _locked = other.execute_batch(edit);
            }
        });
        let answers = (0..15).map(|_| project.proctor(["status"]).any_status()).collect();
        is_over.store(true, Ordering::Relaxed);
        answers
    });
    for answer in answers {
        let is_refused = answer.status == 70 && answer.stderr.contains("written to again and again");
        assert!(is_refused || answer.stdout.contains("fresh FAIL"), "{}", answer.snapshot());
    }
    answers_are_right(&project, "the other program has ended");
}
