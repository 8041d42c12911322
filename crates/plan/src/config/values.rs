//! Readers of single values of `proctor.toml`. Each reader returns the value or an error. Most errors have an example
//! of a correct value.
//!
//! Durations in settings and arguments: `500ms`, `90s`, `5m`, `2h`, or a whole number of seconds.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use crate::config::nearest::nearest;
use proctor_model::{ByteSize, Problem, quoted_text};

/// An error in a value. The key, the line and the column are added when the error is reported.
#[derive(Debug, Default)]
pub(super) struct WrongValue {
    /// Boxed to keep `Result<T, WrongValue>` small.
    pub(super) problem: Box<Problem>,
    /// An example of a correct value, without its key.
    pub(super) example: Option<&'static str>,
    /// The wrong element, if the value is a list or a table: its position (the first is 1) or its key, and its byte
    /// range.
    pub(super) element: Option<(String, Range<usize>)>,
}

type Value<'i> = Spanned<DeValue<'i>>;

impl WrongValue {
    /// Returns an error with this message, without a hint or an example.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { problem: Box::new(Problem::new("", message)), ..Self::default() }
    }

    /// Returns an error that names the expected and the found type of a value.
    pub(super) fn kind(expected: &str, found: &DeValue<'_>) -> Self {
        let found = match found.type_str() {
            "integer" => "an integer".to_owned(),
            "array" => "a list".to_owned(),
            other => format!("a {other}"),
        };
        Self::new(format!("expected {expected}, found {found}"))
    }

    /// Adds a hint: what the person can write instead of the wrong value.
    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { problem: Box::new(self.problem.hint(hint)), ..self }
    }

    /// Adds the correct word that is most like the wrong word, for the question `did you mean …?`.
    pub(super) fn nearest(self, nearest: Option<&str>) -> Self {
        Self { problem: Box::new(self.problem.nearest(nearest)), ..self }
    }

    /// Adds an example of a correct value, which `with_key` turns into a hint.
    pub(super) fn example(self, example: &'static str) -> Self {
        Self { example: Some(example), ..self }
    }

    /// Turns the example into a hint such as `for example port = 4173`, unless the error has a hint already.
    pub(super) fn with_key(mut self, key: &str) -> Self {
        if let Some(example) = self.example
            && self.problem.hint.is_none()
        {
            self.problem.hint = Some(format!("for example `{key} = {example}`"));
        }
        self
    }

    pub(super) fn at(mut self, element: String, value: &Value<'_>) -> Self {
        self.element = Some((element, value.span()));
        self
    }
}

/// Reads a text, which may be empty but must not contain a NUL character.
pub(super) fn text(example: &'static str) -> impl Fn(&Value<'_>) -> Result<String, WrongValue> {
    move |value| {
        let value = value.get_ref();
        let text = value.as_str().ok_or_else(|| WrongValue::kind("a string", value).example(example))?;
        if text.contains('\0') {
            return Err(WrongValue::new("a NUL character cannot be part of it").hint("remove `\\u0000`"));
        }
        Ok(text.to_owned())
    }
}

/// Reads a text that has more than white space.
pub(super) fn filled_text(example: &'static str) -> impl Fn(&Value<'_>) -> Result<String, WrongValue> {
    move |value| {
        let read = text(example)(value)?;
        if read.trim().is_empty() { Err(WrongValue::new("it is empty").example(example)) } else { Ok(read) }
    }
}

pub(super) fn boolean(value: &Value<'_>) -> Result<bool, WrongValue> {
    let value = value.get_ref();
    value.as_bool().ok_or_else(|| WrongValue::kind("`true` or `false`", value).example("true"))
}

