//! Judges a run: statuses, verdict, counts (J5, C33, C34, C61–C63, E17).

use std::collections::BTreeMap;

use crate::verdict::wording::counted;
use proctor_model::{
    ActionJudgement, ActionPhase, Blocking, CategoryCode, CompletionStatus, HelperDeath, OverallResult, OverallStatus,
    PartialReason, ResultType, TaskStatus,
};

/// How the run as a whole ended. The results of single actions do not show this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunFlow<'a> {
    /// The run went to its end.
    Finished,
    /// proctor was stopped or died.
    Interrupted,
    /// A helper process of proctor ended while an action went on. The checked code is not the reason, so the result says nothing about it.
    HelperDied(&'a HelperDeath),
    /// A newer save stopped the run.
    Superseded,
    /// The tree changed during the run.
    Moved,
    /// The specification is wrong, so nothing was run.
    SpecificationWrong,
}

/// Counts of actions (C60, C62): executed + skipped + invalid = total.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActionCounts {
    pub total: u32,
    /// The number of actions that were carried out.
    pub executed: u32,
    /// The number of actions that were not carried out, including unchanged prerequisites.
    pub skipped: u32,
    /// The number of actions whose specification is wrong.
    pub invalid: u32,
    /// The number of actions in each phase, including skipped and invalid ones.
    pub by_phase: BTreeMap<ActionPhase, u32>,
}

/// The judgement of a run as a whole: verdict, statuses, counts, and the reasons for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunVerdict {
    /// How the run ended, for example SUCCESS or MOVED; the verdict has a field of its own.
    pub overall_status: OverallStatus,
    /// The verdict; `None` if the run was interrupted, was superseded, or its tree moved (E17).
    pub overall_result: Option<OverallResult>,
    /// Why the run has this status and this verdict, as a sentence for people.
    pub reason: String,
    /// The task's status; `None` if the run has no verdict.
    pub task_status: Option<TaskStatus>,
    pub partial_reason: Option<PartialReason>,
    /// Whether the task may be marked as done.
    pub completion_status: CompletionStatus,
    /// Why the task may or may not be marked as done, as a sentence for people.
    pub completion_reason: String,
    /// The number of blocking results.
    pub blocking: u32,
    /// How many of the blocking results are tests that failed as the RED phase of a started cycle demands.
    pub blocking_red: u32,
    /// How many of the blocking results are tests that could not be collected.
    pub blocking_collection: u32,
    /// How many results are tests that are new since the RED phase began and fail as it demands. They do not block, and keep the
    /// verdict FAILED (R6).
    pub new_reds: u32,
    /// The share of successful steps in tenths of a per cent, rounded half up; `None` if there are no steps (C63).
    pub pass_rate_tenths: Option<u32>,
    pub actions: ActionCounts,
    /// The number of steps that were not carried out.
    pub skipped_steps: u32,
    /// Whether no step has a result on the run's own tree: each was left out, or has its result from a run on another tree.
    pub nothing_proven: bool,
    /// The number of results of each of the seven types. Their sum is executed + invalid (C61).
    pub results: BTreeMap<ResultType, u32>,
}

/// The running counts over the results of a run.
#[derive(Default)]
struct Tally {
    actions: ActionCounts,
    blocking: u32,
    blocking_red: u32,
    blocking_collection: u32,
    new_reds: u32,
    allowed_findings: u32,
    expected_failures: u32,
    steps_executed: u32,
    steps_skipped: u32,
    steps_succeeded: u32,
    steps_allowed: u32,
    prerequisites_failed: u32,
}

