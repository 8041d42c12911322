//! Judges captured output of real tools, from the first byte to the debt: rows C01–C14, C28, C51, C69 and J1 of the
//! decisions on seed 004.

use serde_json::{Value, json};

use crate::verdict::tests::{action, exited, judge, judge_after, plain, policy};
use crate::verdict::{TestHistory, VanishedTests};
use proctor_model::{
    Action, ActionEnd, ActionJudgement, ActionPhase, Blocking, CategoryCode, DebtCategory, Interpretation, ResultType, RunId,
    Severity, SpawnFailure, Tool, ToolClass,
};
use proctor_tools::captured::captured;

/// Judges a captured output under the default policy of its tool.
fn outcome(path: &str) -> ActionJudgement {
    let (tool, code, interpretation) = captured(path);
    of(tool, &exited(code), &interpretation)
}

/// Judges a captured output, given what earlier runs show about its tests.
fn outcome_after(history: &TestHistory, path: &str) -> ActionJudgement {
    let (tool, code, interpretation) = captured(path);
    judge_after(history, &step(tool), &exited(code), &interpretation)
}

fn of(tool: Tool, end: &ActionEnd, interpretation: &Interpretation) -> ActionJudgement {
    judge(&step(tool), end, interpretation)
}

fn step(tool: Tool) -> Action {
    Action { policy: tool.default_strategy().map(policy), ..action(tool, ActionPhase::Step) }
}

/// Returns the parts of a judgement that the tables in this file compare: type, code, and category of the debt.
fn seen(outcome: &ActionJudgement) -> (ResultType, CategoryCode, Option<DebtCategory>) {
    (outcome.classification.category, outcome.classification.code, outcome.debt.category)
}

/// Fails unless each output has this judgement and blocks.
#[track_caller]
fn assert_blocks(rows: &[(&str, ResultType, CategoryCode, Option<DebtCategory>)]) {
    for (path, result, code, debt) in rows {
        let outcome = outcome(path);
        assert_eq!(seen(&outcome), (*result, *code, *debt), "{path}: {}", outcome.classification.reason);
        assert_eq!(outcome.blocking, Blocking::Blocks, "{path}");
    }
}

#[test]
fn c01_a_non_zero_exit_is_what_the_class_of_the_tool_makes_of_it() {
    for (path, class, result) in [
        ("tsc/5.9.3/findings.txt", ToolClass::Validation, ResultType::ValidationFailure),
        ("eslint/9.39.5/findings.txt", ToolClass::Validation, ResultType::ValidationFailure),
        ("prettier/3.10.1/findings.txt", ToolClass::Validation, ResultType::ValidationFailure),
        ("pytest/9.2.0/fail.txt", ToolClass::Test, ResultType::TestFailure),
        ("jest/30.5.2/fail.txt", ToolClass::Test, ResultType::TestFailure),
    ] {
        let (tool, code, _) = captured(path);
        assert_eq!((tool.class(), code != 0), (class, true), "{path}");
        assert_eq!(outcome(path).classification.category, result, "{path}");
    }
    let generic = of(Tool::Generic, &exited(1), &plain(CategoryCode::UnexpectedExit));
    assert_eq!(
        seen(&generic),
        (ResultType::ExecutionError, CategoryCode::UnexpectedExit, Some(DebtCategory::IntegrationFailure))
    );
}

#[test]
fn c03_c20_warnings_alone_are_a_validation_failure_that_does_not_block_and_is_debt() {
    let outcome = outcome("eslint/9.39.5/warnings.txt");
    assert_eq!(captured("eslint/9.39.5/warnings.txt").1, 0, "the tool itself exits with 0");
    assert_eq!(seen(&outcome), (ResultType::ValidationFailure, CategoryCode::Findings, Some(DebtCategory::Refactor)));
    assert_eq!((outcome.blocking, outcome.classification.severity), (Blocking::Allowed, Some(Severity::Medium)));
    assert_eq!((outcome.debt.should_generate, outcome.debt.severity), (true, Some(Severity::Medium)));
}

