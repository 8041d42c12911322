//! How a supervised command ended, and what was captured of its output.

use std::fmt;
use std::time::Duration;

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::{Digest, DurationMs, PortHolder, ReachedIsolation, Timestamp};

/// The limits of one action on time and output, and how the action is stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionLimits {
    /// The limit on the whole duration of the action.
    pub timeout: Duration,
    /// The longest time that the action may print nothing, counted from the start or from the last byte; `None` means
    /// no limit.
    pub idle: Option<Duration>,
    /// The most bytes that the action may print, standard output and standard error together; `None` means no limit.
    pub output: Option<u64>,
    /// How long stopping the action may take: at the end of this time every process has been sent SIGKILL.
    pub grace: Duration,
    /// The signals that are sent before SIGKILL, in order (E10): SIGINT and SIGABRT for pytest, SIGTERM for others.
    pub ladder: Vec<StopStage>,
}

/// A signal that stops an action; the variants go from mild to final.
#[wire(Copy, Hash, screaming, named)]
pub enum StopStage {
    /// SIGINT to the process group. pytest still writes its report after this signal.
    Sigint,
    /// SIGABRT to the command itself and to what handles it, SIGTERM to the rest of the process group. pytest's `faulthandler` then prints
    /// the stack of every thread, also while native code holds the interpreter, and ends.
    Sigabrt,
    /// SIGTERM to the process group.
    Sigterm,
    /// SIGKILL to the process group.
    Sigkill,
}

/// The limit that was exceeded (C15).
#[wire(Copy, Hash, lower, schema)]
pub enum LimitKind {
    /// The wall-clock time since the action's start.
    Wall,
    /// The time without output.
    Idle,
    /// The number of bytes that the action printed.
    Output,
    /// The memory of all processes of the action together.
    Memory,
    /// The number of processes of the action.
    Pids,
    /// The bytes that the run's actions have written to their layer and their private directories for temporary files.
    Written,
}

/// Why proctor stopped an action, when the reason is not that the action exceeded a limit.
#[wire(Copy, Hash, screaming)]
pub enum StopReason {
    /// A service that the run depends on has ended.
    ServiceEnded,
    /// The checks are over, so the service is no longer needed.
    ChecksOver,
    /// A helper process of proctor (the launcher, or the keeper of one action) ended while an action of the run went on. So the
    /// run gives no verdict.
    HelperDied,
    /// A newer save made the run obsolete.
    Superseded,
    /// The user asked proctor to end, by SIGINT or `q`.
    Interrupted,
    /// proctor was told to end by SIGTERM or SIGHUP.
    Terminated,
}

/// Why a command could not be started. This is a value and no Rust error, because the run records it as a result and
/// goes on (house style S6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", tag = "kind")]
pub enum SpawnFailure {
    /// The program is neither on PATH nor at the given path.
    ProgramNotFound {
        program: String,
        /// The directories in which the program was searched; empty if the command gave a path.
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
    /// Another process already listens on the service's port, so an answer from the port would not come from the
    /// service.
    PortHeld {
        port: u16,
        /// The processes that listen on the port, with the details that proctor could read.
        holders: Vec<PortHolder>,
    },
    /// A client program cannot be given what it needs, such as the password that a variable should hold.
    ClientNotReady { why: String },
    /// The file that becomes a reviewer's standard input cannot be read.
    PromptUnreadable { prompt: String, why: String },
    /// The server that was to carry the action out gave no result, or none that is accepted.
    NoServer { why: String },
    /// The required isolation could not be set up, so nothing was started.
    NotIsolated {
        /// What failed, and where.
        why: String,
    },
    /// The kernel refused to start the program for a reason that no other variant names.
    Refused {
        program: String,
        /// The system's error number.
        errno: i32,
        /// The system's error message.
        message: String,
    },
}

/// How an action ended: by itself, by a signal, by proctor, or without having been started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionEnd {
    /// The process exited by itself, with an exit code.
    Exited {
        code: i32,
    },
    /// A signal that proctor did not send ended the process.
    Signalled {
        signal: i32,
    },
    /// proctor stopped the process because a limit was exceeded. The process's own exit status is recorded, but does
    /// not decide the result.
    TimedOut {
        limit: LimitKind,
        /// The last signal that was sent; milder signals came before it.
        stage: StopStage,
        /// The process's exit code; `None` if a signal ended it.
        code: Option<i32>,
        /// The number of the signal that ended the process; `None` if it exited.
        signal: Option<i32>,
    },
    /// proctor stopped the process for a reason other than a limit.
    Stopped {
        reason: StopReason,
        /// The last signal that was sent; milder signals came before it.
        stage: StopStage,
    },
    NotStarted(SpawnFailure),
    /// The exit status is unknown, because a helper process of proctor died: the launcher (it starts actions) or the keeper (it
    /// watches one action). The code that is checked is not the reason, so a run with such an action has no verdict.
    Lost {
        /// What was seen instead of an exit status.
        why: String,
    },
}

