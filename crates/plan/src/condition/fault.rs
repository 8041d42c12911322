//! Faults of a condition whose syntax is right.

use std::fmt;

use crate::condition::fields::{FIELDS, fields_of, types_with};
use proctor_model::{ActionId, ActionType};

/// A fault of a condition that is found before anything runs. `column` counts characters from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionFault {
    /// The condition consists of constants only, so it refers to no action.
    #[error(
        "column 1: the condition names no action, so no run can change it; compare a value of an action: `STEP.1.exitCode === 0`"
    )]
    NoReference,
    /// The task has no action with this id.
    #[error(
        "column {column}: there is no action `{action}`; name one of the task's prerequisites, steps or cleanups by its `actionId`"
    )]
    UnknownAction { action: ActionId, column: usize },
    /// No type of action has a field of this name.
    #[error("column {column}: no action has a field `{field}`{}; {action}, of type {action_type}, has {}", meant(.field), names(*.action_type))]
    UnknownField { action: ActionId, action_type: ActionType, field: String, column: usize },
    /// The field exists, but not for actions of this type.
    #[error(
        "column {column}: `{field}` is a field of {}; {action}, of type {action_type}, has {}", types_with(.field), names(*.action_type)
    )]
    FieldOfOtherType { action: ActionId, action_type: ActionType, field: String, column: usize },
    /// The condition asks a field for a part that its value cannot have, such as the length of a number.
    #[error("column {column}: `{reference}` asks for a part of {what}; {advice}")]
    NoSuchPart {
        reference: String,
        /// The kind of the field's value, in words for the message.
        what: &'static str,
        /// What the condition can ask of the field instead, in words for the message.
        advice: &'static str,
        column: usize,
    },
    /// Values of different kinds are compared; they are never equal and have no order.
    #[error(
        "column {column}: `{left}` is {left_kind} and `{right}` is {right_kind}; nothing is coerced, so compare values of one kind"
    )]
    TypeMismatch {
        left: String,
        left_kind: &'static str,
        right: String,
        right_kind: &'static str,
        /// The column of the operator in the condition's text; the first column is 1.
        column: usize,
    },
    /// An operator such as `<` compares a value that is not a number.
    #[error("column {column}: `{part}` is {kind}, and only numbers have an order; compare it with `===` or `!==`")]
    NoOrder {
        part: String,
        kind: &'static str,
        /// The column of the operator in the condition's text; the first column is 1.
        column: usize,
    },
    /// A part that must be true or false, such as a side of `&&`, has another kind of value.
    #[error("column {column}: `{part}` is {kind}, neither true nor false; compare it, for example `{part} === {example}`")]
    NotTrueOrFalse {
        part: String,
        kind: &'static str,
        /// A value that the part can be compared with, for the message.
        example: &'static str,
        column: usize,
    },
    /// A part of the condition has the same value in every run, such as `true` or `1 === 1`.
    #[error("column {column}: no run can change `{part}`; leave it out or compare a value of an action")]
    ConstantPart { part: String, column: usize },
    /// The condition gives the same answer for all values of its references.
    #[error("column 1: the condition is {0} whatever the actions do, so it decides nothing; narrow it to what the task needs")]
    Constant(Constancy),
    /// The search for values that change the answer reached its bound without a result.
    #[error(
        "column 1: the condition has too many parts to tell whether it can fail; write several conditions, each with few references"
    )]
    TooManyParts,
}

/// The answer that a constant condition always gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constancy {
    /// The condition is true for all values of its references.
    AlwaysTrue,
    /// The condition is false or unknown for all values of its references.
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

/// Returns a hint with the field whose name differs from `field` only in upper and lower case; empty if no field does.
fn meant(field: &str) -> String {
    let row = FIELDS.iter().find(|row| row.name.eq_ignore_ascii_case(field));
    row.map_or_else(String::new, |row| format!(", `{}` is one", row.name))
}
