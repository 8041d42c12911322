//! How a supervised command ended, and what was captured of its output.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{Digest, DurationMs, PortHolder, ReachedIsolation, Timestamp};

/// The limits of one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionLimits {
    /// The wall-clock limit.
    pub timeout: Duration,
    /// The longest allowed time without output, counted from the start or from the last byte; `None` means no limit.
    pub idle: Option<Duration>,
    /// The most bytes of output, both streams together; `None` means no limit.
    pub output: Option<u64>,
    /// The time limit for stopping the action: after it, every process has been sent SIGKILL.
    pub grace: Duration,
    /// The signals that are sent before SIGKILL, in order (E10): SIGINT and SIGTERM for pytest, SIGTERM for others.
    pub ladder: Vec<StopStage>,
}

/// A step in stopping an action, from mild to final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StopStage {
    /// SIGINT to the process group. pytest still writes its report after it.
    Sigint,
    /// SIGTERM to the process group.
    Sigterm,
    /// SIGKILL to the process group.
    Sigkill,
}

/// The limit that was exceeded (C15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitKind {
    /// Wall-clock time since the start.
    Wall,
    /// Time without output.
    Idle,
    /// The number of bytes of output.
    Output,
    /// Memory of all processes of the action together.
    Memory,
    /// Number of processes of the action.
    Pids,
}

/// Why proctor stopped an action that had not exceeded a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StopReason {
    /// A service that the run depends on has ended.
    ServiceEnded,
    /// The checks are over, so the service is no longer needed.
    ChecksOver,
    /// A newer save made the run obsolete.
    Superseded,
    /// The user asked proctor to end, by SIGINT or `q`.
    Interrupted,
    /// proctor was told to end by SIGTERM or SIGHUP.
    Terminated,
}

/// Why a command could not be started. Failures of tools are values and never errors (house style S6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", tag = "kind")]
pub enum SpawnFailure {
    /// The program is neither on PATH nor at the given path.
    ProgramNotFound {
        program: String,
        /// The directories that were searched.
        searched: Vec<String>,
    },
    /// The program is a script whose interpreter does not exist, for example in a virtual environment that was moved.
    InterpreterNotFound {
        program: String,
        /// The interpreter that the script's first line names.
        interpreter: String,
    },
    /// The file exists but may not be executed.
    NotExecutable { program: String },
    /// The working directory does not exist.
    DirectoryNotFound { directory: String },
    /// Another process listens on the port that the service is expected at, so an answer there would not come from the service.
    PortHeld {
        port: u16,
        /// The processes that listen, as far as they can be read.
        holders: Vec<PortHolder>,
    },
    /// The file for its standard input cannot be read.
    PromptUnreadable {
        /// The path of the file.
        prompt: String,
        /// The reason.
        why: String,
    },
    /// The required isolation could not be set up, so nothing was started.
    NotIsolated {
        /// What failed, and where.
        why: String,
    },
    /// The kernel reported another error.
    Refused {
        program: String,
        /// The system's error number.
        errno: i32,
        /// The system's error message.
        message: String,
    },
}

/// How an action's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionEnd {
    /// It exited by itself.
    Exited {
        code: i32,
    },
    /// A signal that proctor did not send ended it.
    Signalled {
        signal: i32,
    },
    /// proctor stopped it because a limit was exceeded. The returned status is recorded, but does not decide the result.
    TimedOut {
        /// The limit that was exceeded.
        limit: LimitKind,
        /// The last signal that was needed.
        stage: StopStage,
        /// The exit code, if it exited.
        code: Option<i32>,
        /// The signal's number, if a signal ended it.
        signal: Option<i32>,
    },
    /// proctor stopped it for another reason than a limit.
    Stopped {
        reason: StopReason,
        /// The last signal that was needed.
        stage: StopStage,
    },
    NotStarted(SpawnFailure),
    /// Its status could not be learnt, because the launcher died. An unknown status never counts as success.
    Lost {
        /// What was seen instead of a status.
        why: String,
    },
}

/// The beginning and the end of an output stream. The log has the whole stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamExcerpt {
    /// The number of bytes in the stream.
    pub total: u64,
    /// The first bytes, up to [`StreamExcerpt::HEAD_CAP`].
    pub head: Vec<u8>,
    /// The last bytes after the head, up to [`StreamExcerpt::TAIL_CAP`].
    pub tail: Vec<u8>,
}

