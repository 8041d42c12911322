//! The strictness of a type checker (C24), read from its configuration without running it.

use crate::model::Tool;
use crate::tools::checker_call::CheckerCall;
use crate::tools::project_files::ProjectFiles;
use crate::tools::table::row_of;

/// The strictness of a type checker, and where it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Strictness {
    pub(crate) strict: bool,
    pub(crate) implicit_any: bool,
    pub(crate) place: String,
}

/// The strictness of one call of a type checker, or why it is unknown.
pub(crate) type StrictnessRead = Result<Strictness, String>;

/// How the strictness of one type checker is read from a project's files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StrictnessReader {
    /// Returns the strictness of a call of the type checker in a directory, or why it cannot be read.
    pub(crate) read: fn(&dyn ProjectFiles, &str, &CheckerCall) -> StrictnessRead,
    /// The option that forbids code without types.
    pub(crate) typed_option: &'static str,
}

/// Returns the reader of a tool; `None` if the tool is not a type checker.
pub(crate) fn strictness_reader(tool: Tool) -> Option<&'static StrictnessReader> {
    row_of(tool).strictness.as_ref()
}
