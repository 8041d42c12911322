//! Where the answers of tools come from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mcp::tool::ToolCall;
use proctor_model::TestOutcome;

/// Answers the calls of tools. Calls come from several threads at once.
pub trait ToolAnswers: Send + Sync + 'static {
    /// Returns the structured answer of a call: a JSON object. A call that takes long asks `stop` again and again, and ends early if it
    /// says so; its answer is then sent to nobody.
    ///
    /// # Errors
    /// When there is no answer: what was asked for is not there, is refused, or failed.
    fn answer(&self, call: &ToolCall, stop: &CallStop) -> Result<Value, ToolRefusal>;

    /// Returns the execution report of the newest sealed run, as JSON.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    fn last_report(&self) -> Result<String, ToolRefusal>;
}

/// Why a call has no answer, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRefusal {
    pub message: String,
    /// Empty if there is nothing to say.
    pub hint: String,
}

/// What an answer of `failures` is about, where it is not everything that failed in the run: the value of its key `chosen`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChosenFailures {
    /// The test's id, or the name of the file or check.
    pub name: String,
    /// How many tests, findings and whole actions failed in the run.
    pub of_run: u64,
    /// How the test ended in the run; absent if that is not known, and for a file or a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TestOutcome>,
}

/// Says whether the client has cancelled a call, or is gone.
#[derive(Debug, Clone, Default)]
pub struct CallStop(Arc<AtomicBool>);

impl CallStop {
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Asks the call to end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl ToolRefusal {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}
