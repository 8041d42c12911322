//! Makes the command that is really executed, so that the tool leaves a report it is judged by (E5, E6), and says how it is
//! stopped (E10). No plugin is injected and nothing is added that changes a tool's result.

use std::path::{Path, PathBuf};

use crate::model::{Action, StopStage, Tool};
use crate::shell::quote_word;
use crate::tools::launchers::{Located, hand_on, locate};
use crate::tools::recognise::CommandForm;

/// The name of a JSON report in the directory given to [`prepare`].
const JSON_NAME: &str = "report.json";

/// The name of the JUnit report in the directory given to [`prepare`].
const JUNIT_NAME: &str = "junit.xml";

/// pytest reads more arguments from this variable, before those of its command line.
const PYTEST_ARGUMENTS: &str = "PYTEST_ADDOPTS";

/// Both spellings of pytest's option.
const JUNIT_OPTIONS: &[&str] = &["--junitxml", "--junit-xml"];

const RUFF_FORMAT_OPTIONS: &[&str] = &["--output-format", "--format"];

/// Where Jest and Vitest are told to write a report by the command itself.
const OUTPUT_FILE_OPTIONS: &[&str] = &["--outputFile", "--outputFile.json"];

const ESLINT_FORMAT_OPTIONS: &[&str] = &["-f", "--format"];

/// What keeps colour out of a tool's output. Only one of the two per tool: node prints a warning where it sees both. pytest needs
/// none: without a terminal it prints no colour, and what it sets would reach the code under test.
const COLOUR: &[(Tool, &str, &str)] = &[(Tool::Tsc, "NO_COLOR", "1"), (Tool::Eslint, "FORCE_COLOR", "0")];

/// How the report of an action comes to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportRequest {
    /// None is asked for: the tool's output is read.
    None,
    /// Asked for by an argument of ours; children of the tool do not inherit it.
    Ours {
        /// Where the tool will write it.
        path: PathBuf,
        /// `argument`, as evidence names it.
        channel: &'static str,
    },
    /// Asked for through the environment, which children inherit; evidence names it `inherited`.
    Inherited {
        /// Where the tool will write it.
        path: PathBuf,
    },
    /// The command names its own; it is moved aside before, read after, and evidence names it `own`.
    Own {
        /// As the command names it, relative to the action's directory.
        path: PathBuf,
    },
}

/// What is executed for an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preparation {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Variables on top of the action's environment.
    pub environment: Vec<(String, String)>,
    /// The report to be read afterwards.
    pub report: ReportRequest,
    /// The coverage report to be read afterwards, relative to the project.
    pub coverage: Option<PathBuf>,
}

/// Prepares an action; a report of ours is to be written into `output_directory`, which must be fresh and absolute. `link` is the
/// project's link to its evidence, absolute: no place to look for tests in.
pub fn prepare(action: &Action, output_directory: &Path, link: Option<&Path>) -> Preparation {
    let mut preparation = Preparation {
        argv: action.command.argv.clone(),
        environment: colour(action),
        report: ReportRequest::None,
        coverage: action.coverage.as_ref().map(|target| PathBuf::from(&target.report)),
    };
    let located = locate(&action.command.argv);
    match action.tool {
        Tool::Pytest => ask_pytest(action, &located, &output_directory.join(JUNIT_NAME), link, &mut preparation),
        Tool::Eslint => ask_eslint(action, &located, &mut preparation),
        Tool::Ruff => ask_ruff(action, &located, &mut preparation),
        Tool::Jest | Tool::Vitest => ask_node_tests(action, &located, &output_directory.join(JSON_NAME), &mut preparation),
        Tool::Tsc | Tool::Mypy | Tool::Flake8 | Tool::Pylint | Tool::Prettier | Tool::Compile | Tool::Review | Tool::Generic => {}
    }
    preparation
}

/// Returns the signals that stop a tool, in order, before SIGKILL (E10): pytest still writes its report after SIGINT.
pub fn stop_ladder(tool: Tool) -> Vec<StopStage> {
    if tool == Tool::Pytest { vec![StopStage::Sigint, StopStage::Sigterm] } else { vec![StopStage::Sigterm] }
}

