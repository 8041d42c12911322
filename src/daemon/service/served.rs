//! One project of the service: its engine, worker and watcher, and who waits for it. Every decision is the engine's or the waiters';
//! here is only what they need carried out.

mod errands;
mod looking;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use crate::api::{AddedV1, AnswerV1, ErrorV1, EventV1, ProjectV1, RunOutcomeV1};
use crate::daemon::effect::{Effect, Notice};
use crate::daemon::engine::{Engine, Moment};
use crate::daemon::event::{Event, OsSignal};
use crate::daemon::git_state::GitState;
use crate::daemon::service::answering::{answer, of_closed, refuse, too_many};
use crate::daemon::service::call::{ErrandCall, Reply};
use crate::daemon::service::heard::{Care, Heard};
use crate::daemon::service::open::{Open, RunCall, Word};
use crate::daemon::service::opening::chain;
use crate::daemon::service::outcome::{Told, told};
use crate::daemon::service::waiters::{Planned, Waiters};
use crate::daemon::worker::{Closed, Opened, Over, Ticket, Worker, WorkerReport};
use crate::ignore::Matcher;
use crate::model::{Activity, ProjectId, Serving, TaskId, TriggerKind, WatchHint, WatchProblem};
use crate::process::Control;
use crate::project::{Archive, Carried, Progress};
use crate::watch::{Pace, Watcher};

/// How often a project that could not be opened is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(30);
/// How often another process's run is looked at while somebody waits for its end.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How often a run that somebody asked for is begun again because a save stopped it.
const MOST_TRIES: u32 = 3;
/// So many runs of one project are asked for.
const MOST_RUNS: usize = 16;

/// A project that is served, or is to be.
pub(super) struct Served {
    /// None until a project that is added has been registered.
    pub(super) id: Option<ProjectId>,
    pub(super) root: PathBuf,
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
    Open(Box<Open>),
    Closed {
        why: Closed,
        again: Moment,
    },
    /// Whoever drops it need not wait for anything.
    Left,
}

impl Served {
    /// Returns a project whose worker is opening it.
    pub(super) fn opening(id: Option<ProjectId>, root: PathBuf, worker: Worker, adding: Option<Reply<AddedV1>>) -> Self {
        Self::at(Stage::Opening(worker), id, root, adding)
    }

    /// Returns a project that could not even be begun to be opened.
    pub(super) fn closed(id: Option<ProjectId>, root: PathBuf, why: Closed, again: Moment) -> Self {
        Self::at(Stage::Closed { why, again }, id, root, None)
    }

    fn at(stage: Stage, id: Option<ProjectId>, root: PathBuf, adding: Option<Reply<AddedV1>>) -> Self {
        let (runs, errands) = (VecDeque::new(), VecDeque::new());
        Self { id, root, stage, waiters: Waiters::new(), runs, errands, early: Vec::new(), adding }
    }

