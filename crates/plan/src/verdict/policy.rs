//! Decides which findings block. It follows table J3 and the order of C24: drop ignored rules, promote, count, judge.

use crate::verdict::wording::{FindingWords, plural};
use proctor_model::{
    BlockOn, Blocking, Diagnostic, DiagnosticSummary, FindingLevel, Interpretation, PolicyApplied, ResultType, Severity,
    ToolPolicy, UnlistedFindings, WarningsExit,
};

/// A tool's findings after the policy was applied.
#[derive(Debug, Clone)]
pub(in crate::verdict) struct JudgedFindings {
    /// The cell of table J3 that decided.
    pub(in crate::verdict) cell: &'static PolicyCell,
    pub(in crate::verdict) applied: PolicyApplied,
    pub(in crate::verdict) diagnostics: Vec<Diagnostic>,
    pub(in crate::verdict) summary: DiagnosticSummary,
}

/// One cell of table J3. In `reason`, `{errors}`, `{warnings}`, `{tool}` and `{limit}` are replaced by their values,
/// and `{error_noun}`, `{warning_noun}` by the noun in singular or plural.
#[derive(Debug)]
pub(in crate::verdict) struct PolicyCell {
    pub(in crate::verdict) result: ResultType,
    pub(in crate::verdict) blocking: Blocking,
    pub(in crate::verdict) severity: Option<Severity>,
    pub(in crate::verdict) debt: Option<Severity>,
    reason: &'static str,
}

/// One row of table J3: the decisions of one strategy. A row without `over_limit` ignores `maxWarnings` (C25).
struct Row {
    block_on: BlockOn,
    errors: PolicyCell,
    warnings: PolicyCell,
    over_limit: Option<PolicyCell>,
}

const fn blocks(severity: Severity, debt: Severity, reason: &'static str) -> PolicyCell {
    let result = ResultType::ValidationFailure;
    PolicyCell { result, blocking: Blocking::Blocks, severity: Some(severity), debt: Some(debt), reason }
}

const fn allows(severity: Severity, reason: &'static str) -> PolicyCell {
    let result = ResultType::ValidationFailure;
    PolicyCell { result, blocking: Blocking::Allowed, severity: Some(severity), debt: Some(severity), reason }
}

const fn passes(reason: &'static str) -> PolicyCell {
    PolicyCell { result: ResultType::Success, blocking: Blocking::Allowed, severity: None, debt: None, reason }
}

/// The decision if there are more warnings than `maxWarnings` allows. The result has severity HIGH, and its debt has
/// severity MEDIUM (C27).
const OVER_LIMIT: PolicyCell =
    blocks(Severity::High, Severity::Medium, "{warnings} {warning_noun} exceeds maxWarnings ({limit})");
const REFUSED_BY_TOOL: PolicyCell = blocks(
    Severity::High,
    Severity::Medium,
    "{warnings} {tool} {warning_noun}, more than the tool itself allows (it exited with a failure)",
);
const BOTH_BLOCK: &str = "{errors} {error_noun}, {warnings} {warning_noun} (BLOCK_ON_ERRORS_AND_WARNINGS)";
const WARN_ONLY: &str = "{errors} {error_noun}, {warnings} {warning_noun} (WARN_ONLY)";
const IGNORED: &str = "Validation issues ignored (NEVER policy)";
const NOTHING_FOUND: PolicyCell = passes("No validation issues");

/// Table J3: for each strategy, the decision for every combination of findings.
const TABLE: [Row; 5] = [
    Row {
        block_on: BlockOn::ErrorsAlways,
        errors: blocks(Severity::Critical, Severity::Critical, "{errors} {tool} {error_noun} (BLOCK_ON_ERRORS_ALWAYS)"),
        warnings: allows(Severity::Medium, "{warnings} {tool} {warning_noun} (allowed by policy)"),
        over_limit: Some(OVER_LIMIT),
    },
    Row {
        block_on: BlockOn::ErrorsOnly,
        errors: blocks(Severity::High, Severity::High, "{errors} {tool} {error_noun} (BLOCK_ON_ERRORS_ONLY)"),
        warnings: allows(Severity::Medium, "{warnings} {tool} {warning_noun} (non-blocking)"),
        over_limit: Some(OVER_LIMIT),
    },
    Row {
        block_on: BlockOn::ErrorsAndWarnings,
        errors: blocks(Severity::High, Severity::High, BOTH_BLOCK),
        warnings: blocks(Severity::High, Severity::High, BOTH_BLOCK),
        over_limit: None,
    },
    Row {
        block_on: BlockOn::WarnOnly,
        errors: allows(Severity::Low, WARN_ONLY),
        warnings: allows(Severity::Low, WARN_ONLY),
        over_limit: None,
    },
    Row { block_on: BlockOn::Never, errors: passes(IGNORED), warnings: passes(IGNORED), over_limit: None },
];

