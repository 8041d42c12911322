//! Reads the text output of mypy, Ruff, Flake8 and Pylint. Each line has one place and one message; newer versions of
//! Ruff use several lines for each.

use crate::gathered::{Gathered, lines};
use crate::interpret::Exited;
use crate::linter::Output;
use crate::located::{Located, arrow, located};
use crate::option_spelling::{has_any, subcommand};
use crate::places::Place;
use proctor_model::{Diagnostic, FindingLevel, RelatedInformation};

/// Reads mypy's lines, for example `a.py:6:12: error: message  [code]`. A note after an error is added to that error if
/// both are about the same file.
pub(super) fn mypy(exited: &Exited<'_>, _: &[String]) -> Output {
    let mut diagnostics = Gathered::default();
    for line in lines(&exited.stdout) {
        let Some(at) = located(line) else { continue };
        let file = at.file_in(exited.place);
        if let Some(message) = at.rest.strip_prefix("note: ") {
            if let Some(last) = diagnostics.go_on(line.len()).filter(|last| last.file.as_ref() == Some(&file)) {
                let (line, column, message) = (at.line(), at.column, message.to_owned());
                last.related_information.push(RelatedInformation { file: Some(file), line, column, message });
            }
        } else if let Some(message) = at.rest.strip_prefix("error: ") {
            let (message, rule_id) = bracketed(message);
            diagnostics.push(Diagnostic { rule_id, message: message.to_owned(), ..at_place(&at, file) });
        }
    }
    Output { diagnostics, stated: parse_error_count(&exited.stdout) }
}

/// Reads Flake8's lines, for example `./a.py:1:1: F401 message`, and its format `pylint`.
pub(super) fn flake8(exited: &Exited<'_>, _: &[String]) -> Output {
    let mut diagnostics = Gathered::default();
    for line in lines(&exited.stdout) {
        let Some(at) = located(line) else { continue };
        let Some((word, message)) = at.rest.split_once(' ') else { continue };
        let code = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')).unwrap_or(word);
        if is_code(code) {
            let found = at_place(&at, at.file_in(exited.place));
            diagnostics.push(Diagnostic { rule_id: Some(code.to_owned()), message: message.trim().to_owned(), ..found });
        }
    }
    Output { diagnostics, stated: None }
}

/// Reads Pylint's lines, for example `a.py:4:11: E0602: message (symbol)`, and its format `parseable`.
pub(super) fn pylint(exited: &Exited<'_>, _: &[String]) -> Output {
    let mut diagnostics = Gathered::default();
    for line in lines(&exited.stdout) {
        let Some(at) = located(line).filter(|at| !at.file.contains("Command line or configuration file")) else { continue };
        if let Some((code, symbol, message)) = pylint_message(at.rest) {
            let found = at_place(&at, at.file_in(exited.place));
            diagnostics.push(Diagnostic {
                // Pylint's columns start at 0, but a report's columns start at 1.
                column: at.column.map(|column| column.saturating_add(1)),
                code: Some(code.to_owned()),
                rule_id: symbol.map(str::to_owned),
                severity: pylint_level(code),
                message: message.trim().to_owned(),
                ..found
            });
        }
    }
    Output { diagnostics, stated: None }
}

/// Returns the level of a Pylint message. Codes that begin with `F` or `E`, for example `F0001` and `E0602`, are
/// errors.
pub(super) fn pylint_level(code: &str) -> FindingLevel {
    if code.starts_with(['F', 'E']) { FindingLevel::Error } else { FindingLevel::Warning }
}

fn pylint_message(rest: &str) -> Option<(&str, Option<&str>, &str)> {
    if let Some(parseable) = rest.strip_prefix('[') {
        let (head, message) = parseable.split_once("] ")?;
        let (code, symbol) = head.split_once('(')?;
        let symbol = symbol.split(')').next();
        return is_code(code).then_some((code, symbol, message));
    }
    let (code, message) = rest.split_once(": ")?;
    let symbol = message.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    let (message, symbol) = symbol.map_or((message, None), |(text, symbol)| (text, Some(symbol)));
    is_code(code).then_some((code, symbol, message))
}

