//! How strict a type checker is set (C24), as far as that can be read without running it.

use crate::model::Tool;
use crate::tools::checker_call::CheckerCall;
use crate::tools::project_files::ProjectFiles;
use crate::tools::table::row_of;

/// How strict a type checker is set, and where that is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Strictness {
    pub(crate) strict: bool,
    pub(crate) implicit_any: bool,
    pub(crate) place: String,
}

/// How strict one call of a type checker is set, or why that cannot be told.
pub(crate) type StrictnessRead = Result<Strictness, String>;

/// Reads how strict a type checker is set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StrictnessReader {
    /// Reads it for a call in a directory.
    pub(crate) read: fn(&dyn ProjectFiles, &str, &CheckerCall) -> StrictnessRead,
    /// The option by which it forbids what has no type.
    pub(crate) typed_option: &'static str,
}

/// Returns who reads how strict a tool is set; none for a tool that is no type checker.
pub(crate) fn strictness_reader(tool: Tool) -> Option<&'static StrictnessReader> {
    row_of(tool).strictness.as_ref()
}
