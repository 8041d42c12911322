//! Decides whether the result of an earlier run is used for a check with the same inputs.
//!
//! This file decides in which runs reuse is allowed ([`may_reuse`]), and which entry of an earlier report may be used
//! ([`entry_to_reuse`]). `inputs` decides what a check depends on, `on_this_tree` finds and reads the earlier report.
//! Whenever something is missing, unreadable or doubtful, the check is carried out.
//!
//! Only a tool's own findings are reused. A result that says that the tool is missing, was killed or ran out of time is
//! not reused, because it depends on more than the check's inputs.

mod inputs;
mod on_this_tree;

use std::collections::BTreeMap;

use proctor_evidence::report::{ActionResultV2, DispositionV2, ExecutionReportV2};
use proctor_model::{ActionJudgement, Blocking, Digest, Reuse, TreeDigest, TriggerKind};
use proctor_plan::verdict::is_determined_by_inputs;
use proctor_project::{RunRequest, Selection};

pub(crate) use self::inputs::{CheckInputs, PlaceOfCheck, RelevantTree, ReusableInputs, relevant_tree};
pub(crate) use self::on_this_tree::{
    PresentConditions, earlier_verdict, result_on_this_tree, results_on_this_tree, without_needed_checks,
};

/// The facts about a run that decide whether results may be reused in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReuseContext {
    pub(crate) trigger: TriggerKind,
    /// What the run was asked to judge.
    pub(crate) asked: RunPurpose,
}

/// What a run was asked to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunPurpose {
    /// The current tree as it is. Only such a run may reuse results.
    TheTree,
    /// Selected checks, or the tree in another phase. Nothing is reused.
    SomethingParticular,
    /// The next attempt of a started cycle. Nothing is reused, because the attempt is counted.
    AnAttempt,
}

/// The values that an earlier report must have for its entry to be reused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReuseCriteria<'a> {
    /// The id and the name of the check.
    pub(crate) check: (&'a str, &'a str),
    pub(crate) environment: Digest,
    /// The contents of the toolchains that are known, by the names of the report's components.
    pub(crate) toolchains: &'a BTreeMap<String, Digest>,
    /// The digest of the whole tree, if the check depends on all of it.
    pub(crate) tree: Option<TreeDigest>,
    /// The tree of the run that asks.
    pub(crate) now: TreeDigest,
}

/// Why an entry of an earlier report cannot be used for a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReuseRefusal {
    #[error("it is no verdict")]
    NoVerdict,
    #[error("it is of another tree")]
    OtherTree,
    #[error("it is of another environment")]
    OtherEnvironment,
    #[error("a toolchain had another content")]
    OtherToolchain,
    #[error("it has no such check")]
    NoSuchCheck,
    #[error("it did not carry the check out")]
    NotCarriedOut,
    #[error("the check came to no result of its own")]
    NotSettled,
}

impl ReuseContext {
    /// Derives the facts from the request; `cycle_started` says whether a person has started a cycle of the task.
    pub(crate) fn from_request(request: &RunRequest<'_>, cycle_started: bool) -> Self {
        let asked = match (&request.checks, request.phase) {
            // Attempts are counted (R2), so each must show what the tools do now.
            (_, _) if cycle_started => RunPurpose::AnAttempt,
            (Selection::Named(_), _) | (_, Some(_)) => RunPurpose::SomethingParticular,
            (Selection::Every | Selection::All | Selection::Missing | Selection::Triggered { .. }, None) => RunPurpose::TheTree,
        };
        Self { trigger: request.trigger.kind, asked }
    }
}

/// Returns whether reuse is allowed for a check with this setting.
pub(crate) fn may_reuse(setting: Reuse, reuse_context: ReuseContext) -> bool {
    match (setting, reuse_context.asked, reuse_context.trigger) {
        (Reuse::Off | Reuse::Own, _, _) | (_, RunPurpose::SomethingParticular | RunPurpose::AnAttempt, _) => false,
        // A person or program that waits for a verdict only needs the verdict; a reused result is as good as a new one.
        (Reuse::Watch | Reuse::Attested, RunPurpose::TheTree, TriggerKind::Start | TriggerKind::Save | TriggerKind::Wait) => true,
        // A requested run is always carried out. The same holds for its repetition after the tree changed during the
        // run.
        (Reuse::Watch | Reuse::Attested, RunPurpose::TheTree, TriggerKind::Request | TriggerKind::Moved) => false,
        (Reuse::Always, RunPurpose::TheTree, _) => true,
    }
}

/// Returns the entry of an earlier report that can be used for a check, or why none can.
pub(crate) fn entry_to_reuse<'r>(
    report: &'r ExecutionReportV2,
    wanted: &ReuseCriteria<'_>,
) -> Result<&'r ActionResultV2, ReuseRefusal> {
    if !report.execution_summary.overall_status.counts() {
        return Err(ReuseRefusal::NoVerdict);
    }
    let tree = report.tree.as_ref().map(|tree| (tree.before, tree.after));
    if wanted.tree.is_some_and(|wanted| tree != Some((wanted, Some(wanted)))) {
        return Err(ReuseRefusal::OtherTree);
    }
    if report.environment.as_ref().is_none_or(|environment| environment.digest != wanted.environment) {
        return Err(ReuseRefusal::OtherEnvironment);
    }
    // A toolchain that one of the runs does not name says nothing: an earlier version of proctor, or a hash that is not finished yet.
    let components = report.environment.iter().flat_map(|environment| &environment.components);
    let is_other = |name: &str, content| wanted.toolchains.get(name).is_some_and(|now| *now != content);
    if components.into_iter().any(|component| is_other(&component.name, component.sha256)) {
        return Err(ReuseRefusal::OtherToolchain);
    }
    let is_wanted = |entry: &&ActionResultV2| (entry.action_id.as_str(), entry.name.as_str()) == wanted.check;
    let entry = report.step_execution.results.iter().find(is_wanted).ok_or(ReuseRefusal::NoSuchCheck)?;
    // An entry that was itself reused is not accepted, because the report must name the run that carried out the check.
    if entry.disposition != DispositionV2::Executed || entry.reused.is_some() {
        return Err(ReuseRefusal::NotCarriedOut);
    }
    let ended = entry.result.as_ref().is_some_and(|result| result.exit_code.is_some() && result.pipes_left_open != Some(true));
    let settled = entry.classification.as_ref().is_some_and(|classification| is_determined_by_inputs(classification.code));
    if ended && settled && judgement_from_entry(entry).is_some() { Ok(entry) } else { Err(ReuseRefusal::NotSettled) }
}

/// Returns the judgement in an entry of a report. The findings stay in the entry.
pub(crate) fn judgement_from_entry(entry: &ActionResultV2) -> Option<ActionJudgement> {
    Some(ActionJudgement {
        classification: entry.classification.clone().filter(|classification| Some(classification.category) == entry.status)?,
        blocking: if entry.blocking? { Blocking::Blocks } else { Blocking::Allowed },
        debt: entry.debt_generation.clone()?,
        agent_action: entry.agent_action.clone()?,
        diagnostics: Vec::new(),
        summary: entry.result.as_ref()?.summary,
    })
}

#[cfg(test)]
mod tests;