    /// Takes the place of an opening that is tried again.
    pub(super) fn open_again(&mut self, worker: Worker) {
        self.stage = Stage::Opening(worker);
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
            Stage::Open(open) => [open.wake_at, open.look_again, open.syncing.as_ref().map(|(until, _)| *until)],
            Stage::Closed { again, .. } => [Some(*again), None, None],
            Stage::Opening(_) | Stage::Left => [None, None, None],
        };
        own.into_iter().chain([self.waiters.next_deadline()]).flatten().min()
    }

    /// Takes in the moment it asked to be woken at.
    pub(super) fn woken(&mut self, now: Moment, archive: &mut Archive) -> Vec<Word> {
        let mut words = Vec::new();
        if let Stage::Open(open) = &mut self.stage
            && open.wake_at.take_if(|moment| *moment <= now).is_some()
        {
            words.extend(self.handle(now, Event::Timer));
        }
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
    pub(super) fn hinted(&mut self, now: Moment, hints: Vec<WatchHint>, archive: &mut Archive) -> Vec<Word> {
        let is_news = hints.iter().any(|hint| !matches!(hint, WatchHint::Synced(_)));
        let changed = self.id.clone().filter(|_| is_news).map(|project| Word::Tell(EventV1::Changed { project }));
        let mut words: Vec<Word> = changed.into_iter().collect();
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
    pub(super) fn signalled(&mut self, now: Moment, signal: OsSignal) -> Vec<Word> {
        match &self.stage {
            Stage::Open(_) => self.handle(now, Event::Signal(signal)),
            Stage::Opening(_) | Stage::Closed { .. } if signal != OsSignal::Reload => self.leave(),
            Stage::Opening(_) | Stage::Closed { .. } | Stage::Left => Vec::new(),
        }
    }

    /// Takes in what the worker says.
    pub(super) fn reported(&mut self, now: Moment, report: WorkerReport, archive: &mut Archive, hints: &Hints) -> Vec<Word> {
        let mut words = match report {
            WorkerReport::Opened(opened) => self.opened(now, *opened, hints),
            WorkerReport::Closed(why) => self.could_not_open(now, why),
            WorkerReport::Progress(progress) => {
                self.progressed(&progress);
                if matches!(progress, Progress::Begun { .. }) { self.begun(now) } else { self.acted(&progress) }
            }
            WorkerReport::Settings(settings) => {
                if let Stage::Open(open) = &mut self.stage {
                    open.watched.clone_from(&settings.tasks);
                }
                self.handle(now, Event::Settings(settings))
            }
            WorkerReport::Rules(matcher, pace) => self.watch_by(now, *matcher, &pace),
            WorkerReport::Looked(ticket, looked) => self.looked(now, ticket, *looked),
            WorkerReport::Over(over) => self.over(now, *over),
            WorkerReport::Errand(done) => self.errand_over(*done),
        };
        words.extend(self.go_on(now, archive));
        words
    }

    /// Notes that somebody wants a run.
    pub(super) fn request(&mut self, now: Moment, call: RunCall, archive: &mut Archive) -> Vec<Word> {
        if self.runs.len() >= MOST_RUNS {
            refuse(call.reply, too_many("asked for runs of this project"));
            return Vec::new();
        }
        if let Stage::Closed { why, .. } = &self.stage {
            refuse(call.reply, of_closed(why));
            return Vec::new();
        }
        self.runs.push_back(call);
        self.go_on(now, archive)
    }

    /// Ends it: what runs is stopped and sealed, and everybody who waits is told.
    pub(super) fn end(&mut self, now: Moment, why: &ErrorV1) -> Vec<Word> {
        self.waiters.take_all().into_iter().for_each(|due| refuse(due.reply, why.clone()));
        self.runs.drain(..).for_each(|call| refuse(call.reply, why.clone()));
        self.refuse_errands(why);
        if let Some(reply) = self.adding.take() {
            refuse(reply, why.clone());
        }
        self.signalled(now, OsSignal::Terminate)
    }

    fn leave(&mut self) -> Vec<Word> {
        match std::mem::replace(&mut self.stage, Stage::Left) {
            Stage::Opening(worker) => worker.let_go(),
            Stage::Open(open) => open.worker.let_go(),
            Stage::Closed { .. } | Stage::Left => {}
        }
        vec![Word::Left]
    }

    fn opened(&mut self, now: Moment, opened: Opened, hints: &Hints) -> Vec<Word> {
        let Stage::Opening(worker) = std::mem::replace(&mut self.stage, Stage::Left) else { return Vec::new() };
        let project = opened.scope.project.clone();
        self.id = Some(project.clone());
        let first = Ticket(0);
        // Whether anything has to be run at all, the tree says.
        let mut heard = Heard::everything();
        let wanted = [opened.engine.tasks.clone(), self.waiters.wanted_tasks()].concat();
        worker.look(first, wanted, heard.take(Care::Whole));
        self.waiters.begin_look(first);
        let watched = opened.engine.tasks.clone();
        self.stage = Stage::Open(Box::new(Open {
            engine: Engine::new(opened.engine),
            worker,
            watcher: Some(opened.watcher),
            wake_at: None,
            activity: Activity::Idle,
            planned: Planned::Nothing,
            watched,
            looking: Some(first),
            first: Some(first),
            tickets: 0,
            look_again: None,
            heard,
            syncing: None,
            current: None,
            errand: None,
            send_hint: hints(),
            git: GitState::of(&self.root),
            running: TaskId::default_task(),
            trigger: TriggerKind::Start,
            polling: None,
        }));
        let mut words = vec![Word::Say(format!("{project}: watching `{}`", self.root.display()))];
        words.extend(opened.notes.iter().map(|note| Word::Say(note.clone())));
        if let Some(reply) = self.adding.take() {
            let project = ProjectV1::new(project.clone(), &self.root, Serving::Served);
            let _gone = reply.send(Ok(AddedV1 { project, notes: opened.notes }));
            words.push(Word::Tell(EventV1::Added { project: opened.scope.project }));
        }
        let early = std::mem::take(&mut self.early);
        self.hear(&early);
        words.extend(self.handle(now, Event::Hints(early)));
        words
    }

    /// One that was only to be added is forgotten; one that is served is tried again later.
    fn could_not_open(&mut self, now: Moment, why: Closed) -> Vec<Word> {
        let said = Word::Say(format!("`{}` could not be opened: {}", self.root.display(), why.lines.join("; ")));
        if let Some(reply) = self.adding.take() {
            refuse(reply, of_closed(&why));
            let mut words = vec![said];
            words.extend(self.leave());
            return words;
        }
        let is_news = !matches!(&self.stage, Stage::Closed { why: before, .. } if *before == why);
        self.runs.drain(..).for_each(|call| refuse(call.reply, of_closed(&why)));
        self.refuse_errands(&of_closed(&why));
        self.stage = Stage::Closed { why, again: now.plus(TRY_AGAIN) };
        if is_news { vec![said] } else { Vec::new() }
    }

    fn progressed(&mut self, progress: &Progress) {
        let Stage::Open(open) = &mut self.stage else { return };
        open.activity = match progress {
            Progress::WaitingForLock { .. } | Progress::WaitingForSlot { .. } => Activity::Queued,
            Progress::Begun { .. }
            | Progress::ActionStarted(_)
            | Progress::ServiceReady { .. }
            | Progress::ActionEnded(_)
            | Progress::Recovered { .. }
            | Progress::Note(_) => Activity::Running,
        };
    }

    /// Tells of the actions of a run as they begin and end.
    fn acted(&self, progress: &Progress) -> Vec<Word> {
        let Some(project) = self.id.clone() else { return Vec::new() };
        let event = match progress {
            Progress::ActionStarted(action) => {
                EventV1::ActionStarted { project, action_id: action.id.clone(), name: action.name.clone() }
            }
            Progress::ActionEnded(result) => EventV1::ActionEnded {
                project,
                action_id: result.action_id.clone(),
                name: result.name.clone(),
                status: result.status,
            },
            Progress::Note(note) => return vec![Word::Say(format!("{project}: {note}"))],
            Progress::Begun { .. }
            | Progress::ServiceReady { .. }
            | Progress::WaitingForLock { .. }
            | Progress::WaitingForSlot { .. }
            | Progress::Recovered { .. } => return Vec::new(),
        };
        vec![Word::Tell(event)]
    }

    fn begun(&mut self, now: Moment) -> Vec<Word> {
        let (Stage::Open(open), Some(project)) = (&self.stage, self.id.clone()) else { return Vec::new() };
        let mut words = vec![Word::Tell(EventV1::RunStarted { project, task: open.running.clone(), trigger: open.trigger })];
        words.extend(self.handle(now, Event::Begun));
        words
    }

    /// Watches by other rules. The old watcher goes when the new one is there, so that nothing is missed in between.
    fn watch_by(&mut self, now: Moment, matcher: Matcher, pace: &Pace) -> Vec<Word> {
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        match Watcher::start(&self.root, matcher, pace, (open.send_hint)()) {
            Ok(watcher) => {
                open.watcher = Some(watcher);
                open.heard = Heard::everything();
                self.look_now(Care::Whole);
                Vec::new()
            }
            Err(error) => {
                open.heard.distrust();
                let problem = WatchProblem::Backend(error.to_string());
                self.handle(now, Event::Hints(vec![WatchHint::LookAgain(problem)]))
            }
        }
    }

    fn over(&mut self, now: Moment, over: Over) -> Vec<Word> {
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        open.activity = Activity::Idle;
        let Some(project) = self.id.clone() else { return Vec::new() };
        let told = told(project, &over);
        let mut words = match &over.carried {
            // It had not begun, and nobody was told that it had.
            Ok(Carried::Withdrawn) => Vec::new(),
            Ok(_) | Err(_) => vec![Word::Tell(told.event()), Word::Say(told.line())],
        };
        words.extend(self.handle(now, Event::Finished(over.finished)));
        self.settle_run(told);
        if let Stage::Open(open) = &self.stage
            && open.activity == Activity::Idle
            && open.planned == Planned::Nothing
        {
            self.waiters.unblock();
        }
        words
    }

    /// Answers whoever asked for the run that is over, unless it has to be made again.
    fn settle_run(&mut self, told: Told) {
        let Stage::Open(open) = &mut self.stage else { return };
        let Some(mut call) = open.current.take_if(|call| call.task == told.answer.task) else { return };
        match (told.answer.outcome, open.planned) {
            (RunOutcomeV1::Moved, Planned::Repetition) => open.current = Some(call),
            (RunOutcomeV1::Superseded, _) if call.tries < MOST_TRIES => {
                call.tries += 1;
                self.runs.push_front(call);
            }
            _ => {
                let _gone = call.reply.send(Ok(told.answer));
            }
        }
    }

    /// Does what is to be done next where nothing runs: the next run that was asked for, or a look.
    fn go_on(&mut self, now: Moment, archive: &mut Archive) -> Vec<Word> {
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

    fn next_run(&mut self, now: Moment) -> Vec<Word> {
        self.runs.retain(|call| !call.reply.is_closed());
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        if open.current.is_some() {
            // It waits for a repetition.
            return Vec::new();
        }
        let Some(call) = self.runs.pop_front() else { return Vec::new() };
        let (task, selection) = (call.task.clone(), call.selection.clone());
        open.current = Some(call);
        self.handle(now, Event::Requested(task, selection))
    }

    fn handle(&mut self, now: Moment, event: Event) -> Vec<Word> {
        let Stage::Open(open) = &mut self.stage else { return Vec::new() };
        if let Some(of_git) = open.git.before(&event) {
            let nothing = open.engine.handle(now, of_git);
            debug_assert!(nothing.is_empty(), "it is only taken notice of");
        }
        let effects = open.engine.handle(now, event);
        self.perform(now, effects)
    }

    fn perform(&mut self, now: Moment, effects: Vec<Effect>) -> Vec<Word> {
        let mut words = Vec::new();
        for effect in effects {
            let Stage::Open(open) = &mut self.stage else { break };
            match effect {
                Effect::Start(order) => match Control::new() {
                    Ok((control, handle)) => {
                        (open.running, open.trigger) = (order.task.clone(), order.trigger.kind);
                        open.wake_at = None;
                        open.worker.order(order, control, handle);
                        (open.activity, open.planned) = (Activity::Running, Planned::Nothing);
                    }
                    Err(error) => {
                        // Nothing was started: the engine hears of the end of it.
                        words.push(Word::Say(chain(&error)));
                        words.extend(self.handle(now, Event::Finished(crate::daemon::event::Finished::Failed)));
                    }
                },
                Effect::Stop(reason) => open.worker.stop(reason),
                Effect::WakeAt(moment) => open.wake_at = Some(moment),
                Effect::Show(Notice::Repeating { .. }) => open.planned = Planned::Repetition,
                Effect::Show(Notice::Unstable { .. }) => open.planned = Planned::Nothing,
                Effect::Show(Notice::EventsLost(problem)) => {
                    words.push(Word::Say(format!("`{}`: {problem}", self.root.display())));
                }
                Effect::Show(Notice::Polling(reason)) => {
                    words.push(Word::Say(format!("`{}`: {reason}", self.root.display())));
                    open.polling = Some(reason.to_string());
                }
                Effect::Show(Notice::RootVanished) => {
                    words.push(Word::Say(format!("`{}` is not there any more", self.root.display())));
                }
                Effect::Show(_) | Effect::ClearScreen => {}
                Effect::Quit(_) => words.extend(self.leave()),
            }
        }
        words
    }
}

/// Makes the way hints of a watcher take to the loop.
pub(super) type Hints = dyn Fn() -> Box<dyn Fn() -> Box<dyn Fn(WatchHint) + Send> + Send>;