/// C07 as decision E4 amends it: an error during collection is a failure of the tests, and a usage error is no debt.
#[test]
fn c07_only_tests_that_ran_and_failed_say_so() {
    use CategoryCode as C;
    use DebtCategory::{BusinessLogicError, IntegrationFailure, ValidationMissing};
    use ResultType::{ExecutionError, TestFailure};
    assert_blocks(&[
        ("pytest/9.2.0/fail.txt", TestFailure, C::TestsFailed, Some(BusinessLogicError)),
        ("jest/30.5.2/fail.txt", TestFailure, C::TestsFailed, Some(BusinessLogicError)),
        ("pytest/9.2.0/syntax-error.txt", TestFailure, C::CollectionError, Some(ValidationMissing)),
        ("pytest/9.2.0/missing-module.txt", TestFailure, C::CollectionError, Some(ValidationMissing)),
        ("pytest/9.2.0/internal-error.txt", ExecutionError, C::InternalError, Some(IntegrationFailure)),
        ("pytest/9.2.0/unknown-option.txt", ExecutionError, C::UsageError, None),
        ("pytest/9.2.0/no-tests.txt", TestFailure, C::NoTestsCollected, Some(ValidationMissing)),
        ("pytest/9.2.0/all-skipped.txt", TestFailure, C::NoTestsExecuted, Some(ValidationMissing)),
        ("jest/30.5.2/pass-with-no-tests.txt", TestFailure, C::NoTestsCollected, Some(ValidationMissing)),
    ]);
    for (path, ran) in
        [("pytest/9.2.0/fail.txt", true), ("pytest/9.2.0/syntax-error.txt", false), ("pytest/9.2.0/no-tests.txt", false)]
    {
        assert_eq!(outcome(path).classification.tests_ran, Some(ran), "{path}");
    }
    let killed = of(Tool::Pytest, &ActionEnd::Signalled { signal: 11 }, &captured("pytest/9.2.0/pass.txt").2);
    assert_eq!(seen(&killed), (ExecutionError, C::Signalled, Some(IntegrationFailure)));
}

/// Deleting a failing test must not turn its failure into a usage error, which would be no debt.
#[test]
fn c07_tests_that_were_there_and_vanished_are_missing_tests() {
    use CategoryCode as C;
    let run: RunId = RunId::try_from("exec-20260304T093000.120Z-000042".to_owned()).expect("a run id");
    let vanished = VanishedTests { run, tests: vec!["tests.test_a::test_x".to_owned()] };
    let history = TestHistory { vanished: Some(vanished), ..TestHistory::default() };
    for (path, code, before) in [
        ("pytest/9.2.0/unknown-option.txt", C::TestsMissing, C::UsageError),
        ("pytest/9.2.0/no-tests.txt", C::NoTestsCollected, C::NoTestsCollected),
        // A category about tests that ran, or about a tool that could not run, does not change.
        ("pytest/9.2.0/fail.txt", C::TestsFailed, C::TestsFailed),
        ("pytest/9.2.0/syntax-error.txt", C::CollectionError, C::CollectionError),
        ("pytest/9.2.0/internal-error.txt", C::InternalError, C::InternalError),
    ] {
        let outcome = outcome_after(&history, path);
        assert_eq!((outcome.classification.code, self::outcome(path).classification.code), (code, before), "{path}");
        let is_about_it = matches!(before, C::UsageError | C::NoTestsCollected);
        assert_eq!(!outcome.classification.missing_tests.is_empty(), is_about_it, "{path}");
        if is_about_it {
            let reason =
                "What passed in exec-20260304T093000.120Z-000042 is not there any more: `tests.test_a::test_x`; bring it back";
            assert_eq!((outcome.classification.category, outcome.blocking), (ResultType::TestFailure, Blocking::Blocks));
            assert_eq!((outcome.classification.reason.as_str(), outcome.debt.should_generate), (reason, true));
            assert_eq!(outcome.classification.missing_tests, ["tests.test_a::test_x"]);
        }
    }
}

/// C11 as decision E4 amends it: a usage error is an EXECUTION_ERROR that is fixed in the specification, and no debt.
#[test]
fn c11_c46_a_usage_error_is_no_debt_and_a_crash_is() {
    for path in [
        "pytest/9.2.0/unknown-option.txt",
        "eslint/9.39.5/bad-option.txt",
        "eslint/9.39.5/no-files.txt",
        "mypy/2.4.1/unknown-option.txt",
        "tsc/5.9.3/unknown-option.txt",
        "tsc/5.9.3/unknown-setting.txt",
        "tsc/5.9.3/no-inputs.txt",
        "prettier/3.10.1/unknown-option.txt",
    ] {
        let outcome = outcome(path);
        assert_eq!(seen(&outcome), (ResultType::ExecutionError, CategoryCode::UsageError, None), "{path}");
        assert!(!outcome.debt.should_generate, "{path}");
        assert_eq!(outcome.agent_action.action, "FIX_SPECIFICATION", "{path}");
    }
    assert_blocks(&[(
        "eslint/9.39.5/rule-crashes.txt",
        ResultType::ExecutionError,
        CategoryCode::InternalError,
        Some(DebtCategory::IntegrationFailure),
    )]);
}

