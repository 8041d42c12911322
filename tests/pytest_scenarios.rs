//! What real pytest does in situations that are known to mislead, and the category code that proctor must come to.
//!
//! The table is data: a scenario is a project, a command, and the expected result. A name begins with the scenario's
//! number in the list of measured pytest behaviour. Scenarios whose number begins with `G` end with exit code 0 and
//! prove nothing.

mod collection;
mod configuration;
mod endings;
mod false_green;
mod outcomes;
mod selection;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::common::{Extent, Project, python_plain};

/// How many scenarios run at the same time. Most of pytest's time is start-up.
const WORKERS: usize = 3;

/// Whether the command of a scenario runs pytest itself or by a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `python -m pytest ARGUMENTS`.
    Direct,
    /// `bash -o pipefail -c 'python -m pytest ARGUMENTS'`.
    Shell,
}

/// A project, a command, and what is expected of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    /// The scenario's name: its number in the list of measured pytest behaviour, and its subject.
    pub(crate) name: &'static str,
    /// Files of the project: path and content.
    pub(crate) files: &'static [(&'static str, &'static [u8])],
    /// Symbolic links of the project: path and target.
    pub(crate) links: &'static [(&'static str, &'static str)],
    pub(crate) arguments: &'static [&'static str],
    /// Environment variables of the check.
    pub(crate) environment: &'static [(&'static str, &'static str)],
    /// How the command reaches pytest.
    pub(crate) form: Form,
    /// The accepted category codes. The first is the one that pytest 9.2.0 leads to if its report can be read.
    pub(crate) expected: &'static [&'static str],
    /// pytest's exit code. None: a signal ended it.
    pub(crate) exit: Option<i32>,
}

pub(crate) const PLAIN: Scenario = Scenario {
    name: "",
    files: &[],
    links: &[],
    arguments: &[],
    environment: &[],
    form: Form::Direct,
    expected: &[],
    exit: None,
};

pub(crate) fn scenarios() -> impl Iterator<Item = &'static Scenario> {
    [
        collection::SCENARIOS,
        configuration::SCENARIOS,
        endings::SCENARIOS,
        false_green::SCENARIOS,
        outcomes::SCENARIOS,
        selection::SCENARIOS,
    ]
    .into_iter()
    .flatten()
}

/// Writes a scenario's project into an empty directory.
pub(crate) fn lay_out(scenario: &Scenario, directory: &Path) {
    for (path, content) in scenario.files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a directory")).expect("the directory is writable");
        fs::write(path, content).expect("the directory is writable");
    }
    for (path, target) in scenario.links {
        std::os::unix::fs::symlink(target, directory.join(path)).expect("the directory is writable");
    }
}

/// Returns the argument vector of a scenario's command.
pub(crate) fn command(scenario: &Scenario, python: &Path) -> Vec<String> {
    let python = python.to_str().expect("the build directory is UTF-8");
    let words = [python, "-m", "pytest"].into_iter().chain(scenario.arguments.iter().copied());
    match scenario.form {
        Form::Direct => words.map(str::to_owned).collect(),
        Form::Shell => {
            let script = shlex::try_join(words).expect("no argument holds a NUL");
            ["bash", "-o", "pipefail", "-c", &script].map(str::to_owned).to_vec()
        }
    }
}

