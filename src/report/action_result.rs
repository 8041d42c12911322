//! What became of one action: made once, when it is over, and passed on by reference from then on.
//!
//! Nothing is judged here: how it ended is the supervisor's word, what that amounts to is the judge's.

use std::collections::BTreeSet;

use crate::model::{
    Action, ActionJudgement, Blocking, Digest, DurationMs, Ended, EvidenceFile, Interpretation, IsolationLevel, Observed,
    PlanNote, ResultType, RunId,
};
use crate::report::{ActionResultV2, AttemptV2, SkipReason};

/// What became of one action of a run, and what was kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionResult {
    pub action: Action,
    pub disposition: ActionDisposition,
    /// What it left in the run's directory, earlier attempts included. Files of a reused action are in [`ReusedAction::files`].
    pub files: Vec<EvidenceFile>,
    /// The names of the variables that its command was given.
    pub environment_names: BTreeSet<String>,
    pub notes: Vec<PlanNote>,
    /// How long it waited for other runs' actions, where it did. No part of its own time.
    pub waited: Option<DurationMs>,
    /// For a prerequisite that was carried out: the digest of what it started from and what it made; none where that is not known.
    pub met: Option<Digest>,
}

/// Whether an action was carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionDisposition {
    /// It was carried out.
    Executed(Box<ExecutedAction>),
    /// It was not run.
    Skipped(SkipReason),
    /// It was not run: an earlier run's result on the same inputs stands for it.
    Reused(Box<ReusedAction>),
}

/// An action that was carried out: how it ended, what was read and what it was judged to be.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutedAction {
    /// How it ended and what it printed.
    pub ended: Ended,
    /// What it saw beside the output of a process.
    pub observed: Observed,
    /// The attempts before this one, in their order: none of them succeeded.
    pub earlier: Vec<AttemptV2>,
    /// What its tool's interpreter found, without the diagnostics: those that count are the judgement's.
    pub interpretation: Interpretation,
    /// For a service: how long its start took; none where it was never ready.
    pub ready_after: Option<DurationMs>,
    pub judgement: ActionJudgement,
}

/// An earlier run's result that stands for an action.
#[derive(Debug, Clone, PartialEq)]
pub struct ReusedAction {
    /// The run that carried the action out.
    pub run_id: RunId,
    /// The hash of its report, as the ledger has it.
    pub report_hash: Digest,
    /// The level of isolation that run reached.
    pub isolation_level: Option<IsolationLevel>,
    /// The action's entry in that report.
    pub entry: ActionResultV2,
    /// What that entry says the action was judged to be. Its findings stay in the entry.
    pub judgement: ActionJudgement,
    /// The action's files in that run's directory.
    pub files: Vec<EvidenceFile>,
}

impl ActionResult {
    /// Returns the result of an action of which nothing was kept in the run's directory.
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

    /// Returns what it was judged to be, in this run or in the one whose result stands for it; none where it was skipped.
    pub fn judgement(&self) -> Option<&ActionJudgement> {
        match &self.disposition {
            ActionDisposition::Executed(executed) => Some(&executed.judgement),
            ActionDisposition::Reused(reused) => Some(&reused.judgement),
            ActionDisposition::Skipped(_) => None,
        }
    }

    /// Returns how this run carried it out; none where it did not.
    pub fn executed(&self) -> Option<&ExecutedAction> {
        match &self.disposition {
            ActionDisposition::Executed(executed) => Some(executed),
            ActionDisposition::Skipped(_) | ActionDisposition::Reused(_) => None,
        }
    }

    /// Returns whether its result decides the verdict against the run.
    pub fn blocks(&self) -> bool {
        self.judgement().is_some_and(|judgement| judgement.blocking == Blocking::Blocks)
    }

    /// Returns why it was not run; none where it was, or an earlier result stands for it.
    pub fn skipped(&self) -> Option<SkipReason> {
        match &self.disposition {
            ActionDisposition::Skipped(reason) => Some(*reason),
            ActionDisposition::Executed(_) | ActionDisposition::Reused(_) => None,
        }
    }

    /// Returns its status; none where it was skipped.
    pub fn status(&self) -> Option<ResultType> {
        self.judgement().map(|judgement| judgement.classification.category)
    }
}

impl ExecutedAction {
    /// Returns an action that was carried out once, and saw nothing but the output of its process.
    pub fn new(ended: Ended, interpretation: Interpretation, judgement: ActionJudgement) -> Self {
        Self {
            ended,
            observed: Observed::Nothing,
            earlier: Vec::new(),
            // One copy of the findings is kept to the end of the run.
            interpretation: Interpretation { diagnostics: Vec::new(), ..interpretation },
            ready_after: None,
            judgement,
        }
    }

    pub fn status(&self) -> ResultType {
        self.judgement.classification.category
    }

    /// Returns which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        u32::try_from(self.earlier.len()).unwrap_or(u32::MAX - 1) + 1
    }
}
