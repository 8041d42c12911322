//! What a run's ledger line says about the programs that the run started. Pure.

use std::collections::BTreeSet;

use proctor_evidence::report::{ActionDisposition, ActionResult, ExecutedAction};
use proctor_model::{ActionEnd, ActionId, CategoryCode, ProgramEnding, ProgramRecord, SpawnFailure, Tool};

/// Returns a record for each action whose command was carried out, in this run or in the run whose result was used.
///
/// A usage error is recorded only of the actions in `unchanged`, of which neither tree nor program changed since their commands
/// were approved. Of any other action it shows nothing: a setting of the tool in the tree may be the cause, for example options
/// in `pytest.ini`, or a directory that was moved. Such an action gets no record.
pub(crate) fn program_records(actions: &[ActionResult], unchanged: &BTreeSet<ActionId>) -> Vec<ProgramRecord> {
    let record = |one: &ActionResult| {
        let ending = match &one.disposition {
            ActionDisposition::Executed(executed) => {
                let ending = ending(one.action.tool, executed);
                if ending == ProgramEnding::UsageError && !unchanged.contains(&one.action.id) {
                    return None;
                }
                ending
            }
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
fn ending(tool: Tool, executed: &ExecutedAction) -> ProgramEnding {
    let code = executed.judgement.classification.code;
    let was_found = !matches!(executed.ended.end, ActionEnd::NotStarted(SpawnFailure::ProgramNotFound { .. }));
    // An earlier attempt does not say how its program ended.
    let is_only_attempt = executed.earlier.is_empty();
    match (code, was_found) {
        _ if !is_only_attempt => ProgramEnding::Ran,
        (CategoryCode::ToolNotFound, false) => ProgramEnding::NotFound,
        (CategoryCode::UsageError, true) => ProgramEnding::UsageError,
        // A launcher says that the module or script is not there. Of a known tool that proves little: it may be installed later.
        (CategoryCode::ToolNotFound, true) if !tool.is_known() => ProgramEnding::UsageError,
        (_, _) => ProgramEnding::Ran,
    }
}

/// Returns whether an action ended in a usage error.
pub(crate) fn ends_in_usage_error(actions: &[ActionResult]) -> bool {
    let executed = actions.iter().filter_map(|one| Some((one.action.tool, one.executed()?)));
    executed.map(|(tool, executed)| ending(tool, executed)).any(|ending| ending == ProgramEnding::UsageError)
}
