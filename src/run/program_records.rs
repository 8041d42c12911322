//! What a run's ledger line says about the programs that the run started. Pure.

use crate::model::{ActionEnd, CategoryCode, ProgramEnding, ProgramRecord, SpawnFailure};
use crate::report::{ActionDisposition, ActionResult, ExecutedAction};

/// Returns a record for each action whose command was carried out, in this run or in the run whose result was used.
pub(crate) fn program_records(actions: &[ActionResult]) -> Vec<ProgramRecord> {
    let record = |one: &ActionResult| {
        let ending = match &one.disposition {
            ActionDisposition::Executed(executed) => ending(executed),
            ActionDisposition::Reused(_) => ProgramEnding::Ran,
            ActionDisposition::Skipped(_) => return None,
        };
        let program = one.action.command.argv.first()?.clone();
        Some(ProgramRecord { name: one.action.name.clone(), program, tool: one.action.tool, ending })
    };
    actions.iter().filter_map(record).collect()
}

/// Returns whether a program did any work. An exit code that means `not found`, such as 127 of a shell, does not count as
/// not found: the program that ran may choose its exit code.
fn ending(executed: &ExecutedAction) -> ProgramEnding {
    let code = executed.judgement.classification.code;
    let was_found = !matches!(executed.ended.end, ActionEnd::NotStarted(SpawnFailure::ProgramNotFound { .. }));
    // An earlier attempt does not say how its program ended.
    let is_only_attempt = executed.earlier.is_empty();
    match (code, was_found) {
        _ if !is_only_attempt => ProgramEnding::Ran,
        (CategoryCode::ToolNotFound, false) => ProgramEnding::NotFound,
        (CategoryCode::UsageError, true) => ProgramEnding::UsageError,
        (_, _) => ProgramEnding::Ran,
    }
}
