//! The exit-code router's vocabulary and the TDD state of a task (seed 000; R1–R9).

use serde::{Deserialize, Serialize};

use crate::model::{Digest, RunId, Sequence, Timestamp};

/// The current phase of the TDD cycle. Without a started cycle it is GREEN (R6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Phase {
    /// Tests are written and must fail.
    Red,
    /// The implementation must make them pass.
    Green,
    /// The code is cleaned up and they must go on passing.
    Refactor,
}

/// Where a run is routed. Node names are opaque labels (A3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NextNode {
    /// Re-scaffold the tests.
    N2,
    /// Back to the implementation.
    N3,
    /// A valid RED: implement.
    N4,
    /// The phase is done.
    #[serde(rename = "NEXT_PHASE")]
    NextPhase,
    /// A person decides.
    #[serde(rename = "HUMAN_REVIEW")]
    HumanReview,
}

/// Routing result (seed 000 `RouteDestination`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteDestination {
    /// The node to go to.
    pub next_node: NextNode,
    /// Human-readable explanation.
    pub reason: String,
    /// Whether human intervention is needed.
    pub requires_human: bool,
    /// Whether automatic retry is permitted.
    pub retry_allowed: bool,
}

/// Where the code that was routed came from (R2, T160).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExitCodeSource {
    /// The process's own exit status.
    Process,
    /// No status: a limit was hit. Recorded as null, routed as 3.
    Timeout,
    /// No status: a signal ended it.
    Signal,
    /// No status: it could not be started.
    NotStarted,
    /// No status: it could not be learnt.
    Lost,
    /// The result lacks the field; 3 is assumed (T160).
    Defaulted,
}

/// What kind of decision an entry of the route history is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouteKind {
    /// The router's table.
    Routed,
    /// The retry limit.
    RetryLimit,
    /// The attempt limit (R4).
    AttemptLimit,
    /// `routing.collection_error` changed the table's row (R7).
    CollectionErrorPolicy,
    /// The outcome's category took back what the exit code alone would have earned (E3, E4).
    Category,
    /// Protected files that are not what was approved (S7).
    ProtectedFiles,
    /// A person's word (R9).
    Override,
}

/// One decision, as the route history keeps it (R5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteEntry {
    /// The phase it was taken in.
    pub phase: Phase,
    /// The raw exit code; null where there was none.
    pub exit_code: Option<i32>,
    /// Where the code came from.
    pub exit_code_source: ExitCodeSource,
    /// Which rule decided.
    pub kind: RouteKind,
    /// The decision.
    #[serde(flatten)]
    pub destination: RouteDestination,
}

/// What one attempt of a cycle looked like, to recognise a deterministic failure (R4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptRecord {
    /// The tree that was tested.
    pub tree_digest: Digest,
    /// Digest of the sorted names of what failed.
    pub failing_set: Digest,
    /// How many attempts in a row looked exactly like this.
    pub times: u32,
}

/// A task that waits for a person (R9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseRecord {
    /// Why.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// The run that led to it.
    pub run_id: RunId,
}

/// The TDD state of a task (seed 000 `TDDState`, extended by R2–R9). It lives in the ledger and survives restarts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TddState {
    /// Whether a cycle is started. Limits and pauses act only inside one.
    pub started: bool,
    /// The phase.
    pub phase: Phase,
    /// The last raw exit code; null where there was none.
    pub exit_code: Option<i32>,
    /// Where it came from.
    pub exit_code_source: Option<ExitCodeSource>,
    /// All codes, oldest first, capped at max(100, limit) (R5). Null: an attempt without a code.
    pub exit_code_history: Vec<Option<i32>>,
    /// How many codes of `exit_code_history`, from its end, belong to the current phase: streaks do not cross phases (A9).
    pub phase_history: u32,
    /// Every decision, overrides included, oldest first, capped likewise.
    pub route_history: Vec<RouteEntry>,
    /// Attempts in the current phase.
    pub attempts: u32,
    /// What the last attempt looked like.
    pub last_attempt: Option<AttemptRecord>,
    /// Set while the task waits for a person.
    pub paused: Option<PauseRecord>,
    /// The ledger line this state is from; none for a task that has none yet.
    pub sequence: Option<Sequence>,
}

/// What a run whose tests could not be collected is routed as (R7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CollectionErrorPolicy {
    /// As the table says: exit 2 goes to a person.
    #[default]
    HumanReview,
    /// To N2, as a scaffold error.
    ReScaffold,
    /// In RED, when every collection error is a missing module listed in `expected_missing`: a valid RED, to N4.
    RedIfMissing,
}

/// The settings of the router (R3, R4, R7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingSettings {
    /// The third consecutive scaffold error goes to a person when this is 3. 1..=100.
    pub max_scaffold_retries: u32,
    /// Attempts per task and phase before a person is asked. 1..=1000.
    pub max_attempts: u32,
    /// Retests that agents are granted per task until it passes. 1..=100.
    pub max_retests: u32,
    /// What a collection error is routed as.
    pub collection_error: CollectionErrorPolicy,
    /// Modules that a RED may miss, exactly or as their descendants.
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
    /// Returns the phase's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Red => "RED",
            Self::Green => "GREEN",
            Self::Refactor => "REFACTOR",
        }
    }
}

impl NextNode {
    /// Returns the node's label.
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
