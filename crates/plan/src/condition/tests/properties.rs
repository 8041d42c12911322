//! Properties of the parser, the check and the evaluator over random texts, expressions and values.

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use proptest::sample::select;
use proptest::{prop_assert, prop_assert_eq};
use serde_json::Value;

use super::reference::answers;
use super::{FakeAction, FakeValue, type_of};
use crate::condition::{
    Accessor, Condition, ConditionFault, ConditionTruth, Constancy, Expression, Field, Offset, Operator, Reference, Segment,
    check, evaluate,
};
use proctor_model::{ActionId, ConditionValue};

/// Pieces of conditions. Random combinations of them reach more branches of the parser than random texts do.
const PIECES: &[&str] = &[
    "STEP",
    ".",
    "1",
    "['1']",
    "[0]",
    "exitCode",
    "stdout",
    ".includes(",
    ".length",
    "'a'",
    "\"b\"",
    "'",
    "\"",
    "\\",
    "(",
    ")",
    "&&",
    "||",
    "!",
    "===",
    "==",
    "=",
    "!==",
    "<",
    "<=",
    ">",
    " ",
    "\n",
    "0",
    "200",
    "-",
    "0.5",
    "true",
    "null",
    "{",
    "}",
    "é",
    "STEP.1.success",
    "STEP.5.body.id === 1",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), prop::collection::vec(select(PIECES), 0..24).prop_map(|pieces| pieces.concat())]
}

fn scalar() -> impl Strategy<Value = ConditionValue> {
    prop_oneof![
        Just(ConditionValue::Null),
        any::<bool>().prop_map(ConditionValue::Boolean),
        (-3_i32..4).prop_map(|number| ConditionValue::Number(f64::from(number) / 2.0)),
        any::<i32>().prop_map(|number| ConditionValue::Number(f64::from(number))),
        select(vec!["", "a", "b", "ab", "it's", "\"", "\\", "\n\u{1}", "é✓"])
            .prop_map(|text| ConditionValue::Text(text.to_owned())),
    ]
}

/// Generates references to parts of a request's answer, which can have any type.
fn reference() -> impl Strategy<Value = Expression> {
    let name = select(vec!["a", "b", "c", "length", "includes", "x-y", "", "it's"]);
    let segment = prop_oneof![name.prop_map(|name: &str| Segment::Name(name.to_owned())), (0_u32..3).prop_map(Segment::Index),];
    let needle = select(vec!["", "a", "é"]).prop_map(|needle: &str| Accessor::Includes(needle.to_owned()));
    let accessor = prop_oneof![4 => Just(None), 1 => Just(Some(Accessor::Length)), 1 => needle.prop_map(Some)];
    (prop::collection::vec(segment, 1..3), select(vec![1, 2]), accessor).prop_map(|(path, number, accessor)| {
        Expression::Reference(Reference {
            action: ActionId::numbered("STEP", number),
            field: "body".to_owned(),
            path,
            accessor,
            at: Offset::default(),
        })
    })
}

fn operator() -> impl Strategy<Value = Operator> {
    select(vec![
        Operator::Equal,
        Operator::NotEqual,
        Operator::Less,
        Operator::LessOrEqual,
        Operator::Greater,
        Operator::GreaterOrEqual,
    ])
}

fn expression() -> impl Strategy<Value = Expression> {
    let at = Offset::default();
    let leaf = prop_oneof![3 => reference(), 2 => scalar().prop_map(move |value| Expression::Literal { value, at })];
    leaf.prop_recursive(4, 16, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expression::Or),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expression::And),
            inner.clone().prop_map(|part| Expression::Not(Box::new(part))),
            (inner.clone(), operator(), inner).prop_map(move |(left, operator, right)| Expression::Compare {
                left: Box::new(left),
                operator,
                right: Box::new(right),
                at,
            }),
        ]
    })
}

/// Generates answers that have some of the parts that the references name.
fn body() -> impl Strategy<Value = Option<Value>> {
    let leaf = scalar().prop_map(Value::from);
    let value = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec((select(vec!["a", "b", "c", "length", "x-y", ""]), inner), 0..6)
                .prop_map(|parts| Value::Object(parts.into_iter().map(|(name, part)| (name.to_owned(), part)).collect())),
        ]
    });
    prop::option::weighted(0.9, value)
}

/// Returns the part of an answer that a reference names. Computed independently of the evaluator.
fn looked_up(spelt: &str, bodies: [&Option<Value>; 2]) -> Option<ConditionValue> {
    if let Some(whole) = spelt.strip_suffix('#') {
        return asked(found(whole, bodies)?, None);
    }
    match spelt.split_once('?') {
        Some((whole, needle)) => asked(found(whole, bodies)?, Some(needle)),
        None => ConditionValue::try_from(found(spelt, bodies)?).ok(),
    }
}

