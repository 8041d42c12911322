//! What is wrong with a file we read, where, and what to do about it.

use std::fmt;

/// A position in a text, both numbers counted from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A value and where it was written. Equality is of the values alone: a comment line added above changes nothing that is set.
#[derive(Debug, Clone)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it was written; none: nobody wrote it, it is the default.
    pub place: Option<Place>,
}

/// One thing that is wrong with a file, with its place and the next step (G4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file as it was named to the reader.
    pub file: String,
    /// The line, counted from 1; 0 where the problem is something that is absent from the whole file.
    pub line: usize,
    /// The column in characters, counted from 1; 0 with line 0.
    pub column: usize,
    /// The key it is about, elements counted from 1: `check[2].timeout`. Empty for a syntax error.
    pub key_path: String,
    /// The text that is wrong, shortened.
    pub offending: String,
    /// What is wrong: lower case, no final period.
    pub message: String,
    /// The nearest thing that would have been right.
    pub nearest: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl Place {
    /// Returns the place of a byte offset. An offset within a character counts as the character's; one behind the end as the end.
    pub fn of(text: &str, offset: usize) -> Self {
        let offset = text.floor_char_boundary(offset.min(text.len()));
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

impl<T> Placed<T> {
    /// Returns a value nobody wrote.
    pub fn unwritten(value: T) -> Self {
        Self { value, place: None }
    }

    /// Returns whether the value was written in the file, rather than being the default.
    pub fn is_written(&self) -> bool {
        self.place.is_some()
    }
}

impl<T: PartialEq> PartialEq for Placed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Placed<T> {}

impl Problem {
    /// Returns a problem at a place of a file, or of the whole file where there is none.
    pub fn new(file: &str, place: Option<Place>, key_path: &str, message: String) -> Self {
        Self {
            file: file.to_owned(),
            line: place.map_or(0, |place| place.line),
            column: place.map_or(0, |place| place.column),
            key_path: key_path.to_owned(),
            offending: String::new(),
            message,
            nearest: None,
            hint: None,
        }
    }

    /// Adds the text that is wrong.
    #[must_use]
    pub fn offending(mut self, text: &str) -> Self {
        self.offending = shortened(text);
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if self.line > 0 {
            write!(formatter, ":{}:{}", self.line, self.column)?;
        }
        if !self.key_path.is_empty() {
            write!(formatter, ": {}", self.key_path)?;
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

/// Returns the first line of a text, at most 60 characters of it.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(MOST).collect();
    if short.len() < text.trim_end().len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let text = "aä\n✓x";
        assert_eq!(Place::of(text, 0), Place { line: 1, column: 1 });
        assert_eq!(Place::of(text, 3), Place { line: 1, column: 3 });
        assert_eq!(Place::of(text, 7), Place { line: 2, column: 2 });
        assert_eq!(Place::of(text, 5), Place { line: 2, column: 1 });
        assert_eq!(Place::of(text, 99), Place { line: 2, column: 3 });
        assert_eq!(Place::of("", 0), Place { line: 1, column: 1 });
    }

    #[test]
    fn where_a_value_was_written_does_not_matter_to_equality() {
        assert_eq!(Placed::unwritten(1), Placed { value: 1, place: Some(Place { line: 3, column: 1 }) });
        assert_ne!(Placed::unwritten(1), Placed::unwritten(2));
    }

    #[test]
    fn a_long_or_many_lined_text_is_shortened() {
        assert_eq!(shortened("a"), "a");
        assert_eq!(shortened("a\nb"), "a…");
        assert_eq!(shortened(&"é".repeat(70)), format!("{}…", "é".repeat(60)));
    }
}