impl ReportRequest {
    /// Returns how evidence names the way the report was asked for.
    pub fn channel(&self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Ours { channel, .. } => Some(channel),
            Self::Inherited { .. } => Some("inherited"),
            Self::Own { .. } => Some("own"),
        }
    }

    /// Returns where the report will be.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::None => None,
            Self::Ours { path, .. } | Self::Inherited { path } | Self::Own { path } => Some(path),
        }
    }
}

fn ask_pytest(action: &Action, located: &Located, path: &Path, link: Option<&Path>, preparation: &mut Preparation) {
    // pytest follows links, and each run is a directory it would look through.
    let ignore = link.map(|link| format!("--ignore={}", link.to_string_lossy()));
    let is_direct = located.recognition.tool == Tool::Pytest && located.recognition.form == CommandForm::Direct;
    let own = if located.recognition.tool == Tool::Pytest { option_value(&located.arguments, JUNIT_OPTIONS) } else { None };
    if let Some(own) = own {
        preparation.report = ReportRequest::Own { path: PathBuf::from(own) };
        if is_direct {
            insert_options(&mut preparation.argv, located.arguments_from, ignore);
        }
        return;
    }
    let report = format!("--junitxml={}", path.to_string_lossy());
    let options = ignore.into_iter().chain([report]);
    if is_direct {
        insert_options(&mut preparation.argv, located.arguments_from, options);
        preparation.report = ReportRequest::Ours { path: path.to_path_buf(), channel: "argument" };
        return;
    }
    // pytest splits the variable like a shell does, so the options are quoted for one.
    let quoted = options.map(|option| quote_word(&option)).collect::<Vec<_>>().join(" ");
    let value = match action.environment.get(PYTEST_ARGUMENTS).filter(|value| !value.trim().is_empty()) {
        Some(before) => format!("{before} {quoted}"),
        None => quoted,
    };
    preparation.environment.push((PYTEST_ARGUMENTS.to_owned(), value));
    preparation.report = ReportRequest::Inherited { path: path.to_path_buf() };
}

/// Returns whether [`prepare`] asks an ESLint command for JSON: only one of ours that names no format of its own (E6).
pub(super) fn asks_eslint_for_json(action: &Action) -> bool {
    asks_for_json(action, &locate(&action.command.argv))
}

fn asks_for_json(action: &Action, located: &Located) -> bool {
    let is_ours =
        action.command_is_ours && located.recognition.tool == Tool::Eslint && located.recognition.form == CommandForm::Direct;
    is_ours && option_value(&located.arguments, ESLINT_FORMAT_OPTIONS).is_none()
}

fn ask_eslint(action: &Action, located: &Located, preparation: &mut Preparation) {
    if asks_for_json(action, located) {
        insert_options(&mut preparation.argv, located.arguments_from, ["-f".to_owned(), "json".to_owned()]);
    }
}

/// Returns whether [`prepare`] asks a Ruff command for JSON: only one of ours that names no format of its own (E6).
pub(super) fn asks_ruff_for_json(action: &Action) -> bool {
    is_ruff_asked(action, &locate(&action.command.argv))
}

fn is_ruff_asked(action: &Action, located: &Located) -> bool {
    let is_ours =
        action.command_is_ours && located.recognition.tool == Tool::Ruff && located.recognition.form == CommandForm::Direct;
    // Only the linter has a format; the formatter's check has none in older versions.
    let is_linter = located.arguments.iter().find(|argument| !argument.starts_with('-')).is_some_and(|word| word == "check");
    is_ours && is_linter && option_value(&located.arguments, RUFF_FORMAT_OPTIONS).is_none()
}

fn ask_ruff(action: &Action, located: &Located, preparation: &mut Preparation) {
    if is_ruff_asked(action, located) {
        insert_options(&mut preparation.argv, located.arguments_from, ["--output-format=json".to_owned()]);
    }
}

