//! Ends of actions for which no process was started.

use crate::model::{ActionEnd, Captured, Digest, DurationMs, Ended, SpawnFailure, StreamExcerpt};
use crate::process::clock;

/// Returns the end of an action that could not be started, with no output.
pub(crate) fn not_started(failure: SpawnFailure) -> Ended {
    not_a_process(ActionEnd::NotStarted(failure))
}

/// Returns the end of an action without a process, with no output and no remaining processes.
pub(super) fn not_a_process(end: ActionEnd) -> Ended {
    let (now, nothing) = (clock::now(), Digest::of(b""));
    let captured = Captured {
        log_bytes: 0,
        log_digest: nothing,
        frames_bytes: 0,
        frames_digest: nothing,
        stdout: StreamExcerpt::default(),
        stderr: StreamExcerpt::default(),
        last_output: None,
        pipes_left_open: false,
        log_tail: Vec::new(),
    };
    Ended { end, started: now, ended: now, duration: DurationMs(0), captured, survivors: Vec::new(), usage: None, kept: None }
}
