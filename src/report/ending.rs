//! How a command ended, in the words of the wire.

use nix::errno::Errno;
use nix::sys::signal::Signal;

use crate::model::{ActionEnd, LimitKind, SpawnFailure, errno_name};
use crate::report::SpawnErrorV2;

/// The parts of an end that the wire has keys for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Ending {
    /// The exit status of a process that ended by itself.
    pub(super) exit_code: Option<i32>,
    /// The signal that ended it or, where we stopped it and it exited, the last one we sent.
    pub(super) signal: Option<String>,
    /// Whether we stopped it; none where it was never started or its end is not known.
    pub(super) killed: Option<bool>,
    /// The exit status that came back after we had begun to stop it.
    pub(super) exit_code_after_stop: Option<i32>,
    /// The last signal we sent to stop it.
    pub(super) stop_signal: Option<String>,
    /// The limit it hit.
    pub(super) limit: Option<LimitKind>,
    /// Why it could not be started, or why its end is not known.
    pub(super) error: Option<SpawnErrorV2>,
}

impl Ending {
    /// Returns an end in the words of the wire.
    pub(super) fn of(end: &ActionEnd) -> Self {
        match end {
            ActionEnd::Exited { code } => Self { exit_code: Some(*code), killed: Some(false), ..Self::default() },
            ActionEnd::Signalled { signal } => {
                Self { signal: Some(signal_name(*signal)), killed: Some(false), ..Self::default() }
            }
            ActionEnd::TimedOut { limit, stage, code, signal } => Self {
                signal: Some(signal.map_or_else(|| stage.signal_name().to_owned(), signal_name)),
                killed: Some(true),
                exit_code_after_stop: *code,
                stop_signal: Some(stage.signal_name().to_owned()),
                limit: Some(*limit),
                ..Self::default()
            },
            ActionEnd::Stopped { reason: _, stage } => Self {
                signal: Some(stage.signal_name().to_owned()),
                killed: Some(true),
                stop_signal: Some(stage.signal_name().to_owned()),
                ..Self::default()
            },
            ActionEnd::NotStarted(failure) => Self { error: Some(spawn_error(failure)), ..Self::default() },
            ActionEnd::Lost { why } => {
                let error = SpawnErrorV2::plain("STATUS_LOST", None, why.clone());
                Self { error: Some(error), ..Self::default() }
            }
        }
    }
}

/// Returns a signal's name, or its number where it has none (real-time signals).
fn signal_name(signal: i32) -> String {
    Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned())
}

fn spawn_error(failure: &SpawnFailure) -> SpawnErrorV2 {
    let error = |errno: Errno, message: String| SpawnErrorV2::plain(errno_name(errno as i32), Some(errno as i32), message);
    match failure {
        SpawnFailure::ProgramNotFound { program, searched } if searched.is_empty() => {
            error(Errno::ENOENT, format!("there is no program `{program}`"))
        }
        SpawnFailure::ProgramNotFound { program, searched } => {
            error(Errno::ENOENT, format!("there is no program `{program}` in {}", searched.join(", ")))
        }
        SpawnFailure::InterpreterNotFound { program, interpreter } => {
            error(Errno::ENOENT, format!("`{program}` names the interpreter `{interpreter}`, which does not exist"))
        }
        SpawnFailure::NotExecutable { program } => error(Errno::EACCES, format!("`{program}` may not be executed")),
        SpawnFailure::DirectoryNotFound { directory } => {
            error(Errno::ENOENT, format!("the working directory `{directory}` does not exist"))
        }
        SpawnFailure::PortHeld { port, .. } => error(Errno::EADDRINUSE, format!("port {port} is held by another process")),
        SpawnFailure::PromptUnreadable { prompt, why } => {
            SpawnErrorV2::plain("PROMPT_UNREADABLE", None, format!("the prompt `{prompt}` cannot be given to it: {why}"))
        }
        SpawnFailure::NotIsolated { why } => {
            SpawnErrorV2::plain("NOT_ISOLATED", None, format!("it could not be kept apart: {why}"))
        }
        SpawnFailure::Refused { program, errno, message } => {
            SpawnErrorV2::plain(errno_name(*errno), Some(*errno), format!("`{program}` could not be started: {message}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ending;
    use crate::model::{ActionEnd, LimitKind, SpawnFailure, StopReason, StopStage};

    #[test]
    fn a_process_that_exits_after_we_stopped_it_has_no_exit_code() {
        let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigint, code: Some(0), signal: None };
        let ending = Ending::of(&end);
        assert_eq!((ending.exit_code, ending.exit_code_after_stop), (None, Some(0)));
        assert_eq!((ending.signal.as_deref(), ending.killed), (Some("SIGINT"), Some(true)));
        let stopped = Ending::of(&ActionEnd::Stopped { reason: StopReason::Superseded, stage: StopStage::Sigkill });
        assert_eq!((stopped.exit_code, stopped.stop_signal.as_deref()), (None, Some("SIGKILL")));
    }

    #[test]
    fn signals_and_errors_have_the_systems_names() {
        assert_eq!(Ending::of(&ActionEnd::Signalled { signal: 11 }).signal.as_deref(), Some("SIGSEGV"));
        assert_eq!(Ending::of(&ActionEnd::Signalled { signal: 40 }).signal.as_deref(), Some("signal 40"));
        let missing = SpawnFailure::ProgramNotFound { program: "pytest".to_owned(), searched: vec!["/usr/bin".to_owned()] };
        let error = Ending::of(&ActionEnd::NotStarted(missing)).error.expect("it was not started");
        assert_eq!((error.code.as_str(), error.errno), ("ENOENT", Some(2)));
        assert_eq!(error.message, "there is no program `pytest` in /usr/bin");
        let refused = SpawnFailure::Refused { program: "x".to_owned(), errno: 8, message: "Exec format error".to_owned() };
        assert_eq!(Ending::of(&ActionEnd::NotStarted(refused)).error.expect("it was not started").code, "ENOEXEC");
    }
}
