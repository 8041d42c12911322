//! What is known about variables and tests without running a script, for example whether a number is zero or two texts
//! are equal.

use std::collections::BTreeMap;

use crate::shell::word::ScriptWord;
use proctor_model::is_variable_name;

/// The exit status of a command: zero or not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    Zero,
    NonZero,
}

pub(super) const BOTH: &[Status] = &[Status::Zero, Status::NonZero];

/// The known value of a variable. A variable without a known value may have any value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ShellValue {
    Text(String),
    /// A number that is greater than zero; its exact value is unknown.
    Positive,
    /// The process id of a background command that ends with this status.
    Job(Status),
}

/// What is known about the shell at the place in the script where a word is used.
pub(super) struct KnownValues<'k> {
    pub(super) variables: &'k BTreeMap<String, ShellValue>,
    pub(super) status: Status,
    pub(super) pipe: &'k [Status],
    pub(super) job: Option<Status>,
}

impl Status {
    pub(super) fn of(is_success: bool) -> Self {
        if is_success { Self::Zero } else { Self::NonZero }
    }

    fn value(self) -> ShellValue {
        match self {
            Self::Zero => ShellValue::Text("0".to_owned()),
            Self::NonZero => ShellValue::Positive,
        }
    }
}

impl ShellValue {
    /// Returns the exit status of a command such as `exit VALUE`; `None` if the status is unknown.
    pub(super) fn status(&self) -> Option<Status> {
        match self {
            Self::Positive => Some(Status::NonZero),
            // An exit status has eight bits, so 256 is zero.
            Self::Text(text) => Some(match text.trim().parse::<i64>() {
                Ok(number) => Status::of(number.rem_euclid(256) == 0),
                Err(_) => Status::NonZero,
            }),
            Self::Job(_) => None,
        }
    }
}

impl KnownValues<'_> {
    pub(super) fn value(&self, word: &ScriptWord) -> Option<ShellValue> {
        if !word.expands {
            return Some(ShellValue::Text(word.text.clone()));
        }
        let text = word.text.as_str();
        if let Some(expression) = text.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))")) {
            return self.number(expression);
        }
        let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).or_else(|| text.strip_prefix('$'))?;
        match name {
            "?" => Some(self.status.value()),
            "!" => self.job.map(ShellValue::Job),
            "PIPESTATUS" => self.pipe.first().map(|status| status.value()),
            _ => match name.strip_prefix("PIPESTATUS[").and_then(|rest| rest.strip_suffix(']')) {
                Some(index) => self.pipe.get(index.parse::<usize>().ok()?).map(|status| status.value()),
                None => self.variables.get(name).cloned(),
            },
        }
    }

    /// Returns the value of an arithmetic expression that consists of terms with `+` and `|`; `None` if the value is
    /// unknown.
    pub(super) fn number(&self, expression: &str) -> Option<ShellValue> {
        let mut sum = Some(ShellValue::Text("0".to_owned()));
        for part in expression.split(['+', '|']).map(str::trim).filter(|part| !part.is_empty()) {
            match self.operand(part).and_then(|value| value.status()) {
                Some(Status::NonZero) => return self.all_known(expression).then_some(ShellValue::Positive),
                Some(Status::Zero) => {}
                None => sum = None,
            }
        }
        sum
    }

    // If `a` is positive and `b` unknown, the sum `a + b` could be zero, because `b` may be negative. So all operands
    // must be known.
    fn all_known(&self, expression: &str) -> bool {
        expression.split(['+', '|']).map(str::trim).filter(|part| !part.is_empty()).all(|part| self.operand(part).is_some())
    }

    fn operand(&self, text: &str) -> Option<ShellValue> {
        let text = text.trim();
        if text.parse::<u32>().is_ok() {
            return Some(ShellValue::Text(text.to_owned()));
        }
        let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).or_else(|| text.strip_prefix('$'));
        match name.unwrap_or(text) {
            "?" => Some(self.status.value()),
            name => {
                let value = self.variables.get(name)?;
                let is_number = matches!(value, ShellValue::Positive)
                    || matches!(value, ShellValue::Text(text) if text.parse::<u32>().is_ok());
                is_number.then(|| value.clone())
            }
        }
    }

    /// Returns the result of `test` with these words as arguments; `None` if the result is unknown.
    pub(super) fn test(&self, words: &[ScriptWord]) -> Option<bool> {
        match words {
            [] => Some(false),
            [not, rest @ ..] if not.text == "!" && !rest.is_empty() => self.test(rest).map(|holds| !holds),
            [one] => Some(!is_empty(&self.value(one)?)?),
            [flag, one] => match flag.text.as_str() {
                "-n" => Some(!is_empty(&self.value(one)?)?),
                "-z" => is_empty(&self.value(one)?),
                _ => None,
            },
            [left, operator, right] => self.compared(left, &operator.text, right),
            _ => None,
        }
    }

    fn compared(&self, left: &ScriptWord, operator: &str, right: &ScriptWord) -> Option<bool> {
        let (left, right) = (self.value(left)?, self.value(right)?);
        match (left, right) {
            (ShellValue::Text(left), ShellValue::Text(right)) => match operator {
                "=" | "==" => Some(left == right),
                "!=" => Some(left != right),
                _ => {
                    let (left, right) = (left.parse::<i64>().ok()?, right.parse::<i64>().ok()?);
                    ordered(operator, left.cmp(&right))
                }
            },
            (ShellValue::Positive, ShellValue::Text(text)) => against_zero(operator, &text),
            (ShellValue::Text(text), ShellValue::Positive) => against_zero(mirrored(operator), &text),
            _ => None,
        }
    }

    /// Returns the result of `(( … ))`, if known, and the variables that it sets.
    pub(super) fn arithmetic(&self, text: &str) -> (Option<bool>, Vec<(String, Option<ShellValue>)>) {
        let text = text.trim();
        if let Some(name) = text.strip_suffix("++").filter(|name| is_variable_name(name)) {
            let before = self.operand(name);
            let is_true = before.as_ref().and_then(ShellValue::status).map(|status| status == Status::NonZero);
            return (is_true, vec![(name.to_owned(), before.map(|_| ShellValue::Positive))]);
        }
        for (operator, is_added) in [("+=", true), ("|=", true), ("=", false)] {
            let Some((name, right)) = text.split_once(operator) else { continue };
            let name = name.trim();
            if is_variable_name(name) && !right.contains('=') {
                let value = if is_added { self.number(&format!("{name}+{right}")) } else { self.number(right) };
                let is_true = value.as_ref().and_then(ShellValue::status).map(|status| status == Status::NonZero);
                return (is_true, vec![(name.to_owned(), value)]);
            }
        }
        if !text.contains("++") && !text.contains("--") {
            for operator in ["==", "!=", ">=", "<=", ">", "<"] {
                if let Some((left, right)) =
                    text.split_once(operator).filter(|(_, right)| !right.contains(['=', '<', '>', '&', '|']))
                {
                    let word = |text: &str| self.operand(text);
                    let found = word(left).zip(word(right)).and_then(|(left, right)| numbers(&left, operator, &right));
                    return (found, Vec::new());
                }
            }
            if !text.contains(['=', '<', '>']) {
                let value = self.number(text);
                return (value.and_then(|value| value.status()).map(|status| status == Status::NonZero), Vec::new());
            }
        }
        let names = text.split(|part: char| !part.is_ascii_alphanumeric() && part != '_').filter(|name| is_variable_name(name));
        (None, names.map(|name| (name.to_owned(), None)).collect())
    }
}

