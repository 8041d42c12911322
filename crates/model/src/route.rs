//! The words of the exit-code router, which sends a task on after a run, and the TDD state of a task (design document
//! seed 000; R1–R9).

use proctor_wire::wire;

use crate::{Digest, ExpectedFailure, RunId, Sequence, Timestamp};

/// The current phase of the TDD cycle. A task without a started cycle is in GREEN (R6).
#[wire(Copy, PartialOrd, Ord, Hash, upper, schema, named)]
pub enum Phase {
    /// Tests are written and must fail.
    Red,
    /// The implementation must make the tests pass.
    Green,
    /// The code is cleaned up while the tests keep passing.
    Refactor,
}

/// Where a run sends the task. The names are labels from seed 000, the design document of the exit-code router; the
/// workflow that uses proctor gives them their meaning (A3).
#[wire(Copy, PartialOrd, Ord, Hash, screaming, schema, named)]
pub enum NextNode {
    /// The task goes back to writing the tests, because the tests themselves have errors.
    N2,
    /// The task goes back to the implementation.
    N3,
    /// The task goes on to the implementation, because the tests fail as the RED phase demands.
    N4,
    /// The task goes on to the next phase, because the current phase is complete.
    NextPhase,
    /// A person decides where the task continues.
    HumanReview,
}

/// A routing decision: where the task goes, and why. It is `RouteDestination` in the design document seed 000.
#[wire(open, schema)]
pub struct RouteDestination {
    pub next_node: NextNode,
    pub reason: String,
    pub requires_human: bool,
    /// Whether a retry without asking a person is permitted.
    pub retry_allowed: bool,
}

/// Where the exit code came from that decides the route (R2).
#[wire(Copy, Hash, schema)]
pub enum ExitCodeSource {
    /// The action's process exited with this code.
    Process,
    /// There is no exit code, because a limit was exceeded. It is recorded as null and routed like code 3.
    Timeout,
    /// There is no exit code, because a signal ended the process.
    Signal,
    /// There is no exit code, because the process could not be started.
    NotStarted,
    /// There is no exit code, because the process that starts actions died before it reported one.
    Lost,
    /// The test result that is routed has no field for an exit code, so 3 is assumed (A11).
    Defaulted,
}

/// Which rule decided an entry of the route history.
#[wire(Copy, Hash, kebab, schema)]
pub enum RouteKind {
    /// The router's table for phase and exit code decided.
    Routed,
    /// Too many scaffold errors (errors in the tests themselves) came in a row.
    RetryLimit,
    /// The task had as many attempts in its phase as `max_attempts` allows (R4).
    AttemptLimit,
    /// The setting `routing.collection_error` changed the table's decision (R7).
    CollectionErrorPolicy,
    /// The category code of the result decided. It showed that the report does not prove what the exit code claims, for
    /// example because no test was executed (E3, E4).
    Category,
    /// Protected files differ from the approved ones (S7).
    ProtectedFiles,
    /// A save of a started RED phase on which the tests pass: the failing test is not written yet, and nothing is wrong (R9).
    NotRedYet,
    /// A person overrode the router's decision (R9).
    Override,
}

/// One decision in a task's route history (R5).
#[wire(open, schema)]
pub struct RouteEntry {
    /// The phase in which the decision was made.
    pub phase: Phase,
    /// The exit code that decided the route; null if the process ended without an exit code.
    pub exit_code: Option<i32>,
    pub exit_code_source: ExitCodeSource,
    pub kind: RouteKind,
    #[serde(flatten)]
    pub destination: RouteDestination,
}

/// The tree and the failures of the last attempt, by which a failure that repeats without any change is recognised
/// (R4).
#[wire(open, schema)]
pub struct AttemptRecord {
    pub tree_digest: Digest,
    /// The digest of the sorted names of everything that failed in the attempt.
    pub failing_set: Digest,
    /// How many attempts in a row failed in the same way on the same tree.
    pub times: u32,
}

/// A task that waits for a person (R9).
#[wire(open, schema)]
pub struct PauseRecord {
    pub reason: String,
    pub since: Timestamp,
    pub run_id: RunId,
}

/// The TDD state of a task: `TDDState` of the design document seed 000, extended by R2–R9. It is stored in the ledger,
/// so it survives restarts.
#[wire(schema)]
pub struct TddState {
    /// Whether a cycle is started. Limits and pauses apply only inside a cycle.
    pub started: bool,
    pub phase: Phase,
    /// The exit code of the last attempt; null if the attempt ended without an exit code.
    pub exit_code: Option<i32>,
    /// Whether the last exit code is the tool's own, or why it is missing; `None` before the first attempt.
    pub exit_code_source: Option<ExitCodeSource>,
    /// The exit codes of all attempts, oldest first. At most 100 are kept, or as many as `max_scaffold_retries` allows
    /// if that is more (R5). Null stands for an attempt without an exit code.
    pub exit_code_history: Vec<Option<i32>>,
    /// How many exit codes at the end of `exit_code_history` belong to the current phase, because a series of errors is
    /// not counted across phases (A9).
    pub phase_history: u32,
    /// All routing decisions and overrides by a person, oldest first. The limit on the number of entries is the same as
    /// for `exit_code_history`.
    pub route_history: Vec<RouteEntry>,
    pub attempts: u32,
    pub last_attempt: Option<AttemptRecord>,
    /// Why and since when the task waits for a person; `None` if it does not wait for one.
    pub paused: Option<PauseRecord>,
    /// Why and since when a person should look at the task, although no cycle is started and nothing waits: too many
    /// scaffold errors came in a row (R3). The key is absent if there is no reason to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<PauseRecord>,
    /// The ledger line that this state was read from; `None` if the task has no line yet.
    pub sequence: Option<Sequence>,
}

/// How a run is routed when tests could not be collected (R7).
#[wire(Copy, Hash, Default, kebab, schema)]
pub enum CollectionErrorPolicy {
    /// As the router's table says: exit code 2 sends the task to a person.
    #[default]
    HumanReview,
    /// The task goes to N2, as for an error in the tests themselves.
    ReScaffold,
    /// The task goes to N4, as if its tests failed as the RED phase demands, if the phase is RED and every collection
    /// error is a missing module from `expected_missing`.
    RedIfMissing,
}

/// The settings of the router (R3, R4, R7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingSettings {
    /// After this number of scaffold errors in a row (errors in the tests themselves), a person is asked. The allowed
    /// values are 1 to 100.
    pub max_scaffold_retries: u32,
    /// After this number of attempts in one phase, a person is asked. The allowed values are 1 to 1000.
    pub max_attempts: u32,
    /// The most retests that AI agents may request for a task before its checks pass. The allowed values are 1 to 100.
    pub max_retests: u32,
    /// How a run is routed when tests could not be collected.
    pub collection_error: CollectionErrorPolicy,
    /// Modules that may be missing in the RED phase. Submodules of a listed module may be missing too.
    pub expected_missing: Vec<String>,
    /// Tests that may fail in the RED phase although they failed before it began: tests or files of tests.
    pub expected_failing: ExpectedFailure,
}

impl Default for RoutingSettings {
    fn default() -> Self {
        Self {
            max_scaffold_retries: 3,
            max_attempts: 20,
            max_retests: 5,
            collection_error: CollectionErrorPolicy::HumanReview,
            expected_missing: Vec::new(),
            expected_failing: ExpectedFailure::default(),
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
            notice: None,
            sequence: None,
        }
    }
}
