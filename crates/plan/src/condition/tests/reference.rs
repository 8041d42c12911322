//! A second evaluator, written independently of the first. The possible answers of a condition are the answers for all possible
//! values of its unknown parts. Both evaluators must agree, because Kleene's logic is equivalent to this definition. They share
//! only the syntax tree.

use std::collections::BTreeSet;

use crate::condition::{Accessor, Expression, Operator, Reference, Segment};
use proctor_model::ConditionValue;

/// A function from a reference's text, as `spelt` writes it, to the reference's value; `None` if the value is unknown.
pub(super) type Table<'a> = &'a dyn Fn(&str) -> Option<ConditionValue>;

/// Returns the possible answers: one, or both if the answer is unknown.
pub(super) fn answers(expression: &Expression, table: Table<'_>) -> BTreeSet<bool> {
    let both = BTreeSet::from([false, true]);
    match expression {
        Expression::Or(parts) => combine(parts, table, false, |one, other| one || other),
        Expression::And(parts) => combine(parts, table, true, |one, other| one && other),
        Expression::Not(part) => answers(part, table).into_iter().map(|answer| !answer).collect(),
        Expression::Compare { left, operator, right, .. } => match (value(left, table), value(right, table)) {
            (Some(left), Some(right)) => compared(&left, *operator, &right).map_or(both, |answer| BTreeSet::from([answer])),
            (None, _) | (_, None) => both,
        },
        Expression::Reference(_) | Expression::Literal { .. } => match value(expression, table) {
            Some(ConditionValue::Boolean(answer)) => BTreeSet::from([answer]),
            Some(ConditionValue::Null | ConditionValue::Number(_) | ConditionValue::Text(_)) | None => both,
        },
    }
}

fn combine(parts: &[Expression], table: Table<'_>, first: bool, with: impl Fn(bool, bool) -> bool) -> BTreeSet<bool> {
    parts.iter().fold(BTreeSet::from([first]), |seen, part| {
        let answers = answers(part, table);
        seen.iter().flat_map(|one| answers.iter().map(|other| with(*one, *other))).collect()
    })
}

fn value(expression: &Expression, table: Table<'_>) -> Option<ConditionValue> {
    match expression {
        Expression::Literal { value, .. } => Some(value.clone()),
        Expression::Reference(reference) => table(&spelt(reference)),
        Expression::Or(_) | Expression::And(_) | Expression::Not(_) | Expression::Compare { .. } => {
            let answers = answers(expression, table);
            let single = answers.first().filter(|_| answers.len() == 1);
            single.map(|answer| ConditionValue::Boolean(*answer))
        }
    }
}

fn compared(left: &ConditionValue, operator: Operator, right: &ConditionValue) -> Option<bool> {
    let order = match (left, right) {
        (ConditionValue::Number(left), ConditionValue::Number(right)) => left.partial_cmp(right),
        _ => None,
    };
    match operator {
        Operator::Equal => Some(left == right),
        Operator::NotEqual => Some(left != right),
        Operator::Less => order.map(std::cmp::Ordering::is_lt),
        Operator::LessOrEqual => order.map(std::cmp::Ordering::is_le),
        Operator::Greater => order.map(std::cmp::Ordering::is_gt),
        Operator::GreaterOrEqual => order.map(std::cmp::Ordering::is_ge),
    }
}

/// Returns a reference's text, computed independently of its `Display`.
fn spelt(reference: &Reference) -> String {
    let mut text = format!("{}/{}", reference.action, reference.field);
    for segment in &reference.path {
        match segment {
            Segment::Name(name) => text.push_str(&format!("/{name}")),
            Segment::Index(index) => text.push_str(&format!("/{index}")),
        }
    }
    match &reference.accessor {
        Some(Accessor::Includes(needle)) => text.push_str(&format!("?{needle}")),
        Some(Accessor::StartsWith(needle)) => text.push_str(&format!("^{needle}")),
        Some(Accessor::Length) => text.push('#'),
        None => {}
    }
    text
}
