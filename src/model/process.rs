//! How a supervised command can end, and what was captured of it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{Digest, DurationMs, Kept, PortHolder, Timestamp};

/// What bounds one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionLimits {
    /// Wall-clock limit.
    pub timeout: Duration,
    /// Longest time without a byte of output, counted from the start or from the last byte; none: no such limit.
    pub idle: Option<Duration>,
    /// Most bytes of output, of both streams together; none: no such limit.
    pub output: Option<u64>,
    /// Bound of the whole stop ladder: after this everything has been sent SIGKILL.
    pub grace: Duration,
    /// The signals of the ladder before SIGKILL, in order (E10): SIGINT and SIGTERM for pytest, SIGTERM for others.
    pub ladder: Vec<StopStage>,
}

/// A rung of the stop ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StopStage {
    /// SIGINT to the group: pytest then still writes its report.
    Sigint,
    /// SIGTERM to the group.
    Sigterm,
    /// SIGKILL to the group.
    Sigkill,
}

/// The limit that was hit (C15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitKind {
    /// Wall-clock time.
    Wall,
    /// Time without a byte of output.
    Idle,
    /// Bytes of output.
    Output,
    /// Memory of all processes of the action together.
    Memory,
    /// Processes of the action.
    Pids,
}

/// Why we stopped an action that had not hit a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StopReason {
    /// A service the run depends on has ended.
    ServiceEnded,
    /// A service is not needed any more: the checks are over.
    ChecksOver,
    /// A newer save made the run pointless.
    Superseded,
    /// proctor was asked to end by SIGINT or `q`.
    Interrupted,
    /// proctor was asked to end by SIGTERM or SIGHUP.
    Terminated,
}

/// Why a command could not be started. Tools' failures are values, never errors (house style S6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", tag = "kind")]
pub enum SpawnFailure {
    /// No such program on PATH or at the path given.
    ProgramNotFound {
        /// The program as the command names it.
        program: String,
        /// The directories that were searched.
        searched: Vec<String>,
    },
    /// The program is a script whose interpreter does not exist (a moved virtual environment, for example).
    InterpreterNotFound {
        /// The script.
        program: String,
        /// The interpreter its first line names.
        interpreter: String,
    },
    /// The file is there and may not be executed.
    NotExecutable {
        /// The file.
        program: String,
    },
    /// The working directory does not exist.
    DirectoryNotFound {
        /// The directory.
        directory: String,
    },
    /// Somebody listens on the port the service is expected at: whoever answers there would not be it.
    PortHeld {
        /// The port.
        port: u16,
        /// Who listens, as far as that can be read.
        holders: Vec<PortHolder>,
    },
    /// What it is to be given on its standard input cannot be read.
    PromptUnreadable {
        /// The file.
        prompt: String,
        /// Why.
        why: String,
    },
    /// It could not be kept apart as it must be; nothing was started.
    NotIsolated {
        /// What went wrong, and where.
        why: String,
    },
    /// Anything else the kernel said.
    Refused {
        /// The program.
        program: String,
        /// The system's error number.
        errno: i32,
        /// The system's words.
        message: String,
    },
}

/// How an action's process came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionEnd {
    /// It ended by itself.
    Exited {
        /// The exit status.
        code: i32,
    },
    /// A signal we did not send ended it.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// A limit was hit and we stopped it; whatever status came back is a fact, not the result.
    TimedOut {
        /// The limit.
        limit: LimitKind,
        /// The last rung of the ladder that was needed.
        stage: StopStage,
        /// The status that came back, if it was an exit.
        code: Option<i32>,
        /// The status that came back, if it was a signal.
        signal: Option<i32>,
    },
    /// We stopped it for a reason of our own.
    Stopped {
        /// The reason.
        reason: StopReason,
        /// The last rung of the ladder that was needed.
        stage: StopStage,
    },
    /// It could not be started.
    NotStarted(SpawnFailure),
    /// Its status could not be learnt (the launcher died). Unknown is never success.
    Lost {
        /// What was seen instead.
        why: String,
    },
}

/// The first and the last bytes of a stream; everything is in the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamExcerpt {
    /// How many bytes the stream had.
    pub total: u64,
    /// The first bytes, up to [`StreamExcerpt::HEAD_CAP`].
    pub head: Vec<u8>,
    /// The last bytes after the head, up to [`StreamExcerpt::TAIL_CAP`].
    pub tail: Vec<u8>,
}

