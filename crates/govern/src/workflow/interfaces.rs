//! The traits through which a workflow starts programs, writes the ledger and uses the terminal. This folder does none
//! of that itself.

use std::path::{Path, PathBuf};

use crate::governance::Slug;
use crate::workflow::error::WorkflowError;
use proctor_model::{EndedAction, GovernanceRecord};

/// The task that a model has in a workflow: to draft the issue, or to review the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelRole {
    Drafter,
    Reviewer,
}

/// A request to a model: which of the two models is asked, the prompt, and what the model may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consultation<'a> {
    pub role: ModelRole,
    /// The model's standard input.
    pub prompt: &'a [u8],
    /// The models' copy of the repository. The model may write to it.
    pub copy: &'a Path,
    /// The project's directory in that copy of the repository. The model runs there.
    pub directory: &'a Path,
    /// Paths that the model must not see, in addition to the paths that are hidden from every action.
    pub hidden: &'a [PathBuf],
}

/// A request to run one of the person's own tools: git, or the tracker's command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRequest {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The tool's working directory.
    pub directory: PathBuf,
}

/// How a tool ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolEnd {
    Exited {
        code: i32,
        /// The tool's standard output.
        output: String,
        /// The tool's standard error.
        complaint: String,
    },
    /// The tool could not be started or did not end by itself; the text says why.
    Failed(String),
}

/// Starts programs and writes the ledger, for a workflow.
pub trait WorkflowHost {
    /// Runs a model in isolation. A model that fails is no error: the result says how it ended.
    ///
    /// # Errors
    /// When the model's command cannot be supervised.
    fn consult(&mut self, consultation: &Consultation<'_>) -> Result<EndedAction, WorkflowError>;

    /// Runs a tool. A tool that fails is no error: the result says how it ended.
    ///
    /// # Errors
    /// When the tool cannot be supervised.
    fn run_tool(&mut self, request: &ToolRequest) -> Result<ToolEnd, WorkflowError>;

    /// Appends a line to the ledger.
    ///
    /// # Errors
    /// When the line cannot be written.
    fn record(&mut self, record: GovernanceRecord) -> Result<(), WorkflowError>;
}

/// Why the editor cannot be used, as a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorFailure(pub String);

/// The person at the terminal, who answers questions and edits texts.
pub trait Person {
    /// Shows a line on the terminal. The text has no newline at its end.
    fn show(&mut self, line: &str);

    /// Asks a question and returns the line that the person typed; `None` if nobody is at a terminal, or if a signal
    /// asks the program to stop.
    fn ask(&mut self, prompt: &str) -> Option<String>;

    /// Checks that the editor can be started.
    ///
    /// # Errors
    /// When the editor was not found.
    fn find_editor(&mut self) -> Result<(), EditorFailure>;

    /// Opens the editor on the files and waits until it is closed.
    ///
    /// # Errors
    /// When the editor could not be started or ended with a failure. The files may then not be as the person wants
    /// them.
    fn edit(&mut self, slug: &Slug, files: &[PathBuf]) -> Result<(), EditorFailure>;
}
