//! The result of one action. It is created once, when the action is over, and then passed on by reference.
//!
//! Nothing is judged here: `process` says how the action ended, and `verdict` says what that means.

use std::collections::BTreeSet;

use crate::report::{ActionResultV2, AttemptV2, SkipReason};
use proctor_model::{
    Action, ActionJudgement, Blocking, Digest, DurationMs, EndedAction, EvidenceFile, Interpretation, IsolationLevel,
    Observation, PlanNote, ResultType, RunId, TreeDigest,
};

/// The result of one action of a run, and the files that were kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionResult {
    pub action: Action,
    pub disposition: ActionDisposition,
    /// The action's files in the run's directory, including those of earlier attempts. For a reused action see
    /// [`ReusedAction::files`].
    pub files: Vec<EvidenceFile>,
    /// The names of the environment variables that the action's command got.
    pub environment_names: BTreeSet<String>,
    pub notes: Vec<PlanNote>,
    /// How long the action waited for actions of other runs; `None` if it did not wait. The action's own duration does
    /// not include this time.
    pub waited: Option<DurationMs>,
    /// For a prerequisite that was carried out: the digest of its inputs and outputs; `None` if it is not known.
    pub met: Option<Digest>,
}

/// Whether an action was carried out, skipped, or replaced by an earlier result.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionDisposition {
    Executed(Box<ExecutedAction>),
    Skipped(SkipReason),
    /// The action was not run: the result of an earlier run with the same inputs is used instead.
    Reused(Box<ReusedAction>),
}

/// An action that was carried out: how it ended, what was read from its output, and how it was judged.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutedAction {
    /// How the process ended, and what it printed.
    pub ended: EndedAction,
    /// What was observed in addition to the output of a process.
    pub observed: Observation,
    /// The earlier attempts of the action, in order. None of them succeeded.
    pub earlier: Vec<AttemptV2>,
    /// The interpretation of the tool's output. Its list of diagnostics is empty, because `judgement` holds them.
    pub interpretation: Interpretation,
    /// For a service: the time until it was ready; `None` if it was never ready.
    pub ready_after: Option<DurationMs>,
    pub judgement: ActionJudgement,
}

/// The result of an earlier run that is used instead of carrying out the action again.
#[derive(Debug, Clone, PartialEq)]
pub struct ReusedAction {
    /// The earlier run, which carried out the action.
    pub run_id: RunId,
    /// The tree on which the earlier run carried out the action, if it is not the tree of this run.
    pub other_tree: Option<TreeDigest>,
    /// The hash of the earlier run's report, as the ledger records it.
    pub report_hash: Digest,
    /// The isolation level of the earlier run.
    pub isolation_level: Option<IsolationLevel>,
    /// The action's entry in the earlier run's report.
    pub entry: ActionResultV2,
    /// The judgement that `entry` records. The findings are only in `entry`.
    pub judgement: ActionJudgement,
    /// The action's files in the earlier run's directory.
    pub files: Vec<EvidenceFile>,
}

impl ActionResult {
    /// Returns the result of an action that has no files in the run's directory.
    pub fn new(action: Action, disposition: ActionDisposition) -> Self {
        Self {
            action,
            disposition,
            files: Vec::new(),
            environment_names: BTreeSet::new(),
            notes: Vec::new(),
            waited: None,
            met: None,
        }
    }

    /// Returns the judgement of the action, from this run or from the earlier run whose result is reused; `None` if the
    /// action was skipped.
    pub fn judgement(&self) -> Option<&ActionJudgement> {
        match &self.disposition {
            ActionDisposition::Executed(executed) => Some(&executed.judgement),
            ActionDisposition::Reused(reused) => Some(&reused.judgement),
            ActionDisposition::Skipped(_) => None,
        }
    }

    /// Returns how this run carried out the action; `None` if it was skipped or its result is reused.
    pub fn executed(&self) -> Option<&ExecutedAction> {
        match &self.disposition {
            ActionDisposition::Executed(executed) => Some(executed),
            ActionDisposition::Skipped(_) | ActionDisposition::Reused(_) => None,
        }
    }

    /// Returns whether the action's result makes the verdict FAILED.
    pub fn blocks(&self) -> bool {
        self.judgement().is_some_and(|judgement| judgement.blocking == Blocking::Blocks)
    }

    /// Returns why the action was skipped; `None` if it was carried out or its result is reused.
    pub fn skipped(&self) -> Option<SkipReason> {
        match &self.disposition {
            ActionDisposition::Skipped(reason) => Some(*reason),
            ActionDisposition::Executed(_) | ActionDisposition::Reused(_) => None,
        }
    }

    /// Returns whether the run says nothing about the action on the run's own tree: the action was not selected, or its
    /// result was reached on another tree.
    pub fn is_unproven(&self) -> bool {
        match &self.disposition {
            ActionDisposition::Skipped(reason) => reason.is_left_out(),
            ActionDisposition::Reused(reused) => reused.other_tree.is_some(),
            ActionDisposition::Executed(_) => false,
        }
    }

    /// Returns the action's result type; `None` if it was skipped.
    pub fn status(&self) -> Option<ResultType> {
        self.judgement().map(|judgement| judgement.classification.category)
    }
}

impl ExecutedAction {
    /// Returns an action that was carried out in one attempt, and of which only the output of its process was observed.
    pub fn new(ended: EndedAction, interpretation: Interpretation, judgement: ActionJudgement) -> Self {
        Self {
            ended,
            observed: Observation::Nothing,
            earlier: Vec::new(),
            // The judgement has a copy of the findings. Keeping only that copy saves memory until the run ends.
            interpretation: Interpretation { diagnostics: Vec::new(), ..interpretation },
            ready_after: None,
            judgement,
        }
    }

    pub fn status(&self) -> ResultType {
        self.judgement.classification.category
    }

    /// Returns the number of the last attempt; the first attempt is 1.
    pub fn attempt(&self) -> u32 {
        u32::try_from(self.earlier.len()).unwrap_or(u32::MAX - 1) + 1
    }
}
