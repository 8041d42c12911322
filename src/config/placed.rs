//! A setting's value and where it was written.

use crate::model::TextPosition;

/// A value and where it was written. Equality is of the values alone: a comment line added above changes nothing that is set.
#[derive(Debug, Clone)]
pub struct Placed<T> {
    pub value: T,
    /// Where it was written; none: nobody wrote it, it is the default.
    pub place: Option<TextPosition>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_value_was_written_does_not_matter_to_equality() {
        assert_eq!(Placed::unwritten(1), Placed { value: 1, place: Some(TextPosition { line: 3, column: 1 }) });
        assert_ne!(Placed::unwritten(1), Placed::unwritten(2));
    }
}
