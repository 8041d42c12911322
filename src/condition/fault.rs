//! What is wrong with a condition that can be read.

use std::fmt;

use crate::condition::fields::{FIELDS, fields_of, types_with};
use crate::model::{ActionId, ActionType};

/// Something that is wrong with a condition, before anything has run. `column` counts characters from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionFault {
    /// It speaks of no action at all.
    #[error(
        "column 1: the condition names no action, so no run can change it; compare a value of an action: `STEP.1.exitCode === 0`"
    )]
    NoReference,
    /// There is no such action.
    #[error(
        "column {column}: there is no action `{action}`; name one of the task's prerequisites, steps or cleanups by its `actionId`"
    )]
    UnknownAction {
        /// The action.
        action: ActionId,
        /// Where.
        column: usize,
    },
    /// No action has such a field.
    #[error("column {column}: no action has a field `{field}`{}; {action}, of type {action_type}, has {}", meant(.field), names(*.action_type))]
    UnknownField {
        /// The action.
        action: ActionId,
        /// Its type.
        action_type: ActionType,
        /// The field.
        field: String,
        /// Where.
        column: usize,
    },
    /// Actions of another type have the field.
    #[error(
        "column {column}: `{field}` is a field of {}; {action}, of type {action_type}, has {}", types_with(.field), names(*.action_type)
    )]
    FieldOfOtherType {
        /// The action.
        action: ActionId,
        /// Its type.
        action_type: ActionType,
        /// The field.
        field: String,
        /// Where.
        column: usize,
    },
    /// Something is asked of a value that has no such part.
    #[error("column {column}: `{reference}` asks for a part of {what}; {advice}")]
    NoSuchPart {
        /// The reference.
        reference: String,
        /// What the field is.
        what: &'static str,
        /// What can be asked.
        advice: &'static str,
        /// Where.
        column: usize,
    },
    /// Values of two kinds are compared, which are never equal and have no order.
    #[error(
        "column {column}: `{left}` is {left_kind} and `{right}` is {right_kind}; nothing is coerced, so compare values of one kind"
    )]
    TypeMismatch {
        /// The left side.
        left: String,
        /// What it is.
        left_kind: &'static str,
        /// The right side.
        right: String,
        /// What it is.
        right_kind: &'static str,
        /// Where the operator stands.
        column: usize,
    },
    /// Something that is no number is asked for its order.
    #[error("column {column}: `{part}` is {kind}, and only numbers have an order; compare it with `===` or `!==`")]
    NoOrder {
        /// The part.
        part: String,
        /// What it is.
        kind: &'static str,
        /// Where the operator stands.
        column: usize,
    },
    /// Something that is neither true nor false stands where that is asked.
    #[error("column {column}: `{part}` is {kind}, neither true nor false; compare it, for example `{part} === {example}`")]
    NotTrueOrFalse {
        /// The part.
        part: String,
        /// What it is.
        kind: &'static str,
        /// What it could be compared with.
        example: &'static str,
        /// Where.
        column: usize,
    },
    /// A part no run can change.
    #[error("column {column}: no run can change `{part}`; leave it out or compare a value of an action")]
    ConstantPart {
        /// The part.
        part: String,
        /// Where.
        column: usize,
    },
    /// Whatever the values are, it comes to the same.
    #[error("column 1: the condition is {0} whatever the actions do, so it decides nothing; narrow it to what the task needs")]
    Constant(Constancy),
    /// Whether it can be both true and false was not found out within the bound.
    #[error(
        "column 1: the condition has too many parts to tell whether it can fail; write several conditions, each with few references"
    )]
    TooManyParts,
}

/// What a condition always comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constancy {
    /// True for all values its references can have.
    AlwaysTrue,
    /// True for none.
    NeverTrue,
}

impl fmt::Display for Constancy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AlwaysTrue => "true",
            Self::NeverTrue => "never true",
        })
    }
}

fn names(action_type: ActionType) -> String {
    fields_of(action_type).map(|row| row.name).collect::<Vec<_>>().join(", ")
}

/// Returns the field that differs in its capitals alone.
fn meant(field: &str) -> String {
    let row = FIELDS.iter().find(|row| row.name.eq_ignore_ascii_case(field));
    row.map_or_else(String::new, |row| format!(", `{}` is one", row.name))
}