/// A helper process of proctor (the launcher, or the keeper of one action) ended while an action went on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperDeath {
    /// The name of the action.
    pub action: String,
    /// Which process ended, and how.
    pub why: String,
}

impl HelperDeath {
    /// What a person can do after the death of a helper process.
    pub const HINT: &str = "see why that process ended (`journalctl -k` names what the kernel killed because memory ran out), then \
                            run the checks again";

    /// Returns why the run has no verdict, as a sentence for people.
    pub fn sentence(&self) -> String {
        format!("proctor's own fault, so there is no verdict: while `{}` went on, {}", self.action, self.why)
    }
}

/// The beginning and the end of an output stream, kept in memory. The log file has the whole stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamExcerpt {
    /// The number of bytes in the stream.
    pub total: u64,
    /// The first bytes of the stream, at most [`StreamExcerpt::HEAD_CAP`].
    pub head: Vec<u8>,
    /// The last bytes of the stream that are not in `head`, at most [`StreamExcerpt::TAIL_CAP`].
    pub tail: Vec<u8>,
}

/// What an action printed: sizes and digests of the stored files, and excerpts for interpretation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The number of bytes in the log file, which has both streams in order of arrival.
    pub log_bytes: u64,
    /// The digest of the log file, computed while it was written.
    pub log_digest: Digest,
    /// The number of bytes in the frames file, which says when each part of the log arrived, and from which stream.
    pub frames_bytes: u64,
    pub frames_digest: Digest,
    /// The last bytes of the log, at most [`CapturedOutput::LOG_TAIL_CAP`].
    pub log_tail: Vec<u8>,
    pub stdout: StreamExcerpt,
    pub stderr: StreamExcerpt,
    /// When the last byte of output arrived; `None` if the action printed nothing.
    pub last_output: Option<Timestamp>,
    /// Whether output may be missing: a process still held an output pipe open when reading ended, or more was printed
    /// than is stored.
    pub pipes_left_open: bool,
}

/// A process of an action that was still running after its main process had ended (E14).
#[wire(open, schema, sparse)]
pub struct Survivor {
    /// The process id, as seen from inside the action.
    pub pid: i32,
    /// The process's argument vector, with invalid UTF-8 replaced.
    #[kept]
    pub argv: Vec<String>,
    /// How long the process had been running; `None` if its start could not be read.
    #[serde(rename = "ageMs")]
    pub age: Option<DurationMs>,
}

/// The resources that the action's main process used, from wait4(2).
#[wire(Copy, Default, open, schema)]
pub struct Usage {
    pub user: DurationMs,
    pub system: DurationMs,
    /// The largest resident set of the main process and the descendants it waited for, in KiB.
    pub peak_memory_kib: u64,
}

/// What all processes of an action together may take. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// The most memory, in bytes.
    pub memory: Option<u64>,
    /// The most processes and threads at the same time.
    pub processes: Option<u32>,
    /// The most bytes in the layer over the project and in private directories for temporary files.
    pub written: Option<u64>,
    pub enforcement: LimitEnforcement,
    /// The niceness of the processes, as nice(1) counts: the higher, the later they get a processor. From 1 on they wait for the disk too.
    pub nice: u8,
}

/// What happens if a limit on resources cannot be enforced, because no cgroup with its controller was delegated.
#[wire(Copy, Default)]
pub enum LimitEnforcement {
    /// The action runs without a limit on processes and is ended when it is seen above the one on memory. The report and the screen say so.
    #[default]
    WherePossible,
    /// The action is not started.
    Required,
}

