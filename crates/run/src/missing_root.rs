//! Recognises a run whose project vanished before all of its actions were started.

use std::fs;
use std::path::Path;

use proctor_evidence::report::ActionResult;
use proctor_model::ActionEnd;
use proctor_project::ProjectError;
use proctor_tree::TreeError;

/// Returns an error if an action was not started and the project's directory is not there any more. The directory's absence is then
/// the reason, and says nothing about the code, so such a run gets no verdict. A run whose actions were all started has seen what it
/// had to see.
pub(crate) fn require_root(root: &Path, performed: &[ActionResult]) -> Result<(), ProjectError> {
    let was_not_started = |one: &ActionResult| one.executed().is_some_and(|one| is_not_started(&one.ended.end));
    if !performed.iter().any(was_not_started) {
        return Ok(());
    }
    let missing = |source| ProjectError::Tree(TreeError::ReadRoot { path: root.to_owned(), source });
    fs::read_dir(root).map(drop).map_err(missing)
}

fn is_not_started(end: &ActionEnd) -> bool {
    matches!(end, ActionEnd::NotStarted(_))
}
