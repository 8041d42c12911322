//! Finds checks whose command never worked and may therefore be corrected without a question (S7). Pure.
//!
//! A check whose program was never found may get any other command. A check that only ever ended in a usage error may get
//! another command of the same tool. A name that is misspelt, of a module (`python -m pytets`), of a script (`npm run tset`) or of a
//! subcommand (`ruff chekc`), may become the name that was meant if it was never found. Nothing else about the check may differ, and the check may not be removed.
//!
//! That a run did not find a program proves little: whoever starts the run chooses `PATH`, and can move a script away. So
//! the program must have been absent already when the command was approved.

use std::collections::BTreeMap;

use crate::config::nearest;
use crate::spec::weakening::counterpart;
use proctor_model::{ActionTerms, ActionWords, ApprovedProgram, PlanTerms, ProgramEnding, ProgramHistory};
use proctor_tools::{calls_tool_the_same_way, recognise, replaced_name, script_name};

/// The parts of an action that follow from its command.
const FOLLOW_FROM_COMMAND: &[&str] = &["tool", "class"];

/// Returns the approved terms `before`, in which each check that may be corrected without a question has the command that it
/// has in `now`.
///
/// Where approvals need a signature, nothing is corrected: whoever checks the ledger's approvals sees only their terms.
pub fn with_free_corrections(before: &PlanTerms, now: &PlanTerms, history: &ProgramHistory) -> PlanTerms {
    let mut corrected = before.clone();
    if before.approval.require_signature {
        return corrected;
    }
    for (id, action) in &mut corrected.actions {
        let Some(new) = counterpart(id, &before.actions[id], before, now) else { continue };
        if may_be_corrected(action, new, history) {
            action.does = new.does;
            action.does_with_found = new.does_with_found;
            action.words.clone_from(&new.words);
            action.shown.clone_from(&new.shown);
        }
    }
    corrected
}

fn may_be_corrected(old: &ActionTerms, new: &ActionTerms, history: &ProgramHistory) -> bool {
    let (Some(name), Some(before), Some(now)) = (&old.name, &old.words, &new.words) else { return false };
    let Some(program) = before.command.first() else { return false };
    // Work in the project itself is always asked for.
    let is_check = |action: &ActionTerms| action.phase.is_none() && !action.in_place;
    let differs_in_command_only = new.name.as_ref() == Some(name)
        && is_check(old)
        && is_check(new)
        && !now.command.is_empty()
        && other_parts(before) == other_parts(now);
    let calls_its_tool = recognise(&now.command).tool == now.tool;
    // Which tool a script runs is written in `package.json`.
    let is_script = script_name(&now.command).is_some();
    if differs_in_command_only
        && !before.tool.is_known()
        && (calls_its_tool || is_script)
        && replaced_name(&before.command, &now.command).is_some_and(|(old, new)| nearest(old, [new]).is_some())
        && history.never_worked(name, program)
    {
        return true;
    }
    let differs_in_command_only = differs_in_command_only && calls_its_tool;
    let only_ended = |ways: &[ProgramEnding]| history.only_ended(name, program, before.tool, ways);
    let is_same_tool = || before.tool == now.tool && calls_tool_the_same_way(&before.command, &now.command);
    let was_never_there = old.program == Some(ApprovedProgram::Absent) && only_ended(&[ProgramEnding::NotFound]);
    differs_in_command_only
        && (was_never_there || (only_ended(&[ProgramEnding::UsageError, ProgramEnding::NotFound]) && is_same_tool()))
}

fn other_parts(words: &ActionWords) -> BTreeMap<&str, &str> {
    let parts = words.parts.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    parts.filter(|(name, _)| !FOLLOW_FROM_COMMAND.contains(name)).collect()
}

#[cfg(test)]
mod tests;
