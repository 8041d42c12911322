//! One project of the service: its scheduling, and the clients that wait for it. The engine and the waiters make the
//! decisions. This module carries them out.

mod errands;
mod health;
mod looks;
mod runs;

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use crate::effect::Notice;
use crate::engine::{Moment, busy_lines, differing_lines};
use crate::event::{Event, OsSignal};
use crate::project_scheduler::{HostEffect, ProjectScheduler};
use crate::service::call::{ErrandCall, Reply, answer, from_open_failure, refuse};
use crate::service::health::ProjectHealth;
use crate::service::opening::{OpenProject, RunCall, SessionMessage};
use crate::service::pending_changes::{LookCare, PendingChanges};
use crate::service::waiters::{PlannedRun, Waiters};
use crate::worker::{LookTicket, OpenFailure, OpenFailureKind, OpenedProject, Worker, WorkerReport};
use proctor_api::{AddedV1, AnswerV1, ErrorV1, EventV1, ProjectV1};
use proctor_app::health::health;
use proctor_git::read_git_index;
use proctor_model::{Activity, ProjectId, Serving, TaskId, TriggerKind, WatchHint};
use proctor_project::StoreReader;
use proctor_sandbox::process::clock;

/// The pause before another attempt to open a project that could not be opened.
const TRY_AGAIN: Duration = Duration::from_secs(30);
/// The pause between status checks while another process runs the project's checks and a client waits for the end.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A project that is watched, or that the service tries to open.
pub(super) struct ProjectSession {
    /// The project's id; `None` while the project is being added and has not been registered yet.
    pub(super) id: Option<ProjectId>,
    pub(super) root: PathBuf,
    stage: Stage,
    waiters: Waiters<Reply<AnswerV1>>,
    runs: VecDeque<RunCall>,
    errands: VecDeque<ErrandCall>,
    /// Hints for the engine from before the end of the first look: while the project was being opened those that part of the tree is polled,
    /// which the watcher sends only once, and then all. A save that changed nothing starts no run only if the engine knows the verdicts.
    early: Vec<WatchHint>,
    adding: Option<Reply<AddedV1>>,
    /// What keeps the service from judging the project, and when it tries again.
    health: ProjectHealth,
    /// The project's name, if its settings ask for notifications on the desktop.
    notify: Option<String>,
    /// Why the project could not be opened last, so that the log says it once and not for every attempt.
    closed_before: Option<OpenFailure>,
}

enum Stage {
    Opening(Worker),
    Open(Box<OpenProject>),
    Closed {
        why: OpenFailure,
        again: Moment,
    },
    /// The project is closed, and its threads are not waited for.
    Left,
}

impl ProjectSession {
    /// Returns a project whose worker is opening it.
    pub(super) fn opening(worker: Worker, id: Option<ProjectId>, root: PathBuf, adding: Option<Reply<AddedV1>>) -> Self {
        Self { adding, ..Self::at(Stage::Opening(worker), id, root) }
    }

    /// Returns a project whose opening could not even be started, and what people are told about it.
    pub(super) fn closed(now: Moment, why: OpenFailure, id: Option<ProjectId>, root: PathBuf) -> (Self, Vec<SessionMessage>) {
        let mut session = Self::at(Stage::Left, id, root);
        let words = session.could_not_open(now, why);
        (session, words)
    }

    fn at(stage: Stage, id: Option<ProjectId>, root: PathBuf) -> Self {
        let (runs, errands) = (VecDeque::new(), VecDeque::new());
        let (early, health) = (Vec::new(), ProjectHealth::default());
        let waiters = Waiters::new();
        let (adding, notify, closed_before) = (None, None, None);
        Self { id, root, stage, waiters, runs, errands, early, adding, health, notify, closed_before }
    }

    /// Notes that the opening has been started again, or that it could not be started.
    pub(super) fn open_again(
        &mut self,
        now: Moment,
        opening: Result<Worker, OpenFailure>,
        archive: &mut StoreReader,
    ) -> Vec<SessionMessage> {
        let mut words = match opening {
            Ok(worker) => {
                self.stage = Stage::Opening(worker);
                Vec::new()
            }
            Err(why) => self.could_not_open(now, why),
        };
        words.extend(self.go_on(now, archive));
        words
    }

