//! A setting's value together with the place where it is written.

use proctor_model::TextPosition;

/// A value and where it is written. Only the values are compared for equality: moving a setting to another line does
/// not change the setting.
#[derive(Debug, Clone)]
pub struct WrittenValue<T> {
    pub value: T,
    /// The line and column in `proctor.toml`; `None` if the value is a default and not written in the file.
    pub place: Option<TextPosition>,
}

impl<T> WrittenValue<T> {
    /// Returns a default value, which has no place in the file.
    pub fn unwritten(value: T) -> Self {
        Self { value, place: None }
    }

    /// Returns whether the value is written in the file and is not a default.
    pub fn is_written(&self) -> bool {
        self.place.is_some()
    }
}

impl<T: PartialEq> PartialEq for WrittenValue<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for WrittenValue<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_value_was_written_does_not_matter_to_equality() {
        assert_eq!(WrittenValue::unwritten(1), WrittenValue { value: 1, place: Some(TextPosition { line: 3, column: 1 }) });
        assert_ne!(WrittenValue::unwritten(1), WrittenValue::unwritten(2));
    }
}
