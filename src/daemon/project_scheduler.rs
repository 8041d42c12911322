//! The scheduling of one project, as a watch in the foreground and the service alike need it: the engine, and what performs its effects.
//!
//! Owns the engine, the worker, the watcher, what git is in the middle of, and the moment to be woken at. What every host does with an
//! effect is done here; what a screen shows and the service publishes differently goes back to the host as a [`HostEffect`].

use std::path::PathBuf;

use crate::daemon::arrivals::ArrivalSender;
use crate::daemon::effect::{Effect, Notice, Order};
use crate::daemon::engine::{Engine, EngineSettings, Moment};
use crate::daemon::errand::Errand;
use crate::daemon::event::Event;
use crate::daemon::git_state::GitState;
use crate::daemon::worker::{LookTicket, Worker, WorkerReport};
use crate::ignore::Matcher;
use crate::model::{CommandExit, TaskId, TriggerKind, WatchHint, WatchProblem};
use crate::process::{Control, ControlError};
use crate::project::Progress;
use crate::tree::TreeHints;
use crate::watch::{Pace, Watcher, WatcherHandle};

/// What is left to the host of an event's effects.
#[must_use]
#[derive(Debug)]
pub(super) enum HostEffect {
    /// A run was handed to the worker.
    Ordered {
        /// What for.
        task: TaskId,
        /// Why.
        trigger: TriggerKind,
    },
    /// A run could not be handed over. The engine takes it for begun until it is told that it has failed.
    NotOrdered(ControlError),
    /// The project is watched by other rules from here on; what changed in between is not known.
    Rearmed,
    /// The project is still watched by the old rules, though there are new ones.
    NotRearmed,
    /// Tell the person.
    Show(Notice),
    /// Clear the screen.
    ClearScreen,
    /// End with this exit code.
    Quit(CommandExit),
}

/// The scheduling of one project.
pub(super) struct ProjectScheduler {
    engine: Engine,
    worker: Worker,
    watcher: Watcher,
    /// For a watcher that takes the place of this one.
    arrivals: ArrivalSender,
    git: GitState,
    wake_at: Option<Moment>,
    root: PathBuf,
}

impl ProjectScheduler {
    /// Returns the scheduling of a project that is watched and whose worker is ready. Both must send to `arrivals`.
    pub(super) fn new(
        root: PathBuf,
        settings: EngineSettings,
        worker: Worker,
        watcher: Watcher,
        arrivals: ArrivalSender,
    ) -> Self {
        let git = GitState::of(&root);
        Self { engine: Engine::new(settings), worker, watcher, arrivals, git, wake_at: None, root }
    }

    /// Runs everything, as a watch does when it begins.
    pub(super) fn begin(&mut self) -> Vec<HostEffect> {
        let effects = self.engine.begin();
        self.perform(effects)
    }

    /// Runs all tasks but those that have their verdicts already.
    pub(super) fn begin_without(&mut self, settled: &[TaskId]) -> Vec<HostEffect> {
        let effects = self.engine.begin_without(settled);
        self.perform(effects)
    }

    /// Takes in an event.
    pub(super) fn handle(&mut self, now: Moment, event: Event) -> Vec<HostEffect> {
        if let Some(of_git) = self.git.before(&event) {
            let nothing = self.engine.handle(now, of_git);
            debug_assert!(nothing.is_empty(), "it is only taken notice of");
        }
        let effects = self.engine.handle(now, event);
        self.perform(effects)
    }

    /// Takes in what the worker says of a run. What it says of looks, errands and openings is for the host alone.
    pub(super) fn take_report(&mut self, now: Moment, report: WorkerReport) -> Vec<HostEffect> {
        match report {
            WorkerReport::Progress(Progress::Begun { .. }) => self.handle(now, Event::Begun),
            WorkerReport::Rules(matcher, pace) => self.rearm(now, *matcher, &pace),
            WorkerReport::Settings(settings) => self.handle(now, Event::Settings(settings)),
            WorkerReport::Over(over) => self.handle(now, Event::Finished(over.finished)),
            WorkerReport::Progress(_)
            | WorkerReport::Looked(..)
            | WorkerReport::Errand(_)
            | WorkerReport::Opened(_)
            | WorkerReport::Closed(_) => Vec::new(),
        }
    }

    /// Returns when it is to be woken.
    pub(super) fn wake_at(&self) -> Option<Moment> {
        self.wake_at
    }

    /// Goes on with what waited for a moment that has come.
    pub(super) fn wake(&mut self, now: Moment) -> Vec<HostEffect> {
        match self.wake_at.take_if(|moment| *moment <= now) {
            Some(_) => self.handle(now, Event::Timer),
            None => Vec::new(),
        }
    }

    /// Asks the worker how the verdicts stand.
    pub(super) fn look(&self, ticket: LookTicket, wanted: Vec<TaskId>, hints: TreeHints) {
        self.worker.look(ticket, wanted, hints);
    }

    /// Sends the worker on an errand.
    pub(super) fn send_on(&self, errand: Errand) {
        self.worker.send_on(errand);
    }

    /// Returns a way to ask the watcher.
    pub(super) fn watcher(&self) -> WatcherHandle {
        self.watcher.handle()
    }

    /// Returns the tasks that are run on a save.
    pub(super) fn watched_tasks(&self) -> &[TaskId] {
        self.engine.watched_tasks()
    }

    /// Leaves the project alone without waiting for what the worker is in the middle of.
    pub(super) fn let_go(self) {
        self.worker.let_go();
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
            Effect::Quit(exit) => return Some(HostEffect::Quit(exit)),
        }
        None
    }

    fn start(&mut self, order: Order) -> HostEffect {
        match Control::new() {
            Ok((control, handle)) => {
                self.wake_at = None;
                let ordered = HostEffect::Ordered { task: order.task.clone(), trigger: order.trigger.kind };
                self.worker.order(order, control, handle);
                ordered
            }
            Err(error) => HostEffect::NotOrdered(error),
        }
    }

    /// Replaces the watcher by one with other rules. The old one is dropped only when the new one works, so that no event is
    /// missed.
    fn rearm(&mut self, now: Moment, matcher: Matcher, pace: &Pace) -> Vec<HostEffect> {
        match Watcher::start(&self.root, matcher, pace, self.arrivals.hints()) {
            Ok(watcher) => {
                self.watcher = watcher;
                vec![HostEffect::Rearmed]
            }
            Err(error) => {
                let problem = WatchProblem::Backend(error.to_string());
                let effects = self.handle(now, Event::Hints(vec![WatchHint::LookAgain(problem)]));
                std::iter::once(HostEffect::NotRearmed).chain(effects).collect()
            }
        }
    }
}
