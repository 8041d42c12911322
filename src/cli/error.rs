//! The error of every failing command: exit code, message, causes and hints (house style E6).

use std::error::Error;

use proctor_model::{CommandExit, ServiceTrouble};

/// Why a command failed, its exit code, and hints what to do next.
#[derive(Debug, Clone)]
pub(crate) struct CommandError {
    exit: CommandExit,
    message: String,
    details: Vec<String>,
    causes: Vec<String>,
    hints: Vec<String>,
    trouble: Option<Box<ServiceTrouble>>,
}

impl CommandError {
    pub(crate) fn new(exit: CommandExit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), details: Vec::new(), causes: Vec::new(), hints: Vec::new(), trouble: None }
    }

    /// Makes an error with a message and the chain of its causes.
    pub(crate) fn caused(exit: CommandExit, message: impl Into<String>, cause: &dyn Error) -> Self {
        let mut error = Self::new(exit, message);
        let mut next = Some(cause);
        while let Some(cause) = next {
            error.causes.push(cause.to_string());
            next = cause.source();
        }
        error
    }

    /// Makes an error whose message is the text of `cause`. The causes of `cause` become the error's causes.
    pub(crate) fn of(exit: CommandExit, cause: &dyn Error) -> Self {
        let mut error = Self::caused(exit, cause.to_string(), cause);
        error.causes.remove(0);
        error
    }

    /// Adds a line to the message, for example one of several problems.
    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    /// Adds a hint what to do next. The hints are shown after the causes, in the order in which they were added.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Names the problem of the machine that the command failed of, such as a full disk.
    pub(crate) fn of_trouble(self, trouble: Option<ServiceTrouble>) -> Self {
        Self { trouble: trouble.map(Box::new), ..self }
    }

    /// Returns the problem of the machine that the command failed of; `None` if there is none with a name.
    pub(crate) fn trouble(&self) -> Option<&ServiceTrouble> {
        self.trouble.as_deref()
    }

    pub(crate) fn exit(&self) -> CommandExit {
        self.exit
    }

    /// Returns the message with its details and causes as one text.
    pub(crate) fn sentence(&self) -> String {
        [std::slice::from_ref(&self.message), &self.details, &self.causes].concat().join("; ")
    }

    /// Returns the error as a JSON document: `{"error":{"kind","message","hint"}}`.
    pub(crate) fn document(&self) -> serde_json::Value {
        serde_json::json!({ "error": { "kind": self.exit, "message": self.sentence(), "hint": self.hints.join("; ") } })
    }

    /// Returns the lines for standard error: message, causes, hints.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("error: {}", self.message)];
        lines.extend(self.details.iter().flat_map(|detail| indented(detail)));
        lines.extend(self.causes.iter().map(|cause| format!("  caused by: {cause}")));
        lines.extend(self.hints.iter().flat_map(|hint| indented(&format!("hint: {hint}"))));
        lines
    }
}

/// Returns a text of several lines as lines of their own, each indented by two columns.
pub(crate) fn indented(text: &str) -> Vec<String> {
    text.split('\n').map(|line| format!("  {line}")).collect()
}
