//! Tests when findings block (table J3), and the order in which a policy is applied (C24): drop ignored rules, promote,
//! count, judge.

use crate::verdict::tests::{action, exited, findings, judge, policy, with_policy};
use proctor_model::{
    ActionJudgement, ActionPhase, BlockOn, Blocking, CategoryCode, DebtCategory, DiagnosticSummary, FindingLevel, Fix,
    Interpretation, PolicySource, ResultType, Severity, Tool, ToolPolicy, UnlistedCount,
};

fn under(policy: ToolPolicy, errors: usize, warnings: usize) -> ActionJudgement {
    let exit = i32::from(errors > 0);
    judge(&with_policy(Tool::Eslint, policy), &exited(exit), &findings(errors, warnings))
}

fn limited(block_on: BlockOn) -> ToolPolicy {
    ToolPolicy { max_warnings: Some(1), ..policy(block_on) }
}

#[test]
fn j3_every_cell_of_the_policy_table_holds() {
    use BlockOn as B;
    use Blocking::{Allowed, Blocks};
    use Severity::{Critical, High, Low, Medium};
    let rows = [
        (policy(B::ErrorsAlways), 2, 3, Blocks, Some(Critical), Some(Critical), "2 eslint errors (BLOCK_ON_ERRORS_ALWAYS)"),
        (policy(B::ErrorsAlways), 0, 3, Allowed, Some(Medium), Some(Medium), "3 eslint warnings (allowed by policy)"),
        (limited(B::ErrorsAlways), 0, 3, Blocks, Some(High), Some(Medium), "3 warnings exceeds maxWarnings (1)"),
        (policy(B::ErrorsOnly), 2, 3, Blocks, Some(High), Some(High), "2 eslint errors (BLOCK_ON_ERRORS_ONLY)"),
        (policy(B::ErrorsOnly), 0, 3, Allowed, Some(Medium), Some(Medium), "3 eslint warnings (non-blocking)"),
        (limited(B::ErrorsOnly), 0, 1, Allowed, Some(Medium), Some(Medium), "1 eslint warning (non-blocking)"),
        (limited(B::ErrorsOnly), 0, 3, Blocks, Some(High), Some(Medium), "3 warnings exceeds maxWarnings (1)"),
        (
            policy(B::ErrorsAndWarnings),
            2,
            0,
            Blocks,
            Some(High),
            Some(High),
            "2 errors, 0 warnings (BLOCK_ON_ERRORS_AND_WARNINGS)",
        ),
        (
            policy(B::ErrorsAndWarnings),
            0,
            3,
            Blocks,
            Some(High),
            Some(High),
            "0 errors, 3 warnings (BLOCK_ON_ERRORS_AND_WARNINGS)",
        ),
        (policy(B::WarnOnly), 2, 0, Allowed, Some(Low), Some(Low), "2 errors, 0 warnings (WARN_ONLY)"),
        (limited(B::WarnOnly), 0, 3, Allowed, Some(Low), Some(Low), "0 errors, 3 warnings (WARN_ONLY)"),
        (policy(B::Never), 2, 3, Allowed, None, None, "Validation issues ignored (NEVER policy)"),
        (limited(B::Never), 0, 3, Allowed, None, None, "Validation issues ignored (NEVER policy)"),
    ];
    for (policy, errors, warnings, blocking, severity, debt, reason) in rows {
        let expected = if policy.block_on == B::Never { ResultType::Success } else { ResultType::ValidationFailure };
        let outcome = under(policy, errors, warnings);
        assert_eq!(outcome.classification.category, expected, "{reason}");
        assert_eq!(
            (outcome.blocking, outcome.classification.severity, outcome.debt.severity),
            (blocking, severity, debt),
            "{reason}"
        );
        assert_eq!(outcome.debt.should_generate, debt.is_some(), "{reason}");
        let applied = outcome.classification.policy_applied.expect("a policy was applied");
        assert_eq!((applied.reason.as_str(), applied.blocking), (reason, blocking == Blocks));
    }
}

#[test]
fn c22_a_disabled_tool_is_never_and_says_so() {
    let source = PolicySource::Disabled("proctor.toml:4".to_owned());
    let outcome = under(ToolPolicy::plain(BlockOn::Never, source.clone()), 3, 0);
    assert_eq!(outcome.classification.category, ResultType::Success);
    assert_eq!(outcome.classification.policy_applied.expect("a policy was applied").policy_source, source);
    assert_eq!(outcome.diagnostics.len(), 3);
}

