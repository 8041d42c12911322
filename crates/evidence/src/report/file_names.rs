//! The names of evidence files (E16), most of them from the design document seed 004. A tool's slug, the words that
//! follow the action's id in a file name, comes from the table of tools.

use proctor_model::{Action, ActionId, ActionKind, Digest, EvidenceFile, EvidenceKind, ExportFormat, FileCheck, Tool, ToolClass};

/// The report's file name in a run's directory.
pub const EXECUTION_REPORT_FILE: &str = "execution-report.json";
/// The file name of a run's list of debt items, in the run's directory.
pub const DEBT_FILE: &str = "technical-debt-data.json";
/// The start record is written before the first command starts, so that a run that dies leaves a trace.
pub const RUN_START_FILE: &str = "run.json";

/// The part of a coverage report's file name that follows the action's id.
const COVERAGE_REPORT: &str = "coverage.json";

/// The slug of a control's log and frames, and the end of its report's name. A control is a test that must fail.
const CONTROL: (&str, &str) = ("control", "control-junit.xml");

/// The slug of the log and frames of a call that lists the files which an action checks.
const LISTING: &str = "file-list";

/// The text between an action's id and its slug in the file names of a part of its tests, and the end of the name of the list of tests
/// that the part collected.
const SHARD: &str = "shard-";
const COLLECTED: &str = "collected.json";

/// The text between an action's id and its slug in the file names of a repeated attempt.
const ATTEMPT: &str = "attempt-";

/// The ends of the file names of three files: the record of an answered request, the record of an unanswered one, and
/// the body of an answer.
const HTTP_REQUEST: (&str, EvidenceKind) = ("http-request.json", EvidenceKind::ApiResponses);
const HTTP_ERROR: (&str, EvidenceKind) = ("http-error.json", EvidenceKind::ErrorLogs);
const HTTP_BODY: (&str, EvidenceKind) = ("http-response.body", EvidenceKind::ApiResponses);

/// The end of the name of a picture of a page, which an action of a browser leaves.
const SCREENSHOT: (&str, EvidenceKind) = ("screenshot.png", EvidenceKind::Screenshots);

/// The ends of the names of a checked file's record, one for each kind of check in `FileCheck`.
const FILE_RECORDS: [&str; 5] =
    ["file-validation.json", "content-match.json", "schema-valid.json", "hash-match.json", "size-check.json"];

/// The name of an evidence file, and the kind under which reports list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The file's name in the run directory.
    pub name: String,
    pub kind: EvidenceKind,
}

/// The names of all files that an action may leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionFiles {
    /// The log: the bytes of standard output and standard error in order of arrival.
    pub log: NamedFile,
    /// The frames file: which bytes of the log came from which stream, and when.
    pub frames: NamedFile,
    pub record: NamedFile,
    /// The findings of the tool; `None` for tools without an interpreter.
    pub findings: Option<NamedFile>,
    /// The report file that the tool itself wrote; `None` for tools that write no report.
    pub tool_report: Option<NamedFile>,
    /// The coverage report that the tool itself wrote; `None` if the check names no coverage report.
    pub coverage_report: Option<NamedFile>,
}

/// The names of all files that an action without a process may leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObservationFiles {
    /// The record of a checked file.
    File(NamedFile),
    Http {
        /// The record of a request that was answered.
        request: NamedFile,
        /// The record of a request that was not answered.
        error: NamedFile,
        /// The bytes of the answer's body.
        body: NamedFile,
    },
}

impl ObservationFiles {
    /// Returns the names of an attempt's files; `None` for an action that starts a process.
    pub fn for_attempt(action: &Action, attempt: u32) -> Option<Self> {
        let stem = stem(&action.id, attempt);
        let file = |(rest, kind): (&str, EvidenceKind)| NamedFile { name: format!("{stem}-{rest}"), kind };
        match &action.kind {
            ActionKind::Command | ActionKind::CustomScript(_) | ActionKind::ClientCommand(_) | ActionKind::Review(_) => None,
            ActionKind::FileValidation(validation) => {
                let record = FILE_RECORDS[match validation.check {
                    FileCheck::Exists => 0,
                    FileCheck::ContentMatch { .. } => 1,
                    FileCheck::SchemaValid { .. } => 2,
                    FileCheck::HashMatch { .. } => 3,
                    FileCheck::SizeCheck { .. } => 4,
                }];
                Some(Self::File(file((record, EvidenceKind::ActionRecord))))
            }
            ActionKind::HttpRequest(_) => {
                Some(Self::Http { request: file(HTTP_REQUEST), error: file(HTTP_ERROR), body: file(HTTP_BODY) })
            }
        }
    }
}

/// Returns the beginning of the names of an attempt's files. The names of a first attempt carry no number.
fn stem(id: &ActionId, attempt: u32) -> String {
    if attempt <= 1 { id.to_string() } else { format!("{id}-{ATTEMPT}{attempt}") }
}

