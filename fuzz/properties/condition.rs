//! A condition that is printed and read again is the same condition, and a condition that is reported as constant always has the same answer.

use std::collections::BTreeMap;

use proctor_model::{ActionId, ActionType, ConditionValue, ResultType};
use proctor_plan::condition::{
    Condition, ConditionContext, ConditionFault, ConditionTruth, Constancy, FIELDS, Field, FieldValue, OutputText, ValueKind,
    check, evaluate,
};
use serde_json::Value;

/// The line between the condition and the text that is used as an action's body and output and as the seed of its numbers.
const SEEN: &str = "\n<<< seen >>>\n";

/// The most bytes of a condition; a longer one is refused. Printing may make a condition longer, and then it cannot be read again.
const LONGEST: usize = 1024;

/// Checks this file's two rules, about printing and about constant conditions, for one input: a condition, then the
/// line [`SEEN`], then the text of the results.
///
/// # Panics
///
/// When a rule does not hold.
pub(crate) fn hold(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (text, seen) = text.split_once(SEEN).unwrap_or((text, "{}"));
    let condition = match Condition::parse(text) {
        Ok(condition) => condition,
        Err(error) => {
            assert!(text.is_char_boundary(error.offset), "{}", error.offset);
            assert!(!error.to_string().contains('\n'), "a message is one line: {error}");
            return;
        }
    };
    let printed = condition.to_string();
    assert!(printed.len() > LONGEST || Condition::parse(&printed).as_ref() == Ok(&condition), "{printed}");
    let seen = Seen::of(seen);
    let evaluation = evaluate(&condition, &seen);
    let unknown = evaluation.actual.iter().filter(|actual| actual.value.is_none()).count();
    assert_eq!(unknown, evaluation.unknown.len(), "each reference has a value or is unknown");
    let faults = check(&condition, &type_of);
    assert!(faults.iter().all(|fault| !fault.to_string().is_empty()));
    if evaluation.unknown.is_empty() {
        let constant = |constancy| faults.contains(&ConditionFault::Constant(constancy));
        assert!(
            !constant(Constancy::AlwaysTrue) || evaluation.truth == ConditionTruth::True,
            "{condition} can fail: {evaluation:?}"
        );
        assert!(
            !constant(Constancy::NeverTrue) || evaluation.truth != ConditionTruth::True,
            "{condition} can hold: {evaluation:?}"
        );
    }
    assert_eq!(evaluation, evaluate(&condition, &seen), "equal inputs are equal answers");
}

/// Returns the type of the action `STEP.n`. Each number stands for one type, so that a condition can ask about every type.
fn type_of(action: &ActionId) -> Option<ActionType> {
    let number: usize = action.as_str().strip_prefix("STEP.")?.parse().ok()?;
    ActionType::ALL.get(number.checked_sub(1)?).copied()
}

/// The results of the actions. Each field has a value that is possible for it.
struct Seen {
    body: Value,
    text: String,
    headers: BTreeMap<String, String>,
    seed: u64,
}

impl Seen {
    fn of(text: &str) -> Self {
        let seed = text.bytes().fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let headers = text.lines().filter_map(|line| line.split_once(": "));
        Self {
            body: serde_json::from_str(text).unwrap_or(Value::Null),
            text: text.to_owned(),
            headers: headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect(),
            seed,
        }
    }
}

impl ConditionContext for Seen {
    fn field(&self, action: &ActionId, field: Field) -> Option<FieldValue<'_>> {
        let action_type = type_of(action)?;
        let row = FIELDS.iter().find(|row| row.field == field && row.action_types.contains(&action_type))?;
        // The seed is mixed with the field and the action, so that the fields of an action have different values.
        let seed =
            action.as_str().bytes().fold(self.seed.rotate_left(field as u32), |seed, byte| seed.rotate_left(7) ^ u64::from(byte));
        Some(match row.kind {
            ValueKind::Boolean => FieldValue::from(seed.is_multiple_of(2)),
            ValueKind::Integer(least, most) => {
                let span = most - least;
                FieldValue::from((least + if seed.is_multiple_of(3) { seed % 4 % (span + 1) } else { seed % (span + 1) }) as f64)
            }
            ValueKind::Text => FieldValue::Output(OutputText::whole(&self.text)),
            ValueKind::Result => FieldValue::Scalar(ConditionValue::Text(
                ResultType::ALL[usize::try_from(seed % 7).expect("a small number")].word().to_owned(),
            )),
            ValueKind::Json => FieldValue::Json(&self.body),
            ValueKind::Texts => FieldValue::Texts(&self.headers),
        })
    }
}
