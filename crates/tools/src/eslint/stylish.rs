//! Reads `stylish`, ESLint's default output for people.

use crate::eslint::Output;
use crate::gathered::lines;
use crate::places::Place;
use proctor_model::{Diagnostic, DiagnosticSummary, FindingLevel};

const LEVELS: &[(&str, FindingLevel)] = &[("error", FindingLevel::Error), ("warning", FindingLevel::Warning)];

/// Reads ESLint's findings and its own counts. The text must hold no terminal control sequences.
pub(super) fn parse(text: &str, place: Place<'_>) -> Output {
    let mut output = Output::default();
    let mut file = None;
    for line in lines(text) {
        if let Some(stated) = parse_summary(line) {
            output.stated = Some(stated);
        } else if let Some(fixable) = fixable(line) {
            output.stated.iter_mut().for_each(|stated| stated.fixable = Some(fixable));
        } else if !line.starts_with(' ') {
            file = (!line.is_empty()).then(|| place.within_project(line));
        } else if let (Some(file), Some(finding)) = (&file, finding(line)) {
            output.diagnostics.push(Diagnostic { file: Some(file.clone()), ..finding });
        }
    }
    if let Some(stated) = &mut output.stated {
        stated.total_files = output.diagnostics.files();
    }
    output
}

// Reads `  2:1  error    Unexpected var, use let or const instead  no-var`. At least two spaces separate the columns.
fn finding(line: &str) -> Option<Diagnostic> {
    let (place, rest) = line.trim().split_once("  ")?;
    let (line, column) = place.split_once(':')?;
    let (line, column): (u64, u64) = (line.parse().ok()?, column.parse().ok()?);
    let (level, rest) = rest.trim_start().split_once("  ")?;
    let (_, severity) = LEVELS.iter().find(|(word, _)| *word == level)?;
    let rest = rest.trim();
    // A parse error has no rule, and its message may contain two spaces.
    let (message, rule_id) = match rest.rsplit_once("  ").filter(|(_, rule)| is_rule(rule)) {
        Some((message, rule)) => (message.trim_end(), Some(rule.to_owned())),
        None => (rest, None),
    };
    Some(Diagnostic {
        line: (line > 0).then_some(line),
        column: (column > 0).then_some(column),
        rule_id,
        severity: *severity,
        message: message.to_owned(),
        ..Diagnostic::default()
    })
}

fn is_rule(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|character| character.is_ascii_alphanumeric() || "@/-_.".contains(character))
}

// Reads the last line, `✖ 5 problems (4 errors, 1 warning)`.
fn parse_summary(line: &str) -> Option<DiagnosticSummary> {
    let (_, counts) = line.trim().strip_prefix("✖ ")?.strip_suffix(')')?.split_once(" (")?;
    let (errors, warnings) = counts.split_once(", ")?;
    let count = |text: &str, word: &str| text.trim_end_matches('s').strip_suffix(word)?.trim().parse().ok();
    Some(DiagnosticSummary {
        errors: count(errors, "error")?,
        warnings: count(warnings, "warning")?,
        fixable: None,
        total_files: 0,
    })
}

// Reads the line behind that, `  1 error and 0 warnings potentially fixable with the `--fix` option.`, and the same with one kind
// alone.
fn fixable(line: &str) -> Option<u64> {
    let (counts, _) = line.trim().split_once(" potentially fixable")?;
    let count = |text: &str| -> Option<u64> {
        let (number, word) = text.trim().split_once(' ')?;
        matches!(word, "error" | "errors" | "warning" | "warnings").then(|| number.parse().ok())?
    };
    counts.split(" and ").map(count).sum()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_printed_form_is_read_with_and_without_a_rule() {
        let text = "> lint\n\n/project/web/a.js\n  1:7   error    Parsing error: Unexpected  token =\n  12:1  warning  'x' is  odd    @scope/no-x\n  0:0  warning  File ignored  \n\n✖ 3 problems (1 error, 2 warnings)\n  1 error and 0 warnings potentially fixable with the `--fix` option.\n";
        let output = parse(text, Place { root: Path::new("/project"), directory: Path::new("web") });
        let seen: Vec<_> = output
            .diagnostics
            .listed
            .iter()
            .map(|found| (found.file.as_deref(), found.line, found.message.as_str(), found.rule_id.as_deref()))
            .collect();
        let file = Some("web/a.js");
        assert_eq!(
            seen,
            [
                (file, Some(1), "Parsing error: Unexpected  token =", None),
                (file, Some(12), "'x' is  odd", Some("@scope/no-x")),
                (file, None, "File ignored", None),
            ]
        );
        let stated = output.stated.expect("the last line");
        assert_eq!((stated.errors, stated.warnings, stated.total_files), (1, 2, 1));
        assert_eq!(stated.fixable, Some(1));
    }

    #[test]
    fn the_number_of_findings_that_can_be_fixed_is_read() {
        assert_eq!(fixable("  1 error and 2 warnings potentially fixable with the `--fix` option."), Some(3));
        assert_eq!(fixable("  1 warning potentially fixable with the `--fix` option."), Some(1));
        assert_eq!(fixable("  some errors potentially fixable"), None);
        assert_eq!(fixable("  2:1  error  Unexpected var  no-var"), None);
    }
}
