//! The strictness of a type checker (C24), read from its configuration without running it.

use crate::checker_call::CheckerCall;
use crate::project_files::ProjectFiles;
use crate::table::row_of;
use proctor_model::Tool;

/// The strictness of a type checker, and where it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strictness {
    pub strict: bool,
    pub implicit_any: bool,
    pub place: String,
}

/// The strictness of one call of a type checker, or why it is unknown.
pub type StrictnessRead = Result<Strictness, String>;

/// How the strictness of one type checker is read from a project's files.
#[derive(Debug, Clone, Copy)]
pub struct StrictnessReader {
    /// Returns the strictness of a call of the type checker in a directory, or why it cannot be read.
    pub read: fn(&dyn ProjectFiles, &str, &CheckerCall) -> StrictnessRead,
    /// The option that forbids code without types.
    pub typed_option: &'static str,
}

/// Returns the reader of a tool; `None` if the tool is not a type checker.
pub fn strictness_reader(tool: Tool) -> Option<&'static StrictnessReader> {
    row_of(tool).strictness.as_ref()
}
