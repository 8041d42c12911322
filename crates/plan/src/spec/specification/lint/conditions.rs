//! Lint rules for conditions: each can be parsed, refers to existing actions and fields, can be both true and false,
//! and tolerates no failing test.

use std::collections::{BTreeMap, BTreeSet};

use crate::condition::{
    Condition, ConditionContext, ConditionTruth, FIELDS, Field, FieldValue, Reference, can_be, check, evaluate,
};
use crate::spec::specification::lint::commands::class_of;
use crate::spec::specification::lint::operands::{checked_kind, word_of};
use crate::spec::specification::lint::subject::{Action, Subject, Task};
use crate::spec::specification::raw::{RawCondition, RawValidationType};
use proctor_model::{ActionId, ActionPhase, ActionType, ConditionValue, Problem, ResultType, ToolClass};

const SUCCESS_CONDITIONS: &str = "successConditions";

/// The exit code that every test tool is assumed to have after failed tests.
const TESTS_FAILED: f64 = 1.0;

/// The largest number of failed tests that is tried. Larger numbers are not exact in floating point.
const MOST_TESTS: f64 = 9_007_199_254_740_991.0;

/// Reports conditions that cannot be parsed.
pub(super) fn unreadable(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = subject.tasks().flat_map(conditions).filter_map(|(pointer, raw)| {
        let error = Condition::parse(&raw.condition).err()?;
        Some(Problem::new(pointer, error.to_string()))
    });
    findings.collect()
}