/// Returns the names of the files that a reader opens first. Usually only one of these files exists.
pub(super) fn first_files(action: &Action, attempt: u32) -> Vec<String> {
    match ObservationFiles::for_attempt(action, attempt) {
        None => vec![ActionFiles::for_attempt(action, attempt).log.name],
        Some(ObservationFiles::File(record)) => vec![record.name],
        Some(ObservationFiles::Http { request, error, body: _ }) => vec![request.name, error.name],
    }
}

impl ActionFiles {
    /// Returns the names of an action's files. Ids are unique in a plan, so the names are unique in a run.
    pub fn of(action: &Action) -> Self {
        Self::for_attempt(action, 1)
    }

    /// Returns the names of an attempt's files. The first attempt, number 1, has the same names as an action that is
    /// not repeated.
    pub fn for_attempt(action: &Action, attempt: u32) -> Self {
        let stem = stem(&action.id, attempt);
        let slugs = action.tool.evidence_names();
        let file = |rest: String, kind| NamedFile { name: format!("{stem}-{rest}"), kind };
        let (log_kind, findings_kind) = match action.class {
            ToolClass::Test => (EvidenceKind::TestExecutionLog, EvidenceKind::TestExecutionLog),
            ToolClass::Validation | ToolClass::Generic => (EvidenceKind::TerminalOutput, EvidenceKind::Diagnostics),
        };
        Self {
            log: file(format!("{}.log", slugs.log), log_kind),
            frames: file(format!("{}.frames", slugs.log), EvidenceKind::Frames),
            record: file(format!("{}.json", slugs.log), EvidenceKind::ActionRecord),
            findings: slugs.findings.map(|rest| file(rest.to_owned(), findings_kind)),
            tool_report: match &action.kind {
                ActionKind::ClientCommand(call) => call.leaves_screenshot().then(|| file(SCREENSHOT.0.to_owned(), SCREENSHOT.1)),
                ActionKind::Command
                | ActionKind::CustomScript(_)
                | ActionKind::FileValidation(_)
                | ActionKind::HttpRequest(_)
                | ActionKind::Review(_) => slugs.tool_report.map(|rest| file(rest.to_owned(), EvidenceKind::ToolReport)),
            },
            coverage_report: action.coverage.as_ref().map(|_| file(COVERAGE_REPORT.to_owned(), EvidenceKind::ToolReport)),
        }
    }
}

impl ActionFiles {
    /// Returns the names of the files of a part of an attempt's tests, counted from 1, and the name of the part's list of tests.
    pub fn for_shard(action: &Action, attempt: u32, shard: u32) -> (Self, NamedFile) {
        let (whole, part) = (stem(&action.id, attempt), format!("{}-{SHARD}{shard}", stem(&action.id, attempt)));
        let of_part = |file: NamedFile| NamedFile { name: file.name.replacen(&whole, &part, 1), ..file };
        let Self { log, frames, record, findings: _, tool_report, coverage_report } = Self::for_attempt(action, attempt);
        let list = NamedFile { name: format!("{part}-{COLLECTED}"), kind: EvidenceKind::ToolReport };
        let files = Self {
            log: of_part(log),
            frames: of_part(frames),
            record: of_part(record),
            // The tests of all parts are in one record.
            findings: None,
            tool_report: tool_report.map(of_part),
            coverage_report: coverage_report.map(of_part),
        };
        (files, list)
    }

    /// Returns the names of the files of an attempt's control, which is a test that must fail.
    pub fn for_control(action: &Action, attempt: u32) -> Self {
        let stem = stem(&action.id, attempt);
        let (slug, report) = CONTROL;
        let file = |rest: String, kind| NamedFile { name: format!("{stem}-{rest}"), kind };
        Self {
            log: file(format!("{slug}.log"), EvidenceKind::TestExecutionLog),
            frames: file(format!("{slug}.frames"), EvidenceKind::Frames),
            tool_report: Some(file(report.to_owned(), EvidenceKind::ToolReport)),
            ..Self::for_attempt(action, attempt)
        }
    }
}

impl ActionFiles {
    /// Returns the names of the files of a call that lists the files which an attempt checks.
    pub fn for_listing(action: &Action, attempt: u32) -> Self {
        let stem = stem(&action.id, attempt);
        let file = |end: &str, kind| NamedFile { name: format!("{stem}-{LISTING}.{end}"), kind };
        Self {
            log: file("log", EvidenceKind::TerminalOutput),
            frames: file("frames", EvidenceKind::Frames),
            ..Self::for_attempt(action, attempt)
        }
    }
}

