//! Tests `proctor run` from end to end: verdicts, prerequisites, stopping, environment, evidence, the queue, and the
//! project's registration in the store.
//!
//! Nearly all tests use commands of the tool `generic`, made of `fake-tool`. `run::python` runs real pytest.

mod actions;
mod bytecode;
mod debt;
mod environment;
mod environments;
mod evidence;
mod failures;
mod fewer_tests;
mod flow;
mod home_copy;
mod in_place;
mod isolation;
mod kept_files;
mod link;
mod listing;
mod network;
mod on_request;
mod own_caches;
mod own_fault;
mod planned;
mod planted;
mod prerequisites;
mod progress;
mod project_references;
mod python;
mod queue;
mod reading;
mod registration;
mod reuse;
mod second_paths;
mod services;
mod shared;
mod side_by_side;
mod side_by_side_auto;
mod snapshot;
mod snapshot_bad_input;
mod snapshot_caches;
mod snapshot_effects;
mod snapshot_full_disk;
mod snapshot_prepared;
mod snapshot_storm;
mod stopping;
mod test_names;
mod tests_not_run;
mod verdict;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Project, fake_tool};

/// Makes a project whose `PATH` contains `fake-tool` and `proctor`.
fn project(toml: &str) -> Project {
    Project::new().with_program(fake_tool()).toml(toml)
}

/// Returns the `[[section]]` table of `proctor.toml` for an action that runs `fake-tool`.
fn action(section: &str, name: &str, arguments: &[&str]) -> String {
    let words: Vec<&str> = ["fake-tool"].iter().chain(arguments).copied().collect();
    // A JSON list of strings is also a TOML list of strings.
    let command = serde_json::to_string(&words).expect("strings can be written");
    format!("[[{section}]]\nname = \"{name}\"\ncommand = {command}\n")
}

fn check(name: &str, arguments: &[&str]) -> String {
    action("check", name, arguments)
}

fn prerequisite(name: &str, arguments: &[&str]) -> String {
    action("prerequisite", name, arguments)
}

fn cleanup(name: &str, arguments: &[&str]) -> String {
    action("cleanup", name, arguments)
}

/// Returns a path beside the project. A command may write there without changing the project's tree, if the settings
/// allow it.
fn beside(project: &Project, name: &str) -> String {
    project.shared(name).to_string_lossy().into_owned()
}

fn exists(path: &str) -> bool {
    Path::new(path).exists()
}

#[track_caller]
fn result<'report>(report: &'report Value, id: &str) -> &'report Value {
    let sections = ["prerequisiteExecution", "stepExecution", "cleanupExecution"];
    let results = sections.iter().flat_map(|section| report[section]["results"].as_array().into_iter().flatten());
    results.into_iter().find(|result| result["actionId"] == id).unwrap_or_else(|| panic!("no `{id}` in {report:#}"))
}

/// Returns every run directory of the project, oldest first.
fn run_directories(project: &Project) -> Vec<std::path::PathBuf> {
    let evidence = project.root().join("state/proctor/evidence");
    let below = |path: &Path| {
        let mut entries: Vec<_> = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        entries.sort();
        entries
    };
    let projects = below(&evidence);
    projects.iter().flat_map(|project| below(&project.join("default/runs"))).collect()
}
