//! The runs of a served project: requests for them, their progress and their end.

use std::sync::Arc;

use crate::engine::Moment;
use crate::event::{Event, RunFinish};
use crate::service::announcement::{RunAnnouncement, announcement};
use crate::service::call::{from_open_failure, too_many};
use crate::service::followed_run::FollowedRun;
use crate::service::opening::{RunCall, SessionMessage};
use crate::service::session::{ProjectSession, Stage};
use crate::service::waiters::PlannedRun;
use crate::worker::{FinishedRun, RunFailure, WorkerReport};
use proctor_api::{ErrorKindV1, ErrorV1, EventV1, RunOutcomeV1};
use proctor_app::health::{chain, health, health_of};
use proctor_model::{Activity, HealthProblem, ServiceTrouble};
use proctor_project::{Progress, RunOutcome, StoreReader};
use proctor_sandbox::process::clock;

/// How many times at most a requested run is started again because a save stopped it.
const MOST_TRIES: u32 = 3;
/// The most requested runs of one project that may wait.
const MOST_RUNS: usize = 16;
/// The most clients that may share one waiting run.
const MOST_SHARING: usize = 4096;

impl ProjectSession {
    /// Handles a client's request for a run.
    pub(in crate::service) fn request(&mut self, now: Moment, call: RunCall, archive: &mut StoreReader) -> Vec<SessionMessage> {
        if let Stage::Closed { why, .. } = &self.stage {
            call.answer(&Err(from_open_failure(why)));
            return Vec::new();
        }
        let waiting = self.runs.len();
        let alike = self.runs.iter_mut().find(|before| before.task == call.task && before.selection == call.selection);
        match alike {
            Some(alike) if alike.replies.len() < MOST_SHARING => alike.replies.extend(call.replies),
            None if waiting < MOST_RUNS => self.runs.push_back(call),
            Some(_) | None => {
                call.answer(&Err(too_many("asked for runs of this project")));
                return Vec::new();
            }
        }
        self.go_on(now, archive)
    }

    /// Notes how far a run has come, and tells subscribers of it.
    pub(super) fn progressed(&mut self, now: Moment, progress: Progress) -> Vec<SessionMessage> {
        let (Stage::Open(open), Some(project)) = (&mut self.stage, self.id.clone()) else { return Vec::new() };
        open.activity = activity_of(&progress);
        let word = match &progress {
            Progress::Begun { run_id, .. } => {
                open.followed = Some(FollowedRun::new(run_id.clone()));
                let (run_id, task, trigger) = (run_id.clone(), open.running.clone(), open.trigger);
                SessionMessage::Tell(EventV1::RunStarted { project, run_id, task, trigger })
            }
            Progress::ActionStarted(action) => {
                let Some(followed) = &mut open.followed else { return Vec::new() };
                followed.start(&action.id, &action.name);
                let (run_id, action_id, name) = (followed.run_id.clone(), action.id.clone(), action.name.clone());
                SessionMessage::Tell(EventV1::ActionStarted { project, run_id, action_id, name })
            }
            Progress::ProcessPrepared { action_id, log } => {
                if let Some(followed) = &mut open.followed {
                    followed.note_log(now, action_id, Arc::clone(log));
                }
                return Vec::new();
            }
            Progress::ActionEnded(result) => {
                let Some(followed) = &mut open.followed else { return Vec::new() };
                followed.end(&result.action_id);
                let (run_id, action_id, name) = (followed.run_id.clone(), result.action_id.clone(), result.name.clone());
                SessionMessage::Tell(EventV1::ActionEnded { project, run_id, action_id, name, status: result.status })
            }
            Progress::HelperDied { run_id, exit, why } => {
                let said = SessionMessage::Say(format!("{project}: {why}; the checks are run once more"));
                let (task, run_id, exit_code) = (open.running.clone(), Some(run_id.clone()), exit.code());
                let over = EventV1::RunFinished { project, task, run_id, outcome: RunOutcomeV1::Failed, exit_code };
                // The engine need not know: the run that it has ordered goes on.
                return vec![SessionMessage::Tell(over), said];
            }
            Progress::Note(note) => SessionMessage::Say(format!("{project}: {note}")),
            Progress::ChecksOver => {
                return self.schedule(|scheduler| scheduler.take_report(now, WorkerReport::Progress(progress)));
            }
            Progress::ServiceReady { .. }
            | Progress::WaitingForLock { .. }
            | Progress::WaitingForSlot { .. }
            | Progress::Recovered { .. } => return Vec::new(),
        };
        let mut words = vec![word];
        words.extend(self.schedule(|scheduler| scheduler.take_report(now, WorkerReport::Progress(progress))));
        words
    }

