//! What the worker's thread does for a person who is asked about an unapproved plan at a foreground watch: it finds out what
//! the person has to approve, and writes the approval.

use crate::worker::{MissingPlan, RunFailure, Worker, WorkerState, WorkerTask};
use proctor_model::{Plan, TaskId};
use proctor_project::{ApprovalQuestion, ApprovedBy, PersonPresence, ProjectSettings};
use proctor_tree::TreeHints;

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
        let by = ApprovedBy::Answer(PersonPresence::Person);
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
