//! Something that is wrong with a file that people write, a configuration or a specification: where, what, and what to do.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// A position in a text, both numbers counted from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPosition {
    pub line: usize,
    pub column: usize,
}

/// Whether something may run in spite of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Gravity {
    /// Nothing sensible can be run.
    #[default]
    Hard,
    /// It runs, and the report says so.
    Soft,
}

/// One thing that is wrong with a file, with its place and the next step (G4).
///
/// Whoever finds it knows the value, the message and the hint; the reader of the file adds the file, the position and the rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problem {
    pub gravity: Gravity,
    /// The file as it was named to its reader.
    pub file: String,
    /// None: it is about the whole file, or about something that is absent from it.
    pub position: Option<TextPosition>,
    /// The value it is about: in a configuration the key, elements counted from 1 (`check[2].timeout`); in a specification a JSON
    /// pointer. Empty for the whole document.
    pub pointer: String,
    /// Lower case, no final period.
    pub message: String,
    /// The nearest thing that would have been right.
    pub nearest: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// None: it is of a configuration, whose rules have no names.
    pub rule: Option<BrokenRule>,
}

/// The rule that a specification breaks, in the form validators of JSON Schema report it (seed 004).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrokenRule {
    /// A row of the lint's table, `SCHEMA` for what the JSON Schema says, `SYNTAX`, `DUPLICATE_KEY`, `FORMAT_VERSION`.
    pub code: String,
    /// Where the rule stands: in the schema of `proctor schema`, or `#/lint/CODE`.
    pub schema_path: String,
    /// The keyword of the schema, or `lint`.
    pub keyword: String,
    /// What the rule asks for, by keyword.
    pub params: Value,
}

impl TextPosition {
    /// Returns the position of a byte offset. An offset within a character counts as the character's; one behind the end as the end.
    pub fn of(text: &str, offset: usize) -> Self {
        let offset = text.floor_char_boundary(offset.min(text.len()));
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

impl Problem {
    /// Returns a hard problem with a value of a file.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into(), ..Self::default() }
    }

    /// Adds the file, and the position in it where there is one.
    #[must_use]
    pub fn within(self, file: &str, position: Option<TextPosition>) -> Self {
        Self { file: file.to_owned(), position, ..self }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds the nearest right word, where there is one.
    #[must_use]
    pub fn nearest(self, nearest: Option<&str>) -> Self {
        Self { nearest: nearest.map(str::to_owned), ..self }
    }

    /// Returns whether nothing may run.
    pub fn is_hard(&self) -> bool {
        self.gravity == Gravity::Hard
    }

    /// Returns the code of the rule that is broken; empty where the rule has no name.
    pub fn code(&self) -> &str {
        self.rule.as_ref().map_or("", |rule| &rule.code)
    }

    /// Returns what the broken rule asks for; null where it says nothing.
    pub fn params(&self) -> &Value {
        self.rule.as_ref().map_or(&Value::Null, |rule| &rule.params)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if let Some(TextPosition { line, column }) = self.position {
            write!(formatter, ":{line}:{column}")?;
        }
        let mut subject = String::new();
        if let Some(rule) = &self.rule {
            let word = if self.is_hard() { "error" } else { "note" };
            subject = format!("{word}[{}]", rule.code);
        }
        if !self.pointer.is_empty() {
            subject = if subject.is_empty() { self.pointer.clone() } else { format!("{subject} {}", self.pointer) };
        }
        if !subject.is_empty() {
            write!(formatter, ": {subject}")?;
        }
        write!(formatter, ": {}", self.message)?;
        if let Some(nearest) = &self.nearest {
            write!(formatter, "\n  did you mean `{nearest}`?")?;
        }
        if let Some(hint) = &self.hint {
            write!(formatter, "\n  {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_counts_lines_and_characters_from_one() {
        let text = "aä\n✓x";
        assert_eq!(TextPosition::of(text, 0), TextPosition { line: 1, column: 1 });
        assert_eq!(TextPosition::of(text, 3), TextPosition { line: 1, column: 3 });
        assert_eq!(TextPosition::of(text, 7), TextPosition { line: 2, column: 2 });
        assert_eq!(TextPosition::of(text, 5), TextPosition { line: 2, column: 1 });
        assert_eq!(TextPosition::of(text, 99), TextPosition { line: 2, column: 3 });
        assert_eq!(TextPosition::of("", 0), TextPosition { line: 1, column: 1 });
    }

    #[test]
    fn a_problem_is_printed_with_what_is_known_of_it() {
        let found = Problem::new("check[2].timeout", "expected a duration");
        assert_eq!(found.clone().within("proctor.toml", None).to_string(), "proctor.toml: check[2].timeout: expected a duration");
        let position = Some(TextPosition { line: 3, column: 9 });
        let placed = found.within("proctor.toml", position).nearest(Some("90s")).hint("write it in quotes");
        let printed = "proctor.toml:3:9: check[2].timeout: expected a duration\n  did you mean `90s`?\n  write it in quotes";
        assert_eq!(placed.to_string(), printed);

        let rule = Some(BrokenRule { code: "SYNTAX".to_owned(), ..BrokenRule::default() });
        let whole = Problem { rule: rule.clone(), ..Problem::new("", "not valid JSON").within("a.json", position) };
        assert_eq!(whole.to_string(), "a.json:3:9: error[SYNTAX]: not valid JSON");
        let note = Problem { gravity: Gravity::Soft, rule, ..Problem::new("/tasks", "odd").within("a.json", None) };
        assert_eq!(note.to_string(), "a.json: note[SYNTAX] /tasks: odd");
    }
}