    /// Returns when [`Self::tell_progress`] has something to look at, if anybody is to be told.
    pub(in crate::service) fn next_progress(&self) -> Option<Moment> {
        let Stage::Open(open) = &self.stage else { return None };
        open.followed.as_ref()?.next_look()
    }

    /// Looks how far the running actions are, if it is time or `at_once`, and tells subscribers what is news.
    pub(in crate::service) fn tell_progress(&mut self, now: Moment, at_once: bool) -> Vec<SessionMessage> {
        let (Stage::Open(open), Some(project)) = (&mut self.stage, &self.id) else { return Vec::new() };
        let Some(followed) = &mut open.followed else { return Vec::new() };
        let look = if at_once { FollowedRun::look_now } else { FollowedRun::look };
        look(followed, now, project).into_iter().map(SessionMessage::TellInPassing).collect()
    }

    /// Handles the end of a run: tells the subscribers and the log, lets the engine decide what follows, and answers
    /// the client that asked for the run.
    pub(super) fn over(&mut self, now: Moment, over: Box<FinishedRun>, archive: &mut StoreReader) -> Vec<SessionMessage> {
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        open.activity = Activity::Idle;
        open.followed = None;
        let Some(project) = self.id.clone() else { return Vec::new() };
        let is_root_missing = matches!(&over.carried, Err(RunFailure::Run(_))) && !self.root.is_dir();
        let announcement = announcement(project, &over);
        let announcement = if is_root_missing { announcement.with_missing_root(&self.root) } else { announcement };
        let decides = matches!(&over.carried, Ok(RunOutcome::Judged(_) | RunOutcome::NotApproved(_)));
        let before = decides.then(|| std::mem::replace(&mut open.asked, announcement.asked.clone())).flatten();
        let asked = announcement.asked.clone().filter(|asked| before.as_ref() != Some(asked));
        let mut words = match &over.carried {
            // The run was withdrawn before it began, so no event has announced it.
            Ok(RunOutcome::Withdrawn) => Vec::new(),
            // Nobody asked for the comparison, so nobody is told that it has found nothing.
            Ok(RunOutcome::Unchanged | RunOutcome::Untriggered) if open.scheduler.is_sweeping() => Vec::new(),
            // Nothing was run, which is no news for the log.
            Ok(RunOutcome::Unchanged | RunOutcome::Untriggered) => vec![SessionMessage::Tell(announcement.event())],
            Ok(_) | Err(_) => vec![SessionMessage::Tell(announcement.event()), SessionMessage::Say(announcement.line())],
        };
        words.extend(self.notify.clone().zip(asked).map(|(name, asked)| SessionMessage::NotifyPerson { name, asked }));
        let end = if is_root_missing { HealthAfterRun::Unknown } else { health_after(&over) };
        let refusal = match &over.carried {
            Err(RunFailure::UnknownCheck(unknown)) => {
                Some(ErrorV1::new(ErrorKindV1::BadRequest, unknown.message(), unknown.hint()))
            }
            Ok(_) | Err(RunFailure::Configuration(_) | RunFailure::Specification { .. } | RunFailure::Run(_)) => None,
        };
        let is_troubled = matches!(end, HealthAfterRun::Troubled(_));
        open.failure = match &over.carried {
            Ok(RunOutcome::Superseded | RunOutcome::Withdrawn) => open.failure.take(),
            // The health of the project says what is wrong with the machine.
            Err(RunFailure::Run(error)) if !is_troubled && !is_root_missing => {
                Some(format!("the last run failed: {}", chain(error)))
            }
            Ok(_) | Err(_) => None,
        };
        words.extend(match end {
            HealthAfterRun::Troubled(found) => self.troubled(now, found, Some(&over.task)),
            HealthAfterRun::Sealed => {
                let over = self.health.sealed(&over.task);
                self.healed(over)
            }
            HealthAfterRun::Unknown => Vec::new(),
        });
        words.extend(self.schedule(|scheduler| scheduler.take_report(now, WorkerReport::Over(over))));
        self.settle_run(announcement, refusal);
        if is_troubled {
            self.answer_blocked(archive);
        }
        if let Stage::Open(open) = &self.stage
            && open.activity == Activity::Idle
            && open.planned == PlannedRun::Nothing
        {
            self.waiters.unblock();
        }
        words
    }

