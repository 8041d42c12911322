//! A worker whose thread is played by the simulator: its queue, its control of runs and its ends of runs are the real ones.

use std::time::Duration;

use crate::effect::Order;
use crate::worker::queue::{NextTask, TaskQueue, WorkingPost};
use crate::worker::{FinishedRun, LookTicket, RunFailure, UnknownCheck, Worker, WorkerTask, end_by_known_verdict, may_be_known};
use proctor_model::{Action, KnownFrom, LastVerdict, Post, ProjectStatus, StopReason, TaskId};
use proctor_project::{ProjectError, RunOutcome};
use proctor_sandbox::process::Control;
use proctor_tree::TreeHints;

/// What a simulated thread takes out of its queue.
pub(crate) enum Taken {
    Run(Order),
    Look(LookTicket, Vec<TaskId>, TreeHints),
    /// Nothing is in the queue.
    Nothing,
    /// The worker's handle was dropped, and every request is carried out.
    End,
}

/// The thread's side of a worker.
pub(crate) struct WorkerThread(TaskQueue);

/// Returns a worker and the side of its thread. The thread has to be ended before the worker is dropped.
pub(crate) fn worker() -> (Worker, WorkerThread) {
    let queue = TaskQueue::new(Post::Working);
    (Worker { queue: Some(queue.clone()) }, WorkerThread(queue))
}

impl WorkerThread {
    pub(crate) fn take(&self) -> Taken {
        match self.0.next(Some(Duration::ZERO)) {
            NextTask::Task(WorkerTask::Run(order)) => Taken::Run(order),
            NextTask::Task(WorkerTask::Look(ticket, wanted, hints)) => Taken::Look(ticket, wanted, hints),
            NextTask::Task(WorkerTask::Errand(_) | WorkerTask::FindQuestion(_) | WorkerTask::Approve(_)) | NextTask::Rest => {
                Taken::Nothing
            }
            NextTask::End => Taken::End,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    pub(crate) fn stopped_early(&self) -> Option<StopReason> {
        self.0.stopped_early()
    }

    pub(crate) fn begin_run(&self) -> Control {
        self.0.begin_run().expect("a pipe can be made")
    }

    pub(crate) fn end_run(&self) {
        self.0.end_run();
    }

    /// Ends the thread, as its own end or that of its process does.
    pub(crate) fn end(&self) {
        drop(WorkingPost(&self.0));
    }
}

/// The end of a run that was stopped while it waited for its place.
pub(crate) fn not_begun(order: &Order, reason: StopReason) -> FinishedRun {
    FinishedRun::not_begun(order, reason)
}

/// The end of a run that was carried out, or why it could not be.
pub(crate) fn ended(order: &Order, carried: Result<RunOutcome, ProjectError>) -> FinishedRun {
    FinishedRun::of(order, carried)
}

/// The end of a run whose configuration is wrong.
pub(crate) fn misconfigured(order: &Order) -> FinishedRun {
    FinishedRun::failed(order, crate::event::RunFinish::Failed, RunFailure::Configuration(vec!["wrong".to_owned()]))
}

/// The end of a run that was ordered for a check that is not there, if that is so.
pub(crate) fn of_unknown_check(order: &Order, checks: &[Action]) -> Option<FinishedRun> {
    let unknown = UnknownCheck::find(&order.selection, checks)?;
    Some(FinishedRun::failed(order, crate::event::RunFinish::Failed, RunFailure::UnknownCheck(unknown)))
}

/// The end of a run for which an earlier verdict on the same files stands, if one does. `look` compares the files with the verdicts. In a
/// simulation the variables are always those of the last run.
pub(crate) fn known(order: &Order, checks: &[Action], look: impl FnOnce() -> ProjectStatus) -> Option<FinishedRun> {
    let of_last = |verdict: &LastVerdict| KnownFrom { run: verdict.run_id.clone(), root: None, condition: None, attested: None };
    let look = || {
        let mut standing = look();
        standing.tasks.iter_mut().for_each(|task| task.known = task.verdict.as_ref().map(of_last));
        standing
    };
    may_be_known(order, checks)
        .then(look)
        .and_then(|standing| end_by_known_verdict(order, checks, &standing))
        .map(|known| known.0)
}