/// Returns the `proctor.toml` of a scenario: one check with `tool = "pytest"`.
fn configuration(scenario: &Scenario, python: &Path) -> String {
    let argv = command(scenario, python);
    let command = match scenario.form {
        Form::Direct => toml_list(&argv),
        Form::Shell => toml_text(argv.last().expect("a shell has a script")),
    };
    let shell = scenario.form == Form::Shell;
    // The test tools may lie below `/tmp`, and actions see a private `/tmp` instead. proctor cannot find the tools in a
    // shell script, so their directory must be opened by a setting.
    let tools = python.ancestors().nth(2).expect("an interpreter lies in an environment").to_str().expect("it is UTF-8");
    let variables: Vec<_> = scenario.environment.iter().map(|(name, value)| format!("{name} = {}", toml_text(value))).collect();
    // In scenarios with a loop of links, reading proctor's own link once failed with ELOOP before the end of the loop,
    // and that ends the collection. Probably the kernel counted the links twice. The scenario is about something else,
    // so proctor makes no link here.
    let link = if scenario.links.is_empty() { "" } else { "[evidence]\nlink = \"\"\n" };
    format!(
        "[[check]]\nname = \"pytest\"\ntool = \"pytest\"\nshell = {shell}\ncommand = {command}\nenvironment = {{ {} }}\ntimeout = \"60s\"\n[sandbox]\nvisible = [{}]\n{link}",
        variables.join(", "),
        toml_text(tools)
    )
}

fn toml_list(words: &[String]) -> String {
    format!("[{}]", words.iter().map(|word| toml_text(word)).collect::<Vec<_>>().join(", "))
}

/// Returns a TOML string: the escapes of JSON strings are valid in TOML basic strings.
fn toml_text(text: &str) -> String {
    Value::from(text).to_string()
}

/// Runs a scenario as a user would. Returns the category code, the exit code of the command, and the reason.
fn run_scenario(scenario: &Scenario, python: &Path) -> (String, Option<i64>, String) {
    let project = Project::new().toml(&configuration(scenario, python));
    lay_out(scenario, &project.path());
    let output = project.proctor(["run", "--json"]).any_status();
    if output.stdout.is_empty() {
        return ("no report".to_owned(), None, output.snapshot());
    }
    let report = output.json();
    let result = &report["stepExecution"]["results"][0];
    let category = result["classification"]["code"].as_str().expect("an action that ran has a code").to_owned();
    let is_success = result["status"] == "SUCCESS";
    assert_eq!(is_success, category == "TESTS_PASSED", "{}: {result:#}", scenario.name);
    assert_eq!(output.status == 0, is_success, "{}: exit status {}", scenario.name, output.status);
    let reason = result["classification"]["reason"].as_str().unwrap_or_default().to_owned();
    (category, result["result"]["exitCode"].as_i64(), reason)
}

#[test]
fn some_scenarios_come_to_their_category() {
    scenarios_come_to_their_category(Extent::OneIn(20));
}

#[test]
#[ignore = "long tier"]
fn every_scenario_comes_to_its_category() {
    scenarios_come_to_their_category(Extent::All);
}

#[track_caller]
fn scenarios_come_to_their_category(extent: Extent) {
    let python = python_plain();
    let all = extent.of(scenarios());
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(scenario) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (category, exit, reason) = run_scenario(scenario, &python);
                    if !scenario.expected.contains(&category.as_str()) || exit != scenario.exit.map(i64::from) {
                        let seen = format!("{category} (exit {exit:?}): {reason}");
                        wrong.lock().expect("no test panics with it").insert(scenario.name, seen);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no test panics with it");
    assert!(wrong.is_empty(), "{} of {} came to something else:\n{wrong:#?}", wrong.len(), all.len());
}

#[test]
fn scenarios_have_names_of_their_own_and_expect_categories_that_exist() {
    let names: BTreeSet<_> = scenarios().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), scenarios().count());
    for scenario in scenarios() {
        assert!(!scenario.expected.is_empty(), "{}", scenario.name);
        for category in scenario.expected {
            let known: Result<proctor_model::CategoryCode, _> = serde_json::from_str(&format!("\"{category}\""));
            assert!(known.is_ok(), "{}: {category}", scenario.name);
        }
    }
}

#[test]
fn no_false_green_is_expected_to_pass() {
    for scenario in false_green::SCENARIOS {
        let passes = scenario.expected.contains(&"TESTS_PASSED");
        assert!(!passes, "{}", scenario.name);
    }
}