    /// Answers the client that asked for the run that has ended, unless the run is repeated or started again.
    fn settle_run(&mut self, announcement: RunAnnouncement, refusal: Option<ErrorV1>) {
        let Stage::Open(open) = &mut self.stage else { return };
        let Some(mut call) = open.current.take_if(|call| call.task == announcement.answer.task) else { return };
        match (announcement.answer.outcome, open.planned) {
            (RunOutcomeV1::Moved, PlannedRun::Repetition) => open.current = Some(call),
            (RunOutcomeV1::Superseded, _) if call.tries < MOST_TRIES => {
                call.tries += 1;
                self.runs.push_front(call);
            }
            _ => call.answer(&refusal.map_or(Ok(announcement.answer), Err)),
        }
    }

    /// Begins the next requested run. The caller has checked that no run is under way.
    pub(super) fn next_run(&mut self, now: Moment) -> Vec<SessionMessage> {
        self.runs.retain_mut(RunCall::is_wanted);
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

/// What the end of a run says about the health of the project.
enum HealthAfterRun {
    /// proctor itself could not judge.
    Troubled(ServiceTrouble),
    /// The run was carried out, or refused because the specification is wrong, and that was sealed.
    Sealed,
    /// Nothing was run or kept, so the run says nothing about it.
    Unknown,
}

fn health_after(over: &FinishedRun) -> HealthAfterRun {
    match &over.carried {
        // After checks that were asked for by name, the others are still owed.
        Ok(RunOutcome::Judged(_)) if matches!(over.finished, RunFinish::Partial { .. }) => HealthAfterRun::Unknown,
        Ok(RunOutcome::Judged(_) | RunOutcome::Moved(_)) | Err(RunFailure::Specification { .. }) => HealthAfterRun::Sealed,
        Ok(RunOutcome::HelperDied(sealed)) => {
            let cause = sealed.report.validation_criteria_evaluation.reason.clone();
            HealthAfterRun::Troubled(health(HealthProblem::LauncherGone, cause, None, clock::now()))
        }
        Ok(
            RunOutcome::Interrupted(_)
            | RunOutcome::Superseded
            | RunOutcome::Withdrawn
            | RunOutcome::Unchanged
            | RunOutcome::Untriggered
            | RunOutcome::Paused(_)
            | RunOutcome::Waits(_)
            | RunOutcome::NotApproved(_),
        )
        | Err(RunFailure::Configuration(_) | RunFailure::UnknownCheck(_)) => HealthAfterRun::Unknown,
        Err(RunFailure::Run(error)) => health_of(error, clock::now()).map_or(HealthAfterRun::Unknown, HealthAfterRun::Troubled),
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