/// Judges a run from the phase and the judgement of each action. A skipped action has no judgement: `None` (C62).
///
/// A run is never PASSED if no step was carried out or a step was skipped.
pub fn judge_run(actions: &[(ActionPhase, Option<&ActionJudgement>)], flow: &RunFlow<'_>) -> RunVerdict {
    let mut by_type: BTreeMap<_, _> = ResultType::ALL.into_iter().map(|result| (result, 0)).collect();
    let mut tally = Tally::default();
    for (phase, judgement) in actions {
        tally.count(*phase, *judgement, &mut by_type);
    }
    let overall_status = overall_status(&tally, *flow);
    let overall_result = overall_result(&tally, *flow);
    let (task_status, partial_reason) = task_status(&tally, overall_result);
    let reason = reason(&tally, *flow, overall_result);
    let is_complete = overall_result == Some(OverallResult::Passed) && partial_reason != Some(PartialReason::ExpectedRed);
    let completion_reason = if is_complete || overall_result != Some(OverallResult::Passed) {
        reason.clone()
    } else {
        "Tests fail as declared; the implementation is still to come".to_owned()
    };
    RunVerdict {
        overall_status,
        overall_result,
        reason,
        task_status,
        partial_reason,
        completion_status: if is_complete { CompletionStatus::Complete } else { CompletionStatus::Incomplete },
        completion_reason,
        blocking: tally.blocking,
        blocking_red: tally.blocking_red,
        blocking_collection: tally.blocking_collection,
        new_reds: tally.new_reds,
        pass_rate_tenths: rate_in_tenths(tally.steps_succeeded, tally.actions.in_phase(ActionPhase::Step)),
        actions: tally.actions,
        skipped_steps: tally.steps_skipped,
        nothing_proven: false,
        results: by_type,
    }
}

impl ActionCounts {
    /// Returns how many actions of a phase there are.
    pub fn in_phase(&self, phase: ActionPhase) -> u32 {
        self.by_phase.get(&phase).copied().unwrap_or_default()
    }
}

impl Tally {
    fn count(&mut self, phase: ActionPhase, judgement: Option<&ActionJudgement>, by_type: &mut BTreeMap<ResultType, u32>) {
        self.actions.total += 1;
        *self.actions.by_phase.entry(phase).or_default() += 1;
        let Some(judgement) = judgement else {
            self.actions.skipped += 1;
            self.steps_skipped += u32::from(phase == ActionPhase::Step);
            return;
        };
        let category = judgement.classification.category;
        *by_type.entry(category).or_default() += 1;
        if category == ResultType::SpecificationError {
            self.actions.invalid += 1;
            self.blocking += 1;
        } else {
            self.actions.executed += 1;
            self.count_executed(judgement, phase);
        }
    }

    fn count_executed(&mut self, judgement: &ActionJudgement, phase: ActionPhase) {
        let classification = &judgement.classification;
        let succeeded = classification.category == ResultType::Success;
        let blocks = judgement.blocking == Blocking::Blocks;
        self.blocking += u32::from(blocks);
        self.blocking_red += u32::from(blocks && classification.is_tdd_red_phase == Some(true));
        let uncollected = phase == ActionPhase::Step && classification.code == CategoryCode::CollectionError;
        self.blocking_collection += u32::from(blocks && uncollected);
        let declared = classification.is_expected_failure == Some(true);
        let new_red = !blocks && !declared && classification.is_tdd_red_phase == Some(true);
        self.new_reds += u32::from(new_red);
        self.allowed_findings += u32::from(!blocks && !succeeded && !declared && !new_red);
        self.expected_failures += u32::from(!blocks && declared);
        match phase {
            ActionPhase::Prerequisite => self.prerequisites_failed += u32::from(blocks),
            ActionPhase::Step => {
                self.steps_executed += 1;
                self.steps_succeeded += u32::from(succeeded);
                self.steps_allowed += u32::from(!blocks && !new_red);
            }
            ActionPhase::Cleanup => {}
        }
    }
}

/// Returns the overall status (J5). A run is FAILED if a prerequisite failed or no step passed. A step with findings
/// that the policy allows counts as passed.
fn overall_status(tally: &Tally, flow: RunFlow<'_>) -> OverallStatus {
    match flow {
        RunFlow::Interrupted | RunFlow::HelperDied(_) => OverallStatus::Interrupted,
        RunFlow::Superseded => OverallStatus::Superseded,
        RunFlow::Moved => OverallStatus::Moved,
        RunFlow::SpecificationWrong => OverallStatus::SpecificationError,
        RunFlow::Finished if tally.actions.invalid > 0 => OverallStatus::SpecificationError,
        RunFlow::Finished if tally.prerequisites_failed > 0 || tally.steps_allowed == 0 => OverallStatus::Failed,
        RunFlow::Finished if tally.blocking + tally.allowed_findings + tally.new_reds > 0 => OverallStatus::PartialSuccess,
        RunFlow::Finished if tally.expected_failures + tally.steps_skipped > 0 => OverallStatus::PartialSuccess,
        RunFlow::Finished => OverallStatus::Success,
    }
}

