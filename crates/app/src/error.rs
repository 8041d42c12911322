//! The error of every failing command: exit code, message, causes and hints (house style E6).

use std::error::Error;

use crate::health::health_of;
use proctor_evidence::EvidenceError;
use proctor_model::{CommandExit, HealthProblem, PruneReason, RunId, ServiceTrouble};
use proctor_project::ProjectError;
use proctor_sandbox::process::clock;

/// Why a command failed, its exit code, and hints what to do next.
#[derive(Debug, Clone)]
pub struct CommandError {
    exit: CommandExit,
    message: String,
    details: Vec<String>,
    causes: Vec<String>,
    hints: Vec<String>,
    trouble: Option<Box<ServiceTrouble>>,
}

impl CommandError {
    pub fn new(exit: CommandExit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), details: Vec::new(), causes: Vec::new(), hints: Vec::new(), trouble: None }
    }

    /// Makes an error with a message and the chain of its causes.
    pub fn caused(exit: CommandExit, message: impl Into<String>, cause: &dyn Error) -> Self {
        let mut error = Self::new(exit, message);
        let mut next = Some(cause);
        while let Some(cause) = next {
            error.causes.push(cause.to_string());
            next = cause.source();
        }
        error
    }

    /// Makes an error whose message is the text of `cause`. The causes of `cause` become the error's causes.
    pub fn of(exit: CommandExit, cause: &dyn Error) -> Self {
        let mut error = Self::caused(exit, cause.to_string(), cause);
        error.causes.remove(0);
        error
    }

    /// Adds a line to the message, for example one of several problems.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    /// Adds each text as a line to the message.
    pub fn with_details<T: ToString>(self, details: impl IntoIterator<Item = T>) -> Self {
        details.into_iter().fold(self, |error, detail| error.detail(detail.to_string()))
    }

    /// Adds a hint what to do next. The hints are shown after the causes, in the order in which they were added.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Names the problem of the machine that the command failed of, such as a full disk.
    pub fn of_trouble(self, trouble: Option<ServiceTrouble>) -> Self {
        Self { trouble: trouble.map(Box::new), ..self }
    }

    /// Returns the problem of the machine that the command failed of; `None` if there is none with a name.
    pub fn trouble(&self) -> Option<&ServiceTrouble> {
        self.trouble.as_deref()
    }

    pub fn exit(&self) -> CommandExit {
        self.exit
    }

    /// Returns the message with its details and causes as one text.
    pub fn sentence(&self) -> String {
        [std::slice::from_ref(&self.message), &self.details, &self.causes].concat().join("; ")
    }

    /// Returns the hints as one text.
    pub fn hint_text(&self) -> String {
        self.hints.join("; ")
    }

    /// Returns the error as a JSON document: `{"error":{"kind","message","hint"}}`.
    pub fn document(&self) -> serde_json::Value {
        serde_json::json!({ "error": { "kind": self.exit, "message": self.sentence(), "hint": self.hint_text() } })
    }

    /// Returns the lines for standard error: message, causes, hints.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("error: {}", self.message)];
        lines.extend(self.details.iter().flat_map(|detail| indented(detail)));
        lines.extend(self.causes.iter().map(|cause| format!("  caused by: {cause}")));
        lines.extend(self.hints.iter().flat_map(|hint| indented(&format!("hint: {hint}"))));
        lines
    }
}

/// Returns a text of several lines as lines of their own, each indented by two columns.
pub fn indented(text: &str) -> Vec<String> {
    text.split('\n').map(|line| format!("  {line}")).collect()
}

impl From<&ProjectError> for CommandError {
    fn from(error: &ProjectError) -> Self {
        let trouble = health_of(error, clock::now()).filter(|trouble| trouble.problem != HealthProblem::Other);
        let command_error = Self::of(error.exit(), error).of_trouble(trouble);
        match error.hint() {
            Some(hint) => command_error.hint(hint),
            None => command_error,
        }
    }
}

impl From<ProjectError> for CommandError {
    fn from(error: ProjectError) -> Self {
        Self::from(&error)
    }
}

impl From<&EvidenceError> for CommandError {
    fn from(error: &EvidenceError) -> Self {
        let exit = match error {
            // The file is a pipe, a device or too large: the person has to name another file.
            EvidenceError::File { source, .. } if source.kind() == std::io::ErrorKind::InvalidInput => CommandExit::Usage,
            EvidenceError::Key { .. }
            | EvidenceError::LedgerLine { .. }
            | EvidenceError::LedgerOffset { .. }
            | EvidenceError::LedgerGone { .. }
            | EvidenceError::LedgerSegment { .. }
            | EvidenceError::LedgerChanged { .. }
            | EvidenceError::NotADirectory { .. }
            | EvidenceError::NotAsSealed { .. }
            | EvidenceError::ExportFaulty { .. }
            | EvidenceError::NotSigned { .. }
            | EvidenceError::NotInLedger { .. }
            | EvidenceError::NotAnchored { .. }
            | EvidenceError::Archive { .. } => CommandExit::EvidenceWrong,
            EvidenceError::AnchoredEarlier { .. } => CommandExit::Usage,
            EvidenceError::File { .. }
            | EvidenceError::Name { .. }
            | EvidenceError::Encode { .. }
            | EvidenceError::LedgerFailed { .. }
            | EvidenceError::NotRecovered { .. }
            | EvidenceError::RunIsOpen { .. }
            | EvidenceError::Foreign { .. } => CommandExit::OwnFault,
        };
        Self::of(exit, error).hint(error.hint())
    }
}

impl From<EvidenceError> for CommandError {
    fn from(error: EvidenceError) -> Self {
        Self::from(&error)
    }
}

/// Returns the error that a run's files were pruned.
pub fn from_prune_reason(run_id: &RunId, why: PruneReason) -> CommandError {
    CommandError::from(ProjectError::Pruned { run_id: run_id.clone(), why })
}
