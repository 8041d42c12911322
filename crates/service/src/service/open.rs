//! The state that the service keeps of a project while the project is open.

use crate::engine::Moment;
use crate::project_scheduler::ProjectScheduler;
use crate::service::call::{ErrandCall, Reply};
use crate::service::followed_run::FollowedRun;
use crate::service::pending_changes::PendingChanges;
use crate::service::waiters::PlannedRun;
use crate::worker::LookTicket;
use proctor_api::{ErrorV1, EventV1, RunAnswerV1};
use proctor_model::{Activity, HealthProblem, PersonAsked, TaskId, TriggerKind};
use proctor_project::Selection;

/// The state of a project that is watched and whose checks are run.
pub(super) struct OpenProject {
    pub(super) scheduler: ProjectScheduler,
    pub(super) activity: Activity,
    pub(super) planned: PlannedRun,
    /// The number of the status check (a comparison of the tree with the verdicts) that is under way; `None` if no
    /// status check is under way.
    pub(super) looking: Option<LookTicket>,
    /// The first status check after opening, until it has ended. Its result decides whether a run is needed at the
    /// start.
    pub(super) first: Option<LookTicket>,
    pub(super) tickets: u64,
    /// The changes that the next status check has to take into account.
    pub(super) pending_changes: PendingChanges,
    /// Set while a status check waits for the watcher to confirm that it has reported every earlier change: the time
    /// limit, and the tasks to check.
    pub(super) syncing: Option<(Moment, Vec<TaskId>)>,
    pub(super) look_again: Option<Moment>,
    pub(super) current: Option<RunCall>,
    /// The run under way, once it has begun.
    pub(super) followed: Option<FollowedRun>,
    /// The errand that is being carried out.
    pub(super) errand: Option<ErrandCall>,
    /// The task of the run under way, or of the last run.
    pub(super) running: TaskId,
    /// What caused the run under way, for example a save or a request.
    pub(super) trigger: TriggerKind,
    /// Whether the last status check listed the task of the project's own checks. A project that has only test
    /// specifications has no such task.
    pub(super) lists_own_task: bool,
    /// Why part of the tree is polled, if it is.
    pub(super) polling: Option<String>,
    /// What people are told about files that the checks write anew in every run; empty if there are none.
    pub(super) differing: Vec<String>,
    /// What the last run that was judged or refused asks a person.
    pub(super) asked: Option<PersonAsked>,
}

/// A run that a client asked for.
pub(super) struct RunCall {
    pub(super) task: TaskId,
    pub(super) selection: Selection,
    /// The clients that asked for this run before it began. They share it, because every one of them wants a verdict on the
    /// tree as it is when the run begins.
    pub(super) replies: Vec<Reply<RunAnswerV1>>,
    pub(super) tries: u32,
}

impl RunCall {
    /// Sends every client the answer. The answer to a client that has disconnected is dropped.
    pub(super) fn answer(self, answer: &Result<RunAnswerV1, ErrorV1>) {
        for reply in self.replies {
            let _gone = reply.send(answer.clone());
        }
    }

    /// Forgets the clients that have disconnected. Returns whether anybody still waits for the run.
    pub(super) fn is_wanted(&mut self) -> bool {
        self.replies.retain(|reply| !reply.is_closed());
        !self.replies.is_empty()
    }
}

/// What a project reports to the service's loop.
#[derive(Debug)]
pub(super) enum SessionMessage {
    Tell(EventV1),
    /// Tell subscribers an event that the next one of its kind makes worthless.
    TellInPassing(EventV1),
    /// A line for the log, and for the person who started the service.
    Say(String),
    /// A notification on the desktop: the project of this name cannot be judged.
    Notify {
        name: String,
        problem: HealthProblem,
    },
    /// A notification on the desktop: the project of this name asks a person.
    NotifyPerson {
        name: String,
        asked: PersonAsked,
    },
    /// The project is closed: none of its threads and processes runs any more.
    Left,
}
