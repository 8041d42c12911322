//! Finds faults of a condition before anything runs: wrong names, wrong types, and conditions that no run can change.

use crate::condition::decide::decide;
use crate::condition::error::ConditionFault;
use crate::condition::fields::{FieldRow, ValueKind, meanings_of, row_of};
use crate::condition::syntax::{Accessor, Condition, Expression, Offset, Operator, Reference, Segment};
use proctor_model::{ActionId, ActionType, ConditionValue, words};

/// The kind of value that a part of a condition has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    TrueOrFalse,
    Number,
    Text,
    Null,
    /// A JSON value of an HTTP answer; its kind is not known before the run.
    Any,
    /// The kind of a part with a fault that was reported already. Comparing the part is no further fault.
    Refused,
}

/// A function that returns an action's type by the action's id; `None` if the task has no such action.
pub(super) type TypeOf<'a> = &'a dyn Fn(&ActionId) -> Option<ActionType>;

/// Returns the faults of a condition, in the order of its text. An empty list means that the condition can be evaluated
/// and that runs can give different answers.
///
/// `type_of` returns the types of the task's actions. Only a condition without other faults is examined for being constant. It
/// is refused as [`ConditionFault::Constant`] when it gives the same answer for all values of its references, each taken as
/// independent of the others, and of other properties of the same value (`.length`, `.includes`). So every refusal is right,
/// but an accepted condition may still be constant for a reason outside the condition, for example `STEP.1.testsPassed <=
/// STEP.1.testsTotal`.
pub fn check(condition: &Condition, type_of: TypeOf<'_>) -> Vec<ConditionFault> {
    if condition.references().is_empty() {
        return vec![ConditionFault::NoReference];
    }
    let mut checking = Checking { condition, type_of, faults: Vec::new() };
    checking.check_truth(&condition.root);
    if checking.faults.is_empty() {
        checking.faults.extend(decide(condition, type_of).err());
    }
    checking.faults
}

/// Returns the kind of a reference, from its field's row and its accessor.
pub(super) fn kind_of_reference(reference: &Reference, row: &FieldRow) -> PartKind {
    match (&reference.accessor, row.kind) {
        (Some(Accessor::Includes(_) | Accessor::StartsWith(_)), _) => PartKind::TrueOrFalse,
        (Some(Accessor::Length), _) => PartKind::Number,
        (None, ValueKind::Boolean) => PartKind::TrueOrFalse,
        (None, ValueKind::Integer(..)) => PartKind::Number,
        (None, ValueKind::Text | ValueKind::Texts | ValueKind::Result) => PartKind::Text,
        (None, ValueKind::Json) => PartKind::Any,
    }
}

pub(super) fn kind_of_value(value: &ConditionValue) -> PartKind {
    match value {
        ConditionValue::Null => PartKind::Null,
        ConditionValue::Boolean(_) => PartKind::TrueOrFalse,
        ConditionValue::Number(_) => PartKind::Number,
        ConditionValue::Text(_) => PartKind::Text,
    }
}

struct Checking<'a> {
    condition: &'a Condition,
    type_of: TypeOf<'a>,
    faults: Vec<ConditionFault>,
}

