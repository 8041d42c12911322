//! The plans of a project's tasks on the worker's thread, and what happens if a task has none: the refusal of its run is
//! sealed.

use std::io;

use nix::libc;

use crate::effect::Order;
use crate::errand::ErrandTrouble;
use crate::event::RunFinish;
use crate::project_source::ProjectDefinition;
use crate::worker::{FinishedRun, RunFailure, Worker, WorkerReport, WorkerState, WorkerTask, finished_of};
use proctor_model::{Action, Plan, StopReason, TaskId, Trigger};
use proctor_plan::config::nearest;
use proctor_project::{
    ApprovalQuestion, ApprovedBy, MissingOwnPlan, PlanlessReason, ProjectError, ProjectSettings, RunOutcome, Selection, TaskError,
};
use proctor_run::RefusedRequest;
use proctor_tree::TreeHints;

/// Why a task has no plan, in lines for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MissingPlan {
    /// The configuration is wrong, or the project has no checks of its own.
    Wrong(Vec<String>),
    /// The task's specification has errors.
    Faulty(Vec<String>),
    /// No specification defines the task.
    Unknown(Vec<String>),
}

impl WorkerState {
    /// Returns the plan of a task, or lines for people if the task has none. A specification is read only when its own
    /// task is requested.
    pub(super) fn plan_of(
        &mut self,
        reloaded: &mut ProjectDefinition,
        task: &TaskId,
        hints: &TreeHints,
    ) -> Result<Result<Plan, MissingPlan>, ProjectError> {
        if *task == TaskId::default_task() {
            let taken = MissingOwnPlan { reason: PlanlessReason::Wrong, lines: Vec::new() };
            let missing = match std::mem::replace(&mut reloaded.default_plan, Err(taken)) {
                Ok(plan) => return Ok(Ok(plan)),
                Err(missing) => missing,
            };
            // In a project without checks, the errors in its specification files say why nothing can be run.
            let mut lines = missing.lines;
            if missing.reason == PlanlessReason::WithoutChecks {
                let specifications = self.workspace.read_specifications(&reloaded.settings, &self.scope, hints)?;
                lines.extend(specifications.faults_without_task().into_iter().map(ToString::to_string));
            }
            return Ok(Err(MissingPlan::Wrong(lines)));
        }
        let by = (&reloaded.settings, &reloaded.configuration);
        let read = self.workspace.plan_of_task(by, &self.scope, task, hints)?;
        Ok(read.map_err(|error| match error {
            TaskError::Unknown { .. } => MissingPlan::Unknown(error.lines()),
            TaskError::Twice { .. } | TaskError::Wrong { .. } => MissingPlan::Faulty(error.lines()),
            TaskError::Approval { .. } => MissingPlan::Wrong(error.lines()),
        }))
    }

    /// Seals the refusal of a run whose task has errors in its specification, so that the task's report says so. The same
    /// errors are sealed once in a row: a save that leaves them as they are adds nothing.
    pub(super) fn refuse(
        &mut self,
        (task, trigger): (&TaskId, Trigger),
        reloaded: &ProjectDefinition,
        lines: Vec<String>,
    ) -> RunFailure {
        if self.refused.get(task) == Some(&lines) {
            return RunFailure::Configuration(lines);
        }
        let ProjectDefinition { settings, configuration, .. } = reloaded;
        let refusal = RefusedRequest { task, scope: &self.scope, settings, configuration, trigger };
        let report = &self.report;
        let sealed = proctor_run::refuse(&mut self.workspace, &refusal, &mut |progress| {
            let _gone = report(WorkerReport::Progress(progress));
        });
        match sealed {
            Ok(Some(sealed)) => {
                self.refused.insert(task.clone(), lines.clone());
                RunFailure::Specification { lines, sealed: Box::new(sealed) }
            }
            // The errors were corrected a moment ago: the save that did it starts the next run.
            Ok(None) => RunFailure::Configuration(lines),
            Err(error) => RunFailure::Run(error),
        }
    }
}

// A run that was ordered for a check that is not there. Pure.

/// A name that is no check of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCheck {
    name: String,
    /// The checks of the plan.
    known: Vec<String>,
}

impl UnknownCheck {
    /// Returns the first selected name that is no check of the plan. A run of such a check would run nothing.
    pub(super) fn find(selection: &Selection, checks: &[Action]) -> Option<Self> {
        let Selection::Named(names) = selection else { return None };
        let name = names.iter().find(|name| checks.iter().all(|check| check.name != **name))?;
        Some(Self { name: name.clone(), known: checks.iter().map(|check| check.name.clone()).collect() })
    }

