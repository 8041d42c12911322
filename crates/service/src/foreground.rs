//! A watch in the foreground: one project, shown on a screen and controlled by keys. The engine makes all decisions.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use tokio::sync::mpsc::Receiver;

use crate::arrivals::{ProjectArrival, ProjectSeat, open_arrivals};
use crate::effect::Notice;
use crate::engine::{EngineSettings, Moment};
use crate::event::{Event, Key};
use crate::event_loop::{EventHost, EventSources, LoopClock, LoopEvent, new_runtime, run_event_loop};
use crate::foreground::questions::Questions;
use crate::os_signals::{HangUp, Signals};
use crate::project_scheduler::{HostEffect, ProjectScheduler};
use crate::project_source::ProjectSource;
use crate::watched_directory::DirectoryOnDisk;
use crate::worker::{FinishedRun, RunFailure, Worker, WorkerReport};
use proctor_model::{CommandExit, UnapprovedPlan, WatchHint};
use proctor_project::{Progress, ProjectScope, Workspace};
use proctor_tree::ignore::Matcher;
use proctor_tree::watch::{Pace, WatchError, Watcher};

mod questions;

pub use questions::{QuestionEnd, QuestionNumber};

/// The display that shows a watch to a person.
pub trait Screen {
    /// Shows the progress of a run.
    fn progress(&mut self, progress: &Progress);
    /// Shows the result of a run.
    fn over(&mut self, over: &FinishedRun);
    /// Shows a notice, such as that proctor waits for changes.
    fn notice(&mut self, notice: &Notice);
    fn clear(&mut self);
    /// Returns whether a person can be asked at this screen.
    fn can_ask(&self) -> bool;
    /// Shows that a plan was refused. A question about it follows.
    fn refused(&mut self, unapproved: &UnapprovedPlan);
    /// Shows that a plan was refused, which the person is not asked about here.
    fn not_asked(&mut self, unapproved: &UnapprovedPlan);
    /// Asks whether a plan is approved, after throwing away what was typed before. What the person types from now on is
    /// the answer, until the question ends.
    fn ask(&mut self, unapproved: &UnapprovedPlan) -> QuestionNumber;
    /// Ends the question. What the person types from now on are keys again.
    fn end_question(&mut self, end: QuestionEnd);
    /// Shows why an approval could not be prepared or written.
    fn failed(&mut self, failure: &RunFailure);
}

/// What a person types at a foreground watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    Key(Key),
    /// A line that was typed while a question was open.
    Answer(QuestionNumber, String),
    /// How the opening of the page went that a key asked for: lines for the person.
    PageOpened(Vec<String>),
}

