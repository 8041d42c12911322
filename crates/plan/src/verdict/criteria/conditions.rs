//! Evaluates a task's conditions. An unknown success condition is not met, and an unknown failure condition is
//! triggered (C67).

use crate::condition::{Condition, ConditionTruth, Evaluation, Reference, evaluate, why_no_part};
use crate::verdict::criteria::seen::{SeenAction, SeenRun};
use proctor_model::{ActualValue, ConditionValue, JudgedCondition, ResultType, TaskCondition};

/// Whether a condition must be met or must not be met. A condition of unknown value counts against the task in both
/// roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConditionRole {
    /// The condition must be met.
    Success,
    /// The condition must not be triggered; it is triggered if it is true.
    Failure,
}

/// The most characters of a text value that the judgement of a condition shows. The action's log has the whole text.
const SHOWN_CHARACTERS: usize = 200;

/// Evaluates a condition. A condition that cannot be parsed counts against the task. Normally the reader of the
/// specification has already refused such a condition.
pub(super) fn judge_condition(condition: &TaskCondition, role: ConditionRole, actions: &[SeenAction<'_>]) -> JudgedCondition {
    let run = SeenRun(actions);
    let judged =
        |decided, actual, unknown, reason| JudgedCondition { condition: condition.clone(), decided, actual, unknown, reason };
    let parsed = match Condition::parse(&condition.condition) {
        Ok(parsed) => parsed,
        Err(error) => {
            return judged(role == ConditionRole::Failure, Vec::new(), Vec::new(), Some(format!("It cannot be read: {error}")));
        }
    };
    let evaluation = evaluate(&parsed, &run);
    let (decided, counts_against) = match role {
        ConditionRole::Success => (evaluation.truth == ConditionTruth::True, evaluation.truth != ConditionTruth::True),
        ConditionRole::Failure => (evaluation.truth != ConditionTruth::False, evaluation.truth != ConditionTruth::False),
    };
    let reason = counts_against.then(|| reason(&parsed, &evaluation, &run));
    judged(decided, evaluation.actual.into_iter().map(shortened).collect(), evaluation.unknown, reason)
}

/// Returns why a condition counts against the task. If values are unknown, names them. Otherwise returns the reason of
/// the first action in the condition that did not succeed; if all succeeded, returns the observed values.
fn reason(condition: &Condition, evaluation: &Evaluation, run: &SeenRun<'_>) -> String {
    let references = condition.references();
    if evaluation.truth == ConditionTruth::Unknown && evaluation.unknown.is_empty() {
        return "The values cannot be compared".to_owned();
    }
    if evaluation.truth == ConditionTruth::Unknown {
        let unknown: Vec<String> = evaluation.unknown.iter().map(|reference| format!("`{reference}`")).collect();
        let of_unknown = references.iter().find(|reference| evaluation.unknown.contains(&reference.to_string()));
        let why = of_unknown.map(|reference| {
            why_no_part(reference, run).unwrap_or_else(|| why_unknown(run.action(&reference.action), reference))
        });
        let why = why.unwrap_or_default();
        return format!("Not known: {}; {why}", unknown.join(", "));
    }
    let unsuccessful = references
        .iter()
        .filter_map(|reference| run.action(&reference.action))
        .find(|action| action.status.is_some_and(|status| status != ResultType::Success));
    match unsuccessful.and_then(|action| action.reason) {
        Some(reason) => reason.to_owned(),
        None => values(&evaluation.actual),
    }
}

fn why_unknown(action: Option<&SeenAction<'_>>, reference: &Reference) -> String {
    let id = &reference.action;
    if let Some(cut) = action.and_then(|action| why_cut(action, reference)) {
        return cut;
    }
    match action {
        None => format!("{id} is no action of the task"),
        Some(SeenAction { status: None, .. }) => format!("{id} was not carried out"),
        Some(SeenAction { status: Some(ResultType::Success), .. }) => format!("{id} shows no such value"),
        Some(SeenAction { reason, .. }) => format!("{id}: {}", reason.unwrap_or("it did not succeed")),
    }
}

/// Returns why a text is unknown: its stream was not stored completely. Returns `None` if the stream was stored completely, or if
/// the reference is to no output stream of the action.
fn why_cut(action: &SeenAction<'_>, reference: &Reference) -> Option<String> {
    let stream = match reference.field.as_str() {
        "stdout" => action.stdout?,
        "stderr" => action.stderr?,
        _ => return None,
    };
    let kept = (stream.head.len() + stream.tail.len()) as u64;
    let (id, field, total) = (action.id, &reference.field, stream.total);
    let lost = total.saturating_sub(kept);
    let why = "is decided on the first and last bytes alone, and the others are only in its log";
    (!stream.is_complete())
        .then(|| format!("{id} printed {total} bytes on {field}, {lost} of them between those a condition sees: it {why}"))
}

fn values(actual: &[ActualValue]) -> String {
    let said = actual.iter().cloned().map(shortened).map(|actual| match actual.value {
        Some(value) => format!("`{}` is {value}", actual.reference),
        None => format!("`{}` is not known", actual.reference),
    });
    said.collect::<Vec<_>>().join(", ")
}

fn shortened(actual: ActualValue) -> ActualValue {
    match actual.value {
        Some(ConditionValue::Text(text)) if text.chars().nth(SHOWN_CHARACTERS).is_some() => {
            let shown: String = text.chars().take(SHOWN_CHARACTERS).chain(['…']).collect();
            ActualValue { value: Some(ConditionValue::Text(shown)), ..actual }
        }
        value => ActualValue { value, ..actual },
    }
}
