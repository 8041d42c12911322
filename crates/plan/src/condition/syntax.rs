//! The syntax tree of a condition, and its text in a canonical form.

use std::fmt;

use proctor_model::{ActionId, ConditionValue};

/// A condition of a specification. Two conditions are equal if their syntax trees are equal, however their texts are
/// spaced or quoted.
#[derive(Debug, Clone)]
pub struct Condition {
    pub(super) text: String,
    pub(super) root: Expression,
}

/// A node of a condition's syntax tree.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// Two or more parts joined by `||`: at least one of them holds.
    Or(Vec<Expression>),
    /// Two or more parts joined by `&&`: all of them hold.
    And(Vec<Expression>),
    /// A negated part: true if the part is false, unknown if the part is unknown.
    Not(Box<Expression>),
    /// A comparison of two values, such as `STEP.1.exitCode === 0`.
    Compare {
        left: Box<Expression>,
        operator: Operator,
        right: Box<Expression>,
        /// The position of the operator in the condition's text.
        at: Offset,
    },
    /// A value of an action, such as `STEP.1.exitCode`.
    Reference(Reference),
    /// A constant: a number, a text, `true`, `false` or `null`.
    Literal { value: ConditionValue, at: Offset },
}

/// How two values are compared. `==` and `!=` are parsed as `===` and `!==`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Equality without coercion: `===`, also written `==`.
    Equal,
    /// Inequality without coercion: `!==`, also written `!=`.
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A value of an action: `STEP.1.exitCode`, `STEP['1'].body.items[0].id`, `STEP.2.stdout.includes("ok")`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub action: ActionId,
    /// The field's name as it was written.
    pub field: String,
    /// The path to a part of the field; empty for the whole field.
    pub path: Vec<Segment>,
    /// `.includes(…)`, `.startsWith(…)` or `.length` after the path; `None` if the condition uses the value itself.
    pub accessor: Option<Accessor>,
    pub at: Offset,
}

/// One step of a path into a value that has parts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// The member of a JSON object, or the header, with this name.
    Name(String),
    /// The entry of a JSON array at this position; the first entry has position 0.
    Index(u32),
}

/// What a condition asks about a value instead of the value itself, written after the path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Accessor {
    /// Whether a text contains this text, or a list this entry.
    Includes(String),
    /// Whether a text begins with this text.
    StartsWith(String),
    /// The length of a text in UTF-16 units, as in JavaScript, or the number of entries of a list.
    Length,
}

/// A position in a condition's text, in bytes from 0. `==` between any two positions is true: conditions that mean the
/// same are equal even if their parts stand at other positions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offset(pub usize);

impl Condition {
    /// Returns the condition's text as it stands in the specification.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn expression(&self) -> &Expression {
        &self.root
    }

    /// Returns the condition's references in the order of the text, including repeated ones.
    pub fn references(&self) -> Vec<&Reference> {
        let mut found = Vec::new();
        self.root.collect_references(&mut found);
        found
    }

    /// Returns the column of a position, in characters; the first column is 1.
    pub fn column(&self, at: Offset) -> usize {
        column(&self.text, at.0)
    }
}

/// Returns the column of a byte offset, in characters; the first column is 1. An offset within a character gives the
/// column of the character.
pub(super) fn column(text: &str, offset: usize) -> usize {
    text[..text.floor_char_boundary(offset)].chars().count() + 1
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root
    }
}

impl PartialEq for Offset {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Offset {}

impl Expression {
    fn collect_references<'e>(&'e self, found: &mut Vec<&'e Reference>) {
        match self {
            Self::Or(parts) | Self::And(parts) => parts.iter().for_each(|part| part.collect_references(found)),
            Self::Not(part) => part.collect_references(found),
            Self::Compare { left, right, .. } => {
                left.collect_references(found);
                right.collect_references(found);
            }
            Self::Reference(reference) => found.push(reference),
            Self::Literal { .. } => {}
        }
    }

