//! Makes pytest write its JUnit report.

use std::path::PathBuf;

use crate::prepare::{Preparation, ReportRequest, ReportTask, insert_options, option_value};
use crate::recognise::CommandForm;
use proctor_model::{Tool, quote_word};

/// The report's file name in the output directory of the action. pytest replaces variables in the path of its report when a session is
/// configured. In the session that the check starts this variable is not set, so the name is taken as it stands. While a test or a
/// fixture runs it is set, also in child processes. So a session that a test starts with the same arguments writes another file.
const JUNIT_NAME: &str = "junit-${PYTEST_CURRENT_TEST}.xml";

/// pytest reads additional arguments from this variable. pytest puts them before the arguments of the command line.
pub(super) const PYTEST_ARGUMENTS: &str = "PYTEST_ADDOPTS";

/// Both spellings of the option for the report.
const JUNIT_OPTIONS: &[&str] = &["--junitxml", "--junit-xml"];

/// Requests a JUnit report by an argument. If no argument can reach pytest, the environment variable is used.
pub(crate) fn ask(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let ReportTask { action, located, output_directory, link } = *task;
    let path = output_directory.join(JUNIT_NAME);
    // pytest follows links. It would search every stored run for tests if it were not told to ignore the link to the evidence.
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
        preparation.report = ReportRequest::Ours { path, channel: "argument" };
        return;
    }
    // pytest splits the variable by the rules of a shell, so the options are quoted.
    let quoted = options.map(|option| quote_word(&option)).collect::<Vec<_>>().join(" ");
    let value = match action.environment.get(PYTEST_ARGUMENTS).filter(|value| !value.trim().is_empty()) {
        Some(before) => format!("{before} {quoted}"),
        None => quoted,
    };
    preparation.environment.push((PYTEST_ARGUMENTS.to_owned(), value));
    preparation.report = ReportRequest::Inherited { path };
}
