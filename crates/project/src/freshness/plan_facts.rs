//! Finds out in which state a task's current plan is.

use std::borrow::Cow;

use crate::error::ProjectError;
use crate::freshness::{FilesRead, ScannedState, StatusQuestion, own_task};
use crate::settings_approval::rule_difference;
use crate::task_error::TaskError;
use proctor_index as store;
use proctor_model::{Approval, CurrentPlan, LastVerdict, Plan, RuleChange, TaskId};

/// The state of a task's current plan, whether the plan is approved, and its problems in words for people.
pub(super) struct PlanFacts<'a> {
    pub(super) now: CurrentPlan,
    /// The plan itself, if it is known.
    pub(super) plan: Option<Cow<'a, Plan>>,
    pub(super) approval: Approval,
    pub(super) problems: Vec<String>,
    /// Which rules are not the approved ones, and open nothing.
    pub(super) changed: Vec<RuleChange>,
}

pub(super) fn plan_facts<'a>(
    index: &store::StoreIndex,
    question: &StatusQuestion<'a>,
    look: &ScannedState<'_>,
    task: &TaskId,
    verdict: Option<&LastVerdict>,
) -> Result<PlanFacts<'a>, ProjectError> {
    let facts = |now, problems| PlanFacts { now, plan: None, approval: question.approval, problems, changed: Vec::new() };
    let is_own = own_task(question) == *task;
    let plan = match &question.asked {
        FilesRead::Described(Ok(described)) if is_own => Cow::Borrowed(described.plan),
        FilesRead::Described(Err(undescribed)) if is_own || undescribed.readable.is_none() => {
            return Ok(facts(CurrentPlan::Wrong, Vec::new()));
        }
        FilesRead::Described(_) => match look.specifications.map(|(read, configuration)| read.plan(configuration, task)) {
            Some(Ok(plan)) => Cow::Owned(plan),
            // The task has a verdict but is in no specification, so it was removed.
            Some(Err(TaskError::Unknown { .. })) if verdict.is_some() => return Ok(facts(CurrentPlan::WithoutTask, Vec::new())),
            Some(Err(error)) => return Ok(facts(CurrentPlan::SpecificationWrong, error.lines())),
            // The specifications were not read, because a run is under way or the directory is missing. The tree was
            // not read either, so nothing is called fresh.
            None => return Ok(facts(plan_of_verdict(verdict), Vec::new())),
        },
        FilesRead::Unlooked => return Ok(facts(plan_of_verdict(verdict), Vec::new())),
    };
    let digest = proctor_plan::spec::plan_digest(&plan);
    let difference = question.project.map(|project| rule_difference(index, project, &plan)).transpose()?.unwrap_or_default();
    let approval = if difference.opens.is_empty() { question.approval } else { Approval::NotApproved };
    let problems = if difference.opens.is_empty() { Vec::new() } else { difference.texts() };
    Ok(PlanFacts { now: CurrentPlan::Known(digest), plan: Some(plan), approval, problems, changed: difference.changed })
}

fn plan_of_verdict(verdict: Option<&LastVerdict>) -> CurrentPlan {
    verdict.and_then(|verdict| verdict.plan).map_or(CurrentPlan::WithoutTask, CurrentPlan::Known)
}
