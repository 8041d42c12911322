//! Finds out whether a condition can give more than one answer, by a bounded search over the values at which its parts
//! can change.
//!
//! Each distinct value that the condition asks of an action is a variable. Between two neighbouring constants that a variable
//! is compared with, no comparison changes, so one value between them is enough. Two references that are compared with each
//! other form a variable that is "less", "equal" or "greater". Variables are taken as independent, so the search covers at
//! least all answers that runs can give. A condition that it calls constant is therefore constant.

use std::collections::BTreeMap;

use crate::condition::check::{PartKind, TypeOf, kind_of_reference, kind_of_value};
use crate::condition::error::{ConditionFault, Constancy};
use crate::condition::evaluate::{ConditionTruth, KnownValue, compare};
use crate::condition::fields::{Field, FieldRow, MOST, ValueKind, row_of};
use crate::condition::syntax::{Accessor, Condition, Expression, Operator, Reference, Segment};
use proctor_model::{ActionId, ConditionValue, ResultType};

/// The search gives up after this number of partial assignments of values to variables, and the condition is refused. For a
/// condition of 1 KiB of the kind that people write, it tries some dozens.
const MOST_LOOKS: u32 = 20_000;

/// Returns an error if the condition is true for all values or for none, or if the search cannot tell. The condition
/// must have no other fault.
pub(super) fn decide(condition: &Condition, type_of: TypeOf<'_>) -> Result<(), ConditionFault> {
    let mut translation = Translation { type_of, variables: Vec::new(), places: BTreeMap::new() };
    let formula = translation.truth(condition.expression());
    let points: Vec<Vec<KnownValue>> = translation.variables.iter().map(Variable::values_to_try).collect();
    for (wanted, constancy) in [(Wanted::NotTrue, Constancy::AlwaysTrue), (Wanted::True, Constancy::NeverTrue)] {
        let mut search = Search { formula: &formula, points: &points, chosen: Vec::new(), looks: 0 };
        match search.has_assignment(wanted) {
            Some(true) => {}
            Some(false) => return Err(ConditionFault::Constant(constancy)),
            None => return Err(ConditionFault::TooManyParts),
        }
    }
    Ok(())
}

enum Formula {
    Or(Vec<Formula>),
    And(Vec<Formula>),
    Not(Box<Formula>),
    Same(Box<Formula>, Box<Formula>),
    Constant(ConditionTruth),
    /// The formula holds if the variable at this index in `Translation::variables` is `true`.
    IsTrue(usize),
    /// The formula compares the variable at this index in `Translation::variables` with a constant.
    Test(usize, Operator, ConditionValue),
}

/// An unknown of the search: a value that the condition asks of an action, the order of two such values, or the truth of a
/// whole comparison.
struct Variable {
    values: Values,
    constants: Vec<ConditionValue>,
}

enum Values {
    Boolean,
    Integer(u64, u64),
    Text,
    /// The words of the results of actions.
    Result,
    Any,
    /// The order of two numbers or two texts: -1 for less, 0 for equal, 1 for greater.
    Order,
    /// The order of two values, one of which may be of any kind: null if they have no order.
    OrderOrNone,
}

struct Translation<'a> {
    type_of: TypeOf<'a>,
    variables: Vec<Variable>,
    places: BTreeMap<VariableKey, usize>,
}

/// What a variable stands for. Parts of a condition with equal keys share one variable.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum VariableKey {
    Value(ValueKey),
    /// The order of the two sides of a comparison; the side with the smaller key stands first.
    Order(OperandKey, OperandKey),
    /// A comparison as a whole. Each comparison has a number of its own, so that no two comparisons share a variable.
    Whole(usize),
}

/// Identifies a value. References that are written differently but mean the same value have equal keys.
type ValueKey = (ActionId, Field, Vec<Segment>, Option<Accessor>);

/// Identifies one side of a comparison of two values. The flag says whether the side is the negation of the value,
/// because the order of a negation is another variable.
type OperandKey = (bool, ValueKey);

