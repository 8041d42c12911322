//! Reads the output of Prettier's checks: the names of unformatted files and the files that it cannot parse.
//!
//! Prettier calls an unformatted file a warning, but fails because of it. So such files count as errors here, and a
//! policy that blocks on errors agrees with Prettier's exit code. Prettier may print that all files are formatted
//! although a pattern matched no file, and it may refuse an option with exit code 0 or 1. So such messages are searched
//! for as well.

use crate::gathered::{Gathered, lines};
use crate::interpret::Exited;
use crate::linter::Output;
use crate::option_spelling::has_any;
use crate::places::Place;
use proctor_model::Diagnostic;

const WARNING: &str = "[warn] ";
const ERROR: &str = "[error] ";

/// Returns whether a Prettier command only checks files and does not change them.
pub(crate) fn prettier_checks(_: &str, arguments: &[String]) -> bool {
    has_any(arguments, &["--check", "-c", "--list-different", "-l"]) && !has_any(arguments, &["--write", "-w"])
}

/// The beginnings of Prettier's warnings that are not followed by a file name.
const NO_NAMES: &[&str] = &["Code style issues", "Ignored unknown option", "Run Prettier"];

/// Options that make Prettier print only file names on standard output.
const LISTING: &[&str] = &["-l", "--list-different"];

/// Reads the names of unformatted and of unparsable files from Prettier's output.
pub(super) fn read(exited: &Exited<'_>, arguments: &[String]) -> Output {
    let mut diagnostics = Gathered::default();
    for line in lines(&exited.stderr) {
        let unformatted =
            || line.strip_prefix(WARNING).filter(|text| is_name(text)).map(|name| not_formatted(name, exited.place));
        let unparsed = || line.strip_prefix(ERROR).and_then(|text| not_parsed(text, exited.place));
        unformatted().or_else(unparsed).into_iter().for_each(|found| diagnostics.push(found));
    }
    if exited.code == 1 && arguments.iter().any(|argument| LISTING.contains(&argument.as_str())) {
        let names = lines(&exited.stdout).filter(|line| !line.trim().is_empty() && !line.starts_with('>'));
        names.for_each(|name| diagnostics.push(not_formatted(name, exited.place)));
    }
    Output { diagnostics, stated: None }
}

/// Returns Prettier's message about a configuration, a path or an option that it could not use.
pub(super) fn refusal(exited: &Exited<'_>) -> Option<String> {
    let line = lines(&exited.stderr).find_map(|line| line.strip_prefix(ERROR)).filter(|line| !line.trim().is_empty())?;
    Some(line.trim().trim_end_matches('.').to_owned())
}

fn is_name(text: &str) -> bool {
    !text.ends_with('.') && !NO_NAMES.iter().any(|words| text.starts_with(words))
}

fn not_formatted(name: &str, place: Place<'_>) -> Diagnostic {
    Diagnostic {
        file: Some(place.within_project(name.trim())),
        rule_id: Some("unformatted".to_owned()),
        message: "File is not formatted".to_owned(),
        fixable: Some(true),
        ..Diagnostic::default()
    }
}

// Reads `bad.js: SyntaxError: Unexpected token (1:7)`. The lines after it show the source.
fn not_parsed(text: &str, place: Place<'_>) -> Option<Diagnostic> {
    let (name, rest) = text.split_once(": ")?;
    let (error, at) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    let (line, column) = at.split_once(':')?;
    let (line, column) = (line.parse().ok()?, column.parse().ok()?);
    error.contains("Error: ").then(|| Diagnostic {
        file: Some(place.within_project(name)),
        line: Some(line),
        column: Some(column),
        rule_id: Some("syntax-error".to_owned()),
        message: error.to_owned(),
        fixable: Some(false),
        ..Diagnostic::default()
    })
}
