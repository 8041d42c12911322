//! Makes Jest and Vitest write their JSON reports.

use std::path::PathBuf;

use crate::model::Tool;
use crate::tools::launchers::hand_on;
use crate::tools::prepare::{Preparation, ReportRequest, ReportTask, insert_options, option_value};
use crate::tools::recognise::CommandForm;
use crate::tools::subcommands::subcommand;

/// The report's file name in the output directory of the action.
const JSON_NAME: &str = "report.json";

/// Options by which a command itself chooses the file for the report.
const OUTPUT_FILE_OPTIONS: &[&str] = &["--outputFile", "--outputFile.json"];

/// Returns whether a Vitest command runs tests.
pub(in crate::tools) fn vitest_tests(_: &str, arguments: &[String]) -> bool {
    !matches!(subcommand(arguments), Some("bench" | "init" | "list"))
}

/// Requests a JSON report in addition to the printed output. The options change neither the tested code nor the exit code. That
/// was tried with Jest 27, 29 and 30 and with Vitest 1 to 4.
pub(in crate::tools) fn ask(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let ReportTask { action, located, output_directory, .. } = *task;
    let path = output_directory.join(JSON_NAME);
    let own = if located.recognition.tool == action.tool { option_value(&located.arguments, OUTPUT_FILE_OPTIONS) } else { None };
    let is_vitest = action.tool == Tool::Vitest;
    let mut options = if is_vitest { vitest_reporters(&located.arguments) } else { vec!["--json".to_owned()] };
    preparation.report = match own {
        Some(own) => ReportRequest::Own { path: PathBuf::from(own) },
        None => {
            let option = if is_vitest { "--outputFile.json" } else { "--outputFile" };
            options.push(format!("{option}={}", path.to_string_lossy()));
            ReportRequest::Ours { path: path.clone(), channel: "argument" }
        }
    };
    if located.recognition.tool == action.tool && located.recognition.form == CommandForm::Direct {
        insert_options(&mut preparation.argv, located.arguments_from, options);
    } else if let Some(separator) = hand_on(&preparation.argv) {
        preparation.argv.extend(separator.iter().map(|word| (*word).to_owned()).chain(options));
    } else {
        // No option can reach the tool, so the report will be missing. When proctor looks for
        // the report afterwards, it tells people what to do.
        preparation.report = ReportRequest::Ours { path, channel: "argument" };
    }
}

// Naming a reporter disables Vitest's default reporter. So the default is named too, unless the command chooses reporters itself.
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
