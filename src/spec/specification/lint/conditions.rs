//! Rules of conditions: each can be read, speaks of what is there, can be both true and false, and lets no failing test through.

use std::collections::{BTreeMap, BTreeSet};

use crate::condition::{Condition, Context, Field, FieldValue, Truth, check, evaluate};
use crate::model::{ActionId, ActionType, ToolClass};
use crate::spec::specification::lint::commands::class_of;
use crate::spec::specification::lint::subject::{Finding, Subject, Task};
use crate::spec::specification::raw::{RawCondition, RawParameters};

/// The exit code of a test tool whose tests failed.
const TESTS_FAILED: f64 = 1.0;

/// A condition cannot be read.
pub(super) fn unreadable(subject: &Subject<'_>) -> Vec<Finding> {
    let findings = subject.tasks().flat_map(conditions).filter_map(|(pointer, raw)| {
        let error = Condition::parse(&raw.condition).err()?;
        Some(Finding::new(pointer, error.to_string()))
    });
    findings.collect()
}

/// A condition names what is not there, or decides nothing.
pub(super) fn wrong(subject: &Subject<'_>) -> Vec<Finding> {
    let of_task = |task: Task<'_>| {
        let types = types_of(task);
        let faults = conditions(task).flat_map(|(pointer, raw)| {
            let condition = Condition::parse(&raw.condition).ok();
            let faults = condition.map(|condition| check(&condition, &|action| types.get(action).copied())).unwrap_or_default();
            faults.into_iter().map(move |fault| Finding::new(pointer.clone(), fault.to_string()))
        });
        faults.collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

/// A success condition is met though tests fail.
pub(super) fn accept_failure(subject: &Subject<'_>) -> Vec<Finding> {
    let of_task = |task: Task<'_>| {
        let failed = FailedTests { actions: test_actions(task) };
        let successes = task.raw.validation_criteria.success_conditions.iter().enumerate();
        let accepting = successes.filter(|(_, raw)| {
            let evaluation = Condition::parse(&raw.condition).map(|condition| evaluate(&condition, &failed));
            evaluation.is_ok_and(|evaluation| {
                let asks_a_test = evaluation.actual.iter().any(|actual| actual.value.is_some());
                asks_a_test && evaluation.truth == Truth::True
            })
        });
        let finding = |(index, raw): (usize, &RawCondition)| {
            let pointer = task.pointer(&format!("/validationCriteria/successConditions/{index}/condition"));
            Finding::new(pointer, format!("`{}` is met when tests fail", raw.condition))
                .hint("a failing test still keeps the task from being complete; compare with `=== 0`")
        };
        accepting.map(finding).collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

/// What is known when every test tool has ended with failing tests.
struct FailedTests {
    actions: BTreeSet<ActionId>,
}

impl Context for FailedTests {
    fn field(&self, action: &ActionId, field: Field) -> Option<FieldValue<'_>> {
        (field == Field::ExitCode && self.actions.contains(action)).then_some(FieldValue::Number(TESTS_FAILED))
    }
}

fn conditions(task: Task<'_>) -> impl Iterator<Item = (String, &RawCondition)> {
    let criteria = &task.raw.validation_criteria;
    let lists = [("successConditions", &criteria.success_conditions), ("failureConditions", &criteria.failure_conditions)];
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
    let tests = task.actions().filter_map(|action| match &action.raw.parameters {
        RawParameters::TerminalCommand(command) if class_of(&action, command) == ToolClass::Test => {
            ActionId::try_from(action.raw.action_id.as_str()).ok()
        }
        RawParameters::TerminalCommand(_)
        | RawParameters::FileValidation(_)
        | RawParameters::HttpRequest(_)
        | RawParameters::CustomScript(_)
        | RawParameters::DockerCommand(_)
        | RawParameters::DatabaseQuery(_)
        | RawParameters::McpBrowserCommand(_) => None,
    });
    tests.collect()
}
