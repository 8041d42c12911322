//! Makes the command that is really run: adds arguments so that the tool writes the report by which the action is judged
//! (E5, E6). This module also says how a tool is stopped (E10). No plugin is added (but `shards` adds one to pytest),
//! nor anything else that changes a tool's result.

use std::path::{Path, PathBuf};

use crate::launchers::{Located, locate};
use crate::table::row_of;
use proctor_model::{Action, StopStage, Tool};

/// How the report of an action is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportRequest {
    /// No report is requested: the tool's output is read instead.
    None,
    /// proctor requests the report by an argument that it adds to the command. Unlike an environment variable, an
    /// argument does not reach the tool's child processes.
    Ours {
        /// Where the tool will write the report.
        path: PathBuf,
        /// The word by which the evidence names this way of asking: `argument`.
        channel: &'static str,
    },
    /// proctor requests the report by an environment variable, which child processes inherit. The evidence calls this
    /// way of asking `inherited`.
    Inherited {
        /// Where the tool will write the report.
        path: PathBuf,
    },
    /// The command itself names a report file. An old file is moved aside before the run, and the new one is read after
    /// the run. The evidence calls this `own`.
    Own {
        /// The path as the command spells it, relative to the action's directory.
        path: PathBuf,
    },
    /// The check names a glob for several files. Old files are moved aside before the run, and the new ones are read after it. The
    /// evidence calls this `own`.
    Several {
        /// The directory below which the files lie, relative to the project.
        directory: PathBuf,
        /// The glob, relative to the project.
        glob: String,
    },
}

/// The command, variables and reports of a prepared action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preparation {
    /// The program and its arguments, including those that request the report.
    pub argv: Vec<String>,
    /// Environment variables that are set in addition to those of the action.
    pub environment: Vec<(String, String)>,
    /// The report that is read after the run.
    pub report: ReportRequest,
    /// The coverage report that is read after the run, relative to the project.
    pub coverage: Option<PathBuf>,
    /// Files that the command loads, to be written into the output directory: their names and contents.
    pub files: Vec<(&'static str, &'static str)>,
    /// Why the command must not run in the project itself; `None` if it may.
    pub needs_snapshot: Option<&'static str>,
}

/// The facts that are needed to add the request for a report to a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReportTask<'a> {
    pub(super) action: &'a Action,
    /// The tool that was found in the action's command, and the position of its arguments.
    pub(super) located: &'a Located,
    /// The directory for a report that proctor requests.
    pub(super) output_directory: &'a Path,
    /// The absolute path of the project's link to its evidence, which tools must not search for tests.
    pub(super) link: Option<&'a Path>,
}

/// Prepares an action. A report that proctor requests goes into `output_directory`, which must be fresh and absolute.
/// `link` is the absolute path of the project's link to its evidence, which tools must not search for tests.
pub fn prepare(action: &Action, output_directory: &Path, link: Option<&Path>) -> Preparation {
    let mut preparation = Preparation {
        argv: action.command.argv.clone(),
        environment: colour(action),
        report: ReportRequest::None,
        coverage: action.coverage.as_ref().map(|target| PathBuf::from(&target.report)),
        files: Vec::new(),
        needs_snapshot: None,
    };
    let located = locate(&action.command.argv);
    (row_of(action.tool).ask)(&ReportTask { action, located: &located, output_directory, link }, &mut preparation);
    preparation
}

/// Returns the signals that stop a tool, in order. SIGKILL follows after them (E10).
pub fn stop_ladder(tool: Tool) -> Vec<StopStage> {
    row_of(tool).stops.to_vec()
}

impl ReportRequest {
    /// Returns the name of the way in which the report was requested, as the evidence writes it.
    pub fn channel(&self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Ours { channel, .. } => Some(channel),
            Self::Inherited { .. } => Some("inherited"),
            Self::Own { .. } | Self::Several { .. } => Some("own"),
        }
    }

    /// Returns the path of the requested report; `None` if the tool's output is read instead, or if there may be several files.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::None | Self::Several { .. } => None,
            Self::Ours { path, .. } | Self::Inherited { path } | Self::Own { path } => Some(path),
        }
    }
}

