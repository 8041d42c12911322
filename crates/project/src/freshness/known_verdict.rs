//! Answers for a task without a fresh verdict of its own by a run that judged exactly the present content.

use crate::error::ProjectError;
use crate::freshness::plan_facts::PlanFacts;
use crate::freshness::{ScannedState, StatusQuestion};
use crate::known::{KnownContent, KnownQuestion, find_known};
use crate::ledger_runs::run_of_ledger;
use crate::task_history::last_verdict;
use proctor_evidence::Store;
use proctor_index::StoreIndex;
use proctor_model::{Activity, Approval, CommandExit, Freshness, KnownFrom, LastVerdict, OverallResult, StaleReason, TddState};

/// Whether a run of another checkout, or an earlier run, that judged just the present files is an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownAsked {
    Never,
    /// Where the task has no fresh verdict of its own.
    WithoutOwn,
    /// In place of the task's own verdict, too: that says nothing of the variables with which it was made.
    InAnyCase,
}

/// The verdict of a run that judged the present content, and where it comes from.
pub(super) struct KnownVerdict {
    pub(super) freshness: Freshness,
    pub(super) verdict: LastVerdict,
    pub(super) from: KnownFrom,
}

/// What is known of the present content; nothing where it is not asked for, or where the task has an answer of its own.
pub(super) enum KnownAnswer {
    Known(Box<KnownVerdict>),
    /// Why runs on the same content do not count.
    Unknown(Vec<String>),
    NotAsked,
}

/// Looks for a run that judged the present content. What cannot be read is no answer, and never keeps a project from being shown.
pub(super) fn known_verdict(
    store: &Store,
    index: &mut StoreIndex,
    question: &StatusQuestion<'_>,
    look: &ScannedState<'_>,
    (plan, own, tdd): (&PlanFacts<'_>, &Freshness, &TddState),
) -> KnownAnswer {
    let may_be_known = match own {
        Freshness::NoVerdict | Freshness::Stale(StaleReason::Tree | StaleReason::TreeAndPlan | StaleReason::Plan) => {
            question.known != KnownAsked::Never
        }
        Freshness::Fresh { .. } => question.known == KnownAsked::InAnyCase,
        Freshness::Running
        | Freshness::Queued
        | Freshness::Stale(
            StaleReason::DigestVersion
            | StaleReason::TaskGone
            | StaleReason::Checks
            | StaleReason::RewroteTree
            | StaleReason::Toolchain,
        )
        | Freshness::Moved { .. }
        | Freshness::Unstable { .. }
        | Freshness::NeedsHuman
        | Freshness::NotApproved
        | Freshness::RootMissing
        | Freshness::ConfigurationWrong
        | Freshness::SpecificationWrong => false,
    };
    let is_by_approved_rules = plan.approval == Approval::Approved && plan.changed.is_empty() && look.left.is_empty();
    // A cycle counts attempts, so each of its runs is made.
    if !may_be_known || !is_by_approved_rules || look.activity != Activity::Idle || tdd.started {
        return KnownAnswer::NotAsked;
    }
    match find(store, index, question, (look, plan)) {
        Ok(answer) => answer,
        Err(error) => {
            tracing::warn!("what is known of the present files is not used: {error}");
            KnownAnswer::NotAsked
        }
    }
}

fn find(
    store: &Store,
    index: &mut StoreIndex,
    question: &StatusQuestion<'_>,
    (look, plan): (&ScannedState<'_>, &PlanFacts<'_>),
) -> Result<KnownAnswer, ProjectError> {
    let asked = (question.project, question.readable(), look.trees.as_ref(), plan.plan.as_deref());
    let (Some(project), Some((settings, configuration)), Some((tree, _)), Some(plan)) = asked else {
        return Ok(KnownAnswer::NotAsked);
    };
    let gate = &configuration.gate;
    let known = KnownQuestion { project, root: question.root, plan, tree, settings, gate, ambient: question.ambient };
    let (project, from) = match find_known(store, index, &known)? {
        KnownContent::Known { project, from } => (project, from),
        KnownContent::Unknown(reasons) => return Ok(KnownAnswer::Unknown(reasons)),
    };
    let Some(run) = run_of_ledger(store, &project, &from.run)? else { return Ok(KnownAnswer::NotAsked) };
    let verdict = last_verdict(store, &project, run, &TddState::default());
    let (result, exit) = match verdict.result {
        Some(OverallResult::Passed) => (OverallResult::Passed, CommandExit::Proceed),
        Some(OverallResult::Failed) | None => (OverallResult::Failed, CommandExit::CodeNeedsWork),
    };
    let freshness = Freshness::Fresh { result, exit };
    Ok(KnownAnswer::Known(Box::new(KnownVerdict { freshness, verdict, from })))
}