/// Judges a tool's findings. `exit_code` only shows whether the tool itself refused its warnings (C28).
pub(in crate::verdict) fn judge_findings(
    interpretation: &Interpretation,
    policy: &ToolPolicy,
    words: &FindingWords,
    exit_code: Option<i32>,
) -> JudgedFindings {
    let raw = raw_summary(interpretation);
    let (diagnostics, summary) = apply_rules(interpretation, policy);
    let failed = words.warnings_exit == WarningsExit::Refuses && exit_code != Some(0);
    let tool_refused_warnings = raw.errors == 0 && failed;
    let cell = choose(policy, summary, tool_refused_warnings);
    let reason = fill(cell.reason, words.report_name, summary, policy.max_warnings);
    let applied = PolicyApplied::of(policy.block_on, policy.source.clone(), cell.blocking, reason);
    JudgedFindings { cell, applied, diagnostics, summary }
}

/// Returns the tool's counts before the policy is applied.
pub(in crate::verdict) fn raw_summary(interpretation: &Interpretation) -> DiagnosticSummary {
    let counted = || DiagnosticSummary::of(&interpretation.diagnostics).with(&interpretation.unlisted);
    interpretation.counts_override.unwrap_or_else(counted)
}

fn choose(policy: &ToolPolicy, found: DiagnosticSummary, tool_refused_warnings: bool) -> &'static PolicyCell {
    let row = TABLE.iter().find(|row| row.block_on == policy.block_on).expect("the table has a row per strategy");
    if found.errors > 0 {
        return &row.errors;
    }
    if found.warnings == 0 {
        return &NOTHING_FOUND;
    }
    match &row.over_limit {
        Some(cell) if policy.max_warnings.is_some_and(|limit| found.warnings > u64::from(limit)) => cell,
        // ESLint, for example, exits with 1 without any error when its own `--max-warnings` is exceeded (C28).
        Some(_) if tool_refused_warnings => &REFUSED_BY_TOOL,
        Some(_) | None => &row.warnings,
    }
}

/// Drops ignored findings, promotes warnings to errors, and counts the remaining findings. If the tool stated counts
/// itself, they are corrected by the dropped and promoted findings.
fn apply_rules(interpretation: &Interpretation, policy: &ToolPolicy) -> (Vec<Diagnostic>, DiagnosticSummary) {
    let (dropped, mut kept): (Vec<_>, Vec<_>) =
        interpretation.diagnostics.iter().cloned().partition(|diagnostic| names(&policy.ignored_rules, diagnostic));
    let mut promoted = 0;
    for diagnostic in &mut kept {
        let is_error = policy.treat_warnings_as_errors || names(&policy.error_on_rules, diagnostic);
        if is_error && diagnostic.severity == FindingLevel::Warning {
            diagnostic.severity = FindingLevel::Error;
            promoted += 1;
        }
    }
    let (gone_unlisted, kept_unlisted, promoted_unlisted) = judge_unlisted(&interpretation.unlisted, policy);
    let Some(counted) = interpretation.counts_override else {
        let summary = DiagnosticSummary::of(&kept).with(&kept_unlisted);
        return (kept, summary);
    };
    let gone = DiagnosticSummary::of(&dropped).with(&gone_unlisted);
    let promoted = promoted + promoted_unlisted;
    let mut summary = DiagnosticSummary {
        errors: counted.errors.saturating_sub(gone.errors).saturating_add(promoted),
        warnings: counted.warnings.saturating_sub(gone.warnings).saturating_sub(promoted),
        ..counted
    };
    if policy.treat_warnings_as_errors {
        summary.errors = summary.errors.saturating_add(summary.warnings);
        summary.warnings = 0;
    }
    (kept, summary)
}

/// Applies the policy to findings that are not listed one by one, so that only their counts are known. Returns the
/// counts of the dropped findings, the counts of the kept findings, and how many of the kept ones were promoted to
/// errors.
fn judge_unlisted(unlisted: &UnlistedFindings, policy: &ToolPolicy) -> (UnlistedFindings, UnlistedFindings, u64) {
    let is_in = |rules: &[String], rule: &Option<String>| rule.as_ref().is_some_and(|rule| rules.contains(rule));
    let mut dropped = UnlistedFindings::default();
    let mut kept = UnlistedFindings { files: unlisted.files, ..UnlistedFindings::default() };
    let mut promoted = 0;
    for ((level, rule), count) in &unlisted.by_rule {
        if is_in(&policy.ignored_rules, rule) {
            dropped.by_rule.insert((*level, rule.clone()), *count);
            continue;
        }
        let is_error = policy.treat_warnings_as_errors || is_in(&policy.error_on_rules, rule);
        let judged = if is_error { FindingLevel::Error } else { *level };
        promoted += if judged == *level { 0 } else { count.findings };
        let sum = kept.by_rule.entry((judged, rule.clone())).or_default();
        sum.findings += count.findings;
        sum.fixable += count.fixable;
    }
    (dropped, kept, promoted)
}

fn names(rules: &[String], diagnostic: &Diagnostic) -> bool {
    let is = |name: &Option<String>| name.as_ref().is_some_and(|name| rules.contains(name));
    is(&diagnostic.rule_id) || is(&diagnostic.code)
}

fn fill(template: &str, tool: &str, found: DiagnosticSummary, limit: Option<u32>) -> String {
    template
        .replace("{error_noun}", &plural(found.errors, "error"))
        .replace("{warning_noun}", &plural(found.warnings, "warning"))
        .replace("{errors}", &found.errors.to_string())
        .replace("{warnings}", &found.warnings.to_string())
        .replace("{limit}", &limit.map(|limit| limit.to_string()).unwrap_or_default())
        .replace("{tool}", tool)
}
