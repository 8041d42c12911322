//! One project of the service: its scheduling, and who waits for it. Every decision is the engine's or the waiters'; here is only what
//! they need carried out.

mod errands;
mod looks;
mod runs;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use crate::api::{AddedV1, AnswerV1, ErrorV1, EventV1, ProjectV1};
use crate::daemon::arrivals::ArrivalSender;
use crate::daemon::effect::Notice;
use crate::daemon::engine::Moment;
use crate::daemon::event::{Event, OsSignal, RunFinish};
use crate::daemon::project_scheduler::{HostEffect, ProjectScheduler};
use crate::daemon::service::answering::{answer, from_open_failure, refuse};
use crate::daemon::service::call::{ErrandCall, Reply};
use crate::daemon::service::open::{OpenProject, RunCall, SessionMessage};
use crate::daemon::service::opening::chain;
use crate::daemon::service::pending_changes::{LookCare, PendingChanges};
use crate::daemon::service::waiters::{PlannedRun, Waiters};
use crate::daemon::worker::{LookTicket, OpenFailure, OpenedProject, Worker, WorkerReport};
use crate::model::{Activity, ProjectId, Serving, TaskId, TriggerKind, WatchHint};
use crate::project::StoreReader;

/// How often a project that could not be opened is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(30);
/// How often another process's run is looked at while somebody waits for its end.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A project that is served, or is to be.
pub(super) struct ProjectSession {
    /// None until a project that is added has been registered.
    pub(super) id: Option<ProjectId>,
    pub(super) root: PathBuf,
    /// What its threads send by.
    arrivals: ArrivalSender,
    stage: Stage,
    waiters: Waiters<Reply<AnswerV1>>,
    runs: VecDeque<RunCall>,
    errands: VecDeque<ErrandCall>,
    /// What the watcher said while the project was being opened, and does not say again.
    early: Vec<WatchHint>,
    adding: Option<Reply<AddedV1>>,
}

/// How far it is.
enum Stage {
    Opening(Worker),
    Open(Box<OpenProject>),
    Closed {
        why: OpenFailure,
        again: Moment,
    },
    /// Whoever drops it need not wait for anything.
    Left,
}

impl ProjectSession {
    /// Returns a project whose worker is opening it.
    pub(super) fn opening(
        worker: Worker,
        arrivals: ArrivalSender,
        id: Option<ProjectId>,
        root: PathBuf,
        adding: Option<Reply<AddedV1>>,
    ) -> Self {
        Self { adding, ..Self::at(Stage::Opening(worker), arrivals, id, root) }
    }

    /// Returns a project that could not even be begun to be opened.
    pub(super) fn closed(why: OpenFailure, again: Moment, arrivals: ArrivalSender, id: Option<ProjectId>, root: PathBuf) -> Self {
        Self::at(Stage::Closed { why, again }, arrivals, id, root)
    }

    fn at(stage: Stage, arrivals: ArrivalSender, id: Option<ProjectId>, root: PathBuf) -> Self {
        let (runs, errands) = (VecDeque::new(), VecDeque::new());
        Self { id, root, arrivals, stage, waiters: Waiters::new(), runs, errands, early: Vec::new(), adding: None }
    }

    /// Takes in that its opening is tried again, or that not even that could be begun.
    pub(super) fn open_again(&mut self, opening: Result<Worker, OpenFailure>, again: Moment) {
        match opening {
            Ok(worker) => self.stage = Stage::Opening(worker),
            Err(why) => *self = Self::closed(why, again, self.arrivals.clone(), self.id.clone(), self.root.clone()),
        }
    }

    /// Returns whether it is time to try again to open it.
    pub(super) fn is_to_be_opened(&self, now: Moment) -> bool {
        matches!(&self.stage, Stage::Closed { again, .. } if *again <= now)
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(&self.stage, Stage::Open(open) if open.activity != Activity::Idle)
    }

    /// Returns when it is to be woken.
    pub(super) fn next_moment(&self) -> Option<Moment> {
        let own = match &self.stage {
            Stage::Open(open) => [open.scheduler.wake_at(), open.look_again, open.syncing.as_ref().map(|(until, _)| *until)],
            Stage::Closed { again, .. } => [Some(*again), None, None],
            Stage::Opening(_) | Stage::Left => [None, None, None],
        };
        own.into_iter().chain([self.waiters.next_deadline()]).flatten().min()
    }

    /// Takes in the moment it asked to be woken at.
    pub(super) fn woken(&mut self, now: Moment, archive: &mut StoreReader) -> Vec<SessionMessage> {
        let mut words = self.schedule(now, |scheduler| scheduler.wake(now));
        if let Stage::Open(open) = &mut self.stage
            && open.look_again.take_if(|moment| *moment <= now).is_some()
        {
            self.waiters.unblock();
        }
        self.stop_syncing(now);
        for due in self.waiters.late(now) {
            let standing = self.unlooked(archive, std::slice::from_ref(&due.task));
            answer(due, &standing);
        }
        words.extend(self.go_on(now, archive));
        words
    }

