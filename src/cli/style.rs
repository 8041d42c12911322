//! Lines for people, and the colours of their pieces. The terminal and the variables `NO_COLOR` and `CLICOLOR_FORCE`
//! decide whether colours are used (G6).
//!
//! A colour is never part of a text: a piece of a [`Line`] has a tone, and `render` writes the colour's sequence when it
//! prints the piece. So every control sequence that stands in a text came from outside, and `render` escapes it.

use std::fmt;

/// Whether output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Coloured,
    Plain,
}

/// The meaning of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Doubtful,
    Quiet,
    Strong,
}

/// A line for people: pieces of text, some of them in a tone. Its texts may come from anywhere: `render` escapes them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Line(Vec<Piece>);

/// A part of a [`Line`] that is shown in one colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    /// The tone in which the piece is shown; `None` for the terminal's usual colour.
    pub(crate) tone: Option<Tone>,
}

impl Line {
    /// Returns the line with another line, or a text, behind it.
    pub(crate) fn and(mut self, more: impl Into<Self>) -> Self {
        self.0.extend(more.into().0);
        self
    }

    /// Joins lines to one, with a text between them.
    pub(crate) fn join(lines: Vec<Self>, between: &str) -> Self {
        let mut joined = Self::default();
        for (position, line) in lines.into_iter().enumerate() {
            joined = if position == 0 { line } else { joined.and(between).and(line) };
        }
        joined
    }

    /// Returns the line without white space at its end.
    pub(crate) fn trim_end(mut self) -> Self {
        while let Some(last) = self.0.last_mut() {
            last.text.truncate(last.text.trim_end().len());
            if !last.text.is_empty() {
                break;
            }
            self.0.pop();
        }
        self
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.0
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self(vec![Piece { text, tone: None }])
    }
}

/// Writes the texts of the line without their tones.
impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| formatter.write_str(&piece.text))
    }
}

impl Style {
    /// Decides whether output is coloured. `NO_COLOR` comes first, then `CLICOLOR_FORCE`, then whether the output is a terminal.
    pub(crate) fn decide(no_color: bool, force: bool, is_terminal: bool) -> Self {
        if !no_color && (force || is_terminal) { Self::Coloured } else { Self::Plain }
    }

    /// Returns the text in the colour of a tone, as a piece of a line.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> Line {
        let tone = match self {
            Self::Coloured => Some(tone),
            Self::Plain => None,
        };
        Line(vec![Piece { text: text.to_owned(), tone }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_wins_over_everything() {
        assert_eq!(Style::decide(true, true, true), Style::Plain);
        assert_eq!(Style::decide(false, true, false), Style::Coloured);
        assert_eq!(Style::decide(false, false, true), Style::Coloured);
        assert_eq!(Style::decide(false, false, false), Style::Plain);
    }

    #[test]
    fn the_end_of_a_line_is_trimmed_over_all_its_pieces() {
        let line = Line::from("a ").and(Style::Coloured.paint(Tone::Good, " b ")).and("  ").and("");
        assert_eq!(line.trim_end().to_string(), "a  b");
        assert_eq!(Line::from("  ").trim_end(), Line::default());
    }
}
