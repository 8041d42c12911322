//! What is done for somebody between runs: changes of a task's cycle, and what agents ask.
//!
//! The worker carries it out, so that a project the service watches has one writer. Nothing is decided here: `run/` does.

use crate::daemon::worker::Reloaded;
use crate::model::{Asker, TaskId, TddState};
use crate::run::{
    Attendance, Completion, CycleChange, Described, GrantedRetest, Proposal, ReviewedSpecification, RunError, Scope, Workspace,
    review_specification,
};

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errand {
    /// The task it is about.
    pub task: TaskId,
    /// Who asks, for the ledger (S3).
    pub asker: Asker,
    /// What.
    pub what: ErrandKind,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrandKind {
    /// Change the task's cycle.
    Cycle(CycleChange),
    /// Compute what the task amounts to.
    Completion,
    /// Grant another run.
    Retest,
    /// Read the configuration again.
    Problems,
    /// Read the specification of the task again, or a proposed one.
    Review(Option<Proposal>),
}

impl ErrandKind {
    /// Returns whether it is about a task of the configuration alone; a specification's tasks are carried out by the command line.
    fn is_of_own_task(&self) -> bool {
        match self {
            Self::Cycle(_) | Self::Retest | Self::Problems => true,
            Self::Completion | Self::Review(_) => false,
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub enum ErrandDone {
    /// The task's state from here on.
    Cycle(Box<TddState>),
    /// What the task amounts to.
    Completion(Completion),
    /// The run may be made.
    Retest(GrantedRetest),
    /// What is wrong with the configuration.
    Problems(Vec<String>),
    /// What is wrong with the specification, or with a proposed one, and what that would change.
    Reviewed(ReviewedSpecification),
}

/// Why it could not be done.
#[derive(Debug)]
pub enum ErrandTrouble {
    /// The configuration is wrong; one line for each problem.
    Configuration(Vec<String>),
    /// The project has another task.
    NoSuchTask {
        /// The one it has.
        own: TaskId,
    },
    /// It is refused, or proctor itself failed.
    Run(RunError),
}

impl Errand {
    /// Does it.
    ///
    /// # Errors
    /// As [`ErrandTrouble`] lists.
    pub(super) fn carry_out(
        &self,
        workspace: &mut Workspace,
        scope: &Scope,
        reloaded: Result<Reloaded, Vec<String>>,
    ) -> Result<ErrandDone, ErrandTrouble> {
        let reloaded = match reloaded {
            Ok(reloaded) => reloaded,
            Err(lines) if self.what == ErrandKind::Problems => return Ok(ErrandDone::Problems(lines)),
            Err(lines) => return Err(ErrandTrouble::Configuration(lines)),
        };
        if self.what.is_of_own_task() && reloaded.plan.task != self.task {
            return Err(ErrandTrouble::NoSuchTask { own: reloaded.plan.task });
        }
        let scope = Scope { asker: self.asker.clone(), ..scope.clone() };
        let described = Described { plan: &reloaded.plan, settings: &reloaded.settings };
        let done = match &self.what {
            ErrandKind::Cycle(change) => {
                let attendance = attendance(&self.asker);
                let changed = workspace.change_cycle(&scope, &reloaded.settings, &self.task, change, attendance);
                changed.map(|state| ErrandDone::Cycle(Box::new(state)))
            }
            ErrandKind::Completion => workspace.completion(&scope, described, &self.task).map(ErrandDone::Completion),
            ErrandKind::Retest => workspace.grant_retest(&scope, described).map(ErrandDone::Retest),
            ErrandKind::Review(proposal) => {
                let reviewed = review_specification(&scope.root, &reloaded.settings, &self.task, proposal.as_ref());
                reviewed.map(ErrandDone::Reviewed)
            }
            ErrandKind::Problems => Ok(ErrandDone::Problems(Vec::new())),
        };
        done.map_err(ErrandTrouble::Run)
    }
}

/// A process whose standard input is a terminal speaks for the person at it, as on the command line itself. A program of the same
/// user can make itself a terminal: this keeps a person's decision from being taken by the way, it is no barrier (S8).
fn attendance(asker: &Asker) -> Attendance {
    if asker.terminal.is_some() { Attendance::Person } else { Attendance::Nobody }
}
