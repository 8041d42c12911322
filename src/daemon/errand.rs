//! What is done for somebody between runs: changes of a task's cycle, and what agents ask.
//!
//! The worker carries it out, so that a project the service watches has one writer. Nothing is decided here: `run/` does.

use crate::collaboration::{GrantedRetest, Proposal, ReviewedSpecification, review_specification};
use crate::config::Configuration;
use crate::daemon::worker::MissingPlan;
use crate::model::{Asker, CycleRequest, Plan, TaskCompletion, TaskId, TddState};
use crate::project::{DescribedProject, PersonPresence, ProjectError, ProjectScope, ProjectSettings, Workspace};

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
    Cycle(CycleRequest),
    /// Compute what the task amounts to.
    Completion,
    /// Grant another run.
    Retest,
    /// Read the configuration again.
    Problems,
    /// Read the specification of the task again, or a proposed one.
    Review(Option<Proposal>),
}

/// What came of it.
#[derive(Debug)]
pub enum ErrandDone {
    /// The task's state from here on.
    Changed(Box<TddState>),
    /// What the task amounts to.
    Computed(TaskCompletion),
    /// The run may be made.
    Granted(GrantedRetest),
    /// What is wrong with the configuration.
    Reread(Vec<String>),
    /// What is wrong with the specification, or with a proposed one, and what that would change.
    Reviewed(ReviewedSpecification),
}

/// Why it could not be done.
#[derive(Debug)]
pub enum ErrandTrouble {
    /// The configuration is wrong; one line for each problem.
    Configuration(Vec<String>),
    /// There is no such task: a line that says so, then what to do.
    NoSuchTask(Vec<String>),
    /// It is refused, or proctor itself failed.
    Run(ProjectError),
}

impl Errand {
    /// Reads a specification, or what is proposed instead; that needs no plan, and a specification that is wrong has none.
    ///
    /// # Errors
    /// As [`ErrandTrouble`] lists.
    pub(super) fn review(
        &self,
        proposal: Option<&Proposal>,
        scope: &ProjectScope,
        settings: &ProjectSettings,
    ) -> Result<ErrandDone, ErrandTrouble> {
        let reviewed = review_specification(&scope.root, settings, &self.task, proposal);
        reviewed.map(ErrandDone::Reviewed).map_err(ErrandTrouble::Run)
    }

    /// Does anything else, which needs the plan of its task.
    ///
    /// # Errors
    /// As [`ErrandTrouble`] lists.
    pub(super) fn perform(
        &self,
        workspace: &mut Workspace,
        scope: &ProjectScope,
        reloaded: Result<(Plan, ProjectSettings, Configuration), MissingPlan>,
    ) -> Result<ErrandDone, ErrandTrouble> {
        let (plan, settings, configuration) = match reloaded {
            Ok(reloaded) => reloaded,
            Err(MissingPlan::Unknown(lines)) => return Err(ErrandTrouble::NoSuchTask(lines)),
            Err(MissingPlan::Wrong(lines)) if self.what == ErrandKind::Problems => return Ok(ErrandDone::Reread(lines)),
            Err(MissingPlan::Wrong(lines)) => return Err(ErrandTrouble::Configuration(lines)),
        };
        let scope = ProjectScope { asker: self.asker.clone(), ..scope.clone() };
        let described = DescribedProject { plan: &plan, settings: &settings, configuration: &configuration };
        let done = match &self.what {
            ErrandKind::Cycle(request) => {
                let attendance = attendance(&self.asker);
                let changed = workspace.change_cycle(&scope, &settings, request, attendance);
                changed.map(|state| ErrandDone::Changed(Box::new(state)))
            }
            ErrandKind::Completion => workspace.completion(&scope, described, &self.task).map(ErrandDone::Computed),
            ErrandKind::Retest => workspace.grant_retest(&scope, described).map(ErrandDone::Granted),
            ErrandKind::Review(_) | ErrandKind::Problems => Ok(ErrandDone::Reread(Vec::new())),
        };
        done.map_err(ErrandTrouble::Run)
    }
}

/// A process whose standard input is a terminal speaks for the person at it, as on the command line itself. A program of the same
/// user can make itself a terminal: this keeps a person's decision from being taken by the way, it is no barrier (S8).
fn attendance(asker: &Asker) -> PersonPresence {
    if asker.terminal.is_some() { PersonPresence::Person } else { PersonPresence::Nobody }
}
