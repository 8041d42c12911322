//! The runs of a served project: requests for them, their progress and their end.

use crate::api::{EventV1, RunOutcomeV1};
use crate::daemon::engine::Moment;
use crate::daemon::event::Event;
use crate::daemon::service::announcement::{RunAnnouncement, announcement};
use crate::daemon::service::answering::{from_open_failure, refuse, too_many};
use crate::daemon::service::open::{RunCall, SessionMessage};
use crate::daemon::service::session::{ProjectSession, Stage};
use crate::daemon::service::waiters::PlannedRun;
use crate::daemon::worker::{FinishedRun, WorkerReport};
use crate::model::Activity;
use crate::project::{Progress, RunOutcome, StoreReader};

/// How many times at most a requested run is started again because a save stopped it.
const MOST_TRIES: u32 = 3;
/// The most requested runs of one project that may wait.
const MOST_RUNS: usize = 16;

impl ProjectSession {
    /// Handles a client's request for a run.
    pub(in crate::daemon::service) fn request(
        &mut self,
        now: Moment,
        call: RunCall,
        archive: &mut StoreReader,
    ) -> Vec<SessionMessage> {
        if self.runs.len() >= MOST_RUNS {
            refuse(call.reply, too_many("asked for runs of this project"));
            return Vec::new();
        }
        if let Stage::Closed { why, .. } = &self.stage {
            refuse(call.reply, from_open_failure(why));
            return Vec::new();
        }
        self.runs.push_back(call);
        self.go_on(now, archive)
    }

    /// Notes how far a run has come, and tells subscribers of it.
    pub(super) fn progressed(&mut self, now: Moment, progress: Progress) -> Vec<SessionMessage> {
        let (Stage::Open(open), Some(project)) = (&mut self.stage, self.id.clone()) else { return Vec::new() };
        open.activity = activity_of(&progress);
        let word = match &progress {
            Progress::Begun { .. } => {
                SessionMessage::Tell(EventV1::RunStarted { project, task: open.running.clone(), trigger: open.trigger })
            }
            Progress::ActionStarted(action) => {
                SessionMessage::Tell(EventV1::ActionStarted { project, action_id: action.id.clone(), name: action.name.clone() })
            }
            Progress::ActionEnded(result) => SessionMessage::Tell(EventV1::ActionEnded {
                project,
                action_id: result.action_id.clone(),
                name: result.name.clone(),
                status: result.status,
            }),
            Progress::HelperDied { run_id, exit, why } => {
                let said = SessionMessage::Say(format!("{project}: {why}; the checks are run once more"));
                let (task, run_id, exit_code) = (open.running.clone(), Some(run_id.clone()), exit.code());
                let over = EventV1::RunFinished { project, task, run_id, outcome: RunOutcomeV1::Failed, exit_code };
                // The engine need not know: the run that it has ordered goes on.
                return vec![SessionMessage::Tell(over), said];
            }
            Progress::Note(note) => SessionMessage::Say(format!("{project}: {note}")),
            Progress::ChecksOver => {
                return self.schedule(now, |scheduler| scheduler.take_report(now, WorkerReport::Progress(progress)));
            }
            Progress::ProcessPrepared { .. }
            | Progress::ServiceReady { .. }
            | Progress::WaitingForLock { .. }
            | Progress::WaitingForSlot { .. }
            | Progress::Recovered { .. } => return Vec::new(),
        };
        let mut words = vec![word];
        words.extend(self.schedule(now, |scheduler| scheduler.take_report(now, WorkerReport::Progress(progress))));
        words
    }

    /// Handles the end of a run: tells the subscribers and the log, lets the engine decide what follows, and answers
    /// the client that asked for the run.
    pub(super) fn over(&mut self, now: Moment, over: Box<FinishedRun>) -> Vec<SessionMessage> {
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        open.activity = Activity::Idle;
        let Some(project) = self.id.clone() else { return Vec::new() };
        let announcement = announcement(project, &over);
        let mut words = match &over.carried {
            // The run was withdrawn before it began, so no event has announced it.
            Ok(RunOutcome::Withdrawn) => Vec::new(),
            Ok(_) | Err(_) => vec![SessionMessage::Tell(announcement.event()), SessionMessage::Say(announcement.line())],
        };
        words.extend(self.schedule(now, |scheduler| scheduler.take_report(now, WorkerReport::Over(over))));
        self.settle_run(announcement);
        if let Stage::Open(open) = &self.stage
            && open.activity == Activity::Idle
            && open.planned == PlannedRun::Nothing
        {
            self.waiters.unblock();
        }
        words
    }

    /// Answers the client that asked for the run that has ended, unless the run is repeated or started again.
    fn settle_run(&mut self, announcement: RunAnnouncement) {
        let Stage::Open(open) = &mut self.stage else { return };
        let Some(mut call) = open.current.take_if(|call| call.task == announcement.answer.task) else { return };
        match (announcement.answer.outcome, open.planned) {
            (RunOutcomeV1::Moved, PlannedRun::Repetition) => open.current = Some(call),
            (RunOutcomeV1::Superseded, _) if call.tries < MOST_TRIES => {
                call.tries += 1;
                self.runs.push_front(call);
            }
            _ => {
                let _gone = call.reply.send(Ok(announcement.answer));
            }
        }
    }

    /// Begins the next requested run. The caller has checked that no run is under way.
    pub(super) fn next_run(&mut self, now: Moment) -> Vec<SessionMessage> {
        self.runs.retain(|call| !call.reply.is_closed());
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        if open.current.is_some() {
            // The run of an earlier request is still waiting for its repetition.
            return Vec::new();
        }
        let Some(call) = self.runs.pop_front() else { return Vec::new() };
        let (task, selection) = (call.task.clone(), call.selection.clone());
        open.current = Some(call);
        self.handle(now, Event::Requested(task, selection))
    }
}

fn activity_of(progress: &Progress) -> Activity {
    match progress {
        Progress::WaitingForLock { .. } | Progress::WaitingForSlot { .. } => Activity::Queued,
        Progress::Begun { .. }
        | Progress::ActionStarted(_)
        | Progress::ProcessPrepared { .. }
        | Progress::ServiceReady { .. }
        | Progress::ActionEnded(_)
        | Progress::ChecksOver
        | Progress::Recovered { .. }
        | Progress::HelperDied { .. }
        | Progress::Note(_) => Activity::Running,
    }
}
