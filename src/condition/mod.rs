//! The conditions of a specification: their grammar, what is wrong with one before anything runs, and what one comes to (C66, C67).
//!
//! Owns text → [`Condition`], [`check`] and [`evaluate`], all pure: no code of a specification is ever executed. It does not know
//! where values come from ([`Context`] is asked) nor what a condition decides: UNKNOWN is an answer here, and `verdict/` makes of
//! it "not met" or "triggered".
//!
//! ```text
//! expression = and { "||" and }             and        = unary { "&&" unary }
//! unary      = "!" operand | comparison     comparison = operand [ operator operand ]
//! operator   = "===" | "!==" | "==" | "!=" | "<" | "<=" | ">" | ">="
//! operand    = reference | literal | "(" expression ")"
//! reference  = action ( "." name | "[" (index | text) "]" )+ [ ".includes(" text ")" | ".length" ]
//! action     = UPPER_CASE ( "." digits | "[" text "]" )
//! literal    = number | text | "true" | "false" | "null"
//! ```
//!
//! `==` is `===`: nothing is ever coerced. A comparison is negated by its operator or in parentheses, since JavaScript would read
//! `!a === b` as `(!a) === b`. Look next at [`Field`] (what an action can be asked for), then at [`check`].

mod check;
mod decide;
mod error;
mod evaluate;
mod fault;
mod fields;
mod lexical;
mod parse;
mod syntax;
#[cfg(test)]
mod tests;

pub use check::check;
pub use error::{ConditionError, ConditionErrorKind};
pub use evaluate::{Actual, Context, Evaluation, FieldValue, OutputText, Truth, evaluate};
pub use fault::{ConditionFault, Constancy};
pub use fields::{FIELDS, Field, FieldRow, ValueKind, fields_of};
pub use syntax::{Accessor, Condition, Expression, Offset, Operator, Reference, Segment};