    /// Takes over the clients that waited for an earlier opening of the project, which has ended.
    pub(super) fn take_clients(&mut self, earlier: Self) {
        (self.waiters, self.runs, self.errands) = (earlier.waiters, earlier.runs, earlier.errands);
        self.waiters.begin_anew();
    }

    /// Returns whether something keeps the service from judging the project.
    pub(super) fn is_troubled(&self) -> bool {
        self.health.problem().is_some()
    }

    /// Returns whether it is time to try again to open the project.
    pub(super) fn is_to_be_opened(&self, now: Moment) -> bool {
        matches!(&self.stage, Stage::Closed { again, .. } if *again <= now)
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(&self.stage, Stage::Open(open) if open.activity != Activity::Idle)
    }

    /// Returns when [`Self::woken`] must be called.
    pub(super) fn next_moment(&self) -> Option<Moment> {
        let own = match &self.stage {
            Stage::Open(open) => {
                let syncing = open.syncing.as_ref().map(|(until, _)| *until);
                [open.scheduler.wake_at(), open.look_again, syncing, self.health.next_moment()]
            }
            Stage::Closed { again, .. } => [Some(*again), None, None, None],
            Stage::Opening(_) | Stage::Left => [None; 4],
        };
        own.into_iter().chain([self.waiters.next_deadline()]).flatten().min()
    }

    /// Handles the moment at which the project wanted to be woken.
    pub(super) fn woken(&mut self, now: Moment, archive: &mut StoreReader) -> Vec<SessionMessage> {
        let mut words = self.schedule(|scheduler| scheduler.wake(now));
        if let Stage::Open(open) = &mut self.stage
            && open.look_again.take_if(|moment| *moment <= now).is_some()
        {
            self.waiters.unblock();
        }
        self.stop_syncing(now);
        self.try_to_judge(now);
        for due in self.waiters.late(now) {
            let standing = self.unlooked(archive, std::slice::from_ref(&due.task));
            answer(due, &standing, self.health.problem());
        }
        words.extend(self.go_on(now, archive));
        words
    }

    /// Passes hints from the watcher to the engine and to the next status check, and tells subscribers of the change.
    pub(super) fn hinted(&mut self, now: Moment, hints: Vec<WatchHint>, archive: &mut StoreReader) -> Vec<SessionMessage> {
        let is_change =
            |hint: &WatchHint| !matches!(hint, WatchHint::Synced(_) | WatchHint::IgnoredCame(_) | WatchHint::Approved);
        let is_news = hints.iter().any(is_change);
        let changed = self.id.clone().filter(|_| is_news).map(|project| SessionMessage::Tell(EventV1::Changed { project }));
        let mut words: Vec<SessionMessage> = changed.into_iter().collect();
        match &mut self.stage {
            Stage::Opening(_) => self.early.extend(hints.into_iter().filter(|hint| matches!(hint, WatchHint::Polling(_)))),
            Stage::Open(_) | Stage::Closed { .. } | Stage::Left => {
                self.hear(&hints);
                self.early.extend(hints);
                words.extend(self.tell_engine(now));
            }
        }
        words.extend(self.go_on(now, archive));
        words
    }

    /// Passes what the watcher has reported to the engine, unless the first look is under way.
    fn tell_engine(&mut self, now: Moment) -> Vec<SessionMessage> {
        let is_looking = matches!(&self.stage, Stage::Open(open) if open.first.is_some());
        let hints = if is_looking { Vec::new() } else { std::mem::take(&mut self.early) };
        if hints.is_empty() { Vec::new() } else { self.handle(now, Event::Hints(hints)) }
    }

    /// Handles a signal that all projects receive.
    pub(super) fn signalled(&mut self, now: Moment, signal: OsSignal) -> Vec<SessionMessage> {
        match &self.stage {
            Stage::Open(_) => self.handle(now, Event::Signal(signal)),
            Stage::Opening(_) | Stage::Closed { .. } if signal != OsSignal::Reload => self.leave(),
            Stage::Opening(_) | Stage::Closed { .. } | Stage::Left => Vec::new(),
        }
    }

