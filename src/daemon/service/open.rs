//! What there is of a project while it is open.

use crate::api::{EventV1, RunAnswerV1};
use crate::daemon::engine::Moment;
use crate::daemon::project_scheduler::ProjectScheduler;
use crate::daemon::service::call::{ErrandCall, Reply};
use crate::daemon::service::heard::Heard;
use crate::daemon::service::waiters::Planned;
use crate::daemon::worker::Ticket;
use crate::model::{Activity, TaskId, TriggerKind};
use crate::project::Selection;

/// A project that is watched and run.
pub(super) struct Open {
    pub(super) scheduler: ProjectScheduler,
    pub(super) activity: Activity,
    pub(super) planned: Planned,
    /// The look under way.
    pub(super) looking: Option<Ticket>,
    /// The first look of all, until it is over: it says whether a run is needed at the start.
    pub(super) first: Option<Ticket>,
    pub(super) tickets: u64,
    /// What the next look for somebody has to look at.
    pub(super) heard: Heard,
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
pub(super) enum Word {
    /// For subscribers.
    Tell(EventV1),
    /// For the log and the person who started the service.
    Say(String),
    /// It is done: nothing of it runs any more.
    Left,
}
