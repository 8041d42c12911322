//! Makes Jest and Vitest write their JSON reports.
//!
//! What in a project's files speaks for Jest and Vitest.

use std::path::PathBuf;

use crate::discover::{FoundChecks, Looked, NODE_RUNNER, NodeRunner};
use crate::launchers::hand_on;
use crate::option_spelling::subcommand;
use crate::prepare::{Preparation, ReportRequest, ReportTask, insert_options, option_value};
use crate::project_files::ProjectFiles;
use crate::recognise::CommandForm;
use proctor_model::Tool;

/// The report's file name in the output directory of the action.
const JSON_NAME: &str = "report.json";

/// The option for the report's file. Vitest has one for each reporter too, such as `--outputFile.json`; without a reporter's name, it is
/// the file of each reporter that writes one.
const OUTPUT_FILE: &str = "--outputFile";

/// Reporters of Vitest, apart from `json`, that write a file.
const FILE_REPORTERS: &[&str] = &["junit", "html", "blob"];

/// Returns whether a Vitest command runs tests.
pub(crate) fn vitest_tests(_: &str, arguments: &[String]) -> bool {
    !matches!(subcommand(arguments), Some("bench" | "init" | "list"))
}

/// Requests a JSON report in addition to the printed output. The options change neither the tested code nor the exit code. That
/// was tried with Jest 27, 29 and 30 and with Vitest 1 to 4.
pub(crate) fn ask(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let ReportTask { action, located, output_directory, .. } = *task;
    let path = output_directory.join(JSON_NAME);
    let is_vitest = action.tool == Tool::Vitest;
    let is_direct = located.recognition.tool == action.tool && located.recognition.form == CommandForm::Direct;
    if is_vitest && is_direct {
        name_reporters(&mut preparation.argv[located.arguments_from..], &reporters(&located.arguments));
    }
    let arguments = if is_direct { &preparation.argv[located.arguments_from..] } else { located.arguments.as_slice() };
    let own = if located.recognition.tool == action.tool {
        option_value(arguments, &[OUTPUT_FILE, "--outputFile.json"]).map(str::to_owned)
    } else {
        None
    };
    let mut options = if is_vitest { vitest_reporters(&located.arguments) } else { vec!["--json".to_owned()] };
    preparation.report = match own {
        Some(own) => ReportRequest::Own { path: PathBuf::from(own) },
        None => {
            let option = if is_vitest { "--outputFile.json" } else { "--outputFile" };
            options.push(format!("{option}={}", path.to_string_lossy()));
            ReportRequest::Ours { path: path.clone(), channel: "argument" }
        }
    };
    if is_direct {
        insert_options(&mut preparation.argv, located.arguments_from, options);
    } else if let Some(separator) = hand_on(&preparation.argv) {
        preparation.argv.extend(separator.iter().map(|word| (*word).to_owned()).chain(options));
    } else {
        // No option can reach the tool, so the report will be missing. When proctor looks for
        // the report afterwards, it tells people what to do.
        preparation.report = ReportRequest::Ours { path, channel: "argument" };
    }
}

// Replaces `--outputFile=FILE` by `--outputFile.junit=FILE` where another reporter than `json` writes that file. Otherwise Vitest would
// write the JSON report over it, and it refuses the option beside `--outputFile.json`.
fn name_reporters(arguments: &mut [String], reporters: &[&str]) {
    let Some(reporter) = FILE_REPORTERS.iter().find(|name| reporters.contains(name)) else { return };
    let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    for word in &mut arguments[..end] {
        if let Some(rest) = word.strip_prefix(OUTPUT_FILE).filter(|rest| rest.is_empty() || rest.starts_with('=')) {
            *word = format!("{OUTPUT_FILE}.{reporter}{rest}");
        }
    }
}

// Returns the reporters that the arguments name.
pub(super) fn reporters(arguments: &[String]) -> Vec<&str> {
    let words = || arguments.iter().map(String::as_str).take_while(|word| *word != "--");
    let joined = words().filter_map(|word| word.strip_prefix("--reporter="));
    let separate = words().zip(words().skip(1)).filter(|(word, _)| *word == "--reporter").map(|(_, name)| name);
    joined.chain(separate).collect()
}

// Naming a reporter disables Vitest's default reporter. So the default is named too, unless the command chooses reporters itself.
fn vitest_reporters(arguments: &[String]) -> Vec<String> {
    let named = reporters(arguments);
    if named.contains(&"json") {
        return Vec::new();
    }
    let names: &[&str] = if named.is_empty() { &["default", "json"] } else { &["json"] };
    names.iter().map(|name| format!("--reporter={name}")).collect()
}

pub(super) const JEST_CONFIGURATIONS: &[&str] =
    &["jest.config.js", "jest.config.ts", "jest.config.mjs", "jest.config.cjs", "jest.config.json"];

pub(super) const VITEST_CONFIGURATIONS: &[&str] =
    &["vitest.config.ts", "vitest.config.js", "vitest.config.mts", "vitest.config.mjs", "vitest.config.cts", "vitest.config.cjs"];

const JEST: NodeRunner = NodeRunner {
    tool: Tool::Jest,
    program: "jest",
    configurations: JEST_CONFIGURATIONS,
    key: Some("jest"),
    watches: &["--watch", "--watchAll"],
    ..NODE_RUNNER
};

// At a terminal, Vitest keeps running and watches for changes, unless `run` is given.
const VITEST: NodeRunner = NodeRunner {
    tool: Tool::Vitest,
    program: "vitest",
    configurations: VITEST_CONFIGURATIONS,
    needs: Some(("run", &["run", "--run", "related"])),
    watches: &["--watch", "watch", "dev"],
    ..NODE_RUNNER
};

/// Looks for signs of Jest in one directory of the project. Adds a check, or a note that says what is missing for one.
pub(crate) fn find_jest(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    JEST.find(files, package, findings)
}

/// Looks for signs of Vitest in one directory of the project. Adds a check, or a note that says what is missing for
/// one.
pub(crate) fn find_vitest(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    VITEST.find(files, package, findings)
}
