//! The scheduling of one project, for a foreground watch and for the service: the engine, and the code that performs
//! its effects.
//!
//! Owns the engine, the worker, the watched directory, and the moment of the next wake-up. Effects that every host
//! performs in the same way are performed here. Effects that differ between a screen and the service are returned to
//! the host as a [`HostEffect`].

use std::collections::BTreeSet;

use crate::effect::{Effect, Notice, Order};
use crate::engine::{Engine, EngineSettings, Moment};
use crate::errand::Errand;
use crate::event::{Event, SavedContent};
use crate::watched_directory::WatchedDirectory;
use crate::worker::{FinishedRun, LookTicket, Worker, WorkerReport};
use proctor_model::{CommandExit, GitOperation, SyncId, TaskId, TreeDigest, TreePath, TriggerKind, WatchHint, WatchProblem};
use proctor_project::Progress;
use proctor_tree::ignore::Matcher;
use proctor_tree::watch::{Pace, WatcherHandle};
use proctor_tree::{TreeHints, TreeIndex};

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
    directory: Box<dyn WatchedDirectory>,
    /// The operation that git is in the middle of, as last reported to the engine.
    told_git: Option<GitOperation>,
    wake_at: Option<Moment>,
    /// The tree that the run under way tests, or the tree of the last run.
    tested: Option<TreeIndex>,
}

impl ProjectScheduler {
    /// Returns the scheduler of a project. The worker and the watcher of the directory have been started already, and send to the
    /// event loop that calls this scheduler.
    pub(super) fn new(settings: EngineSettings, worker: Worker, directory: Box<dyn WatchedDirectory>) -> Self {
        Self { engine: Engine::new(settings), worker, directory, told_git: None, wake_at: None, tested: None }
    }

    /// Runs every task, as at the beginning of a watch.
    pub(super) fn begin(&mut self) -> Vec<HostEffect> {
        let effects = self.engine.begin();
        self.perform(effects)
    }

    /// Runs all tasks except the `settled` ones. Those with a fresh verdict come with the present tree.
    pub(super) fn begin_without(&mut self, settled: &[(TaskId, Option<TreeDigest>)]) -> Vec<HostEffect> {
        let effects = self.engine.begin_without(settled);
        self.perform(effects)
    }

    /// Passes an event to the engine and performs the effects. Git's state is passed on first if it has changed.
    pub(super) fn handle(&mut self, now: Moment, event: Event) -> Vec<HostEffect> {
        self.tell_git(now, &event);
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

    /// Has the watcher confirm by a hint with this number that it has reported every save before this call.
    pub(super) fn sync_watcher(&self, id: SyncId) {
        self.directory.sync(id);
    }

    pub(super) fn watcher(&self) -> Option<WatcherHandle> {
        self.directory.watcher()
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
        let is_same = |index| self.directory.is_unchanged(index, paths);
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

    /// Reports git's operation to the engine if it has changed. Only hints and timers can start runs, so git's files are read only
    /// before these.
    fn tell_git(&mut self, now: Moment, event: &Event) {
        if !matches!(event, Event::Hints(_) | Event::Timer) {
            return;
        }
        let operation = self.directory.git_operation();
        if std::mem::replace(&mut self.told_git, operation) != operation {
            let nothing = self.engine.handle(now, Event::Git(operation));
            debug_assert!(nothing.is_empty(), "it is only taken notice of");
        }
    }

    /// Has the directory watched by new rules.
    fn rearm(&mut self, now: Moment, matcher: Matcher, pace: &Pace) -> Vec<HostEffect> {
        match self.directory.watch_anew(matcher, pace) {
            Ok(()) => {
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