    /// Takes in hints of the watcher.
    pub(super) fn hinted(&mut self, now: Moment, hints: Vec<WatchHint>, archive: &mut StoreReader) -> Vec<SessionMessage> {
        let is_news = hints.iter().any(|hint| !matches!(hint, WatchHint::Synced(_)));
        let changed = self.id.clone().filter(|_| is_news).map(|project| SessionMessage::Tell(EventV1::Changed { project }));
        let mut words: Vec<SessionMessage> = changed.into_iter().collect();
        match &mut self.stage {
            Stage::Opening(_) => self.early.extend(hints.into_iter().filter(|hint| matches!(hint, WatchHint::Polling(_)))),
            Stage::Open(_) | Stage::Closed { .. } | Stage::Left => {
                self.hear(&hints);
                words.extend(self.handle(now, Event::Hints(hints)));
            }
        }
        words.extend(self.go_on(now, archive));
        words
    }

    /// Takes in a signal that all projects get.
    pub(super) fn signalled(&mut self, now: Moment, signal: OsSignal) -> Vec<SessionMessage> {
        match &self.stage {
            Stage::Open(_) => self.handle(now, Event::Signal(signal)),
            Stage::Opening(_) | Stage::Closed { .. } if signal != OsSignal::Reload => self.leave(),
            Stage::Opening(_) | Stage::Closed { .. } | Stage::Left => Vec::new(),
        }
    }

    /// Takes in what the worker says.
    pub(super) fn reported(&mut self, now: Moment, report: WorkerReport, archive: &mut StoreReader) -> Vec<SessionMessage> {
        let mut words = match report {
            WorkerReport::Opened(opened) => self.opened(now, *opened),
            WorkerReport::Closed(why) => self.could_not_open(now, why),
            WorkerReport::Progress(progress) => self.progressed(now, progress),
            of_scheduling @ (WorkerReport::Settings(_) | WorkerReport::Rules(..)) => {
                self.schedule(now, |scheduler| scheduler.take_report(now, of_scheduling))
            }
            WorkerReport::Looked(ticket, looked) => self.looked(now, ticket, *looked),
            WorkerReport::Over(over) => self.over(now, over),
            WorkerReport::Errand(done) => self.errand_over(*done),
        };
        words.extend(self.go_on(now, archive));
        words
    }

    /// Ends it: what runs is stopped and sealed, and everybody who waits is told.
    pub(super) fn end(&mut self, now: Moment, why: &ErrorV1) -> Vec<SessionMessage> {
        self.waiters.take_all().into_iter().for_each(|due| refuse(due.reply, why.clone()));
        self.runs.drain(..).for_each(|call| refuse(call.reply, why.clone()));
        self.refuse_errands(why);
        if let Some(reply) = self.adding.take() {
            refuse(reply, why.clone());
        }
        self.signalled(now, OsSignal::Terminate)
    }

    fn leave(&mut self) -> Vec<SessionMessage> {
        match std::mem::replace(&mut self.stage, Stage::Left) {
            Stage::Opening(worker) => worker.let_go(),
            Stage::Open(open) => open.scheduler.let_go(),
            Stage::Closed { .. } | Stage::Left => {}
        }
        vec![SessionMessage::Left]
    }

    fn opened(&mut self, now: Moment, opened: OpenedProject) -> Vec<SessionMessage> {
        let Stage::Opening(worker) = std::mem::replace(&mut self.stage, Stage::Left) else { return Vec::new() };
        let project = opened.scope.project.clone();
        self.id = Some(project.clone());
        let first = LookTicket(0);
        // Whether anything has to be run at all, the tree says.
        let mut pending_changes = PendingChanges::everything();
        let wanted = [opened.engine.tasks.clone(), self.waiters.wanted_tasks()].concat();
        let arrivals = self.arrivals.clone();
        let scheduler = ProjectScheduler::new(self.root.clone(), opened.engine, worker, opened.watcher, arrivals);
        scheduler.look(first, wanted, pending_changes.take(LookCare::Whole));
        self.waiters.begin_look(first);
        self.stage = Stage::Open(Box::new(OpenProject {
            scheduler,
            activity: Activity::Idle,
            planned: PlannedRun::Nothing,
            looking: Some(first),
            first: Some(first),
            tickets: 0,
            look_again: None,
            pending_changes,
            syncing: None,
            current: None,
            errand: None,
            running: TaskId::default_task(),
            trigger: TriggerKind::Start,
            polling: None,
        }));
        let mut words = vec![SessionMessage::Say(format!("{project}: watching `{}`", self.root.display()))];
        words.extend(opened.notes.iter().map(|note| SessionMessage::Say(note.clone())));
        if let Some(reply) = self.adding.take() {
            let project = ProjectV1::new(project.clone(), &self.root, Serving::Served);
            let _gone = reply.send(Ok(AddedV1 { project, notes: opened.notes }));
            words.push(SessionMessage::Tell(EventV1::Added { project: opened.scope.project }));
        }
        let early = std::mem::take(&mut self.early);
        self.hear(&early);
        words.extend(self.handle(now, Event::Hints(early)));
        words
    }

