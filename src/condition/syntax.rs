//! A condition as it was understood, and its text in one form.

use std::fmt;

use crate::model::{ActionId, ConditionValue};

/// A condition of a specification. Equality is of what is said, not of how it was written.
#[derive(Debug, Clone)]
pub struct Condition {
    pub(super) text: String,
    pub(super) root: Expression,
}

/// A part of a condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// One of two parts or more holds.
    Or(Vec<Expression>),
    /// Each of two parts or more holds.
    And(Vec<Expression>),
    /// The part does not hold.
    Not(Box<Expression>),
    /// Two values are compared.
    Compare {
        /// What stands before the operator.
        left: Box<Expression>,
        /// The operator.
        operator: Operator,
        /// What stands behind it.
        right: Box<Expression>,
        /// Where the operator stands.
        at: Offset,
    },
    /// A value of an action.
    Reference(Reference),
    /// A value that was written down.
    Literal {
        /// The value.
        value: ConditionValue,
        /// Where it stands.
        at: Offset,
    },
}

/// How two values are compared. `==` and `!=` are read as `===` and `!==`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `===`
    Equal,
    /// `!==`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// A value of an action: `STEP.1.exitCode`, `STEP['1'].body.items[0].id`, `STEP.2.stdout.includes("ok")`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The action.
    pub action: ActionId,
    /// The field's name as it was written.
    pub field: String,
    /// What is taken of the field, where that is not all of it.
    pub path: Vec<Segment>,
    /// What is asked of that, where not its value.
    pub accessor: Option<Accessor>,
    /// Where it stands.
    pub at: Offset,
}

/// One step into a value that has parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// The part with this name.
    Name(String),
    /// The part at this position, counted from 0.
    Index(u32),
}

/// What is asked of a value other than the value itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accessor {
    /// Whether a text contains the text, or a list the entry.
    Includes(String),
    /// How long a text is, in UTF-16 units as in JavaScript, or how many entries a list has.
    Length,
}

/// A place in a condition's text, in bytes from 0. Two are always equal: where a thing was written is no part of what it says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offset(pub usize);

impl Condition {
    /// Returns the text as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what it says.
    pub fn expression(&self) -> &Expression {
        &self.root
    }

    /// Returns its references in the order they stand, each as often as it does.
    pub fn references(&self) -> Vec<&Reference> {
        let mut found = Vec::new();
        self.root.collect_references(&mut found);
        found
    }

    /// Returns the column of a place, counted from 1 in characters.
    pub fn column(&self, at: Offset) -> usize {
        column(&self.text, at.0)
    }
}

/// Returns the column of a byte offset, counted from 1 in characters; one within a character counts as the character's.
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

    /// Returns where the part begins.
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
    /// Returns the operator that says the same with its sides exchanged.
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

    /// Returns whether it asks for an order, not for equality.
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
            Some(Accessor::Length) => formatter.write_str(".length"),
            None => Ok(()),
        }
    }
}

/// Writes a part's name. Behind a dot `length` would be read as a question.
fn name(formatter: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    if is_name(name) && name != "length" {
        write!(formatter, ".{name}")
    } else {
        write!(formatter, "[{}]", ConditionValue::Text(name.to_owned()))
    }
}

/// Returns whether a text can stand behind a dot.
pub(super) fn is_name(text: &str) -> bool {
    text.chars().next().is_some_and(begins_word) && text.chars().all(continues_word)
}

/// Returns whether a word can begin with the character.
pub(super) fn begins_word(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_' || character == '$'
}

/// Returns whether a word can go on with the character.
pub(super) fn continues_word(character: char) -> bool {
    begins_word(character) || character.is_ascii_digit()
}
