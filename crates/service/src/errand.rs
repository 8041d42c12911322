//! Errands: requests of a person or an agent that are carried out between runs, such as a change of a task's cycle.
//!
//! The worker carries them out, so that a project that the service watches has only one writer. `project/` makes the
//! decisions.

use std::path::Path;

use crate::worker::MissingPlan;
use proctor_evidence::read_boot_id;
use proctor_model::{Asker, CycleRequest, Plan, RuleDifference, TaskCompletion, TaskId, TddState};
use proctor_plan::config::Configuration;
use proctor_project::{DescribedProject, PersonPresence, ProjectError, ProjectScope, ProjectSettings, Workspace};
use proctor_run::collaboration::{GrantedRetest, Proposal, completion_now, grant_retest, review_specification};
use proctor_sandbox::process::find_agent_above;

/// A request that is carried out between runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errand {
    /// The task that the request concerns.
    pub task: TaskId,
    /// The person or program that makes the request. The ledger records it (S3).
    pub asker: Asker,
    pub what: ErrandKind,
}

/// The actions that can be requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrandKind {
    /// Change the task's cycle.
    Cycle(CycleRequest),
    /// Compute whether the task is complete, and what is still open.
    Completion,
    /// Grant a retest: one more run of the task, if its retest budget allows it.
    Retest,
    /// Read the configuration again and return its problems.
    Problems,
    /// Check the specification of the task again, or check a proposed specification instead.
    Review(Option<Proposal>),
}

/// The result of an errand that was carried out.
#[derive(Debug)]
pub enum ErrandDone {
    /// The task's state after the change.
    Changed(Box<TddState>),
    /// Whether the task is complete, and what is still open.
    Computed(TaskCompletion),
    /// The retest is granted; the service now runs the task once more.
    Granted(GrantedRetest),
    /// Where the rules of the task's plan, or of a proposed one, differ from the approved ones; or what is wrong with the configuration
    /// or the specification, one text for each error.
    Reviewed(Result<RuleDifference, Vec<String>>),
}

/// Why an errand could not be carried out.
#[derive(Debug)]
pub enum ErrandTrouble {
    /// The configuration is wrong; one line for each problem.
    Configuration(Vec<String>),
    /// The task does not exist. The first line says so, the other lines say what to do.
    NoSuchTask(Vec<String>),
    /// The errand was refused, or proctor itself failed.
    Run(ProjectError),
}

impl Errand {
    /// Checks the task's specification, or the proposed one. This needs no plan, because a wrong specification has no
    /// plan.
    ///
    /// # Errors
    /// When the specification cannot be checked ([`ErrandTrouble`]).
    pub(super) fn review(
        &self,
        proposal: Option<&Proposal>,
        (workspace, scope): (&mut Workspace, &ProjectScope),
        described: (&ProjectSettings, &Configuration),
    ) -> Result<ErrandDone, ErrandTrouble> {
        let reviewed = review_specification(&scope.root, described, &self.task, proposal).map_err(ErrandTrouble::Run)?;
        let compared = reviewed.map(|plan| workspace.rule_difference(&scope.project, &plan));
        Ok(ErrandDone::Reviewed(match compared {
            Ok(difference) => Ok(difference.map_err(ErrandTrouble::Run)?),
            Err(errors) => Err(errors),
        }))
    }

    /// Carries out an errand of any kind except `Review`. All these kinds except `Problems` need the plan of their task.
    ///
    /// # Errors
    /// When the task has no plan or the action fails ([`ErrandTrouble`]).
    pub(super) fn perform(
        &self,
        workspace: &mut Workspace,
        scope: &ProjectScope,
        reloaded: Result<(Plan, ProjectSettings, Configuration), MissingPlan>,
    ) -> Result<ErrandDone, ErrandTrouble> {
        let (plan, settings, configuration) = match reloaded {
            Ok(reloaded) => reloaded,
            Err(MissingPlan::Unknown(lines)) => return Err(ErrandTrouble::NoSuchTask(lines)),
            Err(MissingPlan::Wrong(lines) | MissingPlan::Faulty(lines)) if self.what == ErrandKind::Problems => {
                return Ok(ErrandDone::Reviewed(Err(lines)));
            }
            // A retest of a wrong specification can only say again what is wrong. The refusal is sealed already.
            Err(MissingPlan::Faulty(lines)) if self.what == ErrandKind::Retest => return Ok(ErrandDone::Reviewed(Err(lines))),
            Err(MissingPlan::Wrong(lines) | MissingPlan::Faulty(lines)) => return Err(ErrandTrouble::Configuration(lines)),
        };
        let scope = ProjectScope { asker: self.asker.clone(), ..scope.clone() };
        let described = DescribedProject { plan: &plan, settings: &settings, configuration: &configuration };
        let done = match &self.what {
            ErrandKind::Cycle(request) => {
                let attendance = attendance(&self.asker, &workspace.agents_directory());
                let changed = workspace.change_cycle(&scope, &settings, request, attendance);
                changed.map(|state| ErrandDone::Changed(Box::new(state)))
            }
            ErrandKind::Completion => completion_now(workspace, &scope, described, &self.task).map(ErrandDone::Computed),
            ErrandKind::Retest => grant_retest(workspace, &scope, described).map(ErrandDone::Granted),
            ErrandKind::Review(_) | ErrandKind::Problems => {
                workspace.rule_difference(&scope.project, &plan).map(|difference| ErrandDone::Reviewed(Ok(difference)))
            }
        };
        done.map_err(ErrandTrouble::Run)
    }
}

/// Returns whether a person makes the request. As on the command line, a process counts as a person if its standard
/// input is a terminal, and it does not descend from a coding agent that uses proctor's hooks or its MCP server. This prevents a
/// program from making a person's decision by accident. It cannot prevent a deliberate attempt: any program of the same user can
/// create a terminal for itself, and leave its ancestors (S8).
pub(crate) fn attendance(asker: &Asker, agents: &Path) -> PersonPresence {
    let descends = || find_agent_above(agents, &read_boot_id(), i32::try_from(asker.pid).unwrap_or_default()).is_some();
    if asker.terminal.is_some() && !descends() { PersonPresence::Person } else { PersonPresence::Nobody }
}