    /// One that was only to be added is forgotten; one that is served is tried again later.
    fn could_not_open(&mut self, now: Moment, why: OpenFailure) -> Vec<SessionMessage> {
        let said = SessionMessage::Say(format!("`{}` could not be opened: {}", self.root.display(), why.lines.join("; ")));
        if let Some(reply) = self.adding.take() {
            refuse(reply, from_open_failure(&why));
            let mut words = vec![said];
            words.extend(self.leave());
            return words;
        }
        let is_news = !matches!(&self.stage, Stage::Closed { why: before, .. } if *before == why);
        self.runs.drain(..).for_each(|call| refuse(call.reply, from_open_failure(&why)));
        self.refuse_errands(&from_open_failure(&why));
        self.stage = Stage::Closed { why, again: now.plus(TRY_AGAIN) };
        if is_news { vec![said] } else { Vec::new() }
    }

    /// Does what is to be done next where nothing runs: the next run that was asked for, or a look.
    fn go_on(&mut self, now: Moment, archive: &mut StoreReader) -> Vec<SessionMessage> {
        let mut words = Vec::new();
        match &self.stage {
            Stage::Open(open) if open.activity == Activity::Idle => {
                // Before the next run: a change of the cycle decides how that is judged, and whether it is made.
                self.next_errand();
                words.extend(self.next_run(now));
                self.next_look(now);
            }
            Stage::Opening(_) | Stage::Open(_) | Stage::Left => {}
            Stage::Closed { .. } => {
                for due in self.waiters.take_all() {
                    let standing = self.unlooked(archive, std::slice::from_ref(&due.task));
                    answer(due, &standing);
                }
            }
        }
        if self.is_running() {
            self.put_off_look();
            for due in self.waiters.take_impatient() {
                let standing = self.unlooked(archive, std::slice::from_ref(&due.task));
                answer(due, &standing);
            }
        }
        words
    }

    fn handle(&mut self, now: Moment, event: Event) -> Vec<SessionMessage> {
        self.schedule(now, |scheduler| scheduler.handle(now, event))
    }

    /// Has the scheduler do something where the project is open, and passes on what it leaves to us.
    fn schedule(&mut self, now: Moment, act: impl FnOnce(&mut ProjectScheduler) -> Vec<HostEffect>) -> Vec<SessionMessage> {
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        let effects = act(&mut open.scheduler);
        effects.into_iter().flat_map(|effect| self.perform(now, effect)).collect()
    }

    fn perform(&mut self, now: Moment, effect: HostEffect) -> Vec<SessionMessage> {
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        let root = self.root.display();
        match effect {
            HostEffect::Ordered { task, trigger } => {
                (open.running, open.trigger) = (task, trigger);
                (open.activity, open.planned) = (Activity::Running, PlannedRun::Nothing);
            }
            HostEffect::NotOrdered(error) => {
                let mut words = vec![SessionMessage::Say(chain(&error))];
                words.extend(self.handle(now, Event::Finished(RunFinish::Failed)));
                return words;
            }
            HostEffect::Rearmed => {
                open.pending_changes = PendingChanges::everything();
                self.look_now(LookCare::Whole);
            }
            HostEffect::NotRearmed => open.pending_changes.distrust(),
            HostEffect::Show(Notice::Repeating { .. }) => open.planned = PlannedRun::Repetition,
            HostEffect::Show(Notice::Unstable { .. }) => open.planned = PlannedRun::Nothing,
            HostEffect::Show(Notice::EventsLost(problem)) => {
                return vec![SessionMessage::Say(format!("`{root}`: {problem}"))];
            }
            HostEffect::Show(Notice::Polling(reason)) => {
                open.polling = Some(reason.to_string());
                return vec![SessionMessage::Say(format!("`{root}`: {reason}"))];
            }
            HostEffect::Show(Notice::RootVanished) => {
                return vec![SessionMessage::Say(format!("`{root}` is not there any more"))];
            }
            HostEffect::Show(_) | HostEffect::ClearScreen => {}
            HostEffect::Quit(_) => return self.leave(),
        }
        Vec::new()
    }
}
