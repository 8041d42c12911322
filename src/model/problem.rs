//! An error in a file that people write, such as a configuration or a specification: its place, its description, and a hint.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// A position in a text. Line and column are counted from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPosition {
    pub line: usize,
    pub column: usize,
}

/// Whether anything may run despite a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Gravity {
    /// Nothing useful can be run.
    #[default]
    Hard,
    /// Checks run, and the report mentions the problem.
    Soft,
}

/// One error in a file, with its place and a hint (G4).
///
/// The code that finds the error fills in value, message and hint; the reader of the file adds file, position and rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problem {
    pub gravity: Gravity,
    /// The file's path, as it was given to the reader.
    pub file: String,
    /// The position; `None` if the problem concerns the whole file, or something that is missing from it.
    pub position: Option<TextPosition>,
    /// The value that is wrong. In a configuration it is the key, with elements counted from 1 (`check[2].timeout`); in a
    /// specification it is a JSON pointer. Empty for the whole document.
    pub pointer: String,
    /// The message, lower case, without a final period.
    pub message: String,
    /// The most similar value that would be correct.
    pub nearest: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// The rule that is broken; `None` if the file is a configuration, whose rules have no names.
    pub rule: Option<BrokenRule>,
}

/// A broken rule of a specification, in the form that validators of JSON Schema use (seed 004).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrokenRule {
    /// The code of a lint rule, or `SCHEMA` for an error against the JSON Schema, `SYNTAX`, `DUPLICATE_KEY`, `FORMAT_VERSION`.
    pub code: String,
    /// Where the rule is defined: in the schema that `proctor schema` prints, or as `#/lint/CODE`.
    pub schema_path: String,
    /// The schema keyword, or `lint`.
    pub keyword: String,
    /// The parameters of the rule, by keyword.
    pub params: Value,
}

impl TextPosition {
    /// Returns the position of a byte offset. An offset inside a character gives the position of the character, and one beyond
    /// the end gives the end.
    pub fn of(text: &str, offset: usize) -> Self {
        let offset = text.floor_char_boundary(offset.min(text.len()));
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

impl Problem {
    /// Returns a hard problem with a value.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into(), ..Self::default() }
    }

    /// Sets the file, and the position if it is known.
    #[must_use]
    pub fn within(self, file: &str, position: Option<TextPosition>) -> Self {
        Self { file: file.to_owned(), position, ..self }
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Sets the most similar correct word, if there is one.
    #[must_use]
    pub fn nearest(self, nearest: Option<&str>) -> Self {
        Self { nearest: nearest.map(str::to_owned), ..self }
    }

    /// Returns whether the problem prevents every run.
    pub fn is_hard(&self) -> bool {
        self.gravity == Gravity::Hard
    }

    /// Returns the code of the broken rule; empty if the rule has no name.
    pub fn code(&self) -> &str {
        self.rule.as_ref().map_or("", |rule| &rule.code)
    }

    /// Returns the parameters of the broken rule; null if it has none.
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
