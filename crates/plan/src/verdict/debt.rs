//! Decides whether a result becomes debt, and writes the debt's title and suggested fix from the observed facts (J4;
//! seed 004, "Detailed Error Structures").

use crate::verdict::category_row::CategoryRow;
use crate::verdict::classify::ActionFacts;
use crate::verdict::limits;
use crate::verdict::policy::JudgedFindings;
use crate::verdict::wording::{FindingWords, counted};
use proctor_model::{
    ActionEnd, ActionKind, CategoryCode, DebtCategory, DebtGeneration, Diagnostic, FindingLevel, Severity, TestResults,
};

/// Returns the debt of an outcome that depends only on the row of its category; `reason` is the reason of the
/// classification.
pub(in crate::verdict) fn debt_of_row(row: &CategoryRow, facts: &ActionFacts<'_>, reason: &str) -> DebtGeneration {
    let (category, severity) = match row.debt {
        Ok(debt) => debt,
        Err(why_not) => return DebtGeneration::none(why_not),
    };
    let mut debt = due(category, severity, title_of_row(row, facts), reason);
    let limit_fix = match facts.end {
        ActionEnd::TimedOut { limit, .. } => limits::fix(*limit),
        ActionEnd::Exited { .. }
        | ActionEnd::Signalled { .. }
        | ActionEnd::Stopped { .. }
        | ActionEnd::NotStarted(_)
        | ActionEnd::Lost { .. } => None,
    };
    let general = limit_fix.unwrap_or(row.fix).replace("{reason}", reason);
    debt.suggested_fix = Some(advised(row, facts).map_or(general, str::to_owned));
    if row.code == CategoryCode::TestsFailed
        && let Some(results) = &facts.interpretation.test_results
    {
        describe_failures(&mut debt, results);
    }
    debt
}

/// Returns the tool's advice about this failure; `None` if a fact contradicts the interpretation for which the advice was made.
pub(in crate::verdict) fn advised<'f>(row: &CategoryRow, facts: &ActionFacts<'f>) -> Option<&'f str> {
    let interpretation = facts.interpretation;
    interpretation.advice.fix.as_deref().filter(|_| row.code == interpretation.category)
}

/// Returns the debt of a validation tool's findings.
pub(in crate::verdict) fn debt_of_findings(judged: &JudgedFindings, words: &FindingWords) -> DebtGeneration {
    let Some(severity) = judged.cell.debt else {
        return DebtGeneration::none(judged.applied.reason.clone());
    };
    let mut debt = due(words.debt, severity, findings_title(judged, words), &judged.applied.reason);
    let first = first_worst(&judged.diagnostics);
    debt.specific_file = first.and_then(|diagnostic| diagnostic.file.clone());
    debt.specific_line = first.and_then(|diagnostic| diagnostic.line);
    debt.suggested_fix = Some(findings_fix(judged, words));
    debt
}

/// Changes a debt into the critical debt of a failed prerequisite, because the checks cannot run until the prerequisite
/// succeeds (J4, C08).
pub(in crate::verdict) fn as_prerequisite(debt: &mut DebtGeneration, action_name: &str) {
    if debt.should_generate {
        let inner = debt.title.take().unwrap_or_default();
        // The name stands in front already.
        let inner = inner.strip_suffix(&format!(": {action_name}")).unwrap_or(&inner);
        debt.category = Some(DebtCategory::IntegrationFailure);
        debt.severity = Some(Severity::Critical);
        debt.title = Some(format!("{action_name} Prerequisite Failed: {inner}"));
    }
}

fn due(category: DebtCategory, severity: Severity, title: String, reason: &str) -> DebtGeneration {
    DebtGeneration {
        should_generate: true,
        category: Some(category),
        severity: Some(severity),
        title: Some(title),
        ..DebtGeneration::none(reason)
    }
}