/// Returns whether a value contains the needle, or without a needle the value's length.
fn asked(value: &Value, needle: Option<&str>) -> Option<ConditionValue> {
    let length = |length: usize| ConditionValue::Number(f64::from(u32::try_from(length).expect("it is short")));
    Some(match (value, needle) {
        (Value::String(text), None) => length(text.encode_utf16().count()),
        (Value::String(text), Some(needle)) => ConditionValue::Boolean(text.contains(needle)),
        (Value::Array(entries), None) => length(entries.len()),
        (Value::Array(entries), Some(needle)) => ConditionValue::Boolean(entries.contains(&Value::from(needle))),
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_), _) => return None,
    })
}

fn found<'v>(spelt: &str, bodies: [&'v Option<Value>; 2]) -> Option<&'v Value> {
    let (action, path) = spelt.split_once("/body")?;
    let mut value = bodies[usize::from(action == "STEP.2")].as_ref()?;
    for part in path.split('/').skip(1) {
        value = match value {
            Value::Object(parts) => parts.get(part).filter(|_| part.parse::<u32>().is_err())?,
            Value::Array(parts) => parts.get(part.parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(value)
}

/// Generates short conditions about two commands; many of the conditions are constant.
fn small_text() -> impl Strategy<Value = String> {
    let number = (-1_i32..5).prop_map(|number| number.to_string());
    let atom = prop_oneof![
        (select(vec!["STEP.1.exitCode", "STEP.2.exitCode"]), operator(), number)
            .prop_map(|(reference, operator, number)| format!("{reference} {operator} {number}")),
        operator().prop_map(|operator| format!("STEP.1.exitCode {operator} STEP.2.exitCode")),
        select(vec!["STEP.1.success", "STEP.1.failed", "!STEP.1.success"]).prop_map(str::to_owned),
    ];
    atom.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("({one} || {other})")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("({one} && {other})")),
            inner.prop_map(|part| format!("!({part})")),
        ]
    })
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in text()) {
        match Condition::parse(&text) {
            Ok(condition) => {
                let _ = check(&condition, &type_of);
                let _ = evaluate(&condition, &FakeAction::default());
                let printed = condition.to_string();
                prop_assert!(printed.len() > 1024 || Condition::parse(&printed).as_ref() == Ok(&condition), "{printed}");
            }
            Err(error) => {
                prop_assert!(text.is_char_boundary(error.offset));
                prop_assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }

    #[test]
    fn what_is_printed_is_read_as_the_same(expression in expression()) {
        let printed = expression.to_string();
        let read = Condition::parse(&printed);
        prop_assert!(printed.len() > 1024 || read.as_ref().map(Condition::expression) == Ok(&expression), "{printed}: {read:?}");
    }

    #[test]
    fn the_evaluator_agrees_with_the_reference(expression in expression(), one in body(), two in body()) {
        let mut seen = FakeAction::default();
        for (action, body) in [("STEP.1", &one), ("STEP.2", &two)] {
            if let Some(body) = body {
                seen = seen.with(action, Field::Body, FakeValue::Json(body.clone()));
            }
        }
        let Ok(condition) = Condition::parse(&expression.to_string()) else { return Ok(()) };
        let possible = answers(&expression, &|spelt| looked_up(spelt, [&one, &two]));
        let expected = match (possible.contains(&true), possible.contains(&false)) {
            (true, true) => ConditionTruth::Unknown,
            (is_true, _) => ConditionTruth::from(is_true),
        };
        let evaluation = evaluate(&condition, &seen);
        prop_assert_eq!(evaluation.truth, expected, "{}", condition);
        let unknown = evaluation.actual.iter().filter(|actual| actual.value.is_none()).count();
        prop_assert_eq!(unknown, evaluation.unknown.len());
    }

    #[test]
    fn what_is_called_constant_is_and_what_is_not_is_not(text in small_text()) {
        let condition = Condition::parse(&text).expect("it is of the grammar");
        let mut seen_true = false;
        let mut seen_other = false;
        for (one, two, success) in (0..6).flat_map(|one| (0..6).flat_map(move |two| [(one, two, false), (one, two, true)])) {
            let seen = FakeAction::default()
                .with("STEP.1", Field::ExitCode, FakeValue::Number(f64::from(one)))
                .with("STEP.2", Field::ExitCode, FakeValue::Number(f64::from(two)))
                .with("STEP.1", Field::Success, FakeValue::Boolean(success));
            let truth = evaluate(&condition, &seen).truth;
            seen_true |= truth == ConditionTruth::True;
            seen_other |= truth != ConditionTruth::True;
        }
        let faults = check(&condition, &type_of);
        if faults == [ConditionFault::Constant(Constancy::AlwaysTrue)] {
            prop_assert!(!seen_other, "{condition} can fail");
        } else if faults == [ConditionFault::Constant(Constancy::NeverTrue)] {
            prop_assert!(!seen_true, "{condition} can hold");
        } else {
            prop_assert_eq!(faults, vec![]);
            // The check treats two references that are compared with each other as independent of their other comparisons.
            let is_pair = condition.to_string().contains("exitCode ") && text.contains("STEP.1.exitCode") && text.contains("STEP.2");
            prop_assert!(is_pair || (seen_true && seen_other), "{condition} is constant");
        }
    }
}