impl Translation<'_> {
    /// Translates a part of the condition that is true or false into a formula.
    fn truth(&mut self, part: &Expression) -> Formula {
        match part {
            Expression::Or(parts) => Formula::Or(parts.iter().map(|part| self.truth(part)).collect()),
            Expression::And(parts) => Formula::And(parts.iter().map(|part| self.truth(part)).collect()),
            Expression::Not(part) => Formula::Not(Box::new(self.truth(part))),
            Expression::Compare { left, operator, right, .. } => self.comparison(left, *operator, right),
            Expression::Reference(reference) => self.is_true(reference),
            Expression::Literal { value, .. } => Formula::Constant(ConditionTruth::from(*value == ConditionValue::Boolean(true))),
        }
    }

    fn comparison(&mut self, left: &Expression, operator: Operator, right: &Expression) -> Formula {
        if self.kind(left) == PartKind::TrueOrFalse && self.kind(right) == PartKind::TrueOrFalse {
            let same = Formula::Same(Box::new(self.truth(left)), Box::new(self.truth(right)));
            return if operator == Operator::NotEqual { Formula::Not(Box::new(same)) } else { same };
        }
        match (left, right) {
            (Expression::Reference(left), Expression::Reference(right)) => self.pair(left, operator, right),
            (Expression::Reference(reference), Expression::Literal { value, .. }) => self.test(reference, operator, value),
            (Expression::Literal { value, .. }, Expression::Reference(reference)) => {
                self.test(reference, operator.flipped(), value)
            }
            // The truth of one part is compared with a JSON value of an HTTP answer, so every result is possible.
            (Expression::Or(_) | Expression::And(_) | Expression::Not(_) | Expression::Compare { .. }, _)
            | (_, Expression::Or(_) | Expression::And(_) | Expression::Not(_) | Expression::Compare { .. })
            | (Expression::Literal { .. }, Expression::Literal { .. }) => {
                let variable = self.variable(VariableKey::Whole(self.variables.len()), Values::Boolean);
                Formula::IsTrue(variable)
            }
        }
    }

    fn kind(&self, part: &Expression) -> PartKind {
        match part {
            Expression::Reference(reference) => kind_of_reference(reference, self.row(reference)),
            Expression::Literal { value, .. } => kind_of_value(value),
            Expression::Or(_) | Expression::And(_) | Expression::Not(_) | Expression::Compare { .. } => PartKind::TrueOrFalse,
        }
    }

    fn row(&self, reference: &Reference) -> &'static FieldRow {
        let row = (self.type_of)(&reference.action).and_then(|action_type| row_of(&reference.field, action_type));
        row.expect("a condition with such a fault is not decided")
    }

    fn is_true(&mut self, reference: &Reference) -> Formula {
        let row = self.row(reference);
        let variable = self.variable_of(reference, row);
        let test = Formula::IsTrue(variable);
        if row.negated { Formula::Not(Box::new(test)) } else { test }
    }

    /// Translates a comparison with a constant. Fields that can be negated are true or false and are not compared here.
    fn test(&mut self, reference: &Reference, operator: Operator, value: &ConditionValue) -> Formula {
        let variable = self.variable_of(reference, self.row(reference));
        let constants = &mut self.variables[variable].constants;
        if !constants.contains(value) {
            constants.push(value.clone());
        }
        Formula::Test(variable, operator, value.clone())
    }

    fn variable_of(&mut self, reference: &Reference, row: &FieldRow) -> usize {
        let values = match (kind_of_reference(reference, row), row.kind) {
            (PartKind::Number, ValueKind::Integer(least, most)) => Values::Integer(least, most),
            (PartKind::Number, _) => Values::Integer(0, MOST),
            (PartKind::Text, ValueKind::Result) => Values::Result,
            (PartKind::Text, _) => Values::Text,
            (PartKind::TrueOrFalse, _) => Values::Boolean,
            (PartKind::Any | PartKind::Null | PartKind::Refused, _) => Values::Any,
        };
        self.variable(VariableKey::Value(value_key(reference, row)), values)
    }

    fn pair(&mut self, left: &Reference, operator: Operator, right: &Reference) -> Formula {
        let (left_row, right_row) = (self.row(left), self.row(right));
        let (left_key, right_key) = (operand_key(left, left_row), operand_key(right, right_row));
        let zero = ConditionValue::Number(0.0);
        if left_key == right_key {
            return Formula::Constant(compare(&KnownValue::Value(zero.clone()), operator, &KnownValue::Value(zero)));
        }
        let is_any = |reference, row| kind_of_reference(reference, row) == PartKind::Any;
        let values = if is_any(left, left_row) || is_any(right, right_row) { Values::OrderOrNone } else { Values::Order };
        let in_order = left_key < right_key;
        let key = if in_order { VariableKey::Order(left_key, right_key) } else { VariableKey::Order(right_key, left_key) };
        let operator = if in_order { operator } else { operator.flipped() };
        Formula::Test(self.variable(key, values), operator, zero)
    }

    fn variable(&mut self, key: VariableKey, values: Values) -> usize {
        *self.places.entry(key).or_insert_with(|| {
            self.variables.push(Variable { values, constants: Vec::new() });
            self.variables.len() - 1
        })
    }
}