/// Reads a whole number. A number outside of the range is an error that names both limits.
pub(super) fn number(range: RangeInclusive<i64>, example: &'static str) -> impl Fn(&Value<'_>) -> Result<i64, WrongValue> {
    move |value| {
        let value = value.get_ref();
        let integer = value.as_integer().ok_or_else(|| WrongValue::kind("a whole number", value).example(example))?;
        let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|number| range.contains(number));
        let limits = || format!("a number from {} to {} is expected", range.start(), range.end());
        number.ok_or_else(|| WrongValue::new(limits()).example(example))
    }
}

/// Reads a whole number within a range of `u32`.
pub(super) fn count(range: RangeInclusive<u32>, example: &'static str) -> impl Fn(&Value<'_>) -> Result<u32, WrongValue> {
    let read = number(i64::from(*range.start())..=i64::from(*range.end()), example);
    move |value| read(value).map(|number| u32::try_from(number).expect("the range is one of u32"))
}

pub(super) fn duration(
    range: RangeInclusive<Duration>,
    example: &'static str,
) -> impl Fn(&Value<'_>) -> Result<Duration, WrongValue> {
    move |value| {
        let value = value.get_ref();
        let read = if let Some(integer) = value.as_integer() {
            u64::from_str_radix(integer.as_str(), integer.radix()).ok().map(Duration::from_secs)
        } else if let Some(text) = value.as_str() {
            parse_duration(text)
        } else {
            return Err(WrongValue::kind("a duration", value).example(example));
        };
        let (least, most) = (duration_text(*range.start()), duration_text(*range.end()));
        match read {
            None => {
                let wrong = WrongValue::new("not a duration: a whole number and one of `ms`, `s`, `m`, `h` is expected");
                Err(wrong.example(example))
            }
            Some(duration) if range.contains(&duration) => Ok(duration),
            Some(_) => Err(WrongValue::new(format!("a duration from {least} to {most} is expected")).example(example)),
        }
    }
}

pub(super) fn size(
    range: RangeInclusive<ByteSize>,
    example: &'static str,
) -> impl Fn(&Value<'_>) -> Result<ByteSize, WrongValue> {
    move |value| {
        let value = value.get_ref();
        let text = value.as_str().ok_or_else(|| WrongValue::kind("a size", value).example(example))?;
        let units = "not a size: a whole number and one of `B`, `kB`, `MB`, `GB`, `KiB`, `MiB`, `GiB` is expected";
        let size = ByteSize::parse(text).ok_or_else(|| WrongValue::new(units).example(example))?;
        let limits = || format!("a size from {} to {} is expected", range.start(), range.end());
        if range.contains(&size) { Ok(size) } else { Err(WrongValue::new(limits()).example(example)) }
    }
}

/// Reads a value that may also be `"off"`, which gives `None`.
pub(super) fn or_off<T>(
    read: impl Fn(&Value<'_>) -> Result<T, WrongValue>,
) -> impl Fn(&Value<'_>) -> Result<Option<T>, WrongValue> {
    move |value| {
        if value.get_ref().as_str() == Some("off") {
            return Ok(None);
        }
        read(value).map(Some).map_err(|mut wrong| {
            wrong.problem.message.push_str("; \"off\" means no limit");
            wrong
        })
    }
}

/// Reads one word of a fixed list. For any other word, the error suggests the nearest word of the list.
pub(super) fn choice<T: Copy>(words: &'static [(&'static str, T)]) -> impl Fn(&Value<'_>) -> Result<T, WrongValue> {
    move |value| {
        let value = value.get_ref();
        let all = || words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let text = value.as_str().ok_or_else(|| WrongValue::kind(&format!("one of {}", all()), value))?;
        if let Some((_, chosen)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(*chosen);
        }
        let nearest = nearest(text, words.iter().map(|(word, _)| *word));
        Err(WrongValue::new(format!("expected one of {}", all())).nearest(nearest))
    }
}

/// Returns the word of a value that [`choice`] reads by the same list.
pub(super) fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map(|(word, _)| *word).expect("a value is read by its word in this list")
}

