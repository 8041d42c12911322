//! What a worker's thread does: it carries out one request after the other, and gives up what it holds when none comes.

use std::time::Duration;

use crate::effect::Order;
use crate::event::RunFinish;
use crate::worker::places::PlaceKind;
use crate::worker::queue::{NextTask, TaskQueue};
use crate::worker::{FinishedRun, RunFailure, WorkerReport, WorkerState, WorkerTask};
use proctor_project::{KnownAsked, ProjectError};
use proctor_sandbox::process::return_free_memory;

/// The time limit for compiling Python modules after a run, while no request waits. A new request ends the compilation
/// earlier.
const COMPILING_WHEN_IDLE: Duration = Duration::from_secs(60);
/// How long a project of the service stays ready for its next save after a run.
const READY: Duration = Duration::from_secs(30);
/// How long it does if a command was started for its next run.
const STARTED: Duration = Duration::from_secs(30 * 60);
/// How long after the last request a project that stays ready gives memory back that is free. Before, the next run would want it again.
const KEEPS_MEMORY: Duration = Duration::from_secs(2);

impl WorkerState {
    /// Carries out requests until none came for a while, and returns the worker for later requests. Returns `None` when the worker's
    /// handle was dropped or nobody receives its reports.
    pub(super) fn serve(mut self: Box<Self>, queue: &TaskQueue) -> Option<Box<Self>> {
        let mut has_worked = false;
        loop {
            let longest = match (&self.started, &self.ready) {
                (Some(_), _) => STARTED,
                (None, Some(_)) => READY,
                (None, None) => Duration::ZERO,
            };
            let longest = self.places.as_ref().map(|_| longest);
            // Few projects stay ready at a time: giving back takes a moment, in which no thread gets memory.
            let keeps_memory = has_worked && (self.ready.is_some() || self.started.is_some());
            let task = match queue.next(if keeps_memory { Some(KEEPS_MEMORY) } else { longest }) {
                NextTask::Task(task) => task,
                NextTask::Rest if keeps_memory => {
                    has_worked = false;
                    return_free_memory();
                    continue;
                }
                NextTask::Rest => {
                    (self.ready, self.started) = (None, None);
                    self.workspace.rest();
                    return Some(self);
                }
                NextTask::End => return None,
            };
            has_worked = true;
            let report = self.carry_out(task, queue);
            // A comparison that found nothing new makes no run likely.
            let is_idle = |over: &FinishedRun| matches!(over.finished, RunFinish::Unchanged | RunFinish::Untriggered);
            let has_run = matches!(&report, WorkerReport::Over(over) if !is_idle(over));
            if !(self.report)(report) {
                return None;
            }
            // The verdict has already been reported, so no client waits while the trees are saved.
            self.workspace.save_trees();
            self.workspace.keep_to_limits();
            if let Some(control) = queue.begin_idle_work() {
                proctor_run::compile_modules(&mut self.workspace, COMPILING_WHEN_IDLE, &control);
                queue.end_idle_work();
            }
            self.started.take_if(|_| !self.workspace.has_started_early());
            if self.started.is_some() {
                self.ready = None;
            } else if has_run && self.ready.is_none() {
                self.ready = self.places.as_ref().and_then(|places| places.try_take(PlaceKind::Ready));
            }
        }
    }

    fn carry_out(&mut self, task: WorkerTask, queue: &TaskQueue) -> WorkerReport {
        let is_run = matches!(task, WorkerTask::Run(_));
        let kind = if is_run { PlaceKind::Run } else { PlaceKind::Look };
        let is_stopped = || if is_run { queue.stopped_early().is_some() } else { queue.is_closed() };
        // Without a place, a run is found to be stopped when it begins. What else is requested of a closed worker is carried out.
        let _place = self.places.as_ref().and_then(|places| places.take(kind, is_stopped));
        match task {
            WorkerTask::Run(order) => {
                let finished = self.run_ordered(&order, queue);
                queue.end_run();
                WorkerReport::Over(Box::new(finished))
            }
            WorkerTask::Look(ticket, wanted, hints) => {
                WorkerReport::Looked(ticket, Box::new(self.look(&wanted, (&hints, KnownAsked::WithoutOwn))))
            }
            WorkerTask::Errand(errand) => WorkerReport::Errand(Box::new(self.go_on_errand(&errand))),
            WorkerTask::FindQuestion(task) => WorkerReport::Question(self.question_of(&task)),
            WorkerTask::Approve(question) => WorkerReport::Approved(self.approve(&question)),
        }
    }

    fn run_ordered(&mut self, order: &Order, queue: &TaskQueue) -> FinishedRun {
        // A run that was stopped while it waited for its place leaves no trace.
        if let (Some(_), Some(reason)) = (&self.places, queue.stopped_early()) {
            return FinishedRun::not_begun(order, reason);
        }
        match queue.begin_run() {
            Ok(control) => self.run_order(order, &control),
            Err(error) => FinishedRun::failed(order, RunFinish::Failed, RunFailure::Run(ProjectError::Control(error))),
        }
    }
}
