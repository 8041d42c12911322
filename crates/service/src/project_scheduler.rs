//! The scheduling of one project, for a foreground watch and for the service: the engine, and the code that performs
//! its effects.
//!
//! Owns the engine, the worker, the watcher, git's state, and the moment of the next wake-up. Effects that every host
//! performs in the same way are performed here. Effects that differ between a screen and the service are returned to
//! the host as a [`HostEffect`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::arrivals::ArrivalSender;
use crate::effect::{Effect, Notice, Order};
use crate::engine::{Engine, EngineSettings, Moment};
use crate::errand::Errand;
use crate::event::{Event, SavedContent};
use crate::worker::{FinishedRun, LookTicket, Worker, WorkerReport};
use proctor_model::{CommandExit, GitOperation, TaskId, TreePath, TriggerKind, WatchHint, WatchProblem};
use proctor_project::Progress;
use proctor_tree::ignore::Matcher;
use proctor_tree::watch::{GitFiles, Pace, Watcher, WatcherHandle};
use proctor_tree::{TreeHints, TreeIndex, is_unchanged_on_disk};

/// An effect that the host (the foreground watch or the service) has to perform or to know about.
#[must_use]
#[derive(Debug)]
pub(super) enum HostEffect {
    /// A run was handed to the worker.
    Ordered {
        task: TaskId,
        /// Why the run was ordered.
        trigger: TriggerKind,
    },
    /// A new watcher has replaced the old one, because the rules for which files belong to the tree have changed.
    /// Changes made during the replacement may be unknown.
    Rearmed,
    /// The rules for which files belong to the tree have changed, but no new watcher could be started. The old watcher
    /// and its rules stay.
    NotRearmed,
    Show(Notice),
    ClearScreen,
    /// End the program with this exit code.
    Quit(CommandExit),
}

pub(super) struct ProjectScheduler {
    engine: Engine,
    worker: Worker,
    watcher: Watcher,
    /// Provides the sender for a watcher that replaces the present one.
    arrivals: ArrivalSender,
    git: GitState,
    wake_at: Option<Moment>,
    root: PathBuf,
    /// The project's ledger, which every watcher of this project follows for approvals.
    ledger: PathBuf,
    /// The tree that the run under way tests, or the tree of the last run.
    tested: Option<TreeIndex>,
}

/// If saved files have more bytes than this in total, they count as changed. Otherwise their content is compared, and the event
/// loop waits meanwhile.
const COMPARED_BYTES: u64 = 4 * 1024 * 1024;

impl ProjectScheduler {
    /// Returns the scheduler of a project. The worker and the watcher must have been started already, and must send to
    /// `arrivals`. The watcher also follows the project's ledger from now on, to notice approvals.
    pub(super) fn new(
        root: PathBuf,
        settings: EngineSettings,
        worker: Worker,
        (watcher, ledger): (Watcher, PathBuf),
        arrivals: ArrivalSender,
    ) -> Self {
        watcher.follow_ledger(&ledger);
        let git = GitState::of(&root);
        Self { engine: Engine::new(settings), worker, watcher, arrivals, git, wake_at: None, root, ledger, tested: None }
    }

    /// Runs every task, as at the beginning of a watch.
    pub(super) fn begin(&mut self) -> Vec<HostEffect> {
        let effects = self.engine.begin();
        self.perform(effects)
    }

    /// Runs all tasks except the `settled` ones, which already have their verdicts.
    pub(super) fn begin_without(&mut self, settled: &[TaskId]) -> Vec<HostEffect> {
        let effects = self.engine.begin_without(settled);
        self.perform(effects)
    }

    /// Passes an event to the engine and performs the effects. Git's state is passed on first if it has changed.
    pub(super) fn handle(&mut self, now: Moment, event: Event) -> Vec<HostEffect> {
        if let Some(of_git) = self.git.before(&event) {
            let nothing = self.engine.handle(now, of_git);
            debug_assert!(nothing.is_empty(), "it is only taken notice of");
        }
        let effects = self.engine.handle(now, event);
        self.perform_at(now, effects)
    }

    /// Handles what the worker's thread reports of a run or of changed settings. What it reports of other work (how a project stands, the
    /// opening of a project, what a person or an agent asked for between runs) is handled by the service's loop.
    pub(super) fn take_report(&mut self, now: Moment, report: WorkerReport) -> Vec<HostEffect> {
        match report {
            WorkerReport::Progress(Progress::Begun { index, .. }) => {
                self.tested = Some(*index);
                self.handle(now, Event::Begun)
            }
            WorkerReport::Rules(matcher, pace) => self.rearm(now, *matcher, &pace),
            WorkerReport::Settings(settings) => self.handle(now, Event::Settings(settings)),
            WorkerReport::Progress(Progress::ChecksOver) => self.handle(now, Event::ChecksOver),
            WorkerReport::Over(over) => {
                let FinishedRun { finished, copied, .. } = *over;
                let mut effects = copied.map(|copied| self.handle(now, Event::CopiedOut(copied))).unwrap_or_default();
                effects.extend(self.handle(now, Event::Finished(finished)));
                effects
            }
            WorkerReport::Progress(_)
            | WorkerReport::Looked(..)
            | WorkerReport::Errand(_)
            | WorkerReport::Question(_)
            | WorkerReport::Approved(_)
            | WorkerReport::Opened(_)
            | WorkerReport::Closed(_) => Vec::new(),
        }
    }

