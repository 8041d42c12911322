//! What real pytest does in every situation that is known to mislead, and the category proctor must come to.
//!
//! The table is data: a scenario is a project, a command, and what is expected of it. Names begin with the number of the row they
//! come from, so that a scenario and the facts about it are found by each other; `G` rows end with exit code 0 and prove nothing.

mod collection;
mod configuration;
mod endings;
mod false_green;
mod outcomes;
mod selection;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proctor::model::{
    Action, ActionEnd, ActionId, ActionPhase, CommandLine, Interpretation, OnSurvivors, StreamExcerpt, Tool, ToolReport,
};
use proctor::tools::{Input, ReportRequest, interpret, prepare};

use crate::common::python_plain;

/// How the command of a scenario reaches pytest.
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
    /// The row of the facts, and what it is about.
    pub(crate) name: &'static str,
    /// Files of the project: path and content.
    pub(crate) files: &'static [(&'static str, &'static [u8])],
    /// Symbolic links of the project: path and target.
    pub(crate) links: &'static [(&'static str, &'static str)],
    /// What follows `pytest`.
    pub(crate) arguments: &'static [&'static str],
    /// Variables of the check.
    pub(crate) environment: &'static [(&'static str, &'static str)],
    /// How the command reaches pytest.
    pub(crate) form: Form,
    /// The categories that are right; the first is what is seen with pytest 9.2.0 where the report can be read.
    pub(crate) expected: &'static [&'static str],
    /// pytest's exit code; none: a signal ended it.
    pub(crate) exit: Option<i32>,
}

/// What a scenario comes to when nothing is said about the rest.
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

/// Returns all scenarios.
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

/// Runs a scenario with nothing but the interpreter under test: pytest is started right here.
fn run_directly(scenario: &Scenario, python: &Path) -> (Interpretation, Option<i32>) {
    let project = tempfile::tempdir().expect("a directory for the project");
    let output = tempfile::tempdir().expect("a directory for the report");
    lay_out(scenario, project.path());
    let action = action(scenario, python);
    let preparation = prepare(&action, output.path());
    let report = report_path(&preparation.report, project.path());
    if matches!(preparation.report, ReportRequest::Own { .. }) && report.as_ref().is_some_and(|path| path.is_file()) {
        fs::rename(report.as_ref().expect("it was just looked at"), output.path().join("aside.xml")).expect("one file system");
    }
    let ended = spawn(&preparation.argv, &preparation.environment, scenario, project.path());
    let end = match ended.status.signal() {
        Some(signal) => ActionEnd::Signalled { signal },
        None => ActionEnd::Exited { code: ended.status.code().expect("no signal, so a code") },
    };
    let interpretation = interpret(&Input {
        action: &action,
        end: &end,
        stdout: &excerpt(&ended.stdout),
        stderr: &excerpt(&ended.stderr),
        report: &read_report(report.as_deref()),
        coverage: &ToolReport::NotRequested,
        report_channel: preparation.report.channel(),
        project_root: project.path(),
        survivors: 0,
    });
    (interpretation, end.exit_code())
}

fn spawn(argv: &[String], environment: &[(String, String)], scenario: &Scenario, directory: &Path) -> Output {
    let (program, arguments) = argv.split_first().expect("a command has a program");
    Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", directory)
        .env("COLUMNS", "200")
        .envs(scenario.environment.iter().copied())
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        // Some scenarios signal their whole process group, which must not be that of the tests.
        .process_group(0)
        .output()
        .unwrap_or_else(|error| panic!("could not start {program}: {error}"))
}

fn action(scenario: &Scenario, python: &Path) -> Action {
    let argv = command(scenario, python);
    Action {
        id: ActionId::numbered("STEP", 1),
        phase: ActionPhase::Step,
        name: "pytest".to_owned(),
        description: scenario.name.to_owned(),
        tool: Tool::Pytest,
        class: Tool::Pytest.class(),
        command_is_ours: false,
        command: CommandLine { display: argv.join(" "), argv, shell: scenario.form == Form::Shell },
        directory: PathBuf::new(),
        environment: scenario.environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        timeout: Duration::from_secs(60),
        grace: Duration::from_secs(5),
        paths: Vec::new(),
        once: None,
        policy: None,
        coverage: None,
        expected_exit_codes: vec![0],
        on_survivors: OnSurvivors::Report,
    }
}

fn report_path(request: &ReportRequest, project: &Path) -> Option<PathBuf> {
    request.path().map(|path| project.join(path))
}

fn read_report(path: Option<&Path>) -> ToolReport {
    let Some(path) = path else { return ToolReport::NotRequested };
    match fs::symlink_metadata(path) {
        Err(_) => ToolReport::Missing,
        Ok(metadata) if !metadata.is_file() => ToolReport::Refused("it is not a regular file".to_owned()),
        Ok(_) => ToolReport::Fresh(fs::read(path).expect("a regular file of ours")),
    }
}

fn excerpt(bytes: &[u8]) -> StreamExcerpt {
    let mut head = Vec::new();
    bytes.take(StreamExcerpt::HEAD_CAP as u64).read_to_end(&mut head).expect("memory can be read");
    let rest = &bytes[head.len()..];
    let tail = rest[rest.len().saturating_sub(StreamExcerpt::TAIL_CAP)..].to_vec();
    StreamExcerpt { total: bytes.len() as u64, head, tail }
}

fn category_text(interpretation: &Interpretation) -> String {
    let json = serde_json::to_string(&interpretation.category).expect("a category is a word");
    json.trim_matches('"').to_owned()
}

#[test]
fn every_scenario_comes_to_its_category() {
    let python = python_plain();
    let all: Vec<&Scenario> = scenarios().collect();
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(scenario) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (interpretation, exit) = run_directly(scenario, &python);
                    let category = category_text(&interpretation);
                    if !scenario.expected.contains(&category.as_str()) || exit != scenario.exit {
                        let seen = format!("{category} (exit {exit:?}): {}", interpretation.reason);
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
            let known: Result<proctor::model::CategoryCode, _> = serde_json::from_str(&format!("\"{category}\""));
            assert!(known.is_ok(), "{}: {category}", scenario.name);
        }
    }
}

#[test]
fn no_false_green_is_expected_to_pass_but_the_one_that_is_a_known_limit() {
    for scenario in false_green::SCENARIOS {
        let passes = scenario.expected.contains(&"TESTS_PASSED");
        assert_eq!(passes, scenario.name == false_green::KNOWN_LIMIT, "{}", scenario.name);
    }
}