/// Reads a list; `read` reads each element. An error names the position of the first wrong element.
pub(super) fn list<T>(
    read: impl Fn(&Value<'_>) -> Result<T, WrongValue>,
    example: &'static str,
) -> impl Fn(&Value<'_>) -> Result<Vec<T>, WrongValue> {
    move |value| {
        let elements = value.get_ref().as_array();
        let elements = elements.ok_or_else(|| WrongValue::kind("a list", value.get_ref()).example(example))?;
        let one = |(index, element): (usize, &Value<'_>)| {
            read(element).map_err(|wrong| WrongValue { example: Some(example), ..wrong }.at((index + 1).to_string(), element))
        };
        elements.iter().enumerate().map(one).collect()
    }
}

pub(super) fn variables(value: &Value<'_>) -> Result<BTreeMap<String, String>, WrongValue> {
    const EXAMPLE: &str = "{ DATABASE = \"test\" }";
    let table = value.get_ref().as_table().ok_or_else(|| WrongValue::kind("a table", value.get_ref()).example(EXAMPLE))?;
    let mut variables = BTreeMap::new();
    for (name, value) in table {
        let name: &str = name.get_ref();
        let element = || quoted_text(name);
        variable_name(name).map_err(|wrong| wrong.at(element(), value))?;
        let text = text(EXAMPLE)(value).map_err(|wrong| WrongValue { example: Some(EXAMPLE), ..wrong }.at(element(), value))?;
        variables.insert(name.to_owned(), text);
    }
    Ok(variables)
}

/// Checks that a text can be the name of an environment variable.
pub(super) fn variable_name(name: &str) -> Result<(), WrongValue> {
    let is_name = !name.is_empty()
        && !name.as_bytes()[0].is_ascii_digit()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_name {
        return Ok(());
    }
    Err(WrongValue::new(format!("{} is not the name of a variable", quoted_text(name)))
        .hint("use letters, digits and `_`, not a digit first"))
}

/// Reads a percentage as basis points (hundredths of a per cent).
pub(super) fn basis_points(value: &Value<'_>) -> Result<u32, WrongValue> {
    const EXAMPLE: &str = "85.5";
    let value = value.get_ref();
    let text = value.as_float().map(|float| float.as_str()).or_else(|| value.as_integer().map(|integer| integer.as_str()));
    let text = text.ok_or_else(|| WrongValue::kind("a percentage", value).example(EXAMPLE))?;
    let hundredths = text.parse::<f64>().unwrap_or(f64::NAN) * 100.0;
    let exact = (hundredths - hundredths.round()).abs() < 1e-6;
    if exact && (0.0..=10_000.0).contains(&hundredths) {
        return Ok(hundredths.round() as u32);
    }
    Err(WrongValue::new("a percentage from 0 to 100 with at most two decimals is expected").example(EXAMPLE))
}

/// The units of a duration with their length in milliseconds, the longest first.
const UNITS: &[(&str, u64)] = &[("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Parses a duration: a whole number and one of the units `ms`, `s`, `m`, `h`. Returns `None` for any other text, or if the
/// number is too large.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(*millis).map(Duration::from_millis)
}

/// Returns the text of a duration for `proctor.toml`, in the longest unit that is exact to the millisecond.
pub fn duration_text(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 {
        return "0s".to_owned();
    }
    let (unit, length) = UNITS.iter().find(|(_, length)| millis.is_multiple_of(*length)).expect("one millisecond divides all");
    format!("{}{unit}", millis / length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn a_duration_needs_a_number_and_a_unit() {
        for (text, millis) in [("5m", 300_000), ("90s", 90_000), ("500ms", 500), ("2h", 7_200_000), ("0s", 0)] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for bad in ["", "5", "m", "5 m", "-5s", "1.5s", "5min", "99999999999999999999s", "99999999999999999h", "5M"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(millis in any::<u32>()) {
            let duration = Duration::from_millis(u64::from(millis));
            assert_eq!(parse_duration(&duration_text(duration)), Some(duration));
        }
    }
}
