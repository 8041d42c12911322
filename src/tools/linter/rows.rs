//! One row per linter: how its command says what it prints, what its exit codes stand for, and which words are no findings.

use crate::model::{Diagnostic, Tool};
use crate::tools::gathered::Gathered;
use crate::tools::interpret::Exited;
use crate::tools::linter::{Output, json, prettier, printed};

/// What exit code 0 together with findings means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ZeroMeans {
    /// That something hides the tool's own exit code.
    NothingFound,
    /// That the tool's own threshold (`fail-under`) is met: it may find a lot, and the policy decides.
    NothingGrave,
}

/// Which exit codes stand for findings.
#[derive(Debug, Clone, Copy)]
pub(super) enum FindingCodes {
    /// These.
    Only(&'static [i32]),
    /// Any sum of these bits, of which some stand for errors and the others for warnings.
    Bits { all: i32, errors: i32 },
}

/// What is known of a linter.
#[derive(Debug)]
pub(super) struct Linter {
    pub(super) tool: Tool,
    /// As people write it.
    pub(super) name: &'static str,
    /// Options that choose what it prints, and the values that are read. The first one is its default.
    pub(super) format_options: &'static [&'static str],
    pub(super) readable_formats: &'static [&'static str],
    /// Options that send the findings elsewhere.
    pub(super) file_options: &'static [&'static str],
    /// Reads what it prints for people.
    pub(super) read: fn(&Exited<'_>, &[String]) -> Output,
    /// Reads its JSON; none where the output is not that.
    pub(super) read_json: Option<fn(&Exited<'_>) -> Option<Gathered>>,
    pub(super) finding_codes: FindingCodes,
    /// Codes of a run that did not do its work, unless findings show that it did: a file that does not parse gives them too.
    pub(super) usage_codes: &'static [i32],
    pub(super) zero: ZeroMeans,
    /// The rule by which it names a path that is not there: a fault of the command, not of the code (C11).
    pub(super) path_rule: Option<&'static str>,
    /// What it prints when it fails inside itself.
    pub(super) crash_words: &'static [&'static str],
    /// Returns what it says of a configuration or a path it could not use, whatever its exit code says.
    pub(super) refusal: fn(&Exited<'_>) -> Option<String>,
    /// Returns what changes nothing and must be seen.
    pub(super) remark: fn(&Exited<'_>) -> Option<String>,
}

const TRACEBACK: &[&str] = &["Traceback (most recent call last)"];

const ROWS: [Linter; 5] = [
    Linter {
        tool: Tool::Mypy,
        name: "mypy",
        format_options: &["-O", "--output"],
        readable_formats: &["text", "json"],
        file_options: &[],
        read: printed::mypy,
        read_json: Some(json::mypy),
        finding_codes: FindingCodes::Only(&[1]),
        usage_codes: &[2],
        zero: ZeroMeans::NothingFound,
        path_rule: None,
        crash_words: &["INTERNAL ERROR", "Traceback (most recent call last)"],
        refusal: |_| None,
        remark: mypy_remark,
    },
    Linter {
        tool: Tool::Ruff,
        name: "Ruff",
        format_options: &["--output-format", "--format"],
        readable_formats: &["full", "concise", "text", "json"],
        file_options: &["-o", "--output-file"],
        read: printed::ruff,
        read_json: Some(json::ruff),
        finding_codes: FindingCodes::Only(&[1]),
        usage_codes: &[2],
        zero: ZeroMeans::NothingFound,
        path_rule: Some("E902"),
        crash_words: &["panicked at", "This indicates a bug in Ruff"],
        refusal: |exited| line_with(&exited.stderr, "No Python files found"),
        remark: |_| None,
    },
    Linter {
        tool: Tool::Flake8,
        name: "Flake8",
        format_options: &["--format"],
        readable_formats: &["default", "pylint"],
        file_options: &["--output-file"],
        read: printed::flake8,
        read_json: None,
        finding_codes: FindingCodes::Only(&[1]),
        usage_codes: &[2],
        zero: ZeroMeans::NothingFound,
        path_rule: Some("E902"),
        crash_words: TRACEBACK,
        refusal: |exited| FLAKE8_REFUSALS.iter().find_map(|words| line_with(&exited.stderr, words)),
        remark: |_| None,
    },
    Linter {
        tool: Tool::Pylint,
        name: "Pylint",
        format_options: &["-f", "--output-format"],
        readable_formats: &["text", "colorized", "parseable", "json"],
        file_options: &["--output"],
        read: printed::pylint,
        read_json: Some(json::pylint),
        // 1 fatal, 2 error, 4 warning, 8 refactor, 16 convention.
        finding_codes: FindingCodes::Bits { all: 31, errors: 3 },
        usage_codes: &[32],
        zero: ZeroMeans::NothingGrave,
        path_rule: Some("F0001"),
        crash_words: TRACEBACK,
        refusal: |exited| line_with(&exited.stdout, "Command line or configuration file:"),
        remark: |_| None,
    },
    Linter {
        tool: Tool::Prettier,
        name: "Prettier",
        format_options: &[],
        readable_formats: &[],
        file_options: &[],
        read: prettier::read,
        read_json: None,
        finding_codes: FindingCodes::Only(&[1]),
        usage_codes: &[2],
        zero: ZeroMeans::NothingFound,
        path_rule: None,
        crash_words: &[],
        refusal: prettier::refusal,
        remark: |_| None,
    },
];

/// Words of errors that are the command's or the configuration's, although Flake8 ends with a traceback and exit code 1.
const FLAKE8_REFUSALS: &[&str] = &[" supplied to ", "exceptions.FailedToLoadPlugin", "ExecutionError: The specified config file"];

/// Returns the row of a tool.
pub(super) fn linter_of(tool: Tool) -> &'static Linter {
    ROWS.iter().find(|row| row.tool == tool).expect("the interpreter hands over what has a row here")
}

impl Linter {
    /// Returns whether an exit code says that something was found.
    pub(super) fn is_finding_code(&self, code: i32) -> bool {
        match self.finding_codes {
            FindingCodes::Only(codes) => codes.contains(&code),
            FindingCodes::Bits { all, .. } => code > 0 && code & !all == 0,
        }
    }

    /// Returns whether nothing was found but paths that are not there.
    pub(super) fn found_only_paths(&self, found: &[Diagnostic]) -> bool {
        let Some(rule) = self.path_rule else { return false };
        let names = |found: &Diagnostic| [&found.code, &found.rule_id].into_iter().flatten().any(|name| name == rule);
        !found.is_empty() && found.iter().all(names)
    }

    /// Returns whether an exit code says by itself that there are errors.
    pub(super) fn says_errors(&self, code: i32) -> bool {
        match self.finding_codes {
            FindingCodes::Only(_) => false,
            FindingCodes::Bits { errors, .. } => self.is_finding_code(code) && code & errors != 0,
        }
    }

    /// Returns whether findings are to be believed with an exit code.
    pub(super) fn may_find(&self, code: i32) -> bool {
        self.is_finding_code(code) || self.usage_codes.contains(&code)
    }
}

// mypy ignores what it does not understand in its configuration, and says so.
fn mypy_remark(exited: &Exited<'_>) -> Option<String> {
    let line = exited.stderr.lines().map(str::trim).find(|line| line.contains(": [mypy"))?;
    Some(format!("mypy left a part of its configuration out: {line}"))
}

fn line_with(text: &str, words: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| line.contains(words))?;
    Some(line.trim_end_matches('.').to_owned())
}