/// The resources that all processes of an action used together, as read from its cgroup. A value is `None` if the
/// cgroup does not report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GroupUsage {
    pub user: Option<DurationMs>,
    pub system: Option<DurationMs>,
    /// The highest memory use of all processes together, in bytes.
    pub peak_memory: Option<u64>,
    /// Whether the kernel killed a process of the action because the memory limit was exceeded.
    pub memory_exceeded: bool,
    /// Whether the kernel refused to start a process because the limit on processes was reached.
    pub processes_exceeded: bool,
    /// Whether the limit on written bytes was reached. No cgroup knows it: the keeper, the process that watches the action, sums.
    pub written_exceeded: bool,
}

/// Everything that the supervisor knows about an action that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedAction {
    pub end: ActionEnd,
    pub started: Timestamp,
    /// When the supervisor noticed that the action had ended.
    pub ended: Timestamp,
    /// The duration, measured with a monotonic clock: setting the machine's clock does not change it.
    pub duration: DurationMs,
    pub captured: CapturedOutput,
    /// The processes that were still running when the action's main process had ended.
    pub survivors: Vec<Survivor>,
    /// The resources that the main process used; `None` if it was not started, or how it ended is not known.
    pub usage: Option<Usage>,
    /// How the action was isolated; `None` if it was not started.
    pub kept: Option<ReachedIsolation>,
    /// Whether it may have read HEAD, tags and index of the project's repository, which no digest names.
    pub used_git: bool,
}

impl CapturedOutput {
    /// The most bytes of the log's end that are kept in memory. A report on a time-out shows these bytes (E11).
    pub const LOG_TAIL_CAP: usize = 4 * 1024;

    /// Returns the captured output of an action that printed nothing.
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
    /// The most bytes of a stream's beginning that are kept in memory, enough for the reports of tools. More bytes
    /// would take too much memory: decoding holds three copies of these bytes for a moment, and proctor may use 32 MiB
    /// during a run.
    pub const HEAD_CAP: usize = 4 * 1024 * 1024;
    /// The most bytes of a stream's end that are kept in memory, in addition to the beginning.
    pub const TAIL_CAP: usize = 64 * 1024;

    /// The most bytes of a stream's beginning that a shortened excerpt keeps: enough for people, and for judging a
    /// command by its exit code.
    pub const SHORT_HEAD_CAP: usize = 64 * 1024;

    /// Returns the excerpt cut to [`StreamExcerpt::SHORT_HEAD_CAP`] and [`StreamExcerpt::TAIL_CAP`] bytes.
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

    /// Returns head and tail as text. If the excerpt is not complete, a line between them says how many bytes are
    /// missing.
    ///
    /// Bytes that are not UTF-8 are replaced by `?`, which takes one byte. The usual replacement character takes three,
    /// and megabytes of such bytes would grow threefold.
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

words! {
    /// Returns the reason as a clause for messages, to be put after the word "because".
    pub fn StopReason::why: ServiceEnded "a service it needs has ended", ChecksOver "the checks were over",
        HelperDied "a helper process of proctor ended during another action of this run",
        Superseded "a newer save made this run pointless", Interrupted "proctor was interrupted",
        Terminated "proctor was asked to end"
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
            Self::ClientNotReady { why } => write!(formatter, "the client cannot be started: {why}"),
            Self::PromptUnreadable { prompt, why } => write!(formatter, "the prompt `{prompt}` cannot be given to it: {why}"),
            Self::NoServer { why } => write!(formatter, "there is no result of the server {why}"),
            Self::NotIsolated { why } => write!(formatter, "it could not be kept apart: {why}"),
            Self::Refused { program, message, .. } => write!(formatter, "`{program}` could not be started: {message}"),
        }
    }
}

impl ActionEnd {
    /// Returns whether the process is known to have ended without being stopped by proctor.
    pub fn is_of_its_own(&self) -> bool {
        match self {
            Self::Exited { .. } | Self::Signalled { .. } => true,
            Self::TimedOut { .. } | Self::Stopped { .. } | Self::NotStarted(_) | Self::Lost { .. } => false,
        }
    }

    /// Returns the process's exit code; `None` if the process did not exit, if proctor stopped it, or if its exit status is
    /// unknown.
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
