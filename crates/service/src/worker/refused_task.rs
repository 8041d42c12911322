//! The reports about requests that were not carried out, because the system refused what they need.

use std::io;

use nix::libc;

use crate::effect::Order;
use crate::errand::ErrandTrouble;
use crate::event::RunFinish;
use crate::worker::{FinishedRun, RunFailure, WorkerReport, WorkerState, WorkerTask};
use proctor_project::{ProjectError, RunOutcome};

impl FinishedRun {
    /// Returns the end of a run that was not carried out.
    pub(super) fn failed(order: &Order, finished: RunFinish, trouble: RunFailure) -> Self {
        Self { finished, copied: None, carried: Err(trouble), task: order.task.clone() }
    }

    /// Returns the end of a run that had not begun when a newer save came.
    pub(super) fn withdrawn(order: &Order) -> Self {
        Self { finished: RunFinish::Stopped, copied: None, carried: Ok(RunOutcome::Withdrawn), task: order.task.clone() }
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
