//! Judges an action whose specification is wrong. It was not run, which says nothing about the code (C10, seed 004 example 6).

use crate::model::{ActionJudgement, Blocking, CategoryCode, Classification, DebtGeneration};
use crate::verdict::rows::row_of;

/// Judges an action by the errors in its specification.
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
