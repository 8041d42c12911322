//! Test runners that write a report in a format that `reports` reads: mocha, Playwright, bun, deno and AVA.
//!
//! One row for each says how the runner is asked for the report, and with which words it says that it found no test. What the report
//! amounts to is decided by the common rules in `test_run`. A runner without a report of its own choosing beside its printed output gets a
//! file of proctor that writes one: mocha by `--require`, Playwright by a variable. Both keep the reporters that the project has chosen.

mod discover;
mod shards;

use crate::expectations::{self, Expectations, first_frame};
use crate::interpret::{Exited, Input, signal_through_wrapper};
use crate::launchers::hand_on;
use crate::option_spelling::subcommand;
use crate::prepare::{Preparation, ReportRequest, ReportTask, insert_options, option_value};
use crate::recognise::CommandForm;
use crate::reports::{judge_tests, read_tests, unreadable};
use crate::{launch_failure, signals};
pub(super) use discover::find;
use proctor_model::{CategoryCode, Interpretation, ReportFormat, Tool, ToolReport};
pub(super) use shards::SHARDING;

/// Stands for the output directory of the action in what a row asks with.
const OUTPUT: &str = "{out}";

/// How a test runner is asked for a report, and what it says if there is nothing to report.
struct AskedRunner {
    tool: Tool,
    /// The runner's name at the beginning of a sentence.
    name: &'static str,
    /// The options that ask for the report. [`OUTPUT`] stands for the output directory.
    options: &'static [&'static str],
    /// The variables that ask for the report, for a runner that reads none of `options`.
    variables: &'static [(&'static str, &'static str)],
    /// The options by which a command names the file of such a report itself. That file is then read in place of one of proctor.
    own: &'static [&'static str],
    /// A file of proctor that the runner loads: its name in the output directory and its content.
    loaded: Option<(&'static str, &'static str)>,
    /// The report's name in the output directory; `None` if the runner prints it on standard output.
    report: Option<&'static str>,
    format: ReportFormat,
    /// The words with which the runner says that it found no test.
    finds_nothing: &'static [&'static str],
    /// The words with which the runner says that it could not load the tests.
    cannot_load: &'static [&'static str],
    /// The words with which the runner refuses its command line or its configuration.
    refuses: &'static [&'static str],
    /// The words with which the runner says that it left out tests that should have run.
    ends_early: &'static [&'static str],
}

const NONE: AskedRunner = AskedRunner {
    tool: Tool::Generic,
    name: "",
    options: &[],
    variables: &[],
    own: &[],
    loaded: None,
    report: Some("report.xml"),
    format: ReportFormat::Junit,
    finds_nothing: &[],
    cannot_load: &[],
    refuses: &[],
    ends_early: &[],
};

const RUNNERS: &[AskedRunner] = &[
    AskedRunner {
        tool: Tool::Mocha,
        name: "mocha",
        options: &["--require={out}/mocha-report.cjs"],
        loaded: Some(("mocha-report.cjs", include_str!("mocha_report.cjs"))),
        report: Some("report.json"),
        format: ReportFormat::Ctrf,
        finds_nothing: &["No test files found", "Cannot find any files matching pattern"],
        cannot_load: &["Exception during run"],
        refuses: &[
            "Could not load reporter",
            "Unable to read/parse",
            "ERR_MOCHA_INVALID",
            "Unknown argument",
            "Not enough arguments",
        ],
        ..NONE
    },
    AskedRunner {
        tool: Tool::Playwright,
        name: "Playwright",
        variables: &[("PW_TEST_REPORTER", "{out}/playwright-report.cjs")],
        loaded: Some(("playwright-report.cjs", include_str!("playwright_report.cjs"))),
        report: Some("report.json"),
        format: ReportFormat::Ctrf,
        finds_nothing: &["No tests found"],
        refuses: &["unknown option", "does not exist", "Project(s) "],
        ..NONE
    },
    AskedRunner {
        tool: Tool::BunTest,
        name: "bun test",
        options: &["--reporter=junit", "--reporter-outfile={out}/report.xml"],
        own: &["--reporter-outfile"],
        finds_nothing: &["No tests found!", "did not match any test files"],
        cannot_load: &["Unhandled error between tests"],
        ..NONE
    },
    AskedRunner {
        tool: Tool::DenoTest,
        name: "deno test",
        options: &["--junit-path={out}/report.xml"],
        own: &["--junit-path"],
        finds_nothing: &["No test modules found"],
        cannot_load: &["Type checking failed", "SyntaxError: ", "failed, not found"],
        refuses: &["unexpected argument", "invalid value", "cannot be used with"],
        ends_early: &["from outside any test. The isolate was terminated"],
        ..NONE
    },
    AskedRunner { tool: Tool::Ava, name: "AVA", options: &["--tap"], report: None, format: ReportFormat::Tap, ..NONE },
];

/// Where an expectation failed, Playwright's message begins with its call: `expect(received).toBe(expected)`. A test that exceeded its
/// time limit has a message of another form.
pub(super) const EXPECTATIONS_OF_PLAYWRIGHT: Expectations = Expectations {
    begins: &["expect(", "Error: expect(", "AssertionError"],
    except: &["Matcher error", "matcher error"],
    place: first_frame,
    ..expectations::NONE
};