/// The reason why a foreground watch could not begin or continue.
#[derive(Debug, thiserror::Error)]
pub enum ForegroundError {
    /// The watcher could not be started.
    #[error("failed to watch the project")]
    Watch(#[source] WatchError),
    /// The signal handlers could not be installed.
    #[error("failed to take over signals")]
    Signals(#[source] io::Error),
    /// The event loop could not be built.
    #[error("failed to start the event loop")]
    Runtime(#[source] io::Error),
}

/// Everything that a foreground watch needs to begin.
pub struct ForegroundBeginning {
    /// The workspace that carries out the runs.
    pub workspace: Workspace,
    pub scope: ProjectScope,
    /// The plan and the settings are read from them before every run.
    pub files: ProjectSource,
    /// The settings of `[watch]`, which decide when runs begin.
    pub settings: EngineSettings,
    /// Decides which files belong to the tree.
    pub matcher: Matcher,
    /// How often the watcher polls files for which it gets no events.
    pub pace: Pace,
    /// Receives what is typed. If the sender is dropped, nothing more comes.
    pub typed: Receiver<Typed>,
    /// How SIGHUP is handled.
    pub hang_up: HangUp,
}

/// Watches a project and shows its runs until a key or a signal ends the watch. Returns the exit code.
///
/// # Errors
/// When the watch cannot begin.
pub fn watch_in_foreground<S: Screen>(
    beginning: ForegroundBeginning,
    root: &Path,
    screen: &mut S,
) -> Result<CommandExit, ForegroundError> {
    let ForegroundBeginning { workspace, scope, files, settings, matcher, pace, typed, hang_up } = beginning;
    let (door, arrivals) = open_arrivals();
    let sender = door.sender(ProjectSeat(0));
    let watcher = Watcher::start(root, matcher, &pace, sender.hints()).map_err(ForegroundError::Watch)?;
    let ledger = workspace.store().ledger_path(&scope.project);
    let worker = Worker::start(workspace, files, scope, sender.reports());
    let directory = DirectoryOnDisk::new(root.to_owned(), ledger, watcher, sender);
    let scheduler = ProjectScheduler::new(settings, worker, Box::new(directory));
    new_runtime().map_err(ForegroundError::Runtime)?.block_on(async {
        let signals = Signals::take_over(hang_up).map_err(ForegroundError::Signals)?;
        // The sources are dropped after the host, because the worker's last report still needs a receiver.
        let mut sources = EventSources { signals, arrivals, calls: typed, clock: LoopClock::start() };
        let mut foreground = Foreground { scheduler, screen, questions: Questions::default() };
        let first = foreground.scheduler.begin();
        match foreground.perform(first) {
            ControlFlow::Break(outcome) => outcome,
            ControlFlow::Continue(()) => run_event_loop(&mut foreground, &mut sources).await,
        }
    })
}

struct Foreground<'screen, S: Screen> {
    scheduler: ProjectScheduler,
    screen: &'screen mut S,
    questions: Questions,
}

impl<S: Screen> EventHost for Foreground<'_, S> {
    type Call = Typed;
    type Outcome = Result<CommandExit, ForegroundError>;

    fn before_wait(&mut self, _now: Moment) -> Option<Moment> {
        self.scheduler.wake_at()
    }

    fn handle(&mut self, now: Moment, event: LoopEvent<Typed>) -> ControlFlow<Self::Outcome> {
        let effects = match event {
            LoopEvent::Signal(signal) => self.scheduler.handle(now, Event::Signal(signal)),
            LoopEvent::Project(_, ProjectArrival::Hints(hints)) => self.scheduler.handle(now, Event::Hints(hints)),
            LoopEvent::Project(_, ProjectArrival::Report(report)) => {
                let is_approved = matches!(*report, WorkerReport::Approved(Ok(())));
                self.show(&report);
                if is_approved {
                    self.scheduler.handle(now, Event::Hints(vec![WatchHint::Approved]))
                } else {
                    self.scheduler.take_report(now, *report)
                }
            }
            LoopEvent::Call(Typed::Key(key)) => {
                if key == Key::Again {
                    self.forget_declined();
                }
                self.scheduler.handle(now, Event::Key(key))
            }
            LoopEvent::Call(Typed::Answer(number, text)) => {
                self.take_answer(number, &text);
                Vec::new()
            }
            LoopEvent::Call(Typed::PageOpened(lines)) => {
                if !lines.is_empty() {
                    self.screen.notice(&Notice::PageOpened(lines));
                }
                Vec::new()
            }
            LoopEvent::Woken => self.scheduler.wake(now),
        };
        self.perform(effects)
    }
}

impl<S: Screen> Foreground<'_, S> {
    fn show(&mut self, report: &WorkerReport) {
        match report {
            WorkerReport::Progress(progress) => self.screen.progress(progress),
            WorkerReport::Over(over) => self.show_end(over),
            WorkerReport::Question(found) => self.show_question(found),
            WorkerReport::Approved(Err(failure)) => self.screen.failed(failure),
            WorkerReport::Rules(..)
            | WorkerReport::Settings(_)
            | WorkerReport::Looked(..)
            | WorkerReport::Errand(_)
            | WorkerReport::Opened(_)
            | WorkerReport::Closed(_)
            | WorkerReport::Approved(Ok(())) => {}
        }
    }

    fn perform(&mut self, effects: Vec<HostEffect>) -> ControlFlow<Result<CommandExit, ForegroundError>> {
        for effect in effects {
            match effect {
                HostEffect::Show(notice) => {
                    self.screen.notice(&notice);
                    if matches!(notice, Notice::Waiting(_)) {
                        self.request_question();
                    }
                }
                HostEffect::ClearScreen => self.screen.clear(),
                HostEffect::Quit(exit) => {
                    self.withdraw_question();
                    return ControlFlow::Break(Ok(exit));
                }
                HostEffect::Ordered { .. } => self.withdraw_question(),
                HostEffect::Rearmed | HostEffect::NotRearmed => {}
            }
        }
        ControlFlow::Continue(())
    }
}
