//! Converts the end of a command to its wire form.

use nix::errno::Errno;
use nix::sys::signal::Signal;

use crate::report::ExecutionV1;
use proctor_model::{ActionEnd, EndedAction, SpawnFailure, SystemFault, errno_name};

/// Returns when and how a command ended, in its wire form.
pub(super) fn execution(ended: &EndedAction) -> ExecutionV1 {
    let plain = ExecutionV1 {
        start_time: ended.started,
        end_time: ended.ended,
        duration: ended.duration,
        exit_code: None,
        signal: None,
        killed: false,
        exit_code_after_stop: None,
        stop_signal: None,
        limit: None,
        error: None,
    };
    match &ended.end {
        ActionEnd::Exited { code } => ExecutionV1 { exit_code: Some(*code), ..plain },
        ActionEnd::Signalled { signal } => ExecutionV1 { signal: Some(signal_name(*signal)), ..plain },
        ActionEnd::TimedOut { limit, stage, code, signal } => ExecutionV1 {
            signal: Some(signal.map_or_else(|| stage.signal_name().to_owned(), signal_name)),
            killed: true,
            exit_code_after_stop: *code,
            stop_signal: Some(stage.signal_name().to_owned()),
            limit: Some(*limit),
            ..plain
        },
        ActionEnd::Stopped { reason: _, stage } => ExecutionV1 {
            signal: Some(stage.signal_name().to_owned()),
            killed: true,
            stop_signal: Some(stage.signal_name().to_owned()),
            ..plain
        },
        ActionEnd::NotStarted(failure) => ExecutionV1 { error: Some(spawn_error(failure)), ..plain },
        ActionEnd::Lost { why } => ExecutionV1 { error: Some(SystemFault::plain("STATUS_LOST", None, why.clone())), ..plain },
    }
}

/// Returns a signal's name, or its number if it has no name (real-time signals).
fn signal_name(signal: i32) -> String {
    Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned())
}

fn spawn_error(failure: &SpawnFailure) -> SystemFault {
    let of_system = |errno: i32| (errno_name(errno), Some(errno));
    let (code, errno) = match failure {
        SpawnFailure::ProgramNotFound { .. }
        | SpawnFailure::InterpreterNotFound { .. }
        | SpawnFailure::DirectoryNotFound { .. } => of_system(Errno::ENOENT as i32),
        SpawnFailure::NotExecutable { .. } => of_system(Errno::EACCES as i32),
        SpawnFailure::PortHeld { .. } => of_system(Errno::EADDRINUSE as i32),
        SpawnFailure::Refused { errno, .. } => of_system(*errno),
        SpawnFailure::ClientNotReady { .. } => ("CLIENT_NOT_READY", None),
        SpawnFailure::PromptUnreadable { .. } => ("PROMPT_UNREADABLE", None),
        SpawnFailure::NotIsolated { .. } => ("NOT_ISOLATED", None),
    };
    SystemFault::plain(code, errno, failure.to_string())
}

#[cfg(test)]
mod tests {
    use super::execution;
    use crate::report::ExecutionV1;
    use crate::report::samples::ended;
    use proctor_model::{ActionEnd, LimitKind, SpawnFailure, StopReason, StopStage};

    fn of(end: ActionEnd) -> ExecutionV1 {
        execution(&ended(end, "", ""))
    }

    #[test]
    fn a_process_that_exits_after_we_stopped_it_has_no_exit_code() {
        let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigint, code: Some(0), signal: None };
        let ending = of(end);
        assert_eq!((ending.exit_code, ending.exit_code_after_stop), (None, Some(0)));
        assert_eq!((ending.signal.as_deref(), ending.killed), (Some("SIGINT"), true));
        let stopped = of(ActionEnd::Stopped { reason: StopReason::Superseded, stage: StopStage::Sigkill });
        assert_eq!((stopped.exit_code, stopped.stop_signal.as_deref()), (None, Some("SIGKILL")));
    }

    #[test]
    fn signals_and_errors_have_the_systems_names() {
        assert_eq!(of(ActionEnd::Signalled { signal: 11 }).signal.as_deref(), Some("SIGSEGV"));
        assert_eq!(of(ActionEnd::Signalled { signal: 40 }).signal.as_deref(), Some("signal 40"));
        let missing = SpawnFailure::ProgramNotFound { program: "pytest".to_owned(), searched: vec!["/usr/bin".to_owned()] };
        let error = of(ActionEnd::NotStarted(missing)).error.expect("it was not started");
        assert_eq!((error.code.as_str(), error.errno), ("ENOENT", Some(2)));
        assert_eq!(error.message, "there is no program `pytest` in /usr/bin");
        let refused = SpawnFailure::Refused { program: "x".to_owned(), errno: 8, message: "Exec format error".to_owned() };
        assert_eq!(of(ActionEnd::NotStarted(refused)).error.expect("it was not started").code, "ENOEXEC");
    }
}