    /// Returns when the host must call [`Self::wake`].
    pub(super) fn wake_at(&self) -> Option<Moment> {
        self.wake_at
    }

    /// Sends the engine its timer event if the moment for it has come.
    pub(super) fn wake(&mut self, now: Moment) -> Vec<HostEffect> {
        match self.wake_at.take_if(|moment| *moment <= now) {
            Some(_) => self.handle(now, Event::Timer),
            None => Vec::new(),
        }
    }

    /// Requests a status check from the worker: it compares the tree with the verdicts.
    pub(super) fn look(&self, ticket: LookTicket, wanted: Vec<TaskId>, hints: TreeHints) {
        self.worker.look(ticket, wanted, hints);
    }

    /// Gives the worker an errand to carry out after all earlier requests.
    pub(super) fn send_on(&self, errand: Errand) {
        self.worker.send_on(errand);
    }

    /// Returns the worker, for requests that concern no run.
    pub(super) fn worker(&self) -> &Worker {
        &self.worker
    }

    pub(super) fn watcher(&self) -> WatcherHandle {
        self.watcher.handle()
    }

    /// Returns whether the tree is being compared only because the time for it has come.
    pub(super) fn is_sweeping(&self) -> bool {
        self.engine.is_sweeping()
    }

    /// Returns the tasks that run on a save.
    pub(super) fn watched_tasks(&self) -> &[TaskId] {
        self.engine.watched_tasks()
    }

    /// Closes the project without waiting for the worker to finish.
    pub(super) fn let_go(self) {
        self.worker.let_go();
    }

    fn perform_at(&mut self, now: Moment, effects: Vec<Effect>) -> Vec<HostEffect> {
        let mut performed = Vec::new();
        for effect in effects {
            if let Effect::Compare(paths) = &effect {
                let content = self.compare(paths);
                performed.extend(self.handle(now, Event::Compared(content)));
            } else {
                performed.extend(self.perform_one(effect));
            }
        }
        performed
    }

    fn compare(&self, paths: &BTreeSet<TreePath>) -> SavedContent {
        let is_same = |index| is_unchanged_on_disk(index, paths.iter(), COMPARED_BYTES);
        if self.tested.as_ref().is_some_and(is_same) { SavedContent::Same } else { SavedContent::Different }
    }

    fn perform(&mut self, effects: Vec<Effect>) -> Vec<HostEffect> {
        effects.into_iter().filter_map(|effect| self.perform_one(effect)).collect()
    }

    fn perform_one(&mut self, effect: Effect) -> Option<HostEffect> {
        match effect {
            Effect::Start(order) => return Some(self.start(order)),
            Effect::Stop(reason) => self.worker.stop(reason),
            Effect::WakeAt(moment) => self.wake_at = Some(moment),
            Effect::Show(notice) => return Some(HostEffect::Show(notice)),
            Effect::ClearScreen => return Some(HostEffect::ClearScreen),
            // Only a save during a run asks for a comparison, and `perform_at` handles it.
            Effect::Compare(_) => {}
            Effect::Quit(exit) => return Some(HostEffect::Quit(exit)),
        }
        None
    }

    fn start(&mut self, order: Order) -> HostEffect {
        self.wake_at = None;
        let ordered = HostEffect::Ordered { task: order.task.clone(), trigger: order.trigger.kind };
        self.worker.order(order);
        ordered
    }

    /// Replaces the watcher by one with new rules. The old watcher is dropped only when the new one works, so that no
    /// event is missed.
    fn rearm(&mut self, now: Moment, matcher: Matcher, pace: &Pace) -> Vec<HostEffect> {
        match self.watcher.start_beside(&self.root, matcher, pace, self.arrivals.hints()) {
            Ok(watcher) => {
                watcher.follow_ledger(&self.ledger);
                self.watcher = watcher;
                let effects = self.handle(now, Event::Rewatched);
                std::iter::once(HostEffect::Rearmed).chain(effects).collect()
            }
            Err(error) => {
                let problem = WatchProblem::Backend(error.to_string());
                let effects = self.handle(now, Event::Hints(vec![WatchHint::LookAgain(problem)]));
                std::iter::once(HostEffect::NotRearmed).chain(effects).collect()
            }
        }
    }
}

// The operation that git is in the middle of, as last reported to the engine. Git's files are read only when the engine is about
// to decide something.

/// Git's state for one project.
#[derive(Debug)]
struct GitState {
    files: GitFiles,
    told: Option<GitOperation>,
}

impl GitState {
    /// Returns the state before anything has been reported to the engine.
    fn of(root: &Path) -> Self {
        Self { files: GitFiles::find(root), told: None }
    }

    /// Returns the event that the engine must handle before `event`, if git's operation has changed. Only hints and timers can
    /// start runs, so only they need git's state.
    fn before(&mut self, event: &Event) -> Option<Event> {
        if !matches!(event, Event::Hints(_) | Event::Timer) {
            return None;
        }
        let operation = self.files.read();
        let is_news = std::mem::replace(&mut self.told, operation) != operation;
        is_news.then_some(Event::Git(operation))
    }
}