    /// Returns the position of the part's first reference or literal.
    pub(super) fn at(&self) -> Offset {
        match self {
            Self::Or(parts) | Self::And(parts) => parts.first().map_or(Offset(0), Self::at),
            Self::Not(part) => part.at(),
            Self::Compare { left, .. } => left.at(),
            Self::Reference(reference) => reference.at,
            Self::Literal { at, .. } => *at,
        }
    }

    fn is_operand(&self) -> bool {
        match self {
            Self::Reference(_) | Self::Literal { .. } => true,
            Self::Or(_) | Self::And(_) | Self::Not(_) | Self::Compare { .. } => false,
        }
    }
}

impl Operator {
    /// Returns the operator that means the same when the two sides change places: `<` becomes `>`.
    pub(super) fn flipped(self) -> Self {
        match self {
            Self::Equal => Self::Equal,
            Self::NotEqual => Self::NotEqual,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    /// Returns whether the operator compares the order, not equality.
    pub(super) fn is_order(self) -> bool {
        match self {
            Self::Equal | Self::NotEqual => false,
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => true,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(formatter)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Or(parts) => joined(formatter, parts, " || ", |part| !matches!(part, Self::Or(_))),
            Self::And(parts) => joined(formatter, parts, " && ", |part| !matches!(part, Self::Or(_) | Self::And(_))),
            Self::Not(part) => {
                formatter.write_str("!")?;
                bare_or_not(formatter, part, part.is_operand())
            }
            Self::Compare { left, operator, right, .. } => {
                bare_or_not(formatter, left, left.is_operand())?;
                write!(formatter, " {operator} ")?;
                bare_or_not(formatter, right, right.is_operand())
            }
            Self::Reference(reference) => reference.fmt(formatter),
            Self::Literal { value, .. } => value.fmt(formatter),
        }
    }
}

fn joined(
    formatter: &mut fmt::Formatter<'_>,
    parts: &[Expression],
    between: &str,
    is_bare: impl Fn(&Expression) -> bool,
) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            formatter.write_str(between)?;
        }
        bare_or_not(formatter, part, is_bare(part))?;
    }
    Ok(())
}

fn bare_or_not(formatter: &mut fmt::Formatter<'_>, part: &Expression, bare: bool) -> fmt::Result {
    if bare { fmt::Display::fmt(part, formatter) } else { write!(formatter, "({part})") }
}

impl fmt::Display for Operator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Equal => "===",
            Self::NotEqual => "!==",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.action.fmt(formatter)?;
        name(formatter, &self.field)?;
        for segment in &self.path {
            match segment {
                Segment::Name(part) => name(formatter, part)?,
                Segment::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        match &self.accessor {
            Some(Accessor::Includes(text)) => write!(formatter, ".includes({})", ConditionValue::Text(text.clone())),
            Some(Accessor::StartsWith(text)) => write!(formatter, ".startsWith({})", ConditionValue::Text(text.clone())),
            Some(Accessor::Length) => formatter.write_str(".length"),
            None => Ok(()),
        }
    }
}

/// Writes the name of a part. `length` is written in brackets, because after a dot it would be the accessor.
fn name(formatter: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    if is_name(name) && name != "length" {
        write!(formatter, ".{name}")
    } else {
        write!(formatter, "[{}]", ConditionValue::Text(name.to_owned()))
    }
}

/// Returns whether a part of this name can be written after a dot; other names need brackets and quotes.
pub(super) fn is_name(text: &str) -> bool {
    text.chars().next().is_some_and(begins_word) && text.chars().all(continues_word)
}

/// Returns whether a word can begin with the character: an ASCII letter, `_` or `$`.
pub(super) fn begins_word(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_' || character == '$'
}

/// Returns whether a word can continue with the character: what can begin a word, or a digit.
pub(super) fn continues_word(character: char) -> bool {
    begins_word(character) || character.is_ascii_digit()
}