    /// Handles a report of the project's worker, for example the end of a run or of a status check.
    pub(super) fn reported(&mut self, now: Moment, report: WorkerReport, archive: &mut StoreReader) -> Vec<SessionMessage> {
        let mut words = match report {
            WorkerReport::Opened(opened) => self.opened(now, *opened),
            WorkerReport::Closed(why) => self.could_not_open(now, why),
            WorkerReport::Progress(progress) => self.progressed(now, progress),
            of_scheduling @ (WorkerReport::Settings(_) | WorkerReport::Rules(..)) => {
                self.schedule(|scheduler| scheduler.take_report(now, of_scheduling))
            }
            WorkerReport::Looked(ticket, looked) => {
                let words = self.looked(now, ticket, *looked, archive);
                words.into_iter().chain(self.tell_engine(now)).collect()
            }
            WorkerReport::Over(over) => self.over(now, over, archive),
            WorkerReport::Errand(done) => self.errand_over(*done),
            // Only a foreground watch asks a person, so the service never requests these.
            WorkerReport::Question(_) | WorkerReport::Approved(_) => Vec::new(),
        };
        words.extend(self.go_on(now, archive));
        words
    }

    /// Ends the work on the project. The run under way is stopped and its evidence is sealed. Every waiting client gets
    /// the error `why`.
    pub(super) fn end(&mut self, now: Moment, why: &ErrorV1) -> Vec<SessionMessage> {
        self.waiters.take_all().into_iter().for_each(|due| refuse(due.reply, why.clone()));
        self.runs.drain(..).for_each(|call| call.answer(&Err(why.clone())));
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
        (self.notify, self.closed_before) = (opened.notify, None);
        let over = self.health.opened();
        let first = LookTicket(0);
        // A status check of the whole tree decides whether anything has to be run.
        let mut pending_changes = PendingChanges::everything();
        let wanted = [opened.engine.tasks.clone(), self.waiters.wanted_tasks()].concat();
        let scheduler = ProjectScheduler::new(opened.engine, worker, opened.directory);
        scheduler.look(first, wanted, pending_changes.take(LookCare::Whole));
        self.waiters.begin_look(first);
        self.stage = Stage::Open(Box::new(OpenProject {
            scheduler,
            activity: Activity::Idle,
            followed: None,
            planned: PlannedRun::Nothing,
            looking: Some(first),
            first: Some(first),
            owes_first_look: false,
            tickets: 0,
            look_again: None,
            pending_changes,
            syncing: None,
            current: None,
            errand: None,
            running: TaskId::default_task(),
            lists_own_task: true,
            trigger: TriggerKind::Start,
            polling: None,
            differing: Vec::new(),
            busy: Vec::new(),
            said_busy: BTreeSet::new(),
            failure: None,
            asked: None,
        }));
        let mut words = vec![SessionMessage::Say(format!("{project}: watching `{}`", self.root.display()))];
        words.extend(self.healed(over));
        words.extend(opened.notes.iter().map(|note| SessionMessage::Say(note.clone())));
        if let Some(reply) = self.adding.take() {
            let project = ProjectV1::new(project.clone(), &self.root, Serving::Served);
            let _gone = reply.send(Ok(AddedV1 { project, notes: opened.notes }));
            words.push(SessionMessage::Tell(EventV1::Added { project: opened.scope.project }));
        }
        let early = std::mem::take(&mut self.early);
        self.hear(&early);
        words.into_iter().chain(self.handle(now, Event::Hints(early))).collect()
    }