impl ReportRequest {
    /// Returns the request with the path at which the report lies if a shell or `make` replaced the unset variables in its name before
    /// the tool got it; `None` if the name has none.
    pub fn expanded(&self) -> Option<Self> {
        let replaced = |path: &Path| {
            let (before, rest) = path.to_str()?.split_once("${")?;
            let (_, after) = rest.split_once('}')?;
            Some(PathBuf::from(format!("{before}{after}")))
        };
        match self {
            Self::Ours { path, channel } => Some(Self::Ours { path: replaced(path)?, channel }),
            Self::Inherited { path } => Some(Self::Inherited { path: replaced(path)? }),
            Self::None | Self::Own { .. } | Self::Several { .. } => None,
        }
    }
}

fn colour(action: &Action) -> Vec<(String, String)> {
    let wanted = row_of(action.tool).no_colour.filter(|(name, _)| !action.environment.contains_key(*name));
    wanted.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect()
}

// Words after `--` are paths, so the options are inserted before it.
pub(super) fn insert_options(argv: &mut Vec<String>, arguments_from: usize, options: impl IntoIterator<Item = String>) {
    let end = argv.iter().skip(arguments_from).position(|word| word == "--").map_or(argv.len(), |offset| arguments_from + offset);
    argv.splice(end..end, options);
}

