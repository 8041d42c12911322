//! What an action amounts to whose specification is wrong: it was not run, and that says nothing of the code (C10, seed 004 example 6).

use crate::model::{ActionJudgement, Blocking, CategoryCode, Classification, DebtGeneration};
use crate::verdict::rows::row_of;

/// Judges an action by what is wrong with its specification.
pub fn judge_invalid(errors: Vec<String>) -> ActionJudgement {
    let row = row_of(CategoryCode::SpecificationInvalid);
    let reason = "Invalid action in the test specification";
    ActionJudgement {
        classification: Classification { validation_errors: errors, ..Classification::plain(row.result, row.code, reason) },
        blocking: Blocking::Blocks,
        debt: DebtGeneration::none(row.debt.err().unwrap_or(row.title)),
        agent_action: row.agent.action(row.message),
        diagnostics: Vec::new(),
        summary: None,
    }
}
