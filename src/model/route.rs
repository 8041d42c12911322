//! The vocabulary of the exit-code router, and the TDD state of a task (seed 000; R1–R9).

use serde::{Deserialize, Serialize};

use crate::model::{Digest, RunId, Sequence, Timestamp};

/// The current phase of the TDD cycle. A task without a started cycle is in GREEN (R6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Phase {
    /// Tests are written and must fail.
    Red,
    /// The implementation must make them pass.
    Green,
    /// The code is cleaned up while the tests keep passing.
    Refactor,
}

/// Where a run sends the task. The node names are labels without further meaning to proctor (A3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NextNode {
    /// Write the scaffold of the tests again.
    N2,
    /// Go back to the implementation.
    N3,
    /// The RED is valid: start the implementation.
    N4,
    /// The current phase is complete, so the next one begins.
    #[serde(rename = "NEXT_PHASE")]
    NextPhase,
    /// A person decides.
    #[serde(rename = "HUMAN_REVIEW")]
    HumanReview,
}

/// A routing decision (seed 000 `RouteDestination`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteDestination {
    pub next_node: NextNode,
    /// The explanation for people.
    pub reason: String,
    pub requires_human: bool,
    /// Whether automatic retry is permitted.
    pub retry_allowed: bool,
}

/// Where the routed exit code came from (R2, T160).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExitCodeSource {
    /// The process's own exit status.
    Process,
    /// No status, because a limit was exceeded. The code is recorded as null and routed as 3.
    Timeout,
    /// No status, because a signal ended the process.
    Signal,
    /// No status, because the process could not be started.
    NotStarted,
    /// No status, because it could not be learnt.
    Lost,
    /// The result has no exit code field; 3 is assumed (T160).
    Defaulted,
}

/// The rule behind an entry of the route history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouteKind {
    /// The router's table decided.
    Routed,
    /// The retry limit was reached.
    RetryLimit,
    /// The attempt limit was reached (R4).
    AttemptLimit,
    /// The setting `routing.collection_error` changed the table's decision (R7).
    CollectionErrorPolicy,
    /// The category of the outcome overruled the exit code, which alone suggested a better result (E3, E4).
    Category,
    /// Protected files differ from the approved ones (S7).
    ProtectedFiles,
    /// A person decided (R9).
    Override,
}

/// A decision in the route history (R5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteEntry {
    /// The phase in which the decision was made.
    pub phase: Phase,
    /// The raw exit code; null if there was none.
    pub exit_code: Option<i32>,
    /// Where the exit code came from.
    pub exit_code_source: ExitCodeSource,
    /// The rule that decided.
    pub kind: RouteKind,
    #[serde(flatten)]
    pub destination: RouteDestination,
}

/// The state of an attempt in a cycle, to recognise a failure that repeats without any change (R4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptRecord {
    /// The tree that was tested.
    pub tree_digest: Digest,
    /// The digest of the sorted names of everything that failed.
    pub failing_set: Digest,
    /// How many attempts in a row had the same tree and the same failures.
    pub times: u32,
}

/// A task that waits for a person (R9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseRecord {
    pub reason: String,
    pub since: Timestamp,
    /// The run that caused the pause.
    pub run_id: RunId,
}

/// The TDD state of a task (seed 000 `TDDState`, extended by R2–R9). It lives in the ledger and survives restarts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TddState {
    /// Whether a cycle is started. Limits and pauses apply only inside a cycle.
    pub started: bool,
    pub phase: Phase,
    /// The last raw exit code; null if there was none.
    pub exit_code: Option<i32>,
    /// Where the last exit code came from.
    pub exit_code_source: Option<ExitCodeSource>,
    /// All exit codes, oldest first, at most max(100, limit) (R5). Null stands for an attempt without a code.
    pub exit_code_history: Vec<Option<i32>>,
    /// How many codes at the end of `exit_code_history` belong to the current phase. Streaks are not counted across phases (A9).
    pub phase_history: u32,
    /// All decisions including overrides, oldest first, with the same maximum.
    pub route_history: Vec<RouteEntry>,
    /// The number of attempts in the current phase.
    pub attempts: u32,
    pub last_attempt: Option<AttemptRecord>,
    /// Why and since when the task waits for a person; `None` if it does not wait.
    pub paused: Option<PauseRecord>,
    /// The ledger line that this state was read from; `None` if the task has no line yet.
    pub sequence: Option<Sequence>,
}

/// How a run is routed when tests could not be collected (R7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CollectionErrorPolicy {
    /// As the table says: exit code 2 goes to a person.
    #[default]
    HumanReview,
    /// To N2, as an error in the scaffold.
    ReScaffold,
    /// To N4 as a valid RED, if the phase is RED and every collection error is a missing module from `expected_missing`.
    RedIfMissing,
}

/// The settings of the router (R3, R4, R7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingSettings {
    /// How many consecutive scaffold errors send the task to a person. 1..=100.
    pub max_scaffold_retries: u32,
    /// How many attempts a task has in a phase before a person is asked. 1..=1000.
    pub max_attempts: u32,
    /// How many retests agents may have for a task before it passes. 1..=100.
    pub max_retests: u32,
    /// How a collection error is routed.
    pub collection_error: CollectionErrorPolicy,
    /// Modules that may be missing in RED. Submodules of a listed module may be missing too.
    pub expected_missing: Vec<String>,
}

impl Default for RoutingSettings {
    fn default() -> Self {
        Self {
            max_scaffold_retries: 3,
            max_attempts: 20,
            max_retests: 5,
            collection_error: CollectionErrorPolicy::HumanReview,
            expected_missing: Vec::new(),
        }
    }
}

impl Default for TddState {
    fn default() -> Self {
        Self {
            started: false,
            phase: Phase::Green,
            exit_code: None,
            exit_code_source: None,
            exit_code_history: Vec::new(),
            phase_history: 0,
            route_history: Vec::new(),
            attempts: 0,
            last_attempt: None,
            paused: None,
            sequence: None,
        }
    }
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Red => "RED",
            Self::Green => "GREEN",
            Self::Refactor => "REFACTOR",
        }
    }
}

impl NextNode {
    pub fn label(self) -> &'static str {
        match self {
            Self::N2 => "N2",
            Self::N3 => "N3",
            Self::N4 => "N4",
            Self::NextPhase => "NEXT_PHASE",
            Self::HumanReview => "HUMAN_REVIEW",
        }
    }
}
