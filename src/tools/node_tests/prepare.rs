//! Asking Jest and Vitest for their reports.

use std::path::PathBuf;

use crate::model::Tool;
use crate::tools::launchers::hand_on;
use crate::tools::prepare::{Preparation, ReportRequest, ReportTask, insert_options, option_value};
use crate::tools::recognise::CommandForm;
use crate::tools::subcommands::subcommand;

/// The name of the report in the directory of the action's output.
const JSON_NAME: &str = "report.json";

/// Where Jest and Vitest are told to write a report by the command itself.
const OUTPUT_FILE_OPTIONS: &[&str] = &["--outputFile", "--outputFile.json"];

/// Returns whether a command of Vitest's runs tests.
pub(in crate::tools) fn vitest_tests(_: &str, arguments: &[String]) -> bool {
    !matches!(subcommand(arguments), Some("bench" | "init" | "list"))
}

/// Asks Jest or Vitest for a JSON report beside what they print. Neither changes what is tested or how the run ends: tried with
/// Jest 27, 29 and 30 and Vitest 1 to 4.
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
        // Nothing can be added that would reach the tool, so the report will be missing, and the interpreter says what to do.
        preparation.report = ReportRequest::Ours { path, channel: "argument" };
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
