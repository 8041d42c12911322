//! Tests of the verdict as a whole: seed 004's scenarios and matrix, table J3, runs, exit codes, and properties.

mod captured;
mod claims;
mod completion;
mod coverage;
mod criteria;
mod matrix;
mod policies;
mod properties;
mod red;
mod rows;
mod runs;
mod scenarios;
mod seen;
mod table;

use std::time::Duration;

use crate::verdict::{ActionFacts, TestHistory, classify};
use proctor_model::testing;
use proctor_model::{
    Action, ActionEnd, ActionJudgement, ActionPhase, BlockOn, CategoryCode, CommandLine, Diagnostic, DurationMs, FindingLevel,
    Interpretation, LimitKind, Phase, PolicySource, ReadyCheck, Service, StopReason, StopStage, TestCounts, TestFailure,
    TestResults, Tool, ToolPolicy,
};

fn action(tool: Tool, phase: ActionPhase) -> Action {
    let command = CommandLine { argv: vec!["check".to_owned()], display: "check".to_owned(), shell: false };
    let grace = Duration::from_secs(2);
    Action { command_is_ours: true, command, timeout: Duration::from_secs(10), grace, ..testing::action(tool, phase) }
}

/// A prerequisite that keeps running during the checks.
pub(in crate::verdict) fn service() -> Action {
    let service = Service {
        ready: ReadyCheck::Port(1),
        timeout: Duration::from_secs(30),
        interval: Duration::from_millis(100),
        attempt_timeout: Duration::from_secs(5),
    };
    Action { service: Some(service), ..action(Tool::Generic, ActionPhase::Prerequisite) }
}

fn with_policy(tool: Tool, policy: ToolPolicy) -> Action {
    Action { policy: Some(policy), ..action(tool, ActionPhase::Step) }
}

fn policy(block_on: BlockOn) -> ToolPolicy {
    ToolPolicy::plain(block_on, PolicySource::Default)
}

fn exited(code: i32) -> ActionEnd {
    ActionEnd::Exited { code }
}

fn timed_out() -> ActionEnd {
    ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigterm, code: Some(0), signal: None }
}

fn stopped() -> ActionEnd {
    ActionEnd::Stopped { reason: StopReason::Superseded, stage: StopStage::Sigint }
}

fn judge(action: &Action, end: &ActionEnd, interpretation: &Interpretation) -> ActionJudgement {
    judge_in(action, end, interpretation, Phase::Green, false)
}

fn judge_in(
    action: &Action,
    end: &ActionEnd,
    interpretation: &Interpretation,
    phase: Phase,
    cycle_started: bool,
) -> ActionJudgement {
    judge_with(&TestHistory::default(), action, end, interpretation, (phase, cycle_started))
}

/// Judges an action, given what earlier runs show about its tests.
fn judge_after(history: &TestHistory, action: &Action, end: &ActionEnd, interpretation: &Interpretation) -> ActionJudgement {
    judge_with(history, action, end, interpretation, (Phase::Green, false))
}

fn judge_with(
    history: &TestHistory,
    action: &Action,
    end: &ActionEnd,
    interpretation: &Interpretation,
    (phase, cycle_started): (Phase, bool),
) -> ActionJudgement {
    let duration = DurationMs(10_050);
    let (run_timeout, expected_failure) = (None, None);
    let facts =
        ActionFacts { action, end, duration, interpretation, phase, cycle_started, run_timeout, expected_failure, history };
    classify(&facts)
}

fn plain(category: CategoryCode) -> Interpretation {
    Interpretation::plain(category, "what was seen")
}

/// A test report with these counts. Every failure has a name.
fn tests(category: CategoryCode, passed: u64, failed: u64) -> Interpretation {
    let failures = (0..failed)
        .map(|number| TestFailure {
            test_name: format!("tests.test_quote.test_{number}"),
            test_file: Some("tests/test_quote.py".to_owned()),
            error: "assert 1 == 2".to_owned(),
            line: Some(15 + number),
            ..TestFailure::default()
        })
        .collect();
    let counts = TestCounts { passed, failed, skipped: 0 };
    Interpretation {
        test_results: Some(TestResults { counts, total: passed + failed, failures, ..TestResults::default() }),
        ..plain(category)
    }
}

fn diagnostic(severity: FindingLevel, rule: &str, file: usize) -> Diagnostic {
    Diagnostic {
        file: Some(format!("src/file{file}.ts")),
        line: Some(3),
        rule_id: Some(rule.to_owned()),
        severity,
        message: "is defined but never used".to_owned(),
        ..Diagnostic::default()
    }
}

/// Findings of a validation tool: `errors` of rule `e`, then `warnings` of rule `w`, over three files.
fn findings(errors: usize, warnings: usize) -> Interpretation {
    let of = |severity, rule: &'static str| move |number: usize| diagnostic(severity, rule, number % 3);
    let errors = (0..errors).map(of(FindingLevel::Error, "e"));
    let warnings = (0..warnings).map(of(FindingLevel::Warning, "w"));
    Interpretation { diagnostics: errors.chain(warnings).collect(), ..plain(CategoryCode::Findings) }
}