/// What was captured of one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Bytes in the log: both streams in order of arrival.
    pub log_bytes: u64,
    /// Digest of the log, computed while it was written.
    pub log_digest: Digest,
    /// Bytes in the frames file.
    pub frames_bytes: u64,
    /// Digest of the frames file.
    pub frames_digest: Digest,
    /// The last bytes of the log, at most [`Captured::LOG_TAIL_CAP`].
    pub log_tail: Vec<u8>,
    /// Excerpt of standard output.
    pub stdout: StreamExcerpt,
    /// Excerpt of standard error.
    pub stderr: StreamExcerpt,
    /// When the last byte arrived.
    pub last_output: Option<Timestamp>,
    /// Whether something still held a pipe when we stopped reading, or printed more than is kept without having been stopped for it.
    pub pipes_left_open: bool,
}

/// A process of an action that was still alive when its leader had ended (E14).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Survivor {
    /// Its process id, as the action itself saw it.
    pub pid: i32,
    /// Its argument vector, lossily decoded.
    pub argv: Vec<String>,
    /// How long it had been running; none where that could not be read.
    #[serde(rename = "ageMs", skip_serializing_if = "Option::is_none", default)]
    pub age: Option<DurationMs>,
}

/// What the action's leader used, from wait4(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// User CPU time.
    pub user: DurationMs,
    /// System CPU time.
    pub system: DurationMs,
    /// Largest resident set of the leader and its waited-for descendants, in KiB.
    pub peak_memory_kib: u64,
}

/// What an action may use, all its processes together; nothing is limited where it is not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Memory, in bytes.
    pub memory: Option<u64>,
    /// Processes and threads at a time.
    pub processes: Option<u32>,
}

/// What all processes of an action have used together, as its cgroup says; none of what that does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GroupUsage {
    /// User CPU time.
    pub user: Option<DurationMs>,
    /// System CPU time.
    pub system: Option<DurationMs>,
    /// The most memory at a time, in bytes.
    pub peak_memory: Option<u64>,
    /// Whether the kernel ended it for more memory than its limit.
    pub memory_exceeded: bool,
    /// Whether the kernel refused it a process more than its limit.
    pub processes_exceeded: bool,
}

/// Everything the supervisor knows about an action that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub end: ActionEnd,
    /// When it was started.
    pub started: Timestamp,
    /// When its end was seen.
    pub ended: Timestamp,
    /// How long it took, by a clock that cannot step.
    pub duration: DurationMs,
    /// What it printed.
    pub captured: Captured,
    /// Who was left when the leader had ended.
    pub survivors: Vec<Survivor>,
    /// What it used, where it was started.
    pub usage: Option<Usage>,
    /// How it was kept apart, where it was started.
    pub kept: Option<Kept>,
}

impl Captured {
    /// How many bytes of the log's end are kept in memory: what a time-out shows (E11).
    pub const LOG_TAIL_CAP: usize = 4 * 1024;

    /// Returns what is captured of an action that printed nothing.
    pub fn nothing() -> Self {
        let empty = Digest::of(b"");
        Self {
            log_bytes: 0,
            log_digest: empty,
            frames_bytes: 0,
            frames_digest: empty,
            log_tail: Vec::new(),
            stdout: StreamExcerpt::default(),
            stderr: StreamExcerpt::default(),
            last_output: None,
            pipes_left_open: false,
        }
    }
}

impl StreamExcerpt {
    /// How many bytes of a stream's beginning are kept in memory: enough for the tools' reports. Made readable there are three of it
    /// for a moment, and a run may cost 32 MiB.
    pub const HEAD_CAP: usize = 4 * 1024 * 1024;
    /// How many bytes of a stream's end are kept in memory.
    pub const TAIL_CAP: usize = 64 * 1024;

    /// How many bytes of a stream's beginning are enough for people, and for judging a command by its exit code.
    pub const SHORT_HEAD_CAP: usize = 64 * 1024;

    /// Returns the excerpt with at most [`StreamExcerpt::SHORT_HEAD_CAP`] and [`StreamExcerpt::TAIL_CAP`] bytes.
    pub fn shortened(&self) -> Self {
        let kept_head = self.head.len().min(Self::SHORT_HEAD_CAP);
        let rest = &self.head[kept_head..];
        let from_rest = if self.is_complete() { Self::TAIL_CAP.saturating_sub(self.tail.len()).min(rest.len()) } else { 0 };
        let tail = [&rest[rest.len() - from_rest..], &self.tail].concat();
        Self { total: self.total, head: self.head[..kept_head].to_vec(), tail }
    }

    /// Returns whether head and tail together are the whole stream.
    pub fn is_complete(&self) -> bool {
        self.total == (self.head.len() + self.tail.len()) as u64
    }