/// The captured output of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The number of bytes in the log, which has both streams in order of arrival.
    pub log_bytes: u64,
    /// The digest of the log, computed while it was written.
    pub log_digest: Digest,
    /// The number of bytes in the frames file.
    pub frames_bytes: u64,
    /// The digest of the frames file.
    pub frames_digest: Digest,
    /// The last bytes of the log, at most [`CapturedOutput::LOG_TAIL_CAP`].
    pub log_tail: Vec<u8>,
    /// The excerpt of standard output.
    pub stdout: StreamExcerpt,
    /// The excerpt of standard error.
    pub stderr: StreamExcerpt,
    /// When the last byte arrived.
    pub last_output: Option<Timestamp>,
    /// Whether output may be missing: a process still held a pipe when reading ended, or more was printed than is stored.
    pub pipes_left_open: bool,
}

/// A process of an action that was still running after its main process had ended (E14).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Survivor {
    /// Its process id, as seen from inside the action.
    pub pid: i32,
    /// Its argument vector, with invalid UTF-8 replaced.
    pub argv: Vec<String>,
    /// How long it had been running; `None` if it could not be read.
    #[serde(rename = "ageMs", skip_serializing_if = "Option::is_none", default)]
    pub age: Option<DurationMs>,
}

/// The resources that the action's main process used, from wait4(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub user: DurationMs,
    pub system: DurationMs,
    /// The largest resident set of the main process and the descendants it waited for, in KiB.
    pub peak_memory_kib: u64,
}

/// Resource limits for all processes of an action together. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// The limit of memory in bytes.
    pub memory: Option<u64>,
    /// The limit of processes and threads at the same time.
    pub processes: Option<u32>,
}

/// The resources that all processes of an action used together, as read from its cgroup; `None` if the cgroup does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GroupUsage {
    pub user: Option<DurationMs>,
    pub system: Option<DurationMs>,
    /// The highest memory use, in bytes.
    pub peak_memory: Option<u64>,
    /// Whether the kernel killed it for exceeding the memory limit.
    pub memory_exceeded: bool,
    /// Whether the kernel refused to start a process beyond the limit.
    pub processes_exceeded: bool,
}

/// Everything that the supervisor knows about an action that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedAction {
    pub end: ActionEnd,
    pub started: Timestamp,
    /// When the supervisor noticed its end.
    pub ended: Timestamp,
    /// The duration, measured with a monotonic clock.
    pub duration: DurationMs,
    /// The captured output.
    pub captured: CapturedOutput,
    /// The processes that were left when the main process had ended.
    pub survivors: Vec<Survivor>,
    /// The resources it used; `None` if it was not started.
    pub usage: Option<Usage>,
    /// How it was isolated; `None` if it was not started.
    pub kept: Option<ReachedIsolation>,
}

impl CapturedOutput {
    /// How many bytes of the log's end are kept in memory. They are shown for a time-out (E11).
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
    /// How many bytes of a stream's beginning are kept in memory, enough for the reports of tools. Decoding needs three copies
    /// for a moment, and a run may use 32 MiB.
    pub const HEAD_CAP: usize = 4 * 1024 * 1024;
    /// How many bytes of a stream's end are kept in memory.
    pub const TAIL_CAP: usize = 64 * 1024;

    /// How many bytes of a stream's beginning are enough for people, and for judging a command by its exit code.
    pub const SHORT_HEAD_CAP: usize = 64 * 1024;

    /// Returns the excerpt cut to [`StreamExcerpt::SHORT_HEAD_CAP`] and [`StreamExcerpt::TAIL_CAP`] bytes.
    pub fn shortened(&self) -> Self {
        let kept_head = self.head.len().min(Self::SHORT_HEAD_CAP);
        let rest = &self.head[kept_head..];
        let from_rest = if self.is_complete() { Self::TAIL_CAP.saturating_sub(self.tail.len()).min(rest.len()) } else { 0 };
        let tail = [&rest[rest.len() - from_rest..], &self.tail].concat();
        Self { total: self.total, head: self.head[..kept_head].to_vec(), tail }
    }

    /// Returns whether head and tail together make up the whole stream.
    pub fn is_complete(&self) -> bool {
        self.total == (self.head.len() + self.tail.len()) as u64
    }

    /// Returns head and tail as text. A line between them marks a cut.
    ///
    /// Bytes that are not UTF-8 are replaced by `?`, which takes one byte. The usual replacement character takes three, and
    /// megabytes of such bytes would grow threefold.
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
    pub fn signal_name(self) -> &'static str {
        match self {
            Self::Sigint => "SIGINT",
            Self::Sigterm => "SIGTERM",
            Self::Sigkill => "SIGKILL",
        }
    }
}

impl StopReason {
    /// Returns the reason in words that can follow "because".
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
    /// Returns whether it was started and then ended without proctor stopping it.
    pub fn is_of_its_own(&self) -> bool {
        match self {
            Self::Exited { .. } | Self::Signalled { .. } => true,
            Self::TimedOut { .. } | Self::Stopped { .. } | Self::NotStarted(_) | Self::Lost { .. } => false,
        }
    }

    /// Returns the raw exit code, if the process exited by itself.
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