#[test]
fn c12_type_errors_are_named_errors_in_files_whatever_the_exit_code() {
    use CategoryCode as C;
    for version in ["5.9.3", "7.0.2"] {
        for (name, code) in [
            ("clean", C::Clean),
            ("findings", C::Findings),
            ("findings-pretty", C::Findings),
            ("help", C::UsageError),
            ("missing-project", C::UsageError),
            ("no-inputs", C::UsageError),
        ] {
            assert_eq!(outcome(&format!("tsc/{version}/{name}.txt")).classification.code, code, "{version} {name}");
        }
    }
    let exits = ["5.9.3", "7.0.2"].map(|version| captured(&format!("tsc/{version}/findings.txt")).1);
    assert_eq!(exits, [2, 1], "both codes of the seed's range stand for errors, and neither decides by itself");
    let (_, _, errors) = captured("tsc/5.9.3/findings.txt");
    assert!(errors.diagnostics.iter().all(|found| found.code.as_deref().is_some_and(|code| code.starts_with("TS"))));
    let silent = of(Tool::Tsc, &exited(2), &plain(CategoryCode::Findings));
    assert_eq!(silent.classification.code, C::Inconsistent, "a failure that names no error is no type error");
}

#[test]
fn c13_a_tool_that_is_not_there_is_that_however_it_shows() {
    let installed = Some(DebtCategory::IntegrationFailure);
    for path in [
        "tsc/absent/npx.txt",
        "eslint/absent/npx.txt",
        "jest/absent/npx.txt",
        "prettier/absent/npx.txt",
        "pytest/absent/python-m.txt",
        "mypy/absent/python-m.txt",
    ] {
        let outcome = outcome(path);
        assert_eq!(seen(&outcome), (ResultType::ExecutionError, CategoryCode::ToolNotFound, installed), "{path}");
        assert_eq!(outcome.classification.error_type.as_deref(), Some("TOOL_NOT_FOUND"), "{path}");
        assert_eq!(outcome.agent_action.action, "INSTALL_TOOL", "{path}");
    }
    let nowhere = ActionEnd::NotStarted(SpawnFailure::ProgramNotFound { program: "tsc".to_owned(), searched: Vec::new() });
    let absent = of(Tool::Tsc, &nowhere, &plain(CategoryCode::ToolNotFound));
    assert_eq!(seen(&absent), (ResultType::ExecutionError, CategoryCode::ToolNotFound, installed), "ENOENT");
}

#[test]
fn c14_exit_code_2_of_a_linter_is_an_execution_error() {
    use CategoryCode as C;
    for (path, code) in [
        ("eslint/9.39.5/rule-crashes.txt", C::InternalError),
        ("eslint/9.39.5/broken-config.txt", C::UsageError),
        ("prettier/3.10.1/no-files.txt", C::UsageError),
        ("prettier/3.10.1/broken-config.txt", C::UsageError),
        ("ruff/0.17.6/broken-config.txt", C::UsageError),
    ] {
        assert_eq!(captured(path).1, 2, "{path}");
        let outcome = outcome(path);
        assert_eq!((outcome.classification.category, outcome.classification.code), (ResultType::ExecutionError, code), "{path}");
    }
}

#[test]
fn c21_a_clean_run_without_a_policy_is_a_success_because_the_output_is_read_first() {
    for path in ["eslint/9.39.5/clean.txt", "tsc/5.9.3/clean.txt", "prettier/3.10.1/clean.txt"] {
        let (tool, code, interpretation) = captured(path);
        let without = judge(&action(tool, ActionPhase::Step), &exited(code), &interpretation);
        assert_eq!(seen(&without), (ResultType::Success, CategoryCode::Clean, None), "{path}");
        assert!(!without.debt.should_generate, "{path}");
    }
}