fn value_key(reference: &Reference, row: &FieldRow) -> ValueKey {
    let mut path = reference.path.clone();
    if row.kind == ValueKind::Texts {
        for segment in &mut path {
            if let Segment::Name(name) = segment {
                name.make_ascii_lowercase();
            }
        }
    }
    (reference.action.clone(), row.field, path, reference.accessor.clone())
}

fn operand_key(reference: &Reference, row: &FieldRow) -> OperandKey {
    (row.negated, value_key(reference, row))
}

impl Variable {
    /// Returns the values that the search tries: one from each range in which no comparison with the constants changes.
    fn values_to_try(&self) -> Vec<KnownValue> {
        let number = |number: f64| ConditionValue::Number(number);
        let booleans = [ConditionValue::Boolean(false), ConditionValue::Boolean(true)];
        let points = match self.values {
            Values::Boolean => booleans.to_vec(),
            Values::Integer(least, most) => self.integers(as_number(least), as_number(most)),
            Values::Text => self.texts(),
            Values::Result => ResultType::ALL.map(|result| ConditionValue::Text(result.word().to_owned())).to_vec(),
            Values::Any => {
                let mut points = booleans.to_vec();
                points.push(ConditionValue::Null);
                points.extend(self.texts());
                points.extend(self.reals());
                points
            }
            Values::Order => [-1.0, 0.0, 1.0].map(number).to_vec(),
            Values::OrderOrNone => [number(-1.0), number(0.0), number(1.0), ConditionValue::Null].to_vec(),
        };
        points.into_iter().map(KnownValue::Value).collect()
    }

    fn numbers(&self) -> impl Iterator<Item = f64> {
        self.constants.iter().filter_map(|constant| match constant {
            ConditionValue::Number(number) => Some(*number),
            ConditionValue::Null | ConditionValue::Boolean(_) | ConditionValue::Text(_) => None,
        })
    }

    fn integers(&self, least: f64, most: f64) -> Vec<ConditionValue> {
        // A range of integers in which no comparison changes ends just below a constant, at a constant, or at the end
        // of the domain. So the largest integer of each range is enough.
        let beside = |number: f64| [number.ceil() - 1.0, number.ceil()];
        let mut integers: Vec<f64> = self.numbers().flat_map(beside).chain([least, most]).collect();
        integers.retain(|integer| (least..=most).contains(integer));
        distinct(integers)
    }

