//! An error in a file that people write, such as a configuration or a specification: where it is, what is wrong, and a
//! hint.
//!
//! What can be done about one failure, made from what was seen of it.

use std::fmt;

use proctor_wire::wire;
use serde_json::Value;

use crate::{shown_line, shown_lines};

/// A position in a text. Line and column are counted from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPosition {
    pub line: usize,
    pub column: usize,
}

/// Whether checks may run although a file has this error.
#[wire(Copy, PartialOrd, Ord, Hash, Default, screaming, written)]
pub enum Gravity {
    /// The error prevents every run.
    #[default]
    Hard,
    /// Checks run in spite of the error, and the report mentions it.
    Soft,
}

/// One error in a file that people write, with its position and a hint (G4).
///
/// The code that finds the error fills in pointer, message and hint; the reader of the file adds file, position and rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problem {
    pub gravity: Gravity,
    /// The file's path, as the code that reads the file was given it.
    pub file: String,
    /// Where in the text the error is; `None` if it concerns the whole file, or something that is missing from the
    /// file.
    pub position: Option<TextPosition>,
    /// The name of the wrong value. In a configuration it is the key, with elements counted from 1
    /// (`check[2].timeout`); in a specification it is a JSON pointer. It is empty for the whole document.
    pub pointer: String,
    /// The message, lower case, without a final period.
    pub message: String,
    /// The allowed value that is most similar to the wrong one, for "did you mean".
    pub nearest: Option<String>,
    /// What a person can do about the error.
    pub hint: Option<String>,
    /// The rule that is broken; `None` if the file is a configuration, whose rules have no names.
    pub rule: Option<BrokenRule>,
}

/// A broken rule of a specification. The design document seed 004 requires the form that validators of JSON Schema use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrokenRule {
    /// The code of a lint rule, or `SCHEMA` for an error against the JSON Schema, `SYNTAX`, `DUPLICATE_KEY`,
    /// `FORMAT_VERSION`.
    pub code: String,
    /// Where the rule is defined: in the schema that `proctor generate schema` prints, or as `#/lint/CODE`.
    pub schema_path: String,
    /// The JSON Schema keyword that refuses the value, such as `minimum`; `lint` for a lint rule.
    pub keyword: String,
    /// The parameters of the rule, by keyword.
    pub params: Value,
    /// The value that breaks the rule, if it is short and the rule alone says what is wrong with it, such as a list of
    /// allowed values. `None` for values that may hold a secret, such as an address.
    pub value: Option<Value>,
}

impl TextPosition {
    /// Returns the position of a byte offset. An offset inside a character gives the position of the character, and one
    /// beyond the end gives the end.
    pub fn of(text: &str, offset: usize) -> Self {
        let offset = text.floor_char_boundary(offset.min(text.len()));
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

impl Problem {
    /// Returns an error that prevents every run. `pointer` names the wrong value; see [`Problem::pointer`].
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into(), ..Self::default() }
    }

    /// Sets the file's path, and the position of the error in the file; `None` if the position is not known.
    #[must_use]
    pub fn within(self, file: &str, position: Option<TextPosition>) -> Self {
        Self { file: file.to_owned(), position, ..self }
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Sets the most similar allowed value, if there is one.
    #[must_use]
    pub fn nearest(self, nearest: Option<&str>) -> Self {
        Self { nearest: nearest.map(str::to_owned), ..self }
    }

    /// Returns whether the error is about the value at a JSON pointer. An error about several values has their pointers among
    /// the parameters of its rule.
    pub fn is_at(&self, pointer: &str) -> bool {
        self.pointer == pointer || self.further_pointers().any(|one| one == pointer)
    }

    /// Returns the JSON pointers of an error that is about several values; none for any other error.
    pub fn further_pointers(&self) -> impl Iterator<Item = &str> {
        let pointers = self.params().get("pointers").and_then(Value::as_array);
        pointers.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns whether the error prevents every run.
    pub fn is_hard(&self) -> bool {
        self.gravity == Gravity::Hard
    }

    /// Returns the code of the broken rule; empty if the rule has no name.
    pub fn code(&self) -> &str {
        self.rule.as_ref().map_or("", |rule| &rule.code)
    }

    /// Returns the parameters of the broken rule; null if the rule has no name.
    pub fn params(&self) -> &Value {
        self.rule.as_ref().map_or(&Value::Null, |rule| &rule.params)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&shown_line(&self.file))?;
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
            write!(formatter, ": {}", shown_line(&subject))?;
        }
        write!(formatter, ": {}", shown_line(&self.message))?;
        if let Some((rule, value)) = self.rule.as_ref().and_then(|rule| Some((rule, rule.value.as_ref()?))) {
            // `"200"` and `200` look the same without their quotes.
            let what = if rule.keyword == "type" && value.is_string() { "the text " } else { "" };
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            write!(formatter, " (it is {what}`{}`)", shown_line(&value))?;
        }
        if let Some(nearest) = &self.nearest {
            write!(formatter, "\n  did you mean `{}`?", shown_line(nearest))?;
        }
        if let Some(hint) = &self.hint {
            write!(formatter, "\n  {}", shown_lines(hint))?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// The advice for one failure. A field that is empty has the general advice for the failure's category.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Advice {
    /// What to do, as one sentence that names what was seen: the request, the file, the process, the values.
    pub fix: Option<String>,
    /// What was asked for, such as `200 to 299` or a hash.
    pub expected: Option<String>,
    /// What was there instead.
    pub received: Option<String>,
}

impl Advice {
    /// Returns an advice that names only what to do.
    pub fn to_do(fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..Self::default() }
    }
}

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