    /// Returns the error message.
    pub fn message(&self) -> String {
        format!("there is no check `{}`", self.name)
    }

    /// Returns advice: the name that was probably meant, or all names.
    pub fn hint(&self) -> String {
        match nearest(&self.name, self.known.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the checks are {}", self.known.join(", ")),
        }
    }
}

// The reports about requests that were not carried out, because the system refused what they need.

impl FinishedRun {
    /// Returns the end of a run that was not carried out.
    pub(super) fn failed(order: &Order, finished: RunFinish, trouble: RunFailure) -> Self {
        Self { finished, copied: None, carried: Err(trouble), task: order.task.clone() }
    }

    /// Returns the end of a run that was stopped while it waited for its place. After a newer save, nobody is told of it.
    pub(super) fn not_begun(order: &Order, reason: StopReason) -> Self {
        if reason != StopReason::Superseded {
            return Self::failed(order, RunFinish::Stopped, RunFailure::Run(ProjectError::StoppedWaiting(reason)));
        }
        Self { finished: RunFinish::Stopped, copied: None, carried: Ok(RunOutcome::Withdrawn), task: order.task.clone() }
    }

    /// Returns the end of a run that was carried out, or why it could not be.
    pub(super) fn of(order: &Order, carried: Result<RunOutcome, ProjectError>) -> Self {
        let copied = match &carried {
            Ok(RunOutcome::Judged(sealed)) => sealed.copied.clone(),
            Ok(_) | Err(_) => None,
        };
        let finished = finished_of(&carried, &order.selection);
        Self { finished, copied, carried: carried.map_err(RunFailure::Run), task: order.task.clone() }
    }
}

impl WorkerState {
    /// Reports that a request was not carried out, because no thread could be started for it.
    pub(super) fn refuse_task(&self, task: WorkerTask, error: &io::Error) {
        let source = || io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EAGAIN));
        let why = || ProjectError::WorkerThread { source: source() };
        let failure = || RunFailure::Run(why());
        let report = match task {
            WorkerTask::Run(order) => WorkerReport::Over(Box::new(FinishedRun::failed(&order, RunFinish::Failed, failure()))),
            WorkerTask::Look(ticket, ..) => WorkerReport::Looked(ticket, Box::new(Err(why()))),
            WorkerTask::Errand(_) => WorkerReport::Errand(Box::new(Err(ErrandTrouble::Run(why())))),
            WorkerTask::FindQuestion(_) => WorkerReport::Question(Err(failure())),
            WorkerTask::Approve(_) => WorkerReport::Approved(Err(failure())),
        };
        let _gone = (self.report)(report);
    }
}

// What the worker's thread does for a person who is asked about an unapproved plan at a foreground watch: it finds out what
// the person has to approve, and writes the approval.

impl Worker {
    /// Requests the question that a person must answer before the task runs.
    pub fn find_question(&self, task: TaskId) {
        self.send(WorkerTask::FindQuestion(task));
    }

    /// Requests the approval of what `question` shows. A person at the terminal has answered it.
    pub fn approve(&self, question: Box<ApprovalQuestion>) {
        self.send(WorkerTask::Approve(question));
    }
}

impl WorkerState {
    /// Returns what a person must approve before the task runs; `None` if nothing has to be approved any more, or if the plan is
    /// a typed command, which no approval is about.
    pub(super) fn question_of(&mut self, task: &TaskId) -> Result<Option<Box<ApprovalQuestion>>, RunFailure> {
        let (plan, settings) = self.plan_to_approve(task)?;
        let found = self.workspace.approval_question(&self.scope, &settings, &plan).map_err(RunFailure::Run)?;
        Ok(found.map(Box::new))
    }

    /// Writes the approval of what the person was shown. Fails if the plan, the settings or the files differ from that now.
    pub(super) fn approve(&mut self, question: &ApprovalQuestion) -> Result<(), RunFailure> {
        let (plan, settings) = self.plan_to_approve(&question.unapproved.task)?;
        let by = ApprovedBy::Answer;
        self.workspace.approve(&self.scope, &settings, &plan, question, by).map_err(RunFailure::Run)
    }

    fn plan_to_approve(&mut self, task: &TaskId) -> Result<(Plan, ProjectSettings), RunFailure> {
        let mut reloaded = self.files.read().map_err(RunFailure::Configuration)?;
        match self.plan_of(&mut reloaded, task, &TreeHints::Everything).map_err(RunFailure::Run)? {
            Ok(plan) => Ok((plan, reloaded.settings)),
            Err(MissingPlan::Wrong(lines) | MissingPlan::Faulty(lines) | MissingPlan::Unknown(lines)) => {
                Err(RunFailure::Configuration(lines))
            }
        }
    }
}