fn numbers(left: &ShellValue, operator: &str, right: &ShellValue) -> Option<bool> {
    match (left, right) {
        (ShellValue::Positive, ShellValue::Text(text)) => against_zero(operator, text),
        (ShellValue::Text(text), ShellValue::Positive) => against_zero(mirrored(operator), text),
        (ShellValue::Text(left), ShellValue::Text(right)) => {
            ordered(operator, left.parse::<i64>().ok()?.cmp(&right.parse::<i64>().ok()?))
        }
        _ => None,
    }
}

fn is_empty(value: &ShellValue) -> Option<bool> {
    match value {
        ShellValue::Text(text) => Some(text.is_empty()),
        ShellValue::Positive | ShellValue::Job(_) => Some(false),
    }
}

fn ordered(operator: &str, order: std::cmp::Ordering) -> Option<bool> {
    match operator {
        "-eq" | "==" => Some(order.is_eq()),
        "-ne" | "!=" => Some(order.is_ne()),
        "-gt" | ">" => Some(order.is_gt()),
        "-ge" | ">=" => Some(order.is_ge()),
        "-lt" | "<" => Some(order.is_lt()),
        "-le" | "<=" => Some(order.is_le()),
        _ => None,
    }
}

/// Compares a positive number, whose exact value is unknown, with a number as text.
fn against_zero(operator: &str, text: &str) -> Option<bool> {
    let number = text.parse::<i64>();
    match (operator, number) {
        ("=" | "==" | "-eq", Ok(number)) if number <= 0 => Some(false),
        ("!=" | "-ne", Ok(number)) if number <= 0 => Some(true),
        ("=" | "==", Err(_)) => Some(false),
        ("!=", Err(_)) => Some(true),
        ("-gt" | ">" | "-ge" | ">=", Ok(number)) if number <= 0 => Some(true),
        ("-ge" | ">=", Ok(1)) => Some(true),
        ("-lt" | "<" | "-le" | "<=", Ok(number)) if number <= 0 => Some(false),
        ("-lt" | "<", Ok(1)) => Some(false),
        _ => None,
    }
}

fn mirrored(operator: &str) -> &str {
    match operator {
        "-gt" => "-lt",
        "-ge" => "-le",
        "-lt" => "-gt",
        "-le" => "-ge",
        ">" => "<",
        ">=" => "<=",
        "<" => ">",
        "<=" => ">=",
        same => same,
    }
}