/// Returns the value of the last of these options in the arguments. The forms are `--name value`, `--name=value` and
/// `-nvalue`.
pub(super) fn option_value<'a>(arguments: &'a [String], names: &[&str]) -> Option<&'a str> {
    let mut found = None;
    let mut words = arguments.iter().map(String::as_str).take_while(|word| *word != "--").peekable();
    while let Some(word) = words.next() {
        for name in names {
            let rest = word.strip_prefix(name);
            found = match rest {
                Some("") => words.peek().copied().or(found),
                Some(rest) if name.starts_with("--") => rest.strip_prefix('=').or(found),
                Some(rest) => Some(rest.trim_start_matches('=')),
                None => found,
            };
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_test::reporter as node_reporter;
    use crate::samples::action;

    fn argv(preparation: &Preparation) -> String {
        preparation.argv.join(" ")
    }

    #[test]
    fn a_direct_pytest_is_asked_by_an_argument_before_the_separator() {
        for (command, expected) in [
            ("pytest", "pytest --junitxml=/out/junit-${PYTEST_CURRENT_TEST}.xml"),
            ("pytest -q tests", "pytest -q tests --junitxml=/out/junit-${PYTEST_CURRENT_TEST}.xml"),
            ("python -m pytest -x -- tests", "python -m pytest -x --junitxml=/out/junit-${PYTEST_CURRENT_TEST}.xml -- tests"),
            ("uv run -- pytest tests", "uv run -- pytest tests --junitxml=/out/junit-${PYTEST_CURRENT_TEST}.xml"),
            ("uv run -- pytest -- tests", "uv run -- pytest --junitxml=/out/junit-${PYTEST_CURRENT_TEST}.xml -- tests"),
        ] {
            let preparation = prepare(&action(Tool::Pytest, command), Path::new("/out"), None);
            assert_eq!(argv(&preparation), expected);
            assert!(preparation.environment.is_empty(), "children must not inherit the request");
            assert_eq!(preparation.report.channel(), Some("argument"));
        }
    }

    #[test]
    fn behind_a_wrapper_the_environment_carries_the_request_and_keeps_what_was_there() {
        let mut wrapped = action(Tool::Pytest, "npm run test:py");
        wrapped.environment.insert("PYTEST_ADDOPTS".to_owned(), "-q -x".to_owned());
        let preparation = prepare(&wrapped, Path::new("/out dir"), None);
        assert_eq!(argv(&preparation), "npm run test:py");
        let expected = ("PYTEST_ADDOPTS".to_owned(), "-q -x '--junitxml=/out dir/junit-${PYTEST_CURRENT_TEST}.xml'".to_owned());
        assert_eq!(preparation.environment, [expected]);
        assert_eq!(preparation.report, ReportRequest::Inherited { path: "/out dir/junit-${PYTEST_CURRENT_TEST}.xml".into() });
        let shell = prepare(&action(Tool::Pytest, "bash -o pipefail -c 'pytest | tee log'"), Path::new("/out"), None);
        assert_eq!(shell.report.channel(), Some("inherited"));
    }

    #[test]
    fn a_report_whose_name_a_shell_expanded_is_found_at_the_name_without_the_variable() {
        let asked = |command| prepare(&action(Tool::Pytest, command), Path::new("/out"), None).report;
        for command in ["hatch run pytest", "make test"] {
            let expanded = asked(command).expanded().expect("the name has a variable");
            assert_eq!((expanded.path(), expanded.channel()), (Some(Path::new("/out/junit-.xml")), asked(command).channel()));
        }
        assert_eq!(asked("pytest --junitxml=${HOME}/a.xml").expanded(), None, "it is the command's own");
    }

    #[test]
    fn the_link_to_the_evidence_is_no_place_to_look_for_tests_in() {
        let asked = |command| prepare(&action(Tool::Pytest, command), Path::new("/out"), Some(Path::new("/my project/evidence")));
        let ignore = "--ignore=/my project/evidence";
        assert_eq!(
            asked("pytest -q -- tests").argv,
            ["pytest", "-q", ignore, "--junitxml=/out/junit-${PYTEST_CURRENT_TEST}.xml", "--", "tests"]
        );
        assert_eq!(asked("pytest --junitxml=own.xml").argv, ["pytest", "--junitxml=own.xml", ignore]);
        let expected = ("PYTEST_ADDOPTS".to_owned(), format!("'{ignore}' '--junitxml=/out/junit-${{PYTEST_CURRENT_TEST}}.xml'"));
        assert_eq!(asked("make test").environment, [expected]);
    }

    #[test]
    fn a_report_the_command_names_itself_is_kept() {
        for (command, path) in [
            ("pytest --junitxml reports/a.xml", "reports/a.xml"),
            ("pytest --junitxml=b.xml tests", "b.xml"),
            ("python -m pytest --junit-xml=c.xml", "c.xml"),
            ("pytest --junitxml=a.xml --junit-xml d.xml", "d.xml"),
            ("bash -c 'pytest --junitxml=e.xml'", "e.xml"),
        ] {
            let before = action(Tool::Pytest, command);
            let preparation = prepare(&before, Path::new("/out"), None);
            assert_eq!(preparation.argv, before.command.argv);
            assert!(preparation.environment.is_empty());
            assert_eq!(preparation.report, ReportRequest::Own { path: path.into() }, "{command}");
        }
        assert!(matches!(
            prepare(&action(Tool::Pytest, "pytest -- --junitxml=x"), Path::new("/o"), None).report,
            ReportRequest::Ours { .. }
        ));
    }

    #[test]
    fn only_an_eslint_command_of_ours_is_asked_for_json() {
        let theirs = prepare(&action(Tool::Eslint, "npx eslint ."), Path::new("/out"), None);
        assert_eq!((argv(&theirs).as_str(), &theirs.report), ("npx eslint .", &ReportRequest::None));
        let mut ours = action(Tool::Eslint, "npx eslint .");
        ours.command_is_ours = true;
        let prepared = prepare(&ours, Path::new("/out"), None);
        assert_eq!(argv(&prepared), "npx eslint . -f json");
        assert_eq!(prepared.environment, [("FORCE_COLOR".to_owned(), "0".to_owned())]);
        for command in ["eslint -f stylish .", "eslint --format=stylish .", "eslint -fstylish .", "npm run lint"] {
            let mut ours = action(Tool::Eslint, command);
            ours.command_is_ours = true;
            assert_eq!(argv(&prepare(&ours, Path::new("/out"), None)), command);
        }
    }

    #[test]
    fn a_variable_the_configuration_sets_is_left_alone() {
        let mut tsc = action(Tool::Tsc, "tsc --pretty");
        assert_eq!(prepare(&tsc, Path::new("/out"), None).environment, [("NO_COLOR".to_owned(), "1".to_owned())]);
        tsc.environment.insert("NO_COLOR".to_owned(), String::new());
        assert_eq!(prepare(&tsc, Path::new("/out"), None).environment, []);
    }

    #[test]
    fn jest_and_vitest_are_asked_for_a_report_that_is_ours_or_keep_their_own() {
        for (tool, command, expected, own) in [
            (Tool::Jest, "jest", "jest --json --outputFile=/out/report.json", None),
            (Tool::Jest, "npx jest --ci -- a.test.js", "npx jest --ci --json --outputFile=/out/report.json -- a.test.js", None),
            (Tool::Jest, "jest --outputFile=own.json", "jest --outputFile=own.json --json", Some("own.json")),
            (Tool::Jest, "npm test", "npm test -- --json --outputFile=/out/report.json", None),
            (Tool::Jest, "npm run unit -- --ci", "npm run unit -- --ci --json --outputFile=/out/report.json", None),
            (Tool::Jest, "yarn unit", "yarn unit --json --outputFile=/out/report.json", None),
            (Tool::Jest, "make check", "make check", None),
            (
                Tool::Vitest,
                "vitest run",
                "vitest run --reporter=default --reporter=json --outputFile.json=/out/report.json",
                None,
            ),
            (
                Tool::Vitest,
                "vitest run --reporter=junit --outputFile=o.xml",
                "vitest run --reporter=junit --outputFile.junit=o.xml --reporter=json --outputFile.json=/out/report.json",
                None,
            ),
            (
                Tool::Vitest,
                "vitest run --reporter default --reporter junit --outputFile o.xml a.test.ts",
                "vitest run --reporter default --reporter junit --outputFile.junit o.xml a.test.ts --reporter=json --outputFile.json=/out/report.json",
                None,
            ),
            (
                Tool::Vitest,
                "vitest run --reporter=junit --reporter=json --outputFile.json=own.json --outputFile.junit=o.xml",
                "vitest run --reporter=junit --reporter=json --outputFile.json=own.json --outputFile.junit=o.xml",
                Some("own.json"),
            ),
            (
                Tool::Vitest,
                "vitest run --reporter json --outputFile=own.json",
                "vitest run --reporter json --outputFile=own.json",
                Some("own.json"),
            ),
            (
                Tool::Vitest,
                "pnpm vitest run --reporter=verbose",
                "pnpm vitest run --reporter=verbose --reporter=json --outputFile.json=/out/report.json",
                None,
            ),
        ] {
            let preparation = prepare(&action(tool, command), Path::new("/out"), None);
            assert_eq!(argv(&preparation), expected);
            let path = own.map_or_else(|| PathBuf::from("/out/report.json"), PathBuf::from);
            assert_eq!(preparation.report.path(), Some(path.as_path()), "{command}");
            assert_eq!(preparation.report.channel(), Some(if own.is_some() { "own" } else { "argument" }), "{command}");
        }
    }

    #[test]
    fn node_and_go_are_asked_before_the_words_that_are_no_options() {
        let tap = format!("--test-reporter={} --test-reporter-destination=/out/report.tap", node_reporter());
        for (tool, command, expected) in [
            (
                Tool::NodeTest,
                "node --test a.test.js",
                format!("node {tap} --test-reporter=spec --test-reporter-destination=stdout --test a.test.js"),
            ),
            (
                Tool::NodeTest,
                "node --test --test-reporter=dot",
                format!("node {tap} --test-reporter-destination=stdout --test --test-reporter=dot"),
            ),
            (
                Tool::NodeTest,
                "node --test-reporter dot --test-reporter-destination x --test",
                format!("node {tap} --test-reporter dot --test-reporter-destination x --test"),
            ),
            (Tool::NodeTest, "npm test", "npm test".to_owned()),
            (Tool::GoTest, "go test -run X ./...", "go test -json -run X ./...".to_owned()),
            (Tool::GoTest, "go test -json ./...", "go test -json ./...".to_owned()),
            (Tool::CargoTest, "cargo test", "cargo test".to_owned()),
        ] {
            assert_eq!(argv(&prepare(&action(tool, command), Path::new("/out"), None)), expected);
        }
    }

    #[test]
    fn only_a_ruff_check_of_ours_is_asked_for_json() {
        for (command, ours, expected) in [
            ("ruff check .", true, "ruff check . --output-format=json"),
            ("ruff check --output-format=concise .", true, "ruff check --output-format=concise ."),
            ("ruff format --check .", true, "ruff format --check ."),
            ("ruff check .", false, "ruff check ."),
        ] {
            let mut ruff = action(Tool::Ruff, command);
            ruff.command_is_ours = ours;
            assert_eq!(argv(&prepare(&ruff, Path::new("/out"), None)), expected);
        }
    }

    #[test]
    fn pytest_is_stopped_so_that_it_still_writes_its_report() {
        assert_eq!(stop_ladder(Tool::Pytest), [StopStage::Sigint, StopStage::Sigabrt]);
        assert_eq!(stop_ladder(Tool::Generic), [StopStage::Sigterm]);
    }
}
