//! The list of threats: ways in which a programmer or an agent may cheat. Each test really tries a cheat and checks what proctor says.
//!
//! A test's name begins with the number of its row in that list. [`ROWS`] says which rows have tests; a row without its test fails here.

mod changes;
mod claims;
mod commands;
mod results;
mod runner;
mod secrets;
mod sessions;

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::common::{Project, python_plain, source_files};
use crate::docs::page;

/// How a row of the list of threats is dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    /// The cheat is prevented or shown. A test tries it.
    Tried,
    /// proctor cannot notice the cheat, and `docs/explanation/threat-model.md` says so.
    Named,
}

/// The rows of the list of threats, in order. The first one has the number 1.
const ROWS: [Stand; 33] = [
    Stand::Tried, // claims that tests passed, but never ran them
    Stand::Tried, // edits the report
    Stand::Tried, // edits, deletes or forges logs
    Stand::Tried, // copies evidence of another run
    Stand::Tried, // uses placeholders as evidence
    Stand::Tried, // evidence that contradicts itself
    Stand::Tried, // claims that the tool is broken
    Stand::Tried, // runs another command that looks the same
    Stand::Tried, // removes, skips or narrows tests
    Stand::Named, // writes tests without assertions
    Stand::Tried, // edits tests to fit the code
    Stand::Tried, // repeats the run until it passes
    Stand::Tried, // weakens the specification
    Stand::Tried, // calls a failure expected
    Stand::Tried, // ticks boxes in the task list
    Stand::Tried, // deletes or rolls back lock and state
    Stand::Tried, // suppresses findings
    Stand::Tried, // masks the exit code
    Stand::Tried, // replaces the tool by a fake one
    Stand::Tried, // ends the process early with exit code 0
    Stand::Tried, // changes the exit status by a hook
    Stand::Tried, // changes each result by a hook
    Stand::Tried, // (the control test against hooks that change results)
    Stand::Tried, // adds hooks by environment variables
    Stand::Tried, // leaves a process behind that changes files later
    Stand::Tried, // hangs, or floods proctor with output
    Stand::Tried, // plays the service or the person
    Stand::Tried, // falsifies times of files
    Stand::Tried, // changes code after the run
    Stand::Tried, // speaks to the reader through the output
    Stand::Named, // blames something else for a failure
    Stand::Tried, // redefines "done"
    Stand::Named, // chooses easy tasks
];

const PASSING: &str = "def test_it():\n    assert 1 == 1\n";
const FAILING: &str = "def test_it():\n    assert 1 == 2\n";

#[test]
fn every_row_that_can_be_prevented_has_its_test_and_every_other_one_its_line() {
    let names: BTreeSet<String> = source_files("tests/cheats/")
        .iter()
        .flat_map(|file| file.text.lines().filter_map(|line| line.strip_prefix("fn t")).map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let threats = page("docs/explanation/threat-model.md").text;
    let mut missing = Vec::new();
    for (row, number) in ROWS.iter().zip(1..) {
        let has_test = names.iter().any(|name| name.starts_with(&format!("{number:02}_")));
        let is_named = threats.contains(&format!("T-{number:02}"));
        match row {
            Stand::Tried if has_test => {}
            Stand::Named if is_named && !has_test => {}
            Stand::Tried | Stand::Named => missing.push(format!("{number:02}: {row:?}")),
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Returns a project whose only check is real pytest. `lines` are added to the check, `settings` are put after it.
fn pytest(lines: &str, settings: &str) -> Project {
    let python = python_plain();
    let command = format!("command = [{:?}, \"-m\", \"pytest\", \"-q\"]", python.to_string_lossy());
    Project::new().toml(&format!("[[check]]\nname = \"tests\"\n{command}\n{lines}\n{settings}"))
}

/// Returns a project whose only check is `command`, which is written as a TOML list.
fn command(command: &str, lines: &str) -> Project {
    Project::new().toml(&format!("[[check]]\nname = \"check\"\ncommand = {command}\n{lines}\n"))
}

/// Returns the category code of a report's first check.
fn code(report: &Value) -> &str {
    report["stepExecution"]["results"][0]["classification"]["code"].as_str().unwrap_or_default()
}

fn reason(report: &Value) -> &str {
    report["stepExecution"]["results"][0]["classification"]["reason"].as_str().unwrap_or_default()
}

/// Returns the report's notes as one text.
fn notes(report: &Value) -> String {
    let notes = report["notes"].as_array().cloned().unwrap_or_default();
    notes
        .iter()
        .map(|note| format!("{}: {}\n", note["subject"].as_str().unwrap_or(""), note["message"].as_str().unwrap_or("")))
        .collect()
}

fn configuration_changed(report: &Value) -> Vec<&str> {
    let changed = report["configurationChanged"].as_array();
    changed.into_iter().flatten().filter_map(|change| change["path"].as_str()).collect()
}

/// Returns the faults that `proctor verify` finds in the project's evidence: the kind of each, and the name of its file.
#[track_caller]
fn faults(project: &Project) -> Vec<String> {
    let found = project.proctor(["verify", "--json"]).status(6).json();
    let faults = found["faults"].as_array().cloned().unwrap_or_default();
    let name = |fault: &Value| fault["file"].as_str().and_then(|file| file.rsplit('/').next()).unwrap_or_default().to_owned();
    faults.iter().map(|fault| format!("{} {}", fault["kind"].as_str().unwrap_or_default(), name(fault))).collect()
}

/// Overwrites a file that proctor has made read-only.
#[track_caller]
fn overwrite(path: &Path, text: &str) {
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(path, text).expect("it is ours");
}
