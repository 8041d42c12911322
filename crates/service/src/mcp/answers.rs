//! Where the answers of tools come from.

use serde_json::Value;

use crate::mcp::tool::ToolCall;
use proctor_app::Stop;

/// Answers the calls of tools. Calls come from several threads at once.
pub trait ToolAnswers: Send + Sync + 'static {
    /// Returns the structured answer of a call: a JSON object. A call that takes long asks `stop` again and again, and ends early if it
    /// says so; its answer is then sent to nobody.
    ///
    /// # Errors
    /// When there is no answer: what was asked for is not there, is refused, or failed.
    fn answer(&self, call: &ToolCall, stop: &Stop) -> Result<Value, ToolRefusal>;

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

impl ToolRefusal {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}