#[test]
fn c24_ignored_rules_are_dropped_before_anything_is_promoted_or_counted() {
    let ignoring = |rule: &str| ToolPolicy {
        ignored_rules: vec![rule.to_owned()],
        error_on_rules: vec!["e".to_owned(), "w".to_owned()],
        ..policy(BlockOn::ErrorsOnly)
    };
    let promoted = under(ignoring("e"), 2, 3);
    assert_eq!(promoted.summary.map(|summary| (summary.errors, summary.warnings)), Some((3, 0)));
    assert_eq!((promoted.blocking, promoted.diagnostics.len()), (Blocking::Blocks, 3));

    let nothing = under(ToolPolicy { ignored_rules: vec!["e".to_owned()], ..policy(BlockOn::ErrorsOnly) }, 2, 0);
    assert_eq!((nothing.classification.category, nothing.classification.code), (ResultType::Success, CategoryCode::Clean));
    assert_eq!(nothing.classification.reason, "No validation issues");
    assert!(nothing.diagnostics.is_empty() && !nothing.debt.should_generate);
}

#[test]
fn warnings_treated_as_errors_block_as_errors() {
    let strict = ToolPolicy { treat_warnings_as_errors: true, ..policy(BlockOn::ErrorsOnly) };
    let outcome = under(strict, 0, 2);
    assert_eq!((outcome.blocking, outcome.classification.issue_type.as_deref()), (Blocking::Blocks, Some("LINT_ERROR")));
}

#[test]
fn counts_that_are_known_beyond_the_diagnostics_are_corrected_by_what_is_seen() {
    let counts_override = Some(DiagnosticSummary { errors: 10, warnings: 20, fixable: Some(4), total_files: 9 });
    let cut = Interpretation { counts_override, ..findings(2, 3) };
    let judged = |policy| {
        let outcome = judge(&with_policy(Tool::Eslint, policy), &exited(1), &cut);
        let summary = outcome.summary.expect("findings have one");
        (summary.errors, summary.warnings, summary.total_files)
    };
    assert_eq!(judged(policy(BlockOn::ErrorsOnly)), (10, 20, 9));
    let ignored_rules = vec!["e".to_owned()];
    assert_eq!(judged(ToolPolicy { ignored_rules, ..policy(BlockOn::ErrorsOnly) }), (8, 20, 9));
    let error_on_rules = vec!["w".to_owned()];
    assert_eq!(judged(ToolPolicy { error_on_rules, ..policy(BlockOn::ErrorsOnly) }), (13, 17, 9));
    assert_eq!(judged(ToolPolicy { treat_warnings_as_errors: true, ..policy(BlockOn::ErrorsOnly) }), (30, 0, 9));
}

