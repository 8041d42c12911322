//! The loop of a watch: arrivals become events, effects become calls. Nothing is decided here (house style S1, S3).

use std::io;
use std::path::{Path, PathBuf};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::daemon::effect::{Effect, Notice};
use crate::daemon::engine::{Engine, EngineSettings, Moment};
use crate::daemon::event::{Event, Key};
use crate::daemon::git_state::GitState;
use crate::daemon::os_signals::{HangUp, Signals};
use crate::daemon::worker::{Over, Reload, Worker, WorkerReport};
use crate::ignore::Matcher;
use crate::model::{CommandExit, WatchHint, WatchProblem};
use crate::process::{Control, ControlError, clock};
use crate::project::{Progress, Scope, Workspace};
use crate::watch::{Pace, WatchError, Watcher};

/// So many hints are taken in at once.
pub(super) const MOST_HINTS: usize = 4096;

/// What a person sees of a watch.
pub trait Screen {
    /// Shows what a run says of itself.
    fn progress(&mut self, progress: &Progress);
    /// Shows what came of a run.
    fn over(&mut self, over: &Over);
    /// Shows a notice between runs.
    fn notice(&mut self, notice: &Notice);
    /// Clears it.
    fn clear(&mut self);
}

/// Says why a watch could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// The watches could not be placed.
    #[error("failed to watch the project")]
    Watch(#[source] WatchError),
    /// Signals could not be taken over.
    #[error("failed to take over signals")]
    Signals(#[source] io::Error),
    /// The event loop could not be built.
    #[error("failed to start the event loop")]
    Runtime(#[source] io::Error),
    /// The controls of a run could not be made.
    #[error("failed to prepare a run")]
    Control(#[source] ControlError),
}

/// Everything a watch is made of.
pub struct Loop<'a, S: Screen> {
    engine: Engine,
    worker: Worker,
    screen: &'a mut S,
    wake_at: Option<Moment>,
    hints: UnboundedReceiver<WatchHint>,
    reports: UnboundedReceiver<WorkerReport>,
    keys: UnboundedReceiver<Key>,
    origin: clock::Monotonic,
    root: PathBuf,
    git: GitState,
    /// For a watcher that takes the place of the first.
    send_hint: UnboundedSender<WatchHint>,
    /// Held for its thread: dropping it ends its hints.
    watcher: Watcher,
    hang_up: HangUp,
}

/// What a watch is begun with.
pub struct Beginning {
    /// What runs need.
    pub workspace: Workspace,
    /// The project.
    pub scope: Scope,
    /// Reads plan and settings before every run.
    pub reload: Reload,
    /// The settings of `[watch]`.
    pub settings: EngineSettings,
    /// What belongs to the tree.
    pub matcher: Matcher,
    /// How often the watcher looks at what it is not told.
    pub pace: Pace,
    /// Where keys come from; a sender that is dropped means that there are none.
    pub keys: UnboundedReceiver<Key>,
    /// What SIGHUP means.
    pub hang_up: HangUp,
}

impl<'a, S: Screen> Loop<'a, S> {
    /// Places the watches and starts the worker.
    pub fn begin(beginning: Beginning, root: &Path, screen: &'a mut S) -> Result<Self, LoopError> {
        let (send_hint, hints) = unbounded_channel();
        let watcher =
            Watcher::start(root, beginning.matcher, &beginning.pace, forward(send_hint.clone())).map_err(LoopError::Watch)?;
        let (send_report, reports) = unbounded_channel();
        let report = Box::new(move |report| send_report.send(report).is_ok());
        let worker = Worker::start(beginning.workspace, beginning.reload, beginning.scope, report).map_err(LoopError::Runtime)?;
        Ok(Self {
            engine: Engine::new(beginning.settings),
            worker,
            screen,
            wake_at: None,
            hints,
            reports,
            keys: beginning.keys,
            origin: clock::monotonic(),
            root: root.to_owned(),
            git: GitState::of(root),
            send_hint,
            watcher,
            hang_up: beginning.hang_up,
        })
    }

    /// Runs until it is told to end; returns the exit code.
    pub fn run(mut self) -> Result<CommandExit, LoopError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(LoopError::Runtime)?;
        runtime.block_on(async {
            let mut signals = Signals::take_over(self.hang_up).map_err(LoopError::Signals)?;
            let first = self.engine.begin();
            if let Some(exit) = self.perform(first)? {
                return Ok(exit);
            }
            loop {
                let event = self.next_event(&mut signals).await;
                let now = self.now();
                if let Some(of_git) = self.git.before(&event) {
                    let nothing = self.engine.handle(now, of_git);
                    debug_assert!(nothing.is_empty(), "it is only taken notice of");
                }
                let effects = self.engine.handle(now, event);
                if let Some(exit) = self.perform(effects)? {
                    return Ok(exit);
                }
            }
        })
    }

    /// Waits for the next arrival and makes an event of it; what is only to be shown is shown.
    async fn next_event(&mut self, signals: &mut Signals) -> Event {
        loop {
            let pause = self.wake_at.map(|moment| std::time::Duration::from_millis(moment.0.saturating_sub(self.now().0)));
            tokio::select! {
                biased;
                signal = signals.next() => return Event::Signal(signal),
                // Before reports: what came while the tree was looked at is known before the run begins.
                Some(hint) = self.hints.recv() => return Event::Hints(self.with_what_waits(hint)),
                Some(report) = self.reports.recv() => match report {
                    WorkerReport::Progress(progress) => {
                        self.screen.progress(&progress);
                        if matches!(progress, Progress::Begun { .. }) {
                            return Event::Begun;
                        }
                    }
                    WorkerReport::Rules(matcher, pace) => {
                        if let Err(problem) = self.watch_by(*matcher, &pace) {
                            return Event::Hints(vec![WatchHint::LookAgain(problem)]);
                        }
                    }
                    WorkerReport::Settings(settings) => return Event::Settings(settings),
                    WorkerReport::Over(over) => {
                        self.screen.over(&over);
                        return Event::Finished(over.finished);
                    }
                    // Only the service asks for these.
                    WorkerReport::Looked(..)
                    | WorkerReport::Errand(_)
                    | WorkerReport::Opened(_)
                    | WorkerReport::Closed(_) => {}
                },
                Some(key) = self.keys.recv() => return Event::Key(key),
                () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => {
                    self.wake_at = None;
                    return Event::Timer;
                }
            }
        }
    }

    /// Returns a hint and those that wait behind it, up to a bound: keys and signals have their turn too.
    fn with_what_waits(&mut self, first: WatchHint) -> Vec<WatchHint> {
        let waiting = std::iter::from_fn(|| self.hints.try_recv().ok());
        std::iter::once(first).chain(waiting).take(MOST_HINTS).collect()
    }

    /// Watches by other rules. The old watcher goes when the new one is there, so that nothing is missed in between.
    fn watch_by(&mut self, matcher: Matcher, pace: &Pace) -> Result<(), WatchProblem> {
        let started = Watcher::start(&self.root, matcher, pace, forward(self.send_hint.clone()));
        self.watcher = started.map_err(|error| WatchProblem::Backend(error.to_string()))?;
        Ok(())
    }

    fn perform(&mut self, effects: Vec<Effect>) -> Result<Option<CommandExit>, LoopError> {
        for effect in effects {
            match effect {
                Effect::Start(order) => {
                    self.wake_at = None;
                    let (control, handle) = Control::new().map_err(LoopError::Control)?;
                    self.worker.order(order, control, handle);
                }
                Effect::Stop(reason) => self.worker.stop(reason),
                Effect::WakeAt(moment) => self.wake_at = Some(moment),
                Effect::Show(notice) => self.screen.notice(&notice),
                Effect::ClearScreen => self.screen.clear(),
                Effect::Quit(exit) => return Ok(Some(exit)),
            }
        }
        Ok(None)
    }

    fn now(&self) -> Moment {
        Moment(u64::try_from(clock::monotonic().since(self.origin).as_millis()).unwrap_or(u64::MAX))
    }
}

fn forward(send: UnboundedSender<WatchHint>) -> impl Fn(WatchHint) + Send + 'static {
    move |hint| {
        let _gone = send.send(hint);
    }
}
