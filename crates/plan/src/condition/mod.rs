//! The conditions of a specification: parsing them, checking them before anything runs, and evaluating them (C66, C67).
//!
//! Everything here is pure, and no code of a specification is ever executed. Values come from a [`ConditionContext`]. The
//! result may be UNKNOWN; `verdict/` decides what that means for a condition ("not met" or "triggered").
//!
//! ```text
//! expression = and { "||" and }             and        = unary { "&&" unary }
//! unary      = "!" operand | comparison     comparison = operand [ operator operand ]
//! operator   = "===" | "!==" | "==" | "!=" | "<" | "<=" | ">" | ">="
//! operand    = reference | literal | "(" expression ")"
//! reference  = action ( "." name | "[" (index | text) "]" )+ [ ".includes(" text ")" | ".startsWith(" text ")" | ".length" ]
//! action     = UPPER_CASE ( "." digits | "[" text "]" )
//! literal    = number | text | "true" | "false" | "null"
//! ```
//!
//! `==` is `===`: nothing is ever coerced. To negate a comparison, change its operator or put it in parentheses: JavaScript
//! would read `!a === b` as `(!a) === b`. Look next at [`Field`] (the fields of actions), then at [`check`].

mod check;
mod decide;
mod error;
mod evaluate;
mod fields;
mod knowable;
mod parse;
mod syntax;
#[cfg(test)]
mod tests;

pub use check::check;
pub use error::{ConditionError, ConditionErrorKind, ConditionFault, Constancy};
pub use evaluate::{ConditionContext, ConditionTruth, Evaluation, FieldValue, OutputText, evaluate, why_no_part};
pub use fields::{FIELDS, Field, FieldRow, ValueKind, fields_of};
pub use knowable::can_be;
pub use syntax::{Accessor, Condition, Expression, Offset, Operator, Reference, Segment};