/// Reports conditions that refer to something that does not exist, or that always give the same answer.
pub(super) fn faults(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let types = types_of(task);
        let faults = conditions(task).flat_map(|(pointer, raw)| {
            let condition = Condition::parse(&raw.condition).ok();
            let faults = condition.map(|condition| check(&condition, &|action| types.get(action).copied())).unwrap_or_default();
            faults.into_iter().map(move |fault| Problem::new(pointer.clone(), fault.to_string()))
        });
        faults.collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

/// The fields of a command that has ended. A service goes on until the task's steps have ended, and shows none of them.
const FIELDS_OF_AN_END: &[Field] = &[
    Field::ExitCode,
    Field::ErrorCount,
    Field::WarningCount,
    Field::TestsPassed,
    Field::TestsFailed,
    Field::TestsSkipped,
    Field::TestsTotal,
];

/// Reports conditions that ask a service for what only a command that has ended shows, so that they can never be decided in the
/// task's favour.
pub(super) fn of_services(subject: &Subject<'_>) -> Vec<Problem> {
    let is_service = |action: &Action<'_>| action.phase == ActionPhase::Prerequisite && subject.is_service(action);
    let of_task = |task: Task<'_>| {
        let services: BTreeSet<String> = task.actions().filter(is_service).map(|action| action.raw.action_id.clone()).collect();
        let is_never_known = |reference: &Reference| {
            services.contains(reference.action.as_str())
                && field_of(&reference.field).is_some_and(|field| FIELDS_OF_AN_END.contains(&field))
        };
        let findings = conditions(task).filter_map(|(pointer, raw)| {
            let condition = Condition::parse(&raw.condition).ok()?;
            // An unknown success condition is not met, and an unknown failure condition is triggered.
            let wanted = pointer.contains(SUCCESS_CONDITIONS);
            if can_be(&condition, wanted, &is_never_known) {
                return None;
            }
            let reference = condition.references().into_iter().find(|reference| is_never_known(reference))?;
            let (column, action) = (condition.column(reference.at), &reference.action);
            let message = format!(
                "column {column}: `{reference}` is never known: {action} is a service, which goes on until the steps have ended"
            );
            Some(Problem::new(pointer, message).hint(format!("ask whether it is ready: `{action}.success === true`")))
        });
        findings.collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Notes conditions on what a look at a file does not see: an action that reads no content, or compares it with no pattern.
pub(super) fn of_unread_files(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let looks: BTreeMap<&str, (RawValidationType, bool)> = task
            .actions()
            .filter_map(|action| {
                let kind = checked_kind(action.raw.parameters.file()?);
                let capture = action.raw.evidence_capture.as_ref().and_then(|capture| capture.file_contents);
                Some((action.raw.action_id.as_str(), (kind, capture == Some(true))))
            })
            .collect();
        let findings = conditions(task).filter_map(|(pointer, raw)| {
            let condition = Condition::parse(&raw.condition).ok()?;
            let why = condition.references().into_iter().find_map(|reference| {
                let (kind, is_captured) = looks.get(reference.action.as_str())?;
                let needed = unseen_by(*kind, *is_captured, field_of(&reference.field)?)?;
                let column = condition.column(reference.at);
                Some((format!("column {column}: `{reference}` is never known: {} does not show it", word_of(*kind)), needed))
            });
            why.map(|(message, needed)| Problem::new(pointer, message).hint(needed))
        });
        findings.collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Returns what would show a field that a look at a file of this kind does not see; `None` if it sees the field.
fn unseen_by(kind: RawValidationType, is_captured: bool, field: Field) -> Option<&'static str> {
    let reads = match kind {
        RawValidationType::Exists | RawValidationType::SizeCheck => is_captured,
        RawValidationType::ContentMatch | RawValidationType::SchemaValid | RawValidationType::HashMatch => true,
    };
    if field == Field::IsValidJson && !reads {
        return Some("SCHEMA_VALID reads the file as JSON");
    }
    let has_pattern = kind == RawValidationType::ContentMatch;
    (field == Field::PatternMatches && !has_pattern).then_some("CONTENT_MATCH compares with a pattern")
}

fn field_of(name: &str) -> Option<Field> {
    FIELDS.iter().find(|row| row.name == name).map(|row| row.field)
}

/// Reports success conditions that are met although tests fail.
pub(super) fn accept_failure(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let actions = test_actions(task);
        let successes = task.raw.validation_criteria.success_conditions.iter().enumerate();
        let accepting = successes.filter(|(_, raw)| {
            let Ok(condition) = Condition::parse(&raw.condition) else { return false };
            counts_to_try(&raw.condition).into_iter().any(|count| {
                let evaluation = evaluate(&condition, &FailedTests { actions: &actions, count });
                let asks_a_test = evaluation.actual.iter().any(|actual| actual.value.is_some());
                asks_a_test && evaluation.truth == ConditionTruth::True
            })
        });
        let finding = |(index, raw): (usize, &RawCondition)| {
            let pointer = task.pointer(&format!("/validationCriteria/successConditions/{index}/condition"));
            Problem::new(pointer, format!("`{}` is met when tests fail", raw.condition))
                .hint("a failing test still keeps the task from being complete; compare with `=== 0`")
        };
        accepting.map(finding).collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Returns the numbers of failed tests with which a condition is tried. A comparison can change only at a constant, so
/// one number between each two constants is enough.
fn counts_to_try(condition: &str) -> Vec<f64> {
    let constants =
        condition.split(|character: char| !character.is_ascii_digit()).filter_map(|digits| digits.parse::<f64>().ok());
    let counts = constants.flat_map(|constant| [constant, constant + 1.0]).filter(|count| (1.0..=MOST_TESTS).contains(count));
    std::iter::once(1.0).chain(counts).collect()
}

/// The results that conditions are tried with: every action with a test tool has failing tests, and nothing else is
/// known.
struct FailedTests<'t> {
    actions: &'t BTreeSet<ActionId>,
    /// The number of failed tests that every test tool reports.
    count: f64,
}

impl ConditionContext for FailedTests<'_> {
    fn field(&self, action: &ActionId, field: Field) -> Option<FieldValue<'_>> {
        if !self.actions.contains(action) {
            return None;
        }
        match field {
            Field::ExitCode => Some(FieldValue::from(TESTS_FAILED)),
            Field::Success => Some(FieldValue::from(false)),
            Field::Result => Some(FieldValue::Scalar(ConditionValue::Text(ResultType::TestFailure.word().to_owned()))),
            Field::TestsFailed => Some(FieldValue::from(self.count)),
            Field::Duration
            | Field::Stdout
            | Field::Stderr
            | Field::ErrorCount
            | Field::WarningCount
            | Field::TestsPassed
            | Field::TestsSkipped
            | Field::TestsTotal
            | Field::StatusCode
            | Field::Body
            | Field::Headers
            | Field::Exists
            | Field::Size
            | Field::IsValidJson
            | Field::PatternMatches
            | Field::Count
            | Field::Initialized => None,
        }
    }
}

fn conditions(task: Task<'_>) -> impl Iterator<Item = (String, &RawCondition)> {
    let criteria = &task.raw.validation_criteria;
    let lists = [(SUCCESS_CONDITIONS, &criteria.success_conditions), ("failureConditions", &criteria.failure_conditions)];
    lists.into_iter().flat_map(move |(name, list)| {
        list.iter()
            .enumerate()
            .map(move |(index, raw)| (task.pointer(&format!("/validationCriteria/{name}/{index}/condition")), raw))
    })
}

fn types_of(task: Task<'_>) -> BTreeMap<ActionId, ActionType> {
    let ids = task.actions().filter_map(|action| {
        let id = ActionId::try_from(action.raw.action_id.as_str()).ok()?;
        let is_review = action.raw.proctor.as_ref().is_some_and(|added| added.review.is_some());
        Some((id, if is_review { ActionType::Review } else { action.raw.parameters.action_type() }))
    });
    ids.collect()
}

fn test_actions(task: Task<'_>) -> BTreeSet<ActionId> {
    let tests = task
        .actions()
        .filter(|action| action.raw.parameters.command().is_some_and(|command| class_of(action, command) == ToolClass::Test));
    let tests = tests.filter_map(|action| ActionId::try_from(action.raw.action_id.as_str()).ok());
    tests.collect()
}