impl Checking<'_> {
    /// Checks a part of the condition whose value must be true or false.
    fn check_truth(&mut self, part: &Expression) {
        let column = self.condition.column(part.at());
        if let Expression::Literal { value: ConditionValue::Boolean(_), .. } = part {
            return self.faults.push(ConditionFault::ConstantPart { part: part.to_string(), column });
        }
        let kind = self.kind(part);
        match kind {
            PartKind::TrueOrFalse | PartKind::Any | PartKind::Refused => {}
            PartKind::Number | PartKind::Text | PartKind::Null => {
                let (kind, example) = (kind.words(), kind.example());
                self.faults.push(ConditionFault::NotTrueOrFalse { part: part.to_string(), kind, example, column });
            }
        }
    }

    fn kind(&mut self, part: &Expression) -> PartKind {
        match part {
            Expression::Or(parts) | Expression::And(parts) => {
                parts.iter().for_each(|part| self.check_truth(part));
                PartKind::TrueOrFalse
            }
            Expression::Not(part) => {
                self.check_truth(part);
                PartKind::TrueOrFalse
            }
            Expression::Compare { left, operator, right, at } => {
                if let (Expression::Literal { .. }, Expression::Literal { .. }) = (&**left, &**right) {
                    let column = self.condition.column(part.at());
                    self.faults.push(ConditionFault::ConstantPart { part: part.to_string(), column });
                } else {
                    self.comparison(left, *operator, right, *at);
                }
                PartKind::TrueOrFalse
            }
            Expression::Reference(reference) => self.reference(reference),
            Expression::Literal { value, .. } => kind_of_value(value),
        }
    }

    fn comparison(&mut self, left: &Expression, operator: Operator, right: &Expression, at: Offset) {
        let column = self.condition.column(at);
        let kinds = (self.kind(left), self.kind(right));
        if operator.is_order() {
            let has_order = |kind| matches!(kind, PartKind::Number | PartKind::Any | PartKind::Refused);
            let sides = [(left, kinds.0), (right, kinds.1)];
            if let Some((part, kind)) = sides.into_iter().find(|(_, kind)| !has_order(*kind)) {
                self.faults.push(ConditionFault::NoOrder { part: part.to_string(), kind: kind.words(), column });
            }
        } else if !kinds.0.can_equal(kinds.1) {
            self.faults.push(ConditionFault::TypeMismatch {
                left: left.to_string(),
                left_kind: kinds.0.words(),
                right: right.to_string(),
                right_kind: kinds.1.words(),
                column,
            });
        }
    }

    fn reference(&mut self, reference: &Reference) -> PartKind {
        let column = self.condition.column(reference.at);
        let (action, field) = (reference.action.clone(), reference.field.clone());
        let fault = match (self.type_of)(&action) {
            None => ConditionFault::UnknownAction { action, column },
            Some(action_type) => match row_of(&field, action_type) {
                Some(row) => match part_fault(reference, row, column) {
                    Some(fault) => fault,
                    None => return kind_of_reference(reference, row),
                },
                None if meanings_of(&field).next().is_none() => {
                    ConditionFault::UnknownField { action, action_type, field, column }
                }
                None => ConditionFault::FieldOfOtherType { action, action_type, field, column },
            },
        };
        self.faults.push(fault);
        PartKind::Refused
    }
}

/// Returns a fault if the reference names a part that the field does not have, if it names no single header of the headers,
/// or if `.includes` asks for the empty text.
fn part_fault(reference: &Reference, row: &FieldRow, column: usize) -> Option<ConditionFault> {
    let has_path = !reference.path.is_empty();
    let (what, advice) = match row.kind {
        ValueKind::Boolean if has_path || reference.accessor.is_some() => ("`true` or `false`", "compare the field itself"),
        ValueKind::Integer(..) if has_path || reference.accessor.is_some() => ("a number", "compare the field itself"),
        ValueKind::Text | ValueKind::Result if has_path => {
            ("a text", "a text has `.includes(\"…\")`, `.startsWith(\"…\")` and `.length`")
        }
        ValueKind::Texts if !is_header(&reference.path) => ("the headers", "name one header: `headers['content-type']`"),
        ValueKind::Boolean
        | ValueKind::Integer(..)
        | ValueKind::Text
        | ValueKind::Result
        | ValueKind::Json
        | ValueKind::Texts => {
            let is_empty =
                matches!(&reference.accessor, Some(Accessor::Includes(text) | Accessor::StartsWith(text)) if text.is_empty());
            return is_empty.then(|| ConditionFault::ConstantPart { part: reference.to_string(), column });
        }
    };
    Some(ConditionFault::NoSuchPart { reference: reference.to_string(), what, advice, column })
}

fn is_header(path: &[Segment]) -> bool {
    matches!(path, [Segment::Name(_)])
}

impl PartKind {
    fn can_equal(self, other: Self) -> bool {
        match (self, other) {
            (Self::Refused, _) | (_, Self::Refused) => true,
            (Self::Any, _) | (_, Self::Any) => true,
            (Self::TrueOrFalse | Self::Number | Self::Text | Self::Null, _) => self == other,
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::TrueOrFalse | Self::Any | Self::Refused => "true",
            Self::Number => "0",
            Self::Text => "\"…\"",
            Self::Null => "null",
        }
    }
}

words! {
    fn PartKind::words: TrueOrFalse "true or false", Number "a number", Text "a text", Null "null", Any "JSON",
        Refused "refused"
}
