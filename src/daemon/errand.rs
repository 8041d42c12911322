//! Errands: what a person or an agent asks for that is done between runs, such as a change of a task's cycle.
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
    /// Who asks; this is recorded in the ledger (S3).
    pub asker: Asker,
    /// What is to be done.
    pub what: ErrandKind,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrandKind {
    /// Change the task's cycle.
    Cycle(CycleRequest),
    /// Compute whether the task is complete, and what is still open.
    Completion,
    /// Grant a retest: one more run of the task, if its budget allows that.
    Retest,
    /// Read the configuration again and return its problems.
    Problems,
    /// Read the specification of the task again, or a proposed one.
    Review(Option<Proposal>),
}

/// The result of an errand that was carried out.
#[derive(Debug)]
pub enum ErrandDone {
    /// The task's state after the change.
    Changed(Box<TddState>),
    /// Whether the task is complete, and what is still open.
    Computed(TaskCompletion),
    /// The run is granted.
    Granted(GrantedRetest),
    /// What is wrong with the configuration.
    Reread(Vec<String>),
    /// What is wrong with the specification, or with a proposed one, and what that would change.
    Reviewed(ReviewedSpecification),
}

/// Why an errand could not be carried out.
#[derive(Debug)]
pub enum ErrandTrouble {
    /// The configuration is wrong; one line for each problem.
    Configuration(Vec<String>),
    /// There is no such task: a line that says so, then what to do.
    NoSuchTask(Vec<String>),
    /// The errand was refused, or proctor itself failed.
    Run(ProjectError),
}

impl Errand {
    /// Reviews the task's specification, or the one proposed in its place. This works without a plan, because a wrong
    /// specification has no plan.
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

    /// Carries out any other errand. These need the plan of their task.
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

/// Returns whether a person asks. As on the command line, a process whose standard input is a terminal is taken for a person.
/// This prevents that a program makes a person's decision by accident. It does not stop one that means to: any program of the
/// same user can create a terminal for itself (S8).
fn attendance(asker: &Asker) -> PersonPresence {
    if asker.terminal.is_some() { PersonPresence::Person } else { PersonPresence::Nobody }
}
