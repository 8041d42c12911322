//! Reports of any command, which a check's `report` names: tests in the formats JUnit, TAP, CTRF and TRX, findings in the formats SARIF
//! and Checkstyle.
//!
//! The report has to be new and whole. The common rules in `test_run` judge tests: at least one passed, none failed, and the exit code
//! agrees. A policy judges findings. A command that wrote no report has proved nothing, whatever its exit code.

mod checkstyle;
mod ctrf;
mod sarif;
mod suites;
mod tap;
mod trx;

use std::io::{BufRead, Read as _};

use crate::gathered::Gathered;
use crate::interpret::{Exited, Input, signal_through_wrapper};
use crate::places::Place;
use crate::prepare::{Preparation, ReportRequest, ReportTask};
use crate::test_run::{ReadTest, RunFacts, judge};
use crate::xml::MAX_BYTES;
use crate::{known_runners, launch_failure, signals};
use proctor_model::{
    CategoryCode, Examined, ExaminedUnit, FindingLevel, Interpretation, ReportFile, ReportFormat, TestOutcome, ToolReport,
};

/// The name of the program that wrote the report, in texts of reasons.
const WRITER: &str = "The command";

/// The line before each file of several: this word, the number of bytes of the file, and its path.
pub const FILE_MARK: &str = "proctor-report-file ";

/// The tests or findings of one report or of several.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) facts: RunFacts,
    findings: Gathered,
    /// The files that a report of findings names, with or without findings.
    examined: u64,
}

impl Contents {
    fn test(&mut self, outcome: TestOutcome, test: ReadTest) {
        self.facts.run.add(outcome, test);
    }

    /// Notes how two things that a report says contradict each other.
    fn contradicts(&mut self, words: String) {
        self.facts.contradiction.get_or_insert(words);
    }

    /// Notes why a report ends before all of its tests.
    pub(super) fn ends_early(&mut self, words: String) {
        self.facts.unfinished.get_or_insert(words);
    }
}

/// Asks for the report that the check names.
pub(super) fn ask(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let Some(report) = &task.action.report else { return };
    let own = task.output_directory.to_string_lossy().into_owned();
    preparation.environment.push(("PROCTOR_OUT".to_owned(), own));
    preparation.report = match (report.in_own_directory(), report.directory_of_glob()) {
        (Some(name), _) => ReportRequest::Inherited { path: task.output_directory.join(name) },
        (None, Some(directory)) => ReportRequest::Several { directory: directory.into(), glob: report.file.clone() },
        // The path is relative to the project, and the request's to the action's directory.
        (None, None) => {
            ReportRequest::Own { path: task.action.directory.iter().map(|_| "..").chain([report.file.as_str()]).collect() }
        }
    };
}

/// Judges a command that ended by itself by the report that the check names.
pub(super) fn interpret(exited: &Exited<'_>, input: &Input<'_>) -> Interpretation {
    let Some(report) = &exited.action.report else {
        return Interpretation::plain(CategoryCode::ReportMissing, "The check names no report");
    };
    let read = match (input.report.reader(), input.report) {
        (Some(reader), _) => read(reader, report, exited.place),
        (None, ToolReport::Refused(why)) => Err(why.clone()),
        (None, _) => return without_report(exited, report),
    };
    match read {
        Ok(contents) if report.format.has_findings() => judge_findings(exited, contents),
        Ok(contents) => match judge_tests(WRITER, exited, contents) {
            passed if passed.category == CategoryCode::TestsPassed => without_contradiction(exited, passed),
            other => other,
        },
        Err(why) => unreadable(exited, &format!("report `{}`", report.file), &why),
    }
}

// A runner may write a report of tests that it did not run, as RSpec does with `--dry-run`.
fn without_contradiction(exited: &Exited<'_>, passed: Interpretation) -> Interpretation {
    match known_runners::contradiction(exited) {
        None => passed,
        Some((category, reason)) => Interpretation::plain(category, reason),
    }
}

/// Judges what a report of tests says, together with the exit code. `name` is who wrote it, at the beginning of a sentence.
pub(super) fn judge_tests(name: &'static str, exited: &Exited<'_>, contents: Contents) -> Interpretation {
    let mut facts = contents.facts;
    facts.name = name;
    facts.code = exited.code;
    facts.failing_code = exited.code;
    facts.advice = "correct what it is told to run";
    facts.accepts_retries = exited.action.retry_attempts > 0;
    judge(facts)
}

/// Returns the result of a report that cannot be read.
pub(super) fn unreadable(exited: &Exited<'_>, report: &str, why: &str) -> Interpretation {
    launch_failure::find(exited).unwrap_or_else(|| {
        let reason = format!("Exit code {}, but the {report} cannot be read: {why}", exited.code);
        Interpretation::plain(CategoryCode::ReportUnreadable, reason)
    })
}

/// Reads one report of tests in a format.
pub(super) fn read_tests(reader: &mut dyn BufRead, format: ReportFormat, place: Place<'_>) -> Result<Contents, String> {
    let mut contents = Contents::default();
    read_one(reader, format, place, &mut contents)?;
    Ok(contents)
}

