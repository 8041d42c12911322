//! Lowers the verdict of a run whose checks passed and that is no full verdict on its tree all the same: checks were left out, protected
//! files changed, a check left other content in its copy of the tree, no check runs the project's tests, or nobody approved the rules.

use proctor_model::{ActionPhase, CompletionStatus, OverallResult, OverallStatus, PartialReason, TaskStatus};
use proctor_plan::verdict::RunVerdict;

use crate::judge_and_seal::RunEnd;

/// Lowers the verdict of a run that left checks out, or that uses results which checks had on another tree. The verdict says
/// nothing about these checks on this tree, so the task cannot be complete.
pub(crate) fn note_partial_selection(run_end: &RunEnd<'_>, verdict: &mut RunVerdict) {
    let unproven = || run_end.performed.iter().filter(|one| one.action.phase == ActionPhase::Step && one.is_unproven());
    let count = unproven().count();
    if count == 0 {
        return;
    }
    verdict.nothing_proven = count == run_end.performed.iter().filter(|one| one.action.phase == ActionPhase::Step).count();
    if verdict.overall_status == OverallStatus::Success {
        verdict.overall_status = OverallStatus::PartialSuccess;
    }
    if verdict.task_status == Some(TaskStatus::Complete) {
        verdict.task_status = Some(TaskStatus::Partial);
        verdict.partial_reason = Some(PartialReason::ChecksLeftOut);
    }
    if verdict.completion_status == CompletionStatus::Complete {
        verdict.completion_status = CompletionStatus::Incomplete;
        let all = run_end.context.request.plan.steps.len();
        verdict.completion_reason = match unproven().filter(|one| one.skipped().is_none()).count() {
            0 => format!("{count} of {all} checks were not run"),
            _ => format!("{count} of {all} checks were not run on this tree"),
        };
    }
}

/// Keeps a task from being complete while a person has to approve changed protected files. Otherwise somebody could
/// complete a task by weakening its tests.
pub(crate) fn note_protected_files(run_end: &RunEnd<'_>, verdict: &mut RunVerdict) {
    let Some(why) = needs_a_person(run_end) else { return };
    if verdict.task_status == Some(TaskStatus::Complete) {
        verdict.task_status = Some(TaskStatus::Partial);
        verdict.partial_reason = Some(PartialReason::ProtectedFiles);
    }
    if verdict.completion_status == CompletionStatus::Complete {
        verdict.completion_status = CompletionStatus::Incomplete;
        verdict.completion_reason = why;
    }
}

/// Keeps a run that passed from being a verdict on its tree if a check left other content in its copy of the tree: another check, or the
/// rest of the same one, may have worked on that content.
pub(crate) fn note_rewritten_tree(run_end: &RunEnd<'_>, verdict: &mut RunVerdict) {
    if !run_end.after.is_tree_rewritten || verdict.overall_result != Some(OverallResult::Passed) {
        return;
    }
    verdict.overall_status = OverallStatus::RewroteTree;
    if verdict.task_status == Some(TaskStatus::Complete) {
        verdict.task_status = Some(TaskStatus::Partial);
        verdict.partial_reason = Some(PartialReason::RewroteTree);
    }
    if verdict.completion_status == CompletionStatus::Complete {
        verdict.completion_status = CompletionStatus::Incomplete;
        let files = run_end.after.conditions.rewritten.join(", ");
        verdict.completion_reason = format!("checks left other content in their copies than the tree has: {files}");
    }
}

/// Keeps a task from being complete while no check runs the project's own test command.
pub(crate) fn note_tests_not_run(run_end: &RunEnd<'_>, verdict: &mut RunVerdict) {
    let Some(tests) = &run_end.context.request.plan.tests_not_run else { return };
    if verdict.task_status == Some(TaskStatus::Complete) {
        verdict.task_status = Some(TaskStatus::Partial);
        verdict.partial_reason = Some(PartialReason::TestsNotRun);
    }
    if verdict.completion_status == CompletionStatus::Complete {
        verdict.completion_status = CompletionStatus::Incomplete;
        verdict.completion_reason = format!("tests not run: {tests}");
    }
}

/// Returns why a task is not complete by rules that nobody approved; `None` if all are approved.
pub(crate) fn changed_rules_text(changed: &[String]) -> Option<String> {
    (!changed.is_empty()).then(|| format!("judged by changed rules: {}", changed.join("; ")))
}

/// Keeps a task from being complete by rules that nobody has approved.
pub(crate) fn note_changed_rules(run_end: &RunEnd<'_>, verdict: &mut RunVerdict) {
    let Some(rules) = &run_end.context.changed_rules else { return };
    if verdict.task_status == Some(TaskStatus::Complete) {
        verdict.task_status = Some(TaskStatus::Partial);
        verdict.partial_reason = Some(PartialReason::ChangedRules);
    }
    if verdict.completion_status == CompletionStatus::Complete {
        verdict.completion_status = CompletionStatus::Incomplete;
        verdict.completion_reason = changed_rules_text(&rules.changed).unwrap_or_default();
    }
}

/// Returns why protected files keep the task from continuing; `None` if the task may continue.
pub(crate) fn needs_a_person(run_end: &RunEnd<'_>) -> Option<String> {
    run_end.after.protected.as_ref()?.needs_a_person(run_end.context.request.plan)
}
