//! Who does what this folder cannot do itself: start programs, write the ledger, ask a person.

use std::path::{Path, PathBuf};

use crate::governance::Slug;
use crate::model::{Ended, GovernanceRecord};
use crate::workflow::error::WorkflowError;

/// A model, by what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Drafts.
    Drafter,
    /// Reviews.
    Reviewer,
}

/// What a model is asked, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consultation<'a> {
    /// Who is asked.
    pub role: Role,
    /// What it reads on its standard input.
    pub prompt: &'a [u8],
    /// The models' copy of the repository, which it may write to.
    pub copy: &'a Path,
    /// The project in that copy: where it runs.
    pub directory: &'a Path,
    /// What it must not see beside what no action sees.
    pub hidden: &'a [PathBuf],
}

/// A tool of the person's own: git, the tracker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRequest {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
}

/// How a tool ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolEnd {
    /// By itself.
    Exited {
        /// Its exit code.
        code: i32,
        /// What it printed.
        output: String,
        /// What it complained.
        complaint: String,
    },
    /// It is not there, or did not end by itself: in words.
    Failed(String),
}

/// Starts programs and writes the ledger.
pub trait Hands {
    /// Asks a model, kept apart. That it fails is a value.
    ///
    /// # Errors
    /// When it cannot be supervised.
    fn consult(&mut self, consultation: &Consultation<'_>) -> Result<Ended, WorkflowError>;

    /// Runs a tool. That it fails is a value.
    ///
    /// # Errors
    /// When it cannot be supervised.
    fn run_tool(&mut self, request: &ToolRequest) -> Result<ToolEnd, WorkflowError>;

    /// Writes a line of the ledger.
    ///
    /// # Errors
    /// When it cannot be written.
    fn record(&mut self, record: GovernanceRecord) -> Result<(), WorkflowError>;
}

/// Why a person's program did not do its work, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub String);

/// The person at the terminal.
pub trait Person {
    /// Shows a line.
    fn show(&mut self, line: &str);

    /// Asks, and returns the line that was typed; none: nobody is there.
    fn ask(&mut self, prompt: &str) -> Option<String>;

    /// Returns whether the editor can be started.
    ///
    /// # Errors
    /// In words, why not.
    fn find_editor(&mut self) -> Result<(), Refusal>;

    /// Opens the editor on files and waits until it is closed.
    ///
    /// # Errors
    /// In words, why the files may not be what the person meant.
    fn edit(&mut self, slug: &Slug, files: &[PathBuf]) -> Result<(), Refusal>;
}