fn without_report(exited: &Exited<'_>, report: &ReportFile) -> Interpretation {
    if let Some(failure) = launch_failure::find(exited) {
        return failure;
    }
    if let Some(signal) = signals::of_exit_code(exited.code) {
        return signal_through_wrapper(exited.code, signal);
    }
    let reason = format!(
        "Exit code {}, but the command wrote no new report `{}`, which proves nothing; let it write one there, or correct `report`. What \
         lay there before is not counted",
        exited.code, report.file
    );
    Interpretation::plain(CategoryCode::ReportMissing, reason)
}

// A policy decides which findings count. If the report names no file, it is not known whether the command looked at anything.
fn judge_findings(exited: &Exited<'_>, contents: Contents) -> Interpretation {
    let (code, findings) = (exited.code, contents.findings);
    if let Some(failure) = launch_failure::find_or_signal(exited, findings.is_empty()) {
        return failure;
    }
    let (errors, warnings) = (findings.count(FindingLevel::Error), findings.count(FindingLevel::Warning));
    let is_empty = findings.is_empty();
    let (category, reason) = match (&contents.facts.unfinished, is_empty, code) {
        (Some(why), _, _) => (CategoryCode::ReportIncomplete, format!("Exit code {code}, but {why}")),
        (None, false, code) if errors == 0 && !matches!(code, 0 | 1) => {
            let reason =
                format!("Exit code {code}, but the report has {warnings} warning(s) and no error; see the end of the log");
            (CategoryCode::Inconsistent, reason)
        }
        (None, false, _) => (CategoryCode::Findings, format!("{errors} error(s) and {warnings} warning(s){}", findings.first())),
        (None, true, 0) if contents.examined == 0 => {
            (CategoryCode::ExpectedExit, "The report has no finding, and names no file that was looked at".to_owned())
        }
        (None, true, 0) => (CategoryCode::Clean, "The report has no finding".to_owned()),
        (None, true, _) => {
            let reason = format!("Exit code {code}, but the report has no finding; see the end of the log");
            (CategoryCode::Inconsistent, reason)
        }
    };
    let count = Some(contents.examined).filter(|examined| *examined > 0);
    let examined = Some(Examined { what: ExaminedUnit::Files, count });
    let (diagnostics, unlisted) = findings.finish();
    Interpretation { diagnostics, unlisted, examined, ..Interpretation::plain(category, reason) }
}

fn read(mut reader: Box<dyn BufRead + '_>, report: &ReportFile, place: Place<'_>) -> Result<Contents, String> {
    let mut contents = Contents::default();
    if report.directory_of_glob().is_none() {
        read_one(&mut reader, report.format, place, &mut contents)?;
        return Ok(contents);
    }
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
            return Ok(contents);
        }
        let head = line.strip_prefix(FILE_MARK).and_then(|rest| rest.trim_end().split_once(' '));
        let (bytes, path) = head.ok_or("the files of the report are not kept as they should be")?;
        let bytes: u64 = bytes.parse().map_err(|_| "a file of the report has no size")?;
        let mut file = (&mut reader).take(bytes);
        read_one(&mut file, report.format, place, &mut contents).map_err(|why| format!("`{path}`: {why}"))?;
        std::io::copy(&mut file, &mut std::io::sink()).map_err(|error| error.to_string())?;
    }
}

fn read_one(reader: &mut dyn BufRead, format: ReportFormat, place: Place<'_>, contents: &mut Contents) -> Result<(), String> {
    match format {
        ReportFormat::Junit => suites::read(reader, place, contents),
        ReportFormat::Tap => tap::read(reader, contents),
        ReportFormat::Ctrf => ctrf::read(reader, place, contents),
        ReportFormat::Trx => trx::read(reader, contents),
        ReportFormat::Sarif => sarif::read(reader, place, contents),
        ReportFormat::Checkstyle => checkstyle::read(reader, place, contents),
        ReportFormat::Tests => {
            let shown = shown_format(reader.fill_buf().map_err(|error| error.to_string())?)?;
            read_one(reader, shown, place, contents)
        }
    }
}

// Returns the format of tests that the beginning of a report shows.
fn shown_format(beginning: &[u8]) -> Result<ReportFormat, String> {
    const LONGEST: usize = 4096;
    let text = String::from_utf8_lossy(&beginning[..beginning.len().min(LONGEST)]);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let has = |tag: &str| text.contains(tag);
    match text.chars().next() {
        None => Err("it is empty".to_owned()),
        Some('<') if has("<testsuite") => Ok(ReportFormat::Junit),
        Some('<') if has("<TestRun") => Ok(ReportFormat::Trx),
        Some('<') if has("<checkstyle") => Err("it has findings; write `format = \"checkstyle\"`".to_owned()),
        Some('{') if has("\"runs\"") => Err("it has findings; write `format = \"sarif\"`".to_owned()),
        Some('{') => Ok(ReportFormat::Ctrf),
        Some(_) if has("TAP version") || has("1..") || text.starts_with("ok ") || text.starts_with("not ok ") => {
            Ok(ReportFormat::Tap)
        }
        Some(_) => Err("its format is none that is read (junit, tap, ctrf, trx, sarif, checkstyle)".to_owned()),
    }
}

// Reads a report of at most `MAX_BYTES` whole.
fn read_whole(reader: &mut dyn BufRead) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > MAX_BYTES {
        return Err(format!("it is larger than {} MiB", MAX_BYTES / (1024 * 1024)));
    }
    Ok(bytes)
}

fn read_json<T: serde::de::DeserializeOwned>(reader: &mut dyn BufRead) -> Result<T, String> {
    let bytes = read_whole(reader)?;
    serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
