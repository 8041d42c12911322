//! Finds checks that call the approved program by another path, which makes no verdict easier (S7). Pure: the caller says
//! whether a word names the approved program.

use crate::spec::weakening::{counterpart, differs_neutrally, may_fail};
use proctor_model::{ActionId, ActionTerms, PlanTerms};

/// Returns whether an action of the new plan, named by its id, starts the program of the approved action by this word.
pub type IsSameProgram<'a> = dyn Fn(&ActionId, &ActionTerms, &str) -> bool + 'a;

/// Returns the approved terms `before`, in which each check that `now` starts by another path to the same program has the
/// command that it has in `now`. Nothing else about the check may differ, except for neutral words of its tool.
///
/// Where approvals need a signature, nothing changes: whoever checks the ledger's approvals sees only their terms.
pub fn with_same_programs(before: &PlanTerms, now: &PlanTerms, is_same_program: &IsSameProgram<'_>) -> PlanTerms {
    let mut same = before.clone();
    if before.approval.require_signature {
        return same;
    }
    let may_fail = may_fail(before, now);
    for (id, action) in &mut same.actions {
        let Some(new) = counterpart(id, &before.actions[id], before, now) else { continue };
        let Some(new_id) = now.actions.iter().find(|(_, other)| std::ptr::eq(*other, new)).map(|(id, _)| id) else { continue };
        if calls_the_same(action, new, may_fail, &|old, word| is_same_program(new_id, old, word)) {
            action.does = new.does;
            action.does_with_found = new.does_with_found;
            action.words.clone_from(&new.words);
            action.shown.clone_from(&new.shown);
        }
    }
    same
}

fn calls_the_same(old: &ActionTerms, new: &ActionTerms, may_fail: bool, is_same: &dyn Fn(&ActionTerms, &str) -> bool) -> bool {
    // Work in the project itself is always asked for.
    let is_check = |action: &ActionTerms| action.phase.is_none() && !action.in_place;
    let (Some(before), Some(now)) = (&old.words, &new.words) else { return false };
    let (Some(old_program), Some(new_program)) = (before.command.first(), now.command.first()) else { return false };
    if !is_check(old) || !is_check(new) || old_program == new_program || before.rest != now.rest || before.tool != now.tool {
        return false;
    }
    let mut renamed = old.clone();
    if let Some(program) = renamed.words.as_mut().and_then(|words| words.command.first_mut()) {
        program.clone_from(new_program);
    }
    let has_same_words = renamed.words.as_ref().is_some_and(|words| words.command == now.command);
    (has_same_words || differs_neutrally(&renamed, new, may_fail)) && is_same(old, new_program)
}