#[test]
fn a_policy_holds_for_findings_that_are_counted_and_not_kept() {
    let mut many = findings(2, 3);
    let unlisted = [(FindingLevel::Error, "e", 100), (FindingLevel::Warning, "w", 1000), (FindingLevel::Warning, "other", 7)];
    for (level, rule, findings) in unlisted {
        let count = UnlistedCount { findings, fixable: 0 };
        many.unlisted.by_rule.insert((level, Some(rule.to_owned())), count);
    }
    let judged = |policy| {
        let outcome = judge(&with_policy(Tool::Eslint, policy), &exited(1), &many);
        let summary = outcome.summary.expect("findings have one");
        (summary.errors, summary.warnings)
    };
    assert_eq!(judged(policy(BlockOn::ErrorsOnly)), (102, 1010));
    let mut fixable = many.clone();
    fixable.diagnostics.iter_mut().for_each(|diagnostic| diagnostic.fixable = Some(true));
    fixable.unlisted.files = 4;
    fixable.unlisted.by_rule.values_mut().for_each(|count| count.fixable = 10);
    // Promoted findings are added to existing errors of the same rule.
    fixable.unlisted.by_rule.insert((FindingLevel::Error, Some("w".to_owned())), UnlistedCount { findings: 1, fixable: 1 });
    let strict = ToolPolicy { error_on_rules: vec!["w".to_owned()], ..policy(BlockOn::ErrorsOnly) };
    let summary = judge(&with_policy(Tool::Eslint, strict), &exited(1), &fixable).summary.expect("findings have one");
    assert_eq!((summary.errors, summary.fixable, summary.total_files), (1106, Some(36), 7));
    let counts_override = Some(DiagnosticSummary { errors: 200, warnings: 2000, fixable: None, total_files: 3 });
    let counted = Interpretation { counts_override, ..many.clone() };
    let promoting = ToolPolicy { error_on_rules: vec!["w".to_owned()], ..policy(BlockOn::ErrorsOnly) };
    let outcome = judge(&with_policy(Tool::Eslint, promoting), &exited(1), &counted);
    let summary = outcome.summary.expect("findings have one");
    assert_eq!(
        (summary.errors, summary.warnings),
        (1203, 997),
        "three that are kept and a thousand that are counted are promoted"
    );
    let ignored_rules = vec!["e".to_owned()];
    assert_eq!(judged(ToolPolicy { ignored_rules, ..policy(BlockOn::ErrorsOnly) }), (0, 1010));
    let error_on_rules = vec!["w".to_owned()];
    assert_eq!(judged(ToolPolicy { error_on_rules, ..policy(BlockOn::ErrorsOnly) }), (1105, 7));
    assert_eq!(judged(ToolPolicy { treat_warnings_as_errors: true, ..policy(BlockOn::ErrorsOnly) }), (1112, 0));
}

#[test]
fn warnings_the_tool_itself_refused_block_unless_nothing_may() {
    let refused = |block_on| judge(&with_policy(Tool::Eslint, policy(block_on)), &exited(1), &findings(0, 2));
    let outcome = refused(BlockOn::ErrorsOnly);
    assert_eq!((outcome.blocking, outcome.debt.severity), (Blocking::Blocks, Some(Severity::Medium)));
    assert_eq!(outcome.classification.reason, "ESLint warnings detected");
    assert_eq!(outcome.debt.title.as_deref(), Some("ESLint Warnings: 2 warnings across 2 files"));
    assert_eq!(refused(BlockOn::WarnOnly).blocking, Blocking::Allowed);
    assert_eq!(refused(BlockOn::Never).blocking, Blocking::Allowed);
}

#[test]
fn the_bits_of_pylint_tell_of_warnings_and_refuse_none() {
    let advised = |block_on| judge(&with_policy(Tool::Pylint, policy(block_on)), &exited(16), &findings(0, 2));
    let outcome = advised(BlockOn::ErrorsOnly);
    assert_eq!(
        (outcome.blocking, outcome.debt.severity),
        (Blocking::Allowed, Some(Severity::Medium)),
        "C28: the adapter explains it"
    );
    assert_eq!(advised(BlockOn::ErrorsAndWarnings).blocking, Blocking::Blocks);
    let limited = judge(&with_policy(Tool::Pylint, limited(BlockOn::ErrorsOnly)), &exited(16), &findings(0, 2));
    assert_eq!(limited.blocking, Blocking::Blocks);
}

#[test]
fn c40_c45_debt_of_each_tool_under_its_default_policy() {
    use DebtCategory::{Refactor, ValidationMissing};
    use Severity::{Critical, High, Low};
    for (tool, category, severity, blocking, issue, compiles) in [
        (Tool::Tsc, ValidationMissing, Critical, Blocking::Blocks, "TYPE_ERROR", true),
        (Tool::Mypy, ValidationMissing, Critical, Blocking::Blocks, "TYPE_ERROR", false),
        (Tool::Compile, ValidationMissing, Critical, Blocking::Blocks, "COMPILATION_ERROR", true),
        (Tool::Eslint, Refactor, High, Blocking::Blocks, "LINT_ERROR", false),
        (Tool::Ruff, Refactor, High, Blocking::Blocks, "LINT_ERROR", false),
        (Tool::Flake8, Refactor, High, Blocking::Blocks, "LINT_ERROR", false),
        (Tool::Pylint, Refactor, High, Blocking::Blocks, "LINT_ERROR", false),
        (Tool::Prettier, Refactor, Low, Blocking::Allowed, "FORMAT_ERROR", false),
    ] {
        let policy = policy(tool.default_strategy().expect("a policy judges it"));
        let outcome = judge(&with_policy(tool, policy), &exited(1), &findings(1, 0));
        let classification = &outcome.classification;
        assert_eq!(classification.category, ResultType::ValidationFailure, "{tool:?}");
        assert_eq!(
            (outcome.debt.category, outcome.debt.severity, outcome.blocking),
            (Some(category), Some(severity), blocking),
            "{tool:?}"
        );
        assert_eq!(
            (classification.issue_type.as_deref(), classification.blocks_compilation),
            (Some(issue), Some(compiles)),
            "{tool:?}"
        );
        assert_eq!(classification.validation_tool.as_deref(), Some(tool.report_name()));
        assert!(outcome.debt.title.is_some_and(|title| !title.contains("Validation")), "{tool:?} has words of its own");
    }
}