    /// Handles a failed opening. A project that was being added is forgotten. A served project is opened again later.
    fn could_not_open(&mut self, now: Moment, why: OpenFailure) -> Vec<SessionMessage> {
        let said = SessionMessage::Say(format!("`{}` could not be opened: {}", self.root.display(), why.lines.join("; ")));
        if let Some(reply) = self.adding.take() {
            refuse(reply, from_open_failure(&why));
            let mut words = vec![said];
            words.extend(self.leave());
            return words;
        }
        let is_news = self.closed_before.as_ref() != Some(&why);
        self.closed_before = Some(why.clone());
        self.runs.drain(..).for_each(|call| call.answer(&Err(from_open_failure(&why))));
        self.refuse_errands(&from_open_failure(&why));
        let mut words: Vec<_> = is_news.then_some(said).into_iter().collect();
        let again = match why.reason {
            OpenFailureKind::OwnFault(problem) => {
                let found = health(problem, why.lines.join("; "), None, clock::now());
                words.extend(self.troubled(now, found, None));
                self.health.next_moment().unwrap_or_else(|| now.plus(TRY_AGAIN))
            }
            OpenFailureKind::RootMissing
            | OpenFailureKind::Doubtful
            | OpenFailureKind::NotRegistered
            | OpenFailureKind::Configuration => {
                let over = self.health.opened();
                words.extend(self.healed(over));
                now.plus(TRY_AGAIN)
            }
        };
        self.stage = Stage::Closed { why, again };
        words
    }

    /// Begins what is due next if no run is under way: an errand, a requested run, or a status check.
    fn go_on(&mut self, now: Moment, archive: &mut StoreReader) -> Vec<SessionMessage> {
        let mut words = Vec::new();
        match &self.stage {
            Stage::Open(open) if open.activity == Activity::Idle => {
                // Errands come before the next run: a change of the task's cycle decides whether that run happens and
                // how it is judged.
                self.next_errand();
                words.extend(self.next_run(now));
                self.repeat_first_look();
                self.next_look(now);
            }
            Stage::Closed { again, .. } if *again <= now => {}
            Stage::Opening(_) | Stage::Open(_) | Stage::Left => {}
            Stage::Closed { .. } => {
                for due in self.waiters.take_all() {
                    let standing = self.unlooked(archive, std::slice::from_ref(&due.task));
                    answer(due, &standing, self.health.problem());
                }
            }
        }
        if self.is_running() {
            self.put_off_look();
            for due in self.waiters.take_impatient() {
                let standing = self.unlooked(archive, std::slice::from_ref(&due.task));
                answer(due, &standing, self.health.problem());
            }
        }
        words
    }

    fn handle(&mut self, now: Moment, event: Event) -> Vec<SessionMessage> {
        self.schedule(|scheduler| scheduler.handle(now, event))
    }

    /// Calls `act` with the scheduler if the project is open, and performs the effects that the scheduler leaves to the
    /// service.
    fn schedule(&mut self, act: impl FnOnce(&mut ProjectScheduler) -> Vec<HostEffect>) -> Vec<SessionMessage> {
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        let effects = act(&mut open.scheduler);
        effects.into_iter().flat_map(|effect| self.perform(effect)).collect()
    }

    fn perform(&mut self, effect: HostEffect) -> Vec<SessionMessage> {
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        let root = self.root.display();
        match effect {
            HostEffect::Ordered { task, trigger } => {
                (open.running, open.trigger) = (task, trigger);
                (open.activity, open.planned) = (Activity::Running, PlannedRun::Nothing);
                open.differing.clear();
            }
            HostEffect::Rearmed => {
                open.pending_changes = PendingChanges::everything();
                self.look_now(LookCare::Whole);
            }
            HostEffect::NotRearmed => open.pending_changes.distrust(),
            HostEffect::Show(Notice::Repeating { .. }) => open.planned = PlannedRun::Repetition,
            HostEffect::Show(Notice::Unstable { .. }) => open.planned = PlannedRun::Nothing,
            HostEffect::Show(Notice::CopiedFilesDiffer { paths }) => {
                open.differing = differing_lines(&paths, read_git_index(&self.root, None).paths());
                return vec![SessionMessage::Say(format!("`{root}`: {}", open.differing.join("; ")))];
            }
            HostEffect::Show(Notice::Busy { paths }) => {
                open.busy = busy_lines(&paths, read_git_index(&self.root, None).paths());
                let is_news = !paths.is_subset(&open.said_busy);
                open.said_busy.extend(paths);
                return is_news.then(|| SessionMessage::Say(format!("`{root}`: {}", open.busy.join("; ")))).into_iter().collect();
            }
            HostEffect::Show(Notice::NoLongerBusy) => open.busy.clear(),
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