fn overall_result(tally: &Tally, flow: RunFlow<'_>) -> Option<OverallResult> {
    match flow {
        RunFlow::Interrupted | RunFlow::HelperDied(_) | RunFlow::Superseded | RunFlow::Moved => None,
        RunFlow::SpecificationWrong => Some(OverallResult::Failed),
        RunFlow::Finished if tally.blocking + tally.new_reds + tally.steps_skipped == 0 && tally.steps_executed > 0 => {
            Some(OverallResult::Passed)
        }
        RunFlow::Finished => Some(OverallResult::Failed),
    }
}

fn task_status(tally: &Tally, result: Option<OverallResult>) -> (Option<TaskStatus>, Option<PartialReason>) {
    let Some(result) = result else { return (None, None) };
    match result {
        OverallResult::Failed => (Some(TaskStatus::Failed), None),
        OverallResult::Passed if tally.expected_failures > 0 => (Some(TaskStatus::Partial), Some(PartialReason::ExpectedRed)),
        OverallResult::Passed if tally.allowed_findings > 0 => {
            (Some(TaskStatus::Partial), Some(PartialReason::NonBlockingFindings))
        }
        OverallResult::Passed => (Some(TaskStatus::Complete), None),
    }
}

fn reason(tally: &Tally, flow: RunFlow<'_>, result: Option<OverallResult>) -> String {
    match flow {
        RunFlow::Interrupted => return "The run was interrupted before its end, so there is no verdict".to_owned(),
        RunFlow::HelperDied(death) => return death.sentence(),
        RunFlow::Superseded => return "A newer save stopped the run, so there is no verdict".to_owned(),
        RunFlow::Moved => return "The tree changed while the run went on, so there is no verdict".to_owned(),
        RunFlow::SpecificationWrong => return "The specification is wrong, so nothing was run".to_owned(),
        RunFlow::Finished => {}
    }
    let steps = counted(u64::from(tally.steps_executed), "step");
    let results = counted(u64::from(tally.actions.executed + tally.actions.invalid), "result");
    if result == Some(OverallResult::Passed) {
        let findings = match tally.allowed_findings {
            0 => String::new(),
            some => format!("; {some} of them with findings that the policy allows"),
        };
        let failed = match tally.expected_failures {
            0 => "none failed".to_owned(),
            some => format!("{some} failed as declared"),
        };
        format!("{steps} ran and {failed}{findings}")
    } else if tally.prerequisites_failed > 0 && tally.steps_skipped > 0 {
        format!("A prerequisite failed, so {} skipped", steps_with_verb(tally.steps_skipped))
    } else if tally.blocking > 0 {
        format!("{} of {results} failed", tally.blocking)
    } else if tally.new_reds > 0 && tally.steps_skipped == 0 {
        format!("{} of {steps} fails as the RED phase demands: the implementation is still to come", tally.new_reds)
    } else if tally.steps_skipped > 0 {
        format!("{} skipped", steps_with_verb(tally.steps_skipped))
    } else {
        "No step was run, so nothing is shown".to_owned()
    }
}

fn steps_with_verb(steps: u32) -> String {
    format!("{} {}", counted(u64::from(steps), "step"), if steps == 1 { "was" } else { "were" })
}

/// Returns `part` of `whole` in tenths of a per cent, rounded half up.
fn rate_in_tenths(part: u32, whole: u32) -> Option<u32> {
    let (part, whole) = (u64::from(part), u64::from(whole));
    let rate = (part * 2000 + whole).checked_div(whole * 2)?;
    u32::try_from(rate).ok()
}