fn runner_of(tool: Tool) -> &'static AskedRunner {
    RUNNERS.iter().find(|runner| runner.tool == tool).unwrap_or(&NONE)
}

/// Returns whether a program runs tests with these arguments: its subcommand is `test`.
pub(super) fn has_subcommand_test(_: &str, arguments: &[String]) -> bool {
    subcommand(arguments) == Some("test")
}

/// Requests the report by arguments, or by a variable where the runner reads one. A command that names such a report itself keeps it.
pub(super) fn ask(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let ReportTask { action, located, output_directory, .. } = *task;
    let runner = runner_of(action.tool);
    let filled = |text: &str| text.replace(OUTPUT, &output_directory.to_string_lossy());
    let is_direct = located.recognition.tool == action.tool && located.recognition.form == CommandForm::Direct;
    if let Some(own) = option_value(&located.arguments, runner.own).filter(|_| is_direct) {
        preparation.report = ReportRequest::Own { path: own.into() };
        return;
    }
    preparation.files.extend(runner.loaded);
    preparation.environment.extend(runner.variables.iter().map(|(name, value)| ((*name).to_owned(), filled(value))));
    let options = runner.options.iter().map(|option| filled(option)).filter(|option| !located.arguments.contains(option));
    if is_direct {
        insert_options(&mut preparation.argv, located.arguments_from, options);
    } else if let Some(separator) = hand_on(&preparation.argv).filter(|_| !runner.options.is_empty()) {
        preparation.argv.extend(separator.iter().map(|word| (*word).to_owned()).chain(options));
    }
    let Some(path) = runner.report.map(|name| output_directory.join(name)) else { return };
    preparation.report = match runner.variables {
        [] => ReportRequest::Ours { path, channel: "argument" },
        _ => ReportRequest::Inherited { path },
    };
}

/// Judges a run that ended by itself.
pub(super) fn interpret(exited: &Exited<'_>, input: &Input<'_>) -> Interpretation {
    let runner = runner_of(exited.action.tool);
    let printed;
    let report = match runner.report {
        Some(_) => input.report,
        None if !exited.stdout_is_complete => {
            let reason = format!("Exit code {}, but the output is too long to be kept whole; test in parts", exited.code);
            return Interpretation::plain(CategoryCode::OutputTooLarge, reason);
        }
        None if exited.stdout.contains("TAP version") => {
            printed = ToolReport::Fresh(exited.stdout.clone().into_bytes());
            &printed
        }
        None => &ToolReport::Missing,
    };
    let read = match (report.reader(), report) {
        (Some(mut reader), _) => read_tests(&mut *reader, runner.format, exited.place),
        (None, ToolReport::Refused(why)) => Err(why.clone()),
        (None, _) => return without_report(runner, exited),
    };
    match read {
        Ok(mut contents) => {
            if let Some(line) = says(exited, runner.ends_early) {
                contents.ends_early(line);
            }
            contents.facts.outside = says(exited, ERRORS).filter(|_| says(exited, runner.finds_nothing).is_none());
            judge_tests(runner.name, exited, contents)
        }
        Err(why) => unreadable(exited, &format!("report of {}", runner.name), &why),
    }
}

/// The beginnings of lines that say most about a failure outside of the tests.
const ERRORS: &[&str] = &["Error: ", "error: ", "ERROR: "];

// Returns the first line of the output that has one of the words.
fn says(exited: &Exited<'_>, words: &[&str]) -> Option<String> {
    let mut lines = exited.stderr.lines().chain(exited.stdout.lines()).map(str::trim);
    lines.find(|line| words.iter().any(|words| line.contains(words))).map(str::to_owned)
}

fn without_report(runner: &AskedRunner, exited: &Exited<'_>) -> Interpretation {
    if let Some(failure) = launch_failure::find(exited) {
        return failure;
    }
    if let Some(signal) = signals::of_exit_code(exited.code) {
        return signal_through_wrapper(exited.code, signal);
    }
    let (name, code) = (runner.name, exited.code);
    if let Some(line) = says(exited, runner.finds_nothing) {
        let reason = format!("{name} found no test: {line}; correct what it is told to run");
        return Interpretation::plain(CategoryCode::NoTestsCollected, reason);
    }
    let error = || says(exited, ERRORS);
    if let Some(line) = says(exited, runner.cannot_load).filter(|_| code != 0) {
        let why = error().unwrap_or(line);
        return Interpretation::plain(CategoryCode::CollectionError, format!("The tests could not be loaded: {why}"));
    }
    if let Some(line) = says(exited, runner.refuses).filter(|_| code != 0) {
        let reason = format!("{name} refused its command line or configuration: {line}; correct it");
        return Interpretation::plain(CategoryCode::UsageError, reason);
    }
    let last = || exited.stderr.lines().map(str::trim).rfind(|line| !line.is_empty() && code != 0).map(str::to_owned);
    let words = error().or_else(last).map_or_else(String::new, |line| format!(": {line}"));
    let advice = match code {
        0 => "look for a call of `process.exit` in a test or in the configuration, and for an option with which it runs no test",
        _ => "see the end of its log",
    };
    let reason = format!("Exit code {code}, but {name} wrote no report, which proves nothing{words}; {advice}");
    Interpretation::plain(CategoryCode::ReportMissing, reason)
}

#[cfg(test)]
mod claims;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use claims::CLAIMS;