fn title_of_row(row: &CategoryRow, facts: &ActionFacts<'_>) -> String {
    if let ActionEnd::TimedOut { limit, .. } = facts.end {
        return format!("{}: {}", row.title, limits::exceeded(facts.action, *limit, facts.run_timeout_hit()));
    }
    if let ActionKind::HttpRequest(request) = &facts.action.kind {
        return format!("{}: {}", row.title, request.endpoint());
    }
    match facts.interpretation.coverage {
        Some(coverage) if row.code == CategoryCode::CoverageBelowTarget => {
            format!("{}: {} % of {} %", row.title, coverage.percent, coverage.required)
        }
        Some(_) | None => format!("{}: {}", row.title, facts.action.name),
    }
}

fn describe_failures(debt: &mut DebtGeneration, results: &TestResults) {
    let Some(first) = results.failures.first() else { return };
    let others = results.failures.len() - 1;
    debt.title = Some(match others {
        0 => format!("Test Failure: {}", first.test_name),
        _ => format!("Test Failures: {} of {} failed", results.counts.failed, counted(results.total, "test")),
    });
    let more = if others == 0 { String::new() } else { format!(", and {} more", counted(others as u64, "test")) };
    debt.suggested_fix = Some(format!("Make {} pass{more}: {}", first.test_name, first.error));
    debt.specific_file.clone_from(&first.test_file);
    debt.specific_line = first.line;
}

fn findings_title(judged: &JudgedFindings, words: &FindingWords) -> String {
    let (found, display) = (judged.summary, words.display);
    if found.errors == 0 {
        let note = if judged.applied.blocking { "" } else { " (non-blocking)" };
        return format!("{display} Warnings: {}{}{note}", counted(found.warnings, "warning"), across_files(found.total_files));
    }
    let only = (found.errors == 1).then(|| first_worst(&judged.diagnostics)).flatten();
    match only.and_then(place) {
        Some(place) => format!("{display} {} in {place}", words.error),
        None => format!("{display} Errors: {}{}", counted(found.errors, "error"), across_files(found.total_files)),
    }
}

/// Returns file and line of a finding in the form for a title: `File.ts:45`.
fn place(diagnostic: &Diagnostic) -> Option<String> {
    let file = diagnostic.file.as_deref()?;
    let name = file.rsplit('/').next().unwrap_or(file);
    Some(diagnostic.line.map_or_else(|| name.to_owned(), |line| format!("{name}:{line}")))
}

fn across_files(files: u64) -> String {
    if files == 0 { String::new() } else { format!(" across {}", counted(files, "file")) }
}

fn findings_fix(judged: &JudgedFindings, words: &FindingWords) -> String {
    if judged.summary.errors == 0 && !judged.applied.blocking {
        return format!("Address {} warnings when convenient", words.display);
    }
    let (count, level) = match judged.summary.errors {
        0 => (judged.summary.warnings, "warnings"),
        errors => (errors, words.errors),
    };
    if let (Some(fixable), Some(option)) = (judged.summary.fixable.filter(|fixable| *fixable > 0), words.fix_option) {
        return format!("Fix {} {level} ({fixable} auto-fixable with {option})", words.display);
    }
    let Some(first) = first_worst(&judged.diagnostics) else {
        return format!("Fix {} {level}", words.display);
    };
    let said = first.fix.as_ref().map_or(first.message.as_str(), |fix| fix.suggestion.as_str());
    let name = first.code.as_deref().or(first.rule_id.as_deref()).map(|name| format!("{name}: ")).unwrap_or_default();
    let start = if count == 1 { "Fix " } else { "Fix the first: " };
    format!("{start}{name}{said}")
}

/// Returns the most important finding: the first error, otherwise the first warning.
fn first_worst(diagnostics: &[Diagnostic]) -> Option<&Diagnostic> {
    diagnostics.iter().find(|diagnostic| diagnostic.severity == FindingLevel::Error).or_else(|| diagnostics.first())
}