/// Asks Jest or Vitest for a JSON report beside what they print. Neither changes what is tested or how the run ends: tried with
/// Jest 27, 29 and 30 and Vitest 1 to 4.
fn ask_node_tests(action: &Action, located: &Located, path: &Path, preparation: &mut Preparation) {
    let own = if located.recognition.tool == action.tool { option_value(&located.arguments, OUTPUT_FILE_OPTIONS) } else { None };
    let is_vitest = action.tool == Tool::Vitest;
    let mut options = if is_vitest { vitest_reporters(&located.arguments) } else { vec!["--json".to_owned()] };
    preparation.report = match own {
        Some(own) => ReportRequest::Own { path: PathBuf::from(own) },
        None => {
            let option = if is_vitest { "--outputFile.json" } else { "--outputFile" };
            options.push(format!("{option}={}", path.to_string_lossy()));
            ReportRequest::Ours { path: path.to_path_buf(), channel: "argument" }
        }
    };
    if located.recognition.tool == action.tool && located.recognition.form == CommandForm::Direct {
        insert_options(&mut preparation.argv, located.arguments_from, options);
    } else if let Some(separator) = hand_on(&preparation.argv) {
        preparation.argv.extend(separator.iter().map(|word| (*word).to_owned()).chain(options));
    } else {
        // Nothing can be added that would reach the tool, so the report will be missing, and the interpreter says what to do.
        preparation.report = ReportRequest::Ours { path: path.to_path_buf(), channel: "argument" };
    }
}

// Reporters that are named replace the default, so it is named too where the command names none.
fn vitest_reporters(arguments: &[String]) -> Vec<String> {
    let names_json = |at: usize, word: &str| {
        word == "--reporter=json" || (word == "--reporter" && arguments.get(at + 1).is_some_and(|next| next == "json"))
    };
    if arguments.iter().enumerate().any(|(at, word)| names_json(at, word)) {
        return Vec::new();
    }
    let names: &[&str] = if option_value(arguments, &["--reporter"]).is_some() { &["json"] } else { &["default", "json"] };
    names.iter().map(|name| format!("--reporter={name}")).collect()
}

fn colour(action: &Action) -> Vec<(String, String)> {
    COLOUR
        .iter()
        .filter(|(tool, name, _)| *tool == action.tool && !action.environment.contains_key(*name))
        .map(|(_, name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

// After `--` everything is a path, so options go before it.
pub(super) fn insert_options(argv: &mut Vec<String>, arguments_from: usize, options: impl IntoIterator<Item = String>) {
    let end = argv.iter().skip(arguments_from).position(|word| word == "--").map_or(argv.len(), |offset| arguments_from + offset);
    argv.splice(end..end, options);
}

/// Returns the value of the last of the options that is given, as `--name value`, `--name=value` or `-nvalue`.
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
    use crate::tools::samples::action;

    fn argv(preparation: &Preparation) -> String {
        preparation.argv.join(" ")
    }

    #[test]
    fn a_direct_pytest_is_asked_by_an_argument_before_the_separator() {
        for (command, expected) in [
            ("pytest", "pytest --junitxml=/out/junit.xml"),
            ("pytest -q tests", "pytest -q tests --junitxml=/out/junit.xml"),
            ("python -m pytest -x -- tests", "python -m pytest -x --junitxml=/out/junit.xml -- tests"),
            ("uv run -- pytest tests", "uv run -- pytest tests --junitxml=/out/junit.xml"),
            ("uv run -- pytest -- tests", "uv run -- pytest --junitxml=/out/junit.xml -- tests"),
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
        let expected = ("PYTEST_ADDOPTS".to_owned(), "-q -x '--junitxml=/out dir/junit.xml'".to_owned());
        assert_eq!(preparation.environment, [expected]);
        assert_eq!(preparation.report, ReportRequest::Inherited { path: "/out dir/junit.xml".into() });
        let shell = prepare(&action(Tool::Pytest, "bash -o pipefail -c 'pytest | tee log'"), Path::new("/out"), None);
        assert_eq!(shell.report.channel(), Some("inherited"));
    }

    #[test]
    fn the_link_to_the_evidence_is_no_place_to_look_for_tests_in() {
        let asked = |command| prepare(&action(Tool::Pytest, command), Path::new("/out"), Some(Path::new("/my project/evidence")));
        let ignore = "--ignore=/my project/evidence";
        assert_eq!(asked("pytest -q -- tests").argv, ["pytest", "-q", ignore, "--junitxml=/out/junit.xml", "--", "tests"]);
        assert_eq!(asked("pytest --junitxml=own.xml").argv, ["pytest", "--junitxml=own.xml", ignore]);
        let expected = ("PYTEST_ADDOPTS".to_owned(), format!("'{ignore}' '--junitxml=/out/junit.xml'"));
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
        assert_eq!(stop_ladder(Tool::Pytest), [StopStage::Sigint, StopStage::Sigterm]);
        assert_eq!(stop_ladder(Tool::Generic), [StopStage::Sigterm]);
    }
}
