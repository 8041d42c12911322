//! The test result that the router decides on.
//!
//! The log record of a routing decision (R8). `run/` writes it after the decision: the router itself logs nothing.

use proctor_model::{CategoryCode, Digest, ExitCodeSource, RouteEntry, RunId, TaskId, Timestamp};

/// The result of the action that runs a task's tests (R1). A decision depends only on this result, the task's state and
/// the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestResult<'a> {
    /// The exit code; `None` if the process ended without one. A missing code is recorded as null and routed like code
    /// 3 (R2).
    pub exit_code: Option<i32>,
    /// Where the exit code came from, or why there is no exit code.
    pub exit_code_source: ExitCodeSource,
    /// The category of the run's outcome; `None` if it is not known (R7).
    pub category: Option<CategoryCode>,
    /// The modules that could not be imported while pytest collected the tests.
    pub missing_modules: &'a [String],
    /// Whether every collection error was a missing module.
    pub only_missing_modules: bool,
    pub tree_digest: Digest,
    /// The digest of the sorted names of the failed tests.
    pub failing_set: Digest,
    pub run_id: RunId,
    /// The time of the decision.
    pub now: Timestamp,
    pub cause: RunCause,
}

/// What a run was made for, as far as the RED phase asks (R9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunCause {
    /// Somebody asked for the run, and so for a verdict on the phase.
    Asked,
    /// A test file was saved.
    SavedTest,
    /// Anything else, such as a save of another file.
    Other,
}

impl<'a> TestResult<'a> {
    /// The exit code that is assumed for a report that has no field for the exit code (A11). A process that ended
    /// without an exit code is routed by the same row of the table (R2).
    pub const ASSUMED_CODE: i32 = 3;

    /// Returns a result without category, missing modules and failed tests.
    pub fn new(exit_code: Option<i32>, source: ExitCodeSource, tree_digest: Digest, run_id: RunId, now: Timestamp) -> Self {
        Self {
            exit_code,
            exit_code_source: source,
            category: None,
            missing_modules: &[],
            only_missing_modules: false,
            tree_digest,
            failing_set: Digest::of(b""),
            run_id,
            now,
            cause: RunCause::Asked,
        }
    }

    /// Returns the result for a report that has no field for the exit code: exit code 3, with a source that says that
    /// the code was assumed (A11).
    pub fn without_exit_code_field(tree_digest: Digest, run_id: RunId, now: Timestamp) -> Self {
        Self::new(Some(Self::ASSUMED_CODE), ExitCodeSource::Defaulted, tree_digest, run_id, now)
    }
}

/// Logs one record at level INFO with task, run, phase, exit code, category, route and reason. `-` stands for a missing
/// value.
pub fn emit_decision(task: &TaskId, run: &RunId, entry: &RouteEntry, category: Option<CategoryCode>) {
    let code = entry.exit_code.map_or_else(|| "-".to_owned(), |code| code.to_string());
    tracing::info!(
        task = %task,
        run = %run,
        phase = entry.phase.word(),
        code = %code,
        category = %category_label(category),
        route = entry.destination.next_node.word(),
        reason = %entry.destination.reason,
        "route decided"
    );
}

fn category_label(category: Option<CategoryCode>) -> String {
    // Reports name a category by its serde name, and the log must use the same name.
    category
        .and_then(|category| serde_json::to_value(category).ok())
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_else(|| "-".to_owned())
}