    fn reals(&self) -> Vec<ConditionValue> {
        let mut constants: Vec<f64> = self.numbers().collect();
        constants.sort_by(f64::total_cmp);
        let between: Vec<f64> = constants.windows(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect();
        let (first, last) = (constants.first().copied().unwrap_or(0.0), constants.last().copied().unwrap_or(0.0));
        constants.extend(between);
        constants.extend([first - 1.0, last + 1.0]);
        distinct(constants)
    }

    /// Returns the texts that the variable is compared with, and one text that differs from all of them.
    fn texts(&self) -> Vec<ConditionValue> {
        let mut texts: Vec<ConditionValue> =
            self.constants.iter().filter(|constant| matches!(constant, ConditionValue::Text(_))).cloned().collect();
        let longest = texts.iter().map(|text| text.to_string().len()).max().unwrap_or(0);
        texts.push(ConditionValue::Text("x".repeat(longest + 1)));
        texts
    }
}

fn distinct(mut numbers: Vec<f64>) -> Vec<ConditionValue> {
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers.into_iter().map(ConditionValue::Number).collect()
}

#[expect(clippy::cast_precision_loss, reason = "the domains end at the largest exact integer")]
fn as_number(integer: u64) -> f64 {
    integer as f64
}

/// Whether the search is for values that make the formula true, or for values that do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    True,
    NotTrue,
}

struct Search<'a> {
    formula: &'a Formula,
    points: &'a [Vec<KnownValue>],
    chosen: Vec<&'a KnownValue>,
    looks: u32,
}

impl Search<'_> {
    /// Returns whether some values of the variables give the formula the result that `wanted` names: true, or not true.
    /// `None` if the search reached its bound first.
    fn has_assignment(&mut self, wanted: Wanted) -> Option<bool> {
        self.looks += 1;
        if self.looks > MOST_LOOKS {
            return None;
        }
        if let Some(truth) = self.formula.truth(&self.chosen) {
            return Some((truth == ConditionTruth::True) == (wanted == Wanted::True));
        }
        let points = self.points;
        for point in points.get(self.chosen.len()).map_or(&[][..], Vec::as_slice) {
            self.chosen.push(point);
            let found = self.has_assignment(wanted);
            self.chosen.pop();
            if found != Some(false) {
                return found;
            }
        }
        Some(false)
    }
}

impl Formula {
    /// Returns the truth that holds for all values of the variables not chosen yet; `None` if the truth depends on
    /// them.
    fn truth(&self, chosen: &[&KnownValue]) -> Option<ConditionTruth> {
        match self {
            Self::Or(parts) => {
                let truths = parts.iter().map(|part| part.truth(chosen));
                deciding(truths, ConditionTruth::True).map(|truths| truths.into_iter().max().unwrap_or(ConditionTruth::Unknown))
            }
            Self::And(parts) => {
                let truths = parts.iter().map(|part| part.truth(chosen));
                deciding(truths, ConditionTruth::False).map(|truths| truths.into_iter().min().unwrap_or(ConditionTruth::Unknown))
            }
            Self::Not(part) => part.truth(chosen).map(ConditionTruth::negated),
            Self::Same(left, right) => match (left.truth(chosen)?, right.truth(chosen)?) {
                (ConditionTruth::Unknown, _) | (_, ConditionTruth::Unknown) => Some(ConditionTruth::Unknown),
                (left, right) => Some(ConditionTruth::from(left == right)),
            },
            Self::Constant(truth) => Some(*truth),
            Self::IsTrue(variable) => chosen.get(*variable).map(|value| ConditionTruth::of(value)),
            Self::Test(variable, operator, value) => {
                let chosen = chosen.get(*variable)?;
                Some(compare(chosen, *operator, &KnownValue::Value(value.clone())))
            }
        }
    }
}

/// Returns the known truths if they decide the result: either all are known, or one of them is `ruling`.
fn deciding(truths: impl Iterator<Item = Option<ConditionTruth>>, ruling: ConditionTruth) -> Option<Vec<ConditionTruth>> {
    let truths: Vec<Option<ConditionTruth>> = truths.collect();
    if truths.contains(&Some(ruling)) { Some(vec![ruling]) } else { truths.into_iter().collect() }
}