/// Reads Ruff's lines, for example `a.py:1:8: F401 [*] message`, its messages with `--> a.py:1:8` on the next line, and
/// its formatter's messages.
pub(super) fn ruff(exited: &Exited<'_>, arguments: &[String]) -> Output {
    let mut diagnostics = Gathered::default();
    if subcommand(arguments) == Some("format") && has_any(arguments, &["--diff"]) {
        let mut before = "";
        for line in lines(&exited.stdout) {
            // `--- a.py` and `+++ a.py` begin the difference of a file.
            let old = before.strip_prefix("--- ");
            if let Some(file) = line.strip_prefix("+++ ").filter(|new| Some(*new) == old) {
                diagnostics.push(reformatted(exited.place.within_project(file.trim())));
            }
            before = line;
        }
        unparsed(exited).for_each(|found| diagnostics.push(found));
        return Output { diagnostics, stated: None };
    }
    let mut head = None;
    for line in lines(&exited.stdout) {
        if let Some(at) = arrow(line) {
            if let Some(found) = head.take().and_then(|head| ruff_finding(&at, head, exited.place)) {
                diagnostics.push(found);
            }
        } else if let Some(found) = located(line).and_then(|at| ruff_finding(&at, at.rest, exited.place)) {
            diagnostics.push(found);
        } else if let Some(file) = line.strip_prefix("Would reformat: ") {
            diagnostics.push(reformatted(exited.place.within_project(file.trim())));
        }
        head = (!line.trim().is_empty()).then_some(line);
    }
    if diagnostics.is_empty() && exited.code != 0 {
        unparsed(exited).for_each(|found| diagnostics.push(found));
    }
    Output { diagnostics, stated: parse_error_count(&exited.stdout) }
}

// Older versions of Ruff report a file that the formatter cannot parse only on standard error.
fn unparsed<'a>(exited: &'a Exited<'_>) -> impl Iterator<Item = Diagnostic> + 'a {
    let places = lines(&exited.stderr).filter_map(|line| located(line.strip_prefix("error: Failed to parse ")?));
    places.map(|at| Diagnostic { message: at.rest.to_owned(), ..at_place(&at, at.file_in(exited.place)) })
}

fn reformatted(file: String) -> Diagnostic {
    Diagnostic {
        file: Some(file),
        rule_id: Some("unformatted".to_owned()),
        message: "File would be reformatted".to_owned(),
        fixable: Some(true),
        ..Diagnostic::default()
    }
}

fn ruff_finding(at: &Located<'_>, head: &str, place: Place<'_>) -> Option<Diagnostic> {
    let (word, message) = head.trim().split_once(' ')?;
    let rule = match word.strip_suffix(':') {
        Some(name) => is_name(name).then_some(name)?,
        None => is_code(word).then_some(word)?,
    };
    let (fixable, message) = message.strip_prefix("[*] ").map_or((false, message), |message| (true, message));
    Some(Diagnostic {
        rule_id: Some(rule.to_owned()),
        message: message.trim().to_owned(),
        fixable: Some(fixable),
        ..at_place(at, at.file_in(place))
    })
}

fn at_place(at: &Located<'_>, file: String) -> Diagnostic {
    let (end_line, end_column) = at.end.unzip();
    Diagnostic {
        file: Some(file),
        line: at.line(),
        column: at.column.filter(|column| *column > 0),
        end_line,
        end_column,
        ..Diagnostic::default()
    }
}

// Splits `message  [code]`. The two spaces are required, so that a message that itself ends in brackets is not split.
fn bracketed(message: &str) -> (&str, Option<String>) {
    let found = message.strip_suffix(']').and_then(|text| text.rsplit_once("  ["));
    found.map_or((message, None), |(message, code)| (message, Some(code.to_owned())))
}

// Reads `Found 4 errors in 1 file (checked 1 source file)` and `Found 4 errors.` With `--fix`, the number includes
// fixed errors, and such a line is not read.
fn parse_error_count(text: &str) -> Option<u64> {
    let line = lines(text).filter(|line| !line.contains("fixed")).filter_map(|line| line.strip_prefix("Found ")).last()?;
    let (count, rest) = line.split_once(' ')?;
    rest.starts_with("error").then(|| count.parse().ok()).flatten()
}

// A code such as `F401`, `E0602` or `PLR0913` consists of letters and then digits.
fn is_code(word: &str) -> bool {
    let digits = word.trim_start_matches(|character: char| character.is_ascii_uppercase());
    let letters = word.len() - digits.len();
    (1..=8).contains(&letters) && (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

// Ruff prints a name such as `invalid-syntax`, `unformatted` or `SyntaxError` where a finding has no rule code.
fn is_name(word: &str) -> bool {
    word.len() > 4 && word.chars().all(|character| character.is_ascii_alphabetic() || character == '-')
}
