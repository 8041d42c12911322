//! One row per linter: its options for the output format, the meaning of its exit codes, and its error messages that
//! are not findings.

use crate::gathered::Gathered;
use crate::interpret::Exited;
use crate::linter::{Output, examined, json, prettier, printed, unread};
use proctor_model::{Diagnostic, Tool};

/// The meaning of exit code 0 when the output contains findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ZeroMeans {
    /// Code 0 means no findings. With findings it is a contradiction: something hides the tool's own exit code.
    NothingFound,
    /// Code 0 means that the tool's own threshold (`fail-under`) is met. There may be many findings, and the policy
    /// decides about them.
    NothingGrave,
}

/// Which exit codes of a linter mean that it found something.
#[derive(Debug, Clone, Copy)]
pub(super) enum FindingCodes {
    /// Only the listed exit codes mean findings.
    Only(&'static [i32]),
    /// Any sum of the bits in `all` means findings. The bits in `errors` mean errors, the other bits warnings.
    Bits { all: i32, errors: i32 },
}

/// What proctor knows about one linter: options, exit codes and messages.
#[derive(Debug)]
pub(super) struct Linter {
    pub(super) tool: Tool,
    /// The tool's name, as the reason of a result spells it.
    pub(super) name: &'static str,
    /// Options that choose the output format. `readable_formats` lists the formats that proctor can read.
    pub(super) format_options: &'static [&'static str],
    pub(super) readable_formats: &'static [&'static str],
    /// Options that write the findings to a file instead of standard output.
    pub(super) file_options: &'static [&'static str],
    /// Variables that set the output format, and the file for the findings, if no option does.
    pub(super) format_variable: Option<&'static str>,
    pub(super) file_variable: Option<&'static str>,
    /// Reads the findings from the text output that is meant for people.
    pub(super) read: fn(&Exited<'_>, &[String]) -> Output,
    /// Reads the findings from JSON; the function returns `None` if the output is not the tool's JSON.
    pub(super) read_json: Option<fn(&Exited<'_>) -> Option<Gathered>>,
    /// Whether the tool's JSON is empty, without `[]`, if there are no findings.
    pub(super) has_empty_json: bool,
    pub(super) finding_codes: FindingCodes,
    /// Exit codes for a wrong command line or configuration. Some tools also use them for a file that does not parse,
    /// so findings in the output take precedence.
    pub(super) usage_codes: &'static [i32],
    pub(super) zero: ZeroMeans,
    /// The rule by which the tool reports a path that does not exist. Such a finding is a fault of the command, not of
    /// the code (C11).
    pub(super) path_rule: Option<&'static str>,
    /// Texts by which a crash of the tool is recognised; one of them in the output is enough.
    pub(super) crash_words: &'static [&'static str],
    /// Returns the tool's message about a configuration or a path that it could not use. The message counts after every
    /// exit code, but only if there are no findings.
    pub(super) refusal: fn(&Exited<'_>) -> Option<String>,
    /// Returns how many files the tool says that it checked; `None` if it does not say it.
    pub(super) examined: fn(&Exited<'_>) -> Option<u64>,
    /// Returns a printed line that tells of findings, or that is not understood, where no finding was read and exit code 0 does not
    /// prove that there is none.
    pub(super) unread: fn(&Exited<'_>, &[String]) -> Option<String>,
    /// Returns a message that does not change the result, but that people should see.
    pub(super) remark: fn(&Exited<'_>) -> Option<String>,
}

const TRACEBACK: &[&str] = &["Traceback (most recent call last)"];

/// A linter that exits with 1 where it found something, and with 2 where it refused its command line.
const fn linter(tool: Tool, name: &'static str, read: fn(&Exited<'_>, &[String]) -> Output) -> Linter {
    Linter {
        tool,
        name,
        read,
        file_options: &[],
        format_variable: None,
        file_variable: None,
        read_json: None,
        has_empty_json: false,
        finding_codes: FindingCodes::Only(&[1]),
        usage_codes: &[2],
        zero: ZeroMeans::NothingFound,
        path_rule: None,
        crash_words: &[],
        refusal: |_| None,
        examined: |_| None,
        unread: |_, _| None,
        remark: |_| None,
        format_options: &[],
        readable_formats: &[],
    }
}

const ROWS: [Linter; 5] = [
    Linter {
        format_options: &["-O", "--output"],
        readable_formats: &["text", "json"],
        read_json: Some(json::mypy),
        has_empty_json: true,
        crash_words: &["INTERNAL ERROR", "Traceback (most recent call last)"],
        examined: examined::mypy,
        remark: mypy_remark,
        ..linter(Tool::Mypy, "mypy", printed::mypy)
    },
    Linter {
        format_options: &["--output-format", "--format"],
        readable_formats: &["full", "concise", "text", "json"],
        file_options: &["-o", "--output-file"],
        format_variable: Some("RUFF_OUTPUT_FORMAT"),
        file_variable: Some("RUFF_OUTPUT_FILE"),
        read_json: Some(json::ruff),
        path_rule: Some("E902"),
        crash_words: &["panicked at", "This indicates a bug in Ruff"],
        examined: examined::ruff,
        unread: unread::with_exit_zero,
        ..linter(Tool::Ruff, "Ruff", printed::ruff)
    },
    Linter {
        format_options: &["--format"],
        readable_formats: &["default", "pylint"],
        file_options: &["--output-file"],
        path_rule: Some("E902"),
        crash_words: TRACEBACK,
        refusal: |exited| FLAKE8_REFUSALS.iter().find_map(|words| line_with(&exited.stderr, words)),
        examined: examined::flake8,
        unread: unread::with_exit_zero,
        remark: flake8_remark,
        ..linter(Tool::Flake8, "Flake8", printed::flake8)
    },
    Linter {
        format_options: &["-f", "--output-format"],
        readable_formats: &["text", "colorized", "parseable", "json"],
        file_options: &["--output"],
        read_json: Some(json::pylint),
        // Pylint's bits: 1 fatal, 2 error, 4 warning, 8 refactor, 16 convention.
        finding_codes: FindingCodes::Bits { all: 31, errors: 3 },
        usage_codes: &[32],
        zero: ZeroMeans::NothingGrave,
        path_rule: Some("F0001"),
        crash_words: TRACEBACK,
        refusal: |exited| line_with(&exited.stdout, "Command line or configuration file:"),
        unread: unread::pylint,
        ..linter(Tool::Pylint, "Pylint", printed::pylint)
    },
    Linter { refusal: prettier::refusal, ..linter(Tool::Prettier, "Prettier", prettier::read) },
];

/// Flake8 reports these errors with a traceback and exit code 1, but their cause is the command line or the
/// configuration.
const FLAKE8_REFUSALS: &[&str] = &[" supplied to ", "exceptions.FailedToLoadPlugin", "ExecutionError: The specified config file"];

/// Returns the row of a linter. Panics for any other tool: the tool table hands only linters to this folder.
pub(super) fn linter_of(tool: Tool) -> &'static Linter {
    ROWS.iter().find(|row| row.tool == tool).expect("the interpreter hands over what has a row here")
}

impl Linter {
    /// Returns whether an exit code means that there are findings.
    pub(super) fn is_finding_code(&self, code: i32) -> bool {
        match self.finding_codes {
            FindingCodes::Only(codes) => codes.contains(&code),
            FindingCodes::Bits { all, .. } => code > 0 && code & !all == 0,
        }
    }

    /// Returns whether every finding is about a path that does not exist.
    pub(super) fn found_only_paths(&self, found: &[Diagnostic]) -> bool {
        let Some(rule) = self.path_rule else { return false };
        let names = |found: &Diagnostic| [&found.code, &found.rule_id].into_iter().flatten().any(|name| name == rule);
        !found.is_empty() && found.iter().all(names)
    }

    /// Returns whether an exit code alone proves that there are errors.
    pub(super) fn says_errors(&self, code: i32) -> bool {
        match self.finding_codes {
            FindingCodes::Only(_) => false,
            FindingCodes::Bits { errors, .. } => self.is_finding_code(code) && code & errors != 0,
        }
    }

    /// Returns whether the tool may end with this failure code when its output contains findings.
    pub(super) fn may_find(&self, code: i32) -> bool {
        self.is_finding_code(code) || self.usage_codes.contains(&code)
    }
}

// mypy ignores unknown settings in its configuration and prints a line about them.
fn mypy_remark(exited: &Exited<'_>) -> Option<String> {
    let line = exited.stderr.lines().map(str::trim).find(|line| line.contains(": [mypy"))?;
    Some(format!("mypy left a part of its configuration out: {line}"))
}

// A script can hide that Flake8 had no file, because no option can be added to it there.
fn flake8_remark(exited: &Exited<'_>) -> Option<String> {
    let is_silent = exited.code == 0 && examined::flake8(exited).is_none();
    is_silent
        .then(|| "Flake8 did not say how many files it checked; let the check call it directly, not through a script".to_owned())
}

fn line_with(text: &str, words: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| line.contains(words))?;
    Some(line.trim_end_matches('.').to_owned())
}