#[test]
fn a_suggested_fix_is_made_of_what_was_seen() {
    let fix = |interpretation: &Interpretation| {
        let outcome = judge(&with_policy(Tool::Eslint, policy(BlockOn::ErrorsOnly)), &exited(1), interpretation);
        (outcome.debt.title.expect("it is due"), outcome.debt.suggested_fix.expect("it is due"))
    };
    let (title, several) = fix(&findings(2, 0));
    assert_eq!(
        (title.as_str(), several.as_str()),
        ("ESLint Errors: 2 errors across 2 files", "Fix the first: e: is defined but never used")
    );
    let mut one = findings(1, 0);
    one.diagnostics[0].fix = Some(Fix { suggestion: "Remove it".to_owned(), automated: false });
    assert_eq!(fix(&one), ("ESLint Error in file0.ts:3".to_owned(), "Fix e: Remove it".to_owned()));
    one.diagnostics[0].line = None;
    assert_eq!(fix(&one).0, "ESLint Error in file0.ts");
    let mut mixed = findings(2, 1);
    mixed.diagnostics.reverse();
    assert_eq!(fix(&mixed).1, "Fix the first: e: is defined but never used", "an error comes before a warning");
    let none_by_itself = Some(DiagnosticSummary { errors: 2, warnings: 0, fixable: Some(0), total_files: 1 });
    let by_hand = Interpretation { counts_override: none_by_itself, ..findings(2, 0) };
    assert_eq!(fix(&by_hand).1, "Fix the first: e: is defined but never used");
    let over = ToolPolicy { max_warnings: Some(1), ..policy(BlockOn::ErrorsOnly) };
    let refused = judge(&with_policy(Tool::Eslint, over), &exited(0), &findings(0, 2));
    assert_eq!(refused.blocking, Blocking::Blocks);
    assert_eq!(refused.debt.suggested_fix.as_deref(), Some("Fix the first: w: is defined but never used"));
    let counts_override = Some(DiagnosticSummary { errors: 7, warnings: 0, fixable: None, total_files: 0 });
    let unseen = Interpretation { counts_override, ..findings(0, 0) };
    assert_eq!(fix(&unseen), ("ESLint Errors: 7 errors".to_owned(), "Fix ESLint errors".to_owned()));
}

#[test]
fn findings_of_a_tool_without_words_are_told_plainly() {
    let mut step = action(Tool::Generic, ActionPhase::Step);
    step.policy = Some(policy(BlockOn::WarnOnly));
    let outcome = judge(&step, &exited(1), &findings(1, 0));
    assert_eq!(outcome.classification.issue_type.as_deref(), Some("VALIDATION_ERROR"));
    assert_eq!(outcome.classification.reason, "Validation errors detected (non-blocking)");
}

#[test]
fn a_prerequisite_with_allowed_findings_keeps_nothing_from_running() {
    let mut lint = action(Tool::Eslint, ActionPhase::Prerequisite);
    lint.policy = Some(policy(BlockOn::ErrorsOnly));
    let allowed = judge(&lint, &exited(0), &findings(0, 1)).classification;
    assert_eq!((allowed.category, allowed.can_continue), (ResultType::ValidationFailure, Some(true)));
    let refused = judge(&lint, &exited(1), &findings(1, 0)).classification;
    assert_eq!((refused.category, refused.can_continue), (ResultType::PrerequisiteFailure, Some(false)));
    assert_eq!(refused.underlying, Some(ResultType::ValidationFailure));
}
