//! The result of one action. It is created once, when the action is over, and then passed on by reference.
//!
//! Nothing is judged here: the supervisor says how the action ended, and the judge says what that means.

use std::collections::BTreeSet;

use crate::model::{
    Action, ActionJudgement, Blocking, Digest, DurationMs, EndedAction, EvidenceFile, Interpretation, IsolationLevel,
    Observation, PlanNote, ResultType, RunId,
};
use crate::report::{ActionResultV2, AttemptV2, SkipReason};

/// The result of one action of a run, and the files that were kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionResult {
    pub action: Action,
    pub disposition: ActionDisposition,
    /// The action's files in the run's directory, including those of earlier attempts. For a reused action see
    /// [`ReusedAction::files`].
    pub files: Vec<EvidenceFile>,
    /// The names of the environment variables that its command got.
    pub environment_names: BTreeSet<String>,
    pub notes: Vec<PlanNote>,
    /// How long it waited for the actions of other runs; `None` if it did not wait. This time is not part of its own duration.
    pub waited: Option<DurationMs>,
    /// For a prerequisite that was carried out: the digest of its inputs and outputs; `None` if it is not known.
    pub met: Option<Digest>,
}

/// Whether an action was carried out, skipped, or replaced by an earlier result.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionDisposition {
    Executed(Box<ExecutedAction>),
    Skipped(SkipReason),
    /// It was not run, because the result of an earlier run with the same inputs is used instead.
    Reused(Box<ReusedAction>),
}

/// An action that was carried out: how it ended, what was read from its output, and how it was judged.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutedAction {
    /// How the process ended, and what it printed.
    pub ended: EndedAction,
    /// What was observed in addition to the output of a process.
    pub observed: Observation,
    /// The attempts before this one, in order. None of them succeeded.
    pub earlier: Vec<AttemptV2>,
    /// The interpretation of the tool's output. The diagnostics are left out, because the judgement has the ones that count.
    pub interpretation: Interpretation,
    /// For a service: the time until it was ready; `None` if it was never ready.
    pub ready_after: Option<DurationMs>,
    pub judgement: ActionJudgement,
}

/// The result of an earlier run that is used for an action.
#[derive(Debug, Clone, PartialEq)]
pub struct ReusedAction {
    /// The run that carried out the action.
    pub run_id: RunId,
    /// The hash of that run's report, from the ledger.
    pub report_hash: Digest,
    /// The isolation level of that run.
    pub isolation_level: Option<IsolationLevel>,
    /// The action's entry in that run's report.
    pub entry: ActionResultV2,
    /// The judgement in that entry. The findings stay in the entry.
    pub judgement: ActionJudgement,
    /// The action's files in that run's directory.
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

    /// Returns the judgement, from this run or from the reused one; `None` if the action was skipped.
    pub fn judgement(&self) -> Option<&ActionJudgement> {
        match &self.disposition {
            ActionDisposition::Executed(executed) => Some(&executed.judgement),
            ActionDisposition::Reused(reused) => Some(&reused.judgement),
            ActionDisposition::Skipped(_) => None,
        }
    }

    /// Returns the execution in this run; `None` if this run did not carry it out.
    pub fn executed(&self) -> Option<&ExecutedAction> {
        match &self.disposition {
            ActionDisposition::Executed(executed) => Some(executed),
            ActionDisposition::Skipped(_) | ActionDisposition::Reused(_) => None,
        }
    }

    /// Returns whether its result makes the verdict FAILED.
    pub fn blocks(&self) -> bool {
        self.judgement().is_some_and(|judgement| judgement.blocking == Blocking::Blocks)
    }

    /// Returns why it was skipped; `None` if it was carried out or reused.
    pub fn skipped(&self) -> Option<SkipReason> {
        match &self.disposition {
            ActionDisposition::Skipped(reason) => Some(*reason),
            ActionDisposition::Executed(_) | ActionDisposition::Reused(_) => None,
        }
    }

    /// Returns its status; `None` if it was skipped.
    pub fn status(&self) -> Option<ResultType> {
        self.judgement().map(|judgement| judgement.classification.category)
    }
}

impl ExecutedAction {
    /// Returns an action that was carried out in one attempt, with nothing observed but the output of its process.
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

    /// Returns the number of this attempt, from 1.
    pub fn attempt(&self) -> u32 {
        u32::try_from(self.earlier.len()).unwrap_or(u32::MAX - 1) + 1
    }
}
