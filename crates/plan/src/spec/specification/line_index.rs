//! Finds the line and column of a byte offset without counting from the beginning of the text each time.

use proctor_model::TextPosition;

/// The distance between two known positions in bytes. A look-up reads at most about as many bytes of the text.
const SPACING: usize = 1024;

/// The known positions of a text, one every [`SPACING`] bytes. Lines are counted only from the nearest known position.
#[derive(Debug, Default)]
pub(super) struct LineIndex {
    /// Byte offsets in ascending order with their positions; offset 0 is left out.
    known: Vec<(usize, TextPosition)>,
}

impl LineIndex {
    pub(super) fn new(text: &str) -> Self {
        let mut index = Self::default();
        for offset in (SPACING..text.len()).step_by(SPACING) {
            let offset = text.floor_char_boundary(offset);
            index.known.push((offset, index.place(text, offset)));
        }
        index
    }

    /// Returns the position of a byte offset; the result equals [`TextPosition::of`]. `text` must be the text of this
    /// index.
    pub(super) fn place(&self, text: &str, offset: usize) -> TextPosition {
        let behind = self.known.partition_point(|(known, _)| *known <= offset);
        let Some((start, known)) = behind.checked_sub(1).map(|last| self.known[last]) else {
            return TextPosition::of(text, offset);
        };
        let within = TextPosition::of(&text[start..], offset - start);
        let column = if within.line == 1 { known.column + within.column - 1 } else { within.column };
        TextPosition { line: known.line + within.line - 1, column }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, proptest};

    use super::*;

    #[track_caller]
    fn assert_counts(text: &str) {
        let index = LineIndex::new(text);
        for offset in 0..=text.len() + 1 {
            assert_eq!(index.place(text, offset), TextPosition::of(text, offset), "{text:?} {offset}");
        }
    }

    #[test]
    fn a_place_is_the_one_that_counting_from_the_top_gives() {
        for text in ["", "\n", "a", "a\n\nbä\nc", "ü\nü\n", "{\n  \"a\": [\n1,\n2]}\n"] {
            assert_counts(text);
        }
        // Multiples of `SPACING` fall inside a character, directly after a newline, and several times into one line.
        assert_counts(&"a€".repeat(900));
        assert_counts(&format!("{}\n{}\n", "ä".repeat(511), "b".repeat(2100)));
    }

    proptest! {
        #[test]
        fn a_place_in_any_text_is_the_one_that_counting_gives(parts in prop::collection::vec("[a€\n]|[a-z]{200,400}", 0..14)) {
            assert_counts(&parts.concat());
        }
    }

    #[test]
    fn no_place_is_counted_from_further_than_the_spacing() {
        let text = "x".repeat(10 * SPACING);
        let index = LineIndex::new(&text);
        let known: Vec<usize> = index.known.iter().map(|(offset, _)| *offset).collect();
        assert_eq!(known, (1..10).map(|times| times * SPACING).collect::<Vec<_>>());
    }
}
