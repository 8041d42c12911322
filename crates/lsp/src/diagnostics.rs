//! The diagnostics of one file, from the failures of a run and the texts of the file then and now. Pure.

use serde_json::{Value, json};

use crate::moved::{MovedLine, MovedLines};
use proctor_app::places::MarkedPlace;
use proctor_model::FindingLevel;

/// `DiagnosticSeverity` of the protocol.
const ERROR: u8 = 1;
const WARNING: u8 = 2;
const HINT: u8 = 4;

/// Returns the diagnostics of a file. `tested` is the text that the run tested; `None` if it is not known.
pub(crate) fn diagnostics<'p>(places: impl Iterator<Item = &'p MarkedPlace>, tested: Option<&str>, open: &str) -> Vec<Value> {
    let moved = tested.map(|tested| MovedLines::between(tested, open));
    let lines: Vec<&str> = open.lines().collect();
    let told = |place: &MarkedPlace| {
        let line = usize::try_from(place.line.unwrap_or(1)).unwrap_or(usize::MAX).saturating_sub(1);
        let found = moved.as_ref().map_or(MovedLine::Gone(line), |moved| moved.find(line));
        diagnostic(place, found, line, &lines)
    };
    places.map(told).collect()
}

fn diagnostic(place: &MarkedPlace, found: MovedLine, tested_line: usize, lines: &[&str]) -> Value {
    let (line, is_stale) = match found {
        MovedLine::To(line) => (line, false),
        MovedLine::Gone(line) => (line, true),
    };
    let line = line.min(lines.len().saturating_sub(1));
    let text = lines.get(line).copied().unwrap_or_default();
    let (start, end) = if is_stale { (0, text.chars().count()) } else { columns(place, text) };
    // A finding may go over several lines, which were moved together.
    let last = place.end.and_then(|(last, column)| Some((usize::try_from(last).ok()?.checked_sub(1)?, column)));
    let end = match last.filter(|(last, _)| !is_stale && *last > tested_line) {
        Some((last, column)) => {
            let last = (line + (last - tested_line)).min(lines.len().saturating_sub(1));
            position(last, lines.get(last).copied().unwrap_or_default(), before(column))
        }
        None => position(line, text, end),
    };
    let severity = match place.level {
        FindingLevel::Error | FindingLevel::Warning if is_stale => HINT,
        FindingLevel::Error => ERROR,
        FindingLevel::Warning => WARNING,
    };
    let stale = if is_stale { "stale: " } else { "" };
    let subject = place.test.as_ref().map(|test| format!("{test}: ")).unwrap_or_default();
    let mut diagnostic = json!({
        "range": { "start": position(line, text, start), "end": end },
        "severity": severity,
        "source": format!("proctor {}", place.check),
        "message": format!("{stale}{subject}{}", place.message),
    });
    if let Some(rule) = &place.rule {
        diagnostic["code"] = json!(rule);
    }
    diagnostic
}

/// Returns where the marked part of a line begins and ends, in characters from 0.
fn columns(place: &MarkedPlace, text: &str) -> (usize, usize) {
    let characters: Vec<char> = text.chars().collect();
    let indent = characters.iter().take_while(|one| one.is_whitespace()).count();
    let Some(column) = place.column.filter(|column| *column > 0) else { return (indent, characters.len()) };
    let start = before(column).min(characters.len());
    let word = characters[start..].iter().take_while(|one| one.is_alphanumeric() || **one == '_').count();
    let end = match place.end {
        Some((line, column)) if Some(line) == place.line => before(column),
        Some(_) | None => start + word.max(1),
    };
    (start, end.clamp(start, characters.len().max(start)))
}

/// Returns a column as the protocol counts it.
fn before(column: u64) -> usize {
    usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1)
}

/// Returns a position of the protocol, which counts units of UTF-16.
fn position(line: usize, text: &str, characters: usize) -> Value {
    json!({ "line": line, "character": text.chars().take(characters).map(char::len_utf16).sum::<usize>() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::ActionId;

    fn place(line: u64, column: Option<u64>) -> MarkedPlace {
        MarkedPlace {
            check: "tsc".to_owned(),
            action_id: ActionId::numbered("STEP", 1),
            test: None,
            file: Some("a.ts".to_owned()),
            line: Some(line),
            column,
            end: None,
            rule: Some("TS1".to_owned()),
            level: FindingLevel::Error,
            message: "wrong".to_owned(),
        }
    }

    fn one(place: MarkedPlace, tested: Option<&str>, open: &str) -> Value {
        diagnostics([place].iter(), tested, open).remove(0)
    }

    #[test]
    fn a_failure_is_marked_where_its_line_is_now() {
        let found = one(place(2, Some(5)), Some("a\nlet abc = 1;\n"), "new\na\nlet abc = 1;\n");
        assert_eq!(found["range"], json!({"start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 7}}));
        assert_eq!((&found["severity"], &found["code"], &found["source"]), (&json!(ERROR), &json!("TS1"), &json!("proctor tsc")));
        let whole = one(place(1, None), Some("  \u{1f600} x"), "  \u{1f600} x");
        assert_eq!(whole["range"], json!({"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 6}}));
    }

    #[test]
    fn what_cannot_be_found_again_is_a_hint_that_says_so() {
        for (tested, open, line) in [(Some("a\nb\nc"), "a\nx\nc", 1), (None, "a\nb", 1), (None, "", 0), (Some("a\nb"), "", 0)] {
            let found = one(place(2, Some(1)), tested, open);
            assert_eq!((&found["severity"], &found["message"]), (&json!(HINT), &json!("stale: wrong")), "{open}");
            assert_eq!(found["range"]["start"]["line"], line, "{open}");
        }
    }

    #[test]
    fn a_finding_over_several_lines_ends_where_it_was_moved_to() {
        let finding = MarkedPlace { end: Some((3, 2)), ..place(2, Some(1)) };
        let found = one(finding, Some("a\nbb\ncc\n"), "x\na\nbb\ncc\n");
        assert_eq!(found["range"], json!({"start": {"line": 2, "character": 0}, "end": {"line": 3, "character": 1}}));
    }
}
