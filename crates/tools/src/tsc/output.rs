//! Reads tsc's two output formats: the plain `file(l,c): error TSn: message` and the pretty `file:l:c - error TSn:
//! message` (C70).

use crate::gathered::{Gathered, lines};
use crate::places::Place;
use proctor_model::{Diagnostic, DiagnosticSummary, FindingLevel, RelatedInformation};

const LEVELS: &[(&str, FindingLevel)] = &[("error TS", FindingLevel::Error), ("warning TS", FindingLevel::Warning)];

/// The diagnostics and counts that were read from tsc's output.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) diagnostics: Gathered,
    /// The numbers of errors and files in the last line of the pretty format.
    found: Option<(u64, u64)>,
}

impl Output {
    /// Returns the counts that tsc's last line states; `None` if the output has no line with counts.
    pub(super) fn counts(&self) -> Option<DiagnosticSummary> {
        self.found.map(|(errors, total_files)| DiagnosticSummary { errors, warnings: 0, fixable: None, total_files })
    }
}

/// The part of a diagnostic to which the next line of the output may belong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// The line is not inside a diagnostic.
    Nothing,
    /// The line belongs to a message, which may continue in indented lines.
    Message,
    /// The line is one of the source lines that the pretty format shows.
    Body,
    /// The line belongs to a related place. Up to version 6, the message of a related place comes after its marked
    /// source line.
    Related,
    /// The marked source line of a related place was read, so the next line may be the related message.
    RelatedMarked,
}

/// Reads tsc's diagnostics and counts. The text must hold no terminal control sequences.
pub(super) fn parse(text: &str, place: Place<'_>) -> Output {
    let mut output = Output::default();
    let mut within = Within::Nothing;
    for line in lines(text) {
        if let Some(diagnostic) = head(line, place) {
            output.diagnostics.push(diagnostic);
            within = Within::Message;
        } else if let Some(found) = parse_summary(line) {
            output.found = Some(found);
            within = Within::Nothing;
        } else if let Some(diagnostic) = output.diagnostics.go_on(line.len()) {
            within = go_on(diagnostic, line, within, place);
        }
    }
    output
}

fn go_on(diagnostic: &mut Diagnostic, line: &str, within: Within, place: Place<'_>) -> Within {
    match within {
        Within::Nothing => Within::Nothing,
        Within::Message if line.is_empty() => Within::Body,
        Within::Message if line.starts_with(' ') => {
            diagnostic.message.push('\n');
            diagnostic.message.push_str(line);
            Within::Message
        }
        Within::Message => Within::Nothing,
        Within::Body | Within::Related | Within::RelatedMarked => match related_head(line, place) {
            Some(related) => {
                diagnostic.related_information.push(related);
                Within::Related
            }
            None => body(diagnostic, line, within),
        },
    }
}

fn body(diagnostic: &mut Diagnostic, line: &str, within: Within) -> Within {
    let is_mark = !line.trim().is_empty() && line.trim().chars().all(|character| character == '~');
    match within {
        Within::Body => {
            let source = line.split_once(' ').filter(|(number, _)| is_number(number)).map(|(_, source)| source.to_owned());
            diagnostic.source = diagnostic.source.take().or(source);
            Within::Body
        }
        Within::Related if is_mark => Within::RelatedMarked,
        Within::RelatedMarked => {
            let related = diagnostic.related_information.last_mut().filter(|related| related.message.is_empty());
            if let (Some(related), false) = (related, line.trim().is_empty()) {
                related.message = line.trim().to_owned();
            }
            Within::RelatedMarked
        }
        Within::Nothing | Within::Message | Within::Related => within,
    }
}

fn head(line: &str, place: Place<'_>) -> Option<Diagnostic> {
    let (at, word, severity) = LEVELS.iter().find_map(|(word, level)| line.find(word).map(|at| (at, *word, *level)))?;
    let (number, message) = line[at + word.len()..].split_once(": ")?;
    if !is_number(number) {
        return None;
    }
    let before = &line[..at];
    let (file, line, column) = match before.strip_suffix("): ").map(|start| (start, '(', ',')) {
        _ if before.is_empty() => (None, None, None),
        Some((start, open, comma)) => {
            let (file, numbers) = start.rsplit_once(open)?;
            let (line, column) = numbers.split_once(comma)?;
            (Some(file), Some(line.parse().ok()?), Some(column.parse().ok()?))
        }
        None => {
            let (file, line, column) = position(before.strip_suffix(" - ")?)?;
            (Some(file), Some(line), Some(column))
        }
    };
    Some(Diagnostic {
        file: file.map(|file| place.within_project(file)),
        line,
        column,
        code: Some(format!("TS{number}")),
        severity,
        message: message.to_owned(),
        ..Diagnostic::default()
    })
}

// Reads `  a.ts:1:15` (up to version 6) and `  a.ts:1:15 - message` (since version 7).
fn related_head(line: &str, place: Place<'_>) -> Option<RelatedInformation> {
    let text = line.strip_prefix("  ").filter(|text| !text.starts_with(' '))?;
    let (start, message) = text.split_once(" - ").unwrap_or((text, ""));
    let (file, line, column) = position(start)?;
    Some(RelatedInformation {
        file: Some(place.within_project(file)),
        line: Some(line),
        column: Some(column),
        message: message.to_owned(),
    })
}

fn position(text: &str) -> Option<(&str, u64, u64)> {
    let (rest, column) = text.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    (!file.is_empty()).then_some((file, line.parse().ok()?, column.parse().ok()?))
}

// Reads `Found 5 errors in the same file, starting at: a.ts:2`, `Found 1 error in a.ts:3` and `Found 7 errors in 2
// files.`
fn parse_summary(line: &str) -> Option<(u64, u64)> {
    let (errors, rest) = line.strip_prefix("Found ")?.split_once(" error")?;
    let files = rest.split_once(" in ").and_then(|(_, rest)| rest.strip_suffix(" files.")?.parse().ok()).unwrap_or(1);
    Some((errors.parse().ok()?, files))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn place() -> Place<'static> {
        Place { root: Path::new("/project"), directory: Path::new("web") }
    }

    #[test]
    fn a_file_with_brackets_and_colons_in_its_name_is_read() {
        let output = parse("src/[id] (copy).ts(10,2): error TS1: a: b (c): d\n", place());
        let first = &output.diagnostics.listed[0];
        assert_eq!((first.file.as_deref(), first.line, first.column), (Some("web/src/[id] (copy).ts"), Some(10), Some(2)));
        assert_eq!((first.code.as_deref(), first.message.as_str()), (Some("TS1"), "a: b (c): d"));
    }

    #[test]
    fn text_that_only_looks_like_a_diagnostic_is_passed_over() {
        for text in
            ["error TSx: y", "there was an error TS2 without colon", "a.ts: error TS1: x", "a.ts(1): error TS1: x", "> tsc"]
        {
            assert!(parse(text, place()).diagnostics.is_empty(), "{text}");
        }
    }
}
