//! Who asks for a use case: where lines go that belong to no answer, whether somebody can be asked, and what ends the work early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::health::health_behind;
use proctor_model::{CommandExit, StopReason};
use proctor_project::IdentityAnswer;
use proctor_sandbox::process::{Control, ControlError, clock, signal_controls};

/// How often it is looked whether an answer is still wanted.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How long a run that is wanted no more may take to end by itself. Clients wait for two seconds before they kill a server.
const GRACE: Duration = Duration::from_millis(1200);

/// Takes a line that belongs to no answer.
pub(crate) type Note = fn(&str);
/// Asks a person, by these lines, whether a directory is the registered project or a new one; `None` if nobody can be asked.
pub(crate) type AskIdentity = fn(&Environment, &[String]) -> Option<IdentityAnswer>;

/// Who asks for a use case.
#[derive(Debug, Clone)]
pub struct Caller {
    note: Note,
    /// The same for a line about the store's own state, which says nothing of what was asked.
    announce: Note,
    ask_identity: AskIdentity,
    /// Is called when a person has asked this process to stop, and it goes on until its checks have ended.
    stopping: fn(),
    /// `None` if the signals of the process end the work.
    stop: Option<Stop>,
}

/// Says whether an answer is wanted no more: whoever asked for it has cancelled it, or is gone. Clones are one.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    own: Arc<AtomicBool>,
    /// Stops this work too.
    other: Option<Arc<AtomicBool>>,
}

impl Stop {
    pub fn is_requested(&self) -> bool {
        let is_set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        is_set(&self.own) || self.other.as_ref().is_some_and(is_set)
    }

    /// Asks the work to end.
    pub fn request(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    /// Returns the same stop, which a request to the other one requests too.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self { own: Arc::clone(&self.own), other: Some(Arc::clone(&other.own)) }
    }
}

impl Caller {
    /// Returns the caller of a command, whose process is ended by signals.
    pub fn of_command(note: Note, announce: Note, ask_identity: AskIdentity) -> Self {
        Self { note, announce, ask_identity, stopping: || (), stop: None }
    }

    /// Returns the same caller, with what is called when a person has asked this process to stop.
    #[must_use]
    pub fn told_of_stop(self, stopping: fn()) -> Self {
        Self { stopping, ..self }
    }

    /// Returns a program that hears nothing but answers, and of which nobody can be asked anything. `stop` ends its work.
    pub fn of_program(stop: Stop) -> Self {
        Self { note: |_| (), announce: |_| (), ask_identity: |_, _| None, stopping: || (), stop: Some(stop) }
    }

    /// Returns the same caller who hears nothing but the answer, and of whom nobody can be asked anything.
    #[must_use]
    pub fn with_answers_only(&self) -> Self {
        Self { note: |_| (), announce: |_| (), ask_identity: |_, _| None, stopping: self.stopping, stop: self.stop.clone() }
    }

    pub(crate) fn note(&self, line: &str) {
        (self.note)(line);
    }

    pub(crate) fn announce(&self) -> Note {
        self.announce
    }

    pub(crate) fn ask_identity(&self, environment: &Environment, question: &[String]) -> Option<IdentityAnswer> {
        (self.ask_identity)(environment, question)
    }

    /// Returns what ends the work; `None` if the signals of the process do.
    pub(crate) fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// Returns whether the answer is wanted no more.
    pub fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(Stop::is_requested)
    }
}

/// What stops a run of this process: signals, or that its result is wanted no more.
#[derive(Debug)]
pub struct RunControl {
    pub control: Control,
    /// Looks whether the result is still wanted; `None` if signals are what stops the run.
    _watcher: Option<StopWatcher>,
}

impl RunControl {
    /// Takes over the signals of the process, or begins to watch the caller's stop.
    ///
    /// # Errors
    /// When a pipe or the thread cannot be made.
    pub fn begin(caller: &Caller) -> Result<Self, CommandError> {
        let begun = match caller.stop() {
            None => signal_controls().map(|control| Self { control: control.with_notice(caller.stopping), _watcher: None }),
            Some(stop) => Control::new().and_then(|(control, handle)| {
                let watcher = StopWatcher::start(stop.clone(), move |reason| handle.stop(reason)).map_err(ControlError::Pipe)?;
                Ok(Self { control, _watcher: Some(watcher) })
            }),
        };
        begun.map_err(|error| {
            let trouble = health_behind(&error, clock::now());
            CommandError::caused(CommandExit::OwnFault, "failed to take over signals", &error)
                .hint("run the command again")
                .of_trouble(trouble)
        })
    }
}

/// A thread that looks again and again whether an answer is still wanted. Dropping it ends the thread.
#[derive(Debug)]
struct StopWatcher {
    is_over: Stop,
    thread: Option<JoinHandle<()>>,
}

impl StopWatcher {
    fn start(stop: Stop, tell: impl Fn(StopReason) + Send + 'static) -> std::io::Result<Self> {
        let is_over = Stop::default();
        let over = is_over.clone();
        let watch = move || {
            let mut asked = None;
            while !over.is_requested() {
                match asked {
                    None if stop.is_requested() => {
                        tell(StopReason::Terminated);
                        asked = Some(clock::monotonic());
                    }
                    // A second request has the run's processes killed at once.
                    Some(at) if clock::monotonic().since(at) >= GRACE => return tell(StopReason::Terminated),
                    None | Some(_) => {}
                }
                std::thread::park_timeout(LOOK_AGAIN);
            }
        };
        let thread = Some(Builder::new().name("stop".to_owned()).spawn(watch)?);
        Ok(Self { is_over, thread })
    }
}

impl Drop for StopWatcher {
    fn drop(&mut self) {
        self.is_over.request();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _panicked = thread.join();
        }
    }
}
