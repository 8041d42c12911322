//! What there is of a project while it is open.

use crate::api::{EventV1, RunAnswerV1};
use crate::daemon::engine::Moment;
use crate::daemon::project_scheduler::ProjectScheduler;
use crate::daemon::service::call::{ErrandCall, Reply};
use crate::daemon::service::pending_changes::PendingChanges;
use crate::daemon::service::waiters::PlannedRun;
use crate::daemon::worker::LookTicket;
use crate::model::{Activity, TaskId, TriggerKind};
use crate::project::Selection;

/// A project that is watched and run.
pub(super) struct OpenProject {
    pub(super) scheduler: ProjectScheduler,
    pub(super) activity: Activity,
    pub(super) planned: PlannedRun,
    /// The look under way.
    pub(super) looking: Option<LookTicket>,
    /// The first look of all, until it is over: it says whether a run is needed at the start.
    pub(super) first: Option<LookTicket>,
    pub(super) tickets: u64,
    /// What the next look for somebody has to look at.
    pub(super) pending_changes: PendingChanges,
    /// Until when the look under way waits for the watcher to say that it heard of everything; none: it does not wait. With the tasks
    /// that are asked about.
    pub(super) syncing: Option<(Moment, Vec<TaskId>)>,
    pub(super) look_again: Option<Moment>,
    pub(super) current: Option<RunCall>,
    /// What is done for somebody at this moment.
    pub(super) errand: Option<ErrandCall>,
    /// The task that is run, or was last.
    pub(super) running: TaskId,
    /// Why the run under way is begun.
    pub(super) trigger: TriggerKind,
    /// Why part of the tree is polled.
    pub(super) polling: Option<String>,
}

/// A run that somebody asked for.
pub(super) struct RunCall {
    pub(super) task: TaskId,
    pub(super) selection: Selection,
    pub(super) reply: Reply<RunAnswerV1>,
    pub(super) tries: u32,
}

/// What a project tells the loop.
#[derive(Debug)]
pub(super) enum SessionMessage {
    /// For subscribers.
    Tell(EventV1),
    /// For the log and the person who started the service.
    Say(String),
    /// It is done: nothing of it runs any more.
    Left,
}
