//! What a plan asks for, in the terms an approval is written down in.

use crate::model::{
    Action, ActionTerms, Digest, EvidenceCapture, OnSurvivors, Plan, PlanTerms, PolicySource, TaskCriteria, ToolPolicy,
};
use crate::spec::digest::canonical;

/// The most characters of what an action does that are kept for people.
const SHOWN: usize = 120;
/// Every step.
const ALL: u32 = 10_000;

/// Returns what a plan asks for.
pub fn plan_terms(plan: &Plan) -> PlanTerms {
    let criteria = plan.criteria.as_ref();
    let conditions = |conditions: Option<&Vec<crate::model::TaskCondition>>| -> Vec<String> {
        conditions.into_iter().flatten().map(|condition| condition.condition.clone()).collect()
    };
    PlanTerms {
        actions: plan.actions().map(|action| (action.id.clone(), action_terms(action))).collect(),
        timeout_ms: plan.timeout.map(millis),
        success: conditions(criteria.map(|criteria| &criteria.success)),
        failure: conditions(criteria.map(|criteria| &criteria.failure)),
        expected_output: criteria.and_then(|criteria| criteria.expected_output.clone()).unwrap_or_default(),
        pass_rate_basis_points: criteria.map(|criteria| {
            let rate = criteria.minimum_pass_rate_basis_points.filter(|_| !criteria.all_steps_must_pass);
            rate.unwrap_or(ALL)
        }),
        expected_failing_tests: criteria
            .and_then(|criteria| criteria.expected_failure.as_ref())
            .map(|expected| expected.tests.clone())
            .unwrap_or_default(),
        required_evidence: criteria.map(|criteria| criteria.required_evidence.clone()).unwrap_or_default(),
        task_status_lock: criteria.is_none_or(|criteria| criteria.task_status_lock),
        judged: criteria.map(judged),
        dependencies: plan.specification.iter().flat_map(|source| source.dependencies.iter().cloned()).collect(),
        debt: plan.debt.iter().filter(|debt| debt.enabled).flat_map(|debt| debt.severities.iter().copied()).collect(),
    }
}

/// Returns the digest of every criterion that has no term of its own.
fn judged(criteria: &TaskCriteria) -> Digest {
    let mut rest = criteria.clone();
    rest.success.clear();
    rest.failure.clear();
    (rest.expected_output, rest.minimum_pass_rate_basis_points, rest.expected_failure) = (None, None, None);
    rest.required_evidence.clear();
    (rest.all_steps_must_pass, rest.task_status_lock) = (false, false);
    canonical(&rest)
}

fn action_terms(action: &Action) -> ActionTerms {
    ActionTerms {
        does: does(action),
        shown: action.command.display.chars().take(SHOWN).collect(),
        expected_exit_codes: action.expected_exit_codes.clone(),
        timeout_ms: millis(action.timeout),
        idle_timeout_ms: action.idle_timeout.map(millis),
        max_output_bytes: action.max_output.map(|size| size.0),
        policy: action.policy.clone().map(|policy| ToolPolicy { source: PolicySource::Default, ..policy }),
        coverage: action.coverage.clone(),
        retry_attempts: action.retry_attempts,
        on_survivors: action.on_survivors,
    }
}

/// Returns the digest of everything of an action that has no term of its own, but for what is for people, what is shown of it, and
/// when it takes its turn: these make no verdict easier.
fn does(action: &Action) -> Digest {
    let mut rest = action.clone();
    rest.name.clear();
    rest.description.clear();
    rest.command.display.clear();
    rest.expected_exit_codes.clear();
    (rest.timeout, rest.grace) = Default::default();
    (rest.idle_timeout, rest.max_output, rest.policy, rest.coverage) = Default::default();
    rest.retry_attempts = 0;
    rest.on_survivors = OnSurvivors::Report;
    rest.continue_on_failure = false;
    rest.after.clear();
    rest.capture = EvidenceCapture::default();
    canonical(&rest)
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