#[test]
fn c28_what_was_counted_decides_and_the_exit_code_is_held_against_it() {
    let (_, _, found) = captured("eslint/9.39.5/findings.txt");
    let (_, _, clean) = captured("eslint/9.39.5/clean.txt");
    for code in [0, 1] {
        let outcome = of(Tool::Eslint, &exited(code), &found);
        assert_eq!((outcome.classification.code, outcome.blocking), (CategoryCode::Findings, Blocking::Blocks), "exit {code}");
    }
    let contradicted = of(Tool::Eslint, &exited(1), &clean);
    assert_eq!(contradicted.classification.code, CategoryCode::Inconsistent);
    assert_eq!(contradicted.classification.category, ResultType::ExecutionError, "a contradiction is never a success");
    let limited = outcome("eslint/9.39.5/too-many-warnings.txt");
    assert_eq!(captured("eslint/9.39.5/too-many-warnings.txt").1, 1);
    assert_eq!((limited.classification.code, limited.blocking), (CategoryCode::Findings, Blocking::Blocks));
    assert_eq!(limited.summary.map(|summary| summary.errors), Some(0), "eslint refuses its warnings without an error");
}

#[test]
fn c29_errors_of_eslint_are_high() {
    let outcome = outcome("eslint/9.39.5/findings.txt");
    assert_eq!((outcome.classification.severity, outcome.debt.severity), (Some(Severity::High), Some(Severity::High)));
}

#[test]
fn c51_what_can_be_fixed_by_itself_is_what_the_tool_says() {
    let (_, _, found) = captured("eslint/9.39.5/findings-json.txt");
    let fixable = |rule: &str| {
        let of_rule = found.diagnostics.iter().filter(|one| one.rule_id.as_deref() == Some(rule));
        of_rule.map(|one| one.fixable).collect::<Vec<_>>()
    };
    assert_eq!(fixable("no-unused-vars"), [Some(false), Some(false)], "a suggestion is no fix");
    assert_eq!(fixable("no-var"), [Some(true)]);
    let summary = outcome("eslint/9.39.5/findings-json.txt").summary.expect("it found something");
    assert_eq!(summary.fixable, Some(1));
}

/// The findings of every tool have the same keys, with the same types.
#[test]
fn c69_findings_of_all_tools_have_one_shape() {
    for path in [
        "tsc/5.9.3/findings-pretty.txt",
        "eslint/9.39.5/findings-json.txt",
        "mypy/2.4.1/findings-json.txt",
        "ruff/0.17.6/findings-json.txt",
    ] {
        for found in outcome(path).diagnostics {
            let found = serde_json::to_value(found).expect("text keys");
            for (key, value) in found.as_object().expect("a finding is an object") {
                let fits = match key.as_str() {
                    "file" | "code" | "ruleId" | "message" | "source" => value.is_string(),
                    "severity" => [json!("error"), json!("warning")].contains(value),
                    "line" | "column" | "endLine" | "endColumn" | "length" => value.is_u64(),
                    "fixable" => value.is_boolean(),
                    "relatedInformation" => value.is_array(),
                    "fix" => value["suggestion"].is_string() && value["automated"].is_boolean(),
                    _ => false,
                };
                assert!(fits, "{path}: `{key}` is {value}");
            }
            for key in ["file", "line", "severity", "message"] {
                assert_ne!(found[key], Value::Null, "{path}: {key}");
            }
        }
    }
}

/// Table J1 is read from top to bottom: limits, failed starts and signals decide before any report, and the phase
/// decides last.
#[test]
fn j1_the_first_row_that_matches_decides() {
    use CategoryCode as C;
    let (_, _, passed) = captured("pytest/9.2.0/pass.txt");
    let limit = ActionEnd::TimedOut {
        limit: proctor_model::LimitKind::Wall,
        stage: proctor_model::StopStage::Sigterm,
        code: Some(0),
        signal: None,
    };
    let unstarted = ActionEnd::NotStarted(SpawnFailure::NotExecutable { program: "pytest".to_owned() });
    for (end, result, code) in [
        (limit.clone(), ResultType::Timeout, C::TimedOut),
        (unstarted, ResultType::ExecutionError, C::NotStarted),
        (ActionEnd::Signalled { signal: 9 }, ResultType::ExecutionError, C::Signalled),
        (exited(1), ResultType::ExecutionError, C::Inconsistent),
        (exited(0), ResultType::Success, C::TestsPassed),
    ] {
        let outcome = of(Tool::Pytest, &end, &passed);
        assert_eq!((outcome.classification.category, outcome.classification.code), (result, code), "{end:?}");
    }
    let prerequisite = judge(&action(Tool::Pytest, ActionPhase::Prerequisite), &limit, &passed);
    assert_eq!(prerequisite.classification.category, ResultType::PrerequisiteFailure);
    assert_eq!(prerequisite.classification.underlying, Some(ResultType::Timeout), "the phase rewrites what came before it");
}