/// Describes a file of a run that died, by its name only. A file with an unknown name is listed as `error-logs`.
pub fn describe_found_file(name: &str, bytes: u64, sha256: Digest) -> EvidenceFile {
    let known = name.split_once('-').filter(|(id, _)| ActionId::try_from(*id).is_ok());
    let kind = match known {
        None if name == RUN_START_FILE => EvidenceKind::ActionRecord,
        None if name == DEBT_FILE => EvidenceKind::TechnicalDebt,
        None if ExportFormat::ALL.into_iter().any(|format| format.file_name() == name) => EvidenceKind::Export,
        None => EvidenceKind::ErrorLogs,
        Some((_, rest)) => kind_of_slug(without_number(without_number(rest, ATTEMPT), SHARD)),
    };
    let action_id = known.map(|(id, _)| id.to_owned());
    EvidenceFile { name: name.to_owned(), kind, action_id, bytes, sha256 }
}

fn without_number<'a>(rest: &'a str, word: &str) -> &'a str {
    let numbered = rest.strip_prefix(word).and_then(|rest| rest.split_once('-'));
    numbered.filter(|(number, _)| number.parse::<u32>().is_ok()).map_or(rest, |(_, rest)| rest)
}

/// Returns the kind of a file by its name without the action's id.
fn kind_of_slug(rest: &str) -> EvidenceKind {
    if let Some((_, kind)) = [HTTP_REQUEST, HTTP_ERROR, HTTP_BODY].into_iter().find(|(name, _)| *name == rest) {
        return kind;
    }
    if rest == SCREENSHOT.0 {
        return SCREENSHOT.1;
    }
    if FILE_RECORDS.contains(&rest) {
        return EvidenceKind::ActionRecord;
    }
    match rest.strip_prefix(CONTROL.0) {
        Some(".log") => return EvidenceKind::TestExecutionLog,
        Some(".frames") => return EvidenceKind::Frames,
        Some(_) if rest == CONTROL.1 => return EvidenceKind::ToolReport,
        Some(_) | None => {}
    }
    match rest.strip_prefix(LISTING) {
        Some(".log") => return EvidenceKind::TerminalOutput,
        Some(".frames") => return EvidenceKind::Frames,
        Some(_) | None => {}
    }
    for tool in Tool::ALL {
        let row = tool.evidence_names();
        let is_test = tool.class() == ToolClass::Test;
        if row.findings == Some(rest) {
            return if is_test { EvidenceKind::TestExecutionLog } else { EvidenceKind::Diagnostics };
        }
        if row.tool_report == Some(rest) || [COVERAGE_REPORT, COLLECTED].contains(&rest) {
            return EvidenceKind::ToolReport;
        }
        match rest.strip_prefix(row.log) {
            Some(".log") if is_test => return EvidenceKind::TestExecutionLog,
            Some(".log") => return EvidenceKind::TerminalOutput,
            Some(".frames") => return EvidenceKind::Frames,
            Some(".json") => return EvidenceKind::ActionRecord,
            Some(_) | None => {}
        }
    }
    EvidenceKind::ErrorLogs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{ActionFiles, describe_found_file};
    use crate::report::samples::action;
    use proctor_model::{ActionPhase, Digest, EvidenceKind, Tool};

    #[test]
    fn the_seeds_names_come_out_of_the_table() {
        let names = |phase, number, tool| {
            let files = ActionFiles::of(&action(phase, number, tool));
            [Some(files.log), files.findings, files.tool_report].into_iter().flatten().map(|file| file.name).collect::<Vec<_>>()
        };
        assert_eq!(
            names(ActionPhase::Step, 3, Tool::Tsc),
            ["STEP.3-typescript-compilation.log", "STEP.3-typescript-diagnostics.json"]
        );
        assert_eq!(
            names(ActionPhase::Step, 4, Tool::Pytest),
            ["STEP.4-pytest.log", "STEP.4-test-results.json", "STEP.4-junit.xml"]
        );
        assert_eq!(names(ActionPhase::Step, 11, Tool::Eslint), ["STEP.11-eslint.log", "STEP.11-eslint-report.json"]);
        assert_eq!(names(ActionPhase::Prerequisite, 2, Tool::Generic), ["PREREQ.2-terminal-output.log"]);
        assert_eq!(names(ActionPhase::Cleanup, 1, Tool::Generic), ["CLEANUP.1-terminal-output.log"]);
    }

    #[test]
    fn all_files_of_an_action_have_different_names_and_are_known_by_them() {
        for tool in Tool::ALL {
            let files = ActionFiles::of(&action(ActionPhase::Step, 1, tool));
            let of_tool = [files.findings, files.tool_report, files.coverage_report].into_iter().flatten();
            let all: Vec<_> = [files.log, files.frames, files.record].into_iter().chain(of_tool).collect();
            let names: BTreeSet<_> = all.iter().map(|file| file.name.as_str()).collect();
            assert_eq!(names.len(), all.len(), "{tool:?}");
            for file in &all {
                let found = describe_found_file(&file.name, 1, Digest::of(b""));
                assert_eq!((found.kind, found.action_id.as_deref()), (file.kind, Some("STEP.1")), "{}", file.name);
            }
        }
        let damaged = describe_found_file("recovered-STEP.1-pytest.log", 1, Digest::of(b""));
        assert_eq!((damaged.kind, damaged.action_id), (EvidenceKind::ErrorLogs, None));
    }
}