    /// Returns head and tail as text, undecodable bytes replaced; a cut between them is one line that says so.
    ///
    /// What replaces them is a `?`, which is no longer than they are: megabytes of them must not become several times as many.
    pub fn text(&self) -> String {
        let cut = if self.is_complete() {
            String::new()
        } else {
            let missing = self.total - (self.head.len() + self.tail.len()) as u64;
            format!("\n[{missing} bytes are only in the log]\n")
        };
        let mut text = String::with_capacity(self.head.len() + cut.len() + self.tail.len());
        push_decoded(&mut text, &self.head);
        text.push_str(&cut);
        push_decoded(&mut text, &self.tail);
        text
    }
}

fn push_decoded(text: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push('?');
        }
    }
}

impl StopStage {
    /// Returns the signal's name.
    pub fn signal_name(self) -> &'static str {
        match self {
            Self::Sigint => "SIGINT",
            Self::Sigterm => "SIGTERM",
            Self::Sigkill => "SIGKILL",
        }
    }
}

impl StopReason {
    /// Returns why, in words that fit after "because".
    pub fn why(self) -> &'static str {
        match self {
            Self::ServiceEnded => "a service it needs has ended",
            Self::ChecksOver => "the checks were over",
            Self::Superseded => "a newer save made this run pointless",
            Self::Interrupted => "proctor was interrupted",
            Self::Terminated => "proctor was asked to end",
        }
    }
}

impl fmt::Display for SpawnFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProgramNotFound { program, searched } if searched.is_empty() => {
                write!(formatter, "there is no program `{program}`")
            }
            Self::ProgramNotFound { program, searched } => {
                write!(formatter, "there is no program `{program}` in {}", searched.join(", "))
            }
            Self::InterpreterNotFound { program, interpreter } => {
                write!(formatter, "`{program}` names the interpreter `{interpreter}`, which does not exist")
            }
            Self::NotExecutable { program } => write!(formatter, "`{program}` may not be executed"),
            Self::DirectoryNotFound { directory } => write!(formatter, "the working directory `{directory}` does not exist"),
            Self::PortHeld { port, .. } => write!(formatter, "port {port} is held by another process"),
            Self::PromptUnreadable { prompt, why } => write!(formatter, "the prompt `{prompt}` cannot be given to it: {why}"),
            Self::NotIsolated { why } => write!(formatter, "it could not be kept apart: {why}"),
            Self::Refused { program, message, .. } => write!(formatter, "`{program}` could not be started: {message}"),
        }
    }
}

impl ActionEnd {
    /// Returns whether it was started and ended without our doing.
    pub fn is_of_its_own(&self) -> bool {
        match self {
            Self::Exited { .. } | Self::Signalled { .. } => true,
            Self::TimedOut { .. } | Self::Stopped { .. } | Self::NotStarted(_) | Self::Lost { .. } => false,
        }
    }

    /// Returns the raw exit code, where the process ended by itself.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Exited { code } => Some(*code),
            Self::Signalled { .. } | Self::TimedOut { .. } | Self::Stopped { .. } | Self::NotStarted(_) | Self::Lost { .. } => {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_longer_than_what_it_is_made_of() {
        let head = b"gr\xc3\xb6\xff\xfe\xe2\x82 \xe2\x9c\x93".to_vec();
        let excerpt = StreamExcerpt { total: 20, head, tail: b"\xff.".to_vec() };
        assert_eq!(excerpt.text(), "gr\u{f6}??? \u{2713}\n[6 bytes are only in the log]\n?.");
    }

    #[test]
    fn a_shortened_excerpt_is_still_the_two_ends_of_the_stream() {
        let (short, tail) = (StreamExcerpt::SHORT_HEAD_CAP, StreamExcerpt::TAIL_CAP);
        let bytes: Vec<u8> = (0..=250).cycle().take(3 * (short + tail)).collect();
        for length in [0, short - 1, short, short + 1, short + tail, short + tail + 1, bytes.len()] {
            let stream = &bytes[..length];
            for kept_head in [length, length.saturating_sub(tail / 2).max(length.min(short)), length.min(short)] {
                let kept_tail = &stream[kept_head.max(length.saturating_sub(tail))..];
                let excerpt =
                    StreamExcerpt { total: length as u64, head: stream[..kept_head].to_vec(), tail: kept_tail.to_vec() };
                let shortened = excerpt.shortened();
                assert_eq!(shortened.total, length as u64);
                assert!(shortened.head == stream[..length.min(short)], "length {length}, head {kept_head}");
                assert!(stream.ends_with(&shortened.tail) && shortened.tail.len() <= tail, "length {length}, head {kept_head}");
                assert_eq!(shortened.is_complete(), length <= short + tail, "length {length}, head {kept_head}");
            }
        }
    }
}
