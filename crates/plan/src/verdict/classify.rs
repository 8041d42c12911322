//! Judges the outcome of one action (E3, E4, C08). It follows table J1, after the tool's output was interpreted.
//!
//! A success that contradicts other facts is not believed: an unknown outcome never counts as success.

use std::time::Duration;

use crate::verdict::category_row::{CategoryRow, ToolWork, row_of};
use crate::verdict::debt::{advised, as_prerequisite, debt_of_findings, debt_of_row};
use crate::verdict::history::TestHistory;
use crate::verdict::policy::{judge_findings, raw_summary};
use crate::verdict::red::mark_red;
use crate::verdict::wording::{AgentWord, words_for};
use crate::verdict::{limits, services};
use proctor_model::{
    Action, ActionEnd, ActionJudgement, ActionKind, ActionPhase, BlockOn, Blocking, CategoryCode, Classification, ClientCall,
    DebtGeneration, DurationMs, ExpectedFailure, Interpretation, LimitKind, LimitValue, Phase, PolicyApplied, PolicySource,
    ResultType, ToolClass, ToolPolicy,
};

/// The facts from which an action is judged. The judgement depends on nothing else.
#[derive(Debug, Clone, Copy)]
pub struct ActionFacts<'a> {
    pub action: &'a Action,
    /// How the action's process ended.
    pub end: &'a ActionEnd,
    pub duration: DurationMs,
    /// What the interpreter of the tool (folder `tools/`) concluded from exit code, output and report.
    pub interpretation: &'a Interpretation,
    /// The task's TDD phase.
    pub phase: Phase,
    /// Whether the task is inside a started cycle.
    pub cycle_started: bool,
    /// The time limit of the whole run, if less of it was left than the action's own limit; otherwise `None`.
    pub run_timeout: Option<Duration>,
    /// The failure that was declared for the task's tests in this phase (C06).
    pub expected_failure: Option<&'a ExpectedFailure>,
    /// What earlier runs show about the action's tests.
    pub history: &'a TestHistory,
}

/// Judges one action: its category, whether it blocks, and the debt that it leaves. A fact that contradicts the
/// interpreted category overrides that category.
pub fn classify(facts: &ActionFacts<'_>) -> ActionJudgement {
    let (mut code, mut doubt) = proven_category(facts);
    let mut missing_tests = Vec::new();
    if let Some((missing, words)) = facts.history.category(code) {
        (code, doubt) = (missing, Some(words));
        missing_tests = facts.history.missing_tests();
    }
    let mut outcome =
        if code == CategoryCode::Findings { judge_by_findings(facts) } else { judge_by_row(row_of(code), doubt, facts) };
    outcome.classification.missing_tests = missing_tests;
    if facts.action.phase == ActionPhase::Prerequisite && outcome.classification.category != ResultType::Success {
        rewrite_prerequisite(&mut outcome, facts.action);
    }
    if facts.action.phase != ActionPhase::Step && facts.action.continue_on_failure && outcome.blocking == Blocking::Blocks {
        warn_only(&mut outcome, facts.action.phase);
    }
    outcome
}

/// Returns the interpreted category, or another one if a fact contradicts it, with the explanation.
fn proven_category(facts: &ActionFacts<'_>) -> (CategoryCode, Option<String>) {
    let said = facts.interpretation.category;
    if let Some(proven) = services::judge_service_claim(facts.action, facts.end, said) {
        return proven;
    }
    // A review without a verdict is never a success, however the process ended.
    if said == CategoryCode::NoVerdict {
        return (said, None);
    }
    let contradicted = match facts.end {
        ActionEnd::TimedOut { .. } => (said != CategoryCode::TimedOut)
            .then(|| (CategoryCode::TimedOut, "The action hit its limit and was stopped".to_owned())),
        ActionEnd::Stopped { .. } => {
            (said != CategoryCode::Stopped).then(|| (CategoryCode::Stopped, "The action was stopped".to_owned()))
        }
        ActionEnd::Lost { why } => (said != CategoryCode::StatusLost)
            .then(|| (CategoryCode::StatusLost, format!("The exit status could not be learnt: {why}"))),
        ActionEnd::NotStarted(_) => {
            (!matches!(said, CategoryCode::ToolNotFound | CategoryCode::NotStarted | CategoryCode::PortHeld))
                .then(|| (CategoryCode::NotStarted, "The command could not be started".to_owned()))
        }
        ActionEnd::Signalled { signal } => presumes_an_exit(said)
            .then(|| (CategoryCode::Signalled, format!("Signal {signal} ended the command before its result could count"))),
        ActionEnd::Exited { code } => contradicted_exit(facts, *code),
    };
    match contradicted {
        Some((code, doubt)) => (code, Some(doubt)),
        None => (said, None),
    }
}

fn presumes_an_exit(said: CategoryCode) -> bool {
    is_proof_by_look(said)
        || matches!(
            said,
            CategoryCode::TestsPassed
                | CategoryCode::Clean
                | CategoryCode::ExpectedExit
                | CategoryCode::Findings
                | CategoryCode::NothingChecked
                | CategoryCode::ReviewApproved
                | CategoryCode::ReviewRejected
        )
}

/// Returns whether a code means that a check which runs no command succeeded: a file or an answer is as required.
fn is_proof_by_look(said: CategoryCode) -> bool {
    matches!(said, CategoryCode::FileValid | CategoryCode::AnswerValid)
}

/// Returns the category and an explanation if an exit code or a count contradicts the claimed category (E3, C28).
fn contradicted_exit(facts: &ActionFacts<'_>, exit_code: i32) -> Option<(CategoryCode, String)> {
    let (interpretation, said) = (facts.interpretation, facts.interpretation.category);
    let found = raw_summary(interpretation);
    let finds = found.errors > 0 || found.warnings > 0;
    let inconsistent = |what: String| Some((CategoryCode::Inconsistent, what));
    if said == CategoryCode::TestsPassed {
        let counts = interpretation.test_results.as_ref().map(|results| results.counts);
        let proven = exit_code == 0 && counts.is_some_and(|counts| counts.passed > 0 && counts.failed == 0);
        return if proven {
            None
        } else {
            let (passed, failed) = counts.map(|counts| (counts.passed, counts.failed)).unwrap_or_default();
            inconsistent(format!(
                "The tests are said to have passed, but exit code {exit_code} stands beside {passed} passed and {failed} failed"
            ))
        };
    }
    if said == CategoryCode::Clean && finds {
        return Some((CategoryCode::Findings, "The tool named findings".to_owned()));
    }
    if said == CategoryCode::ReviewApproved && exit_code != 0 {
        return inconsistent(format!("Exit code {exit_code} and an approval contradict each other"));
    }
    if said == CategoryCode::ResultValid && exit_code != 0 {
        return inconsistent(format!("Exit code {exit_code} and a result as it must be contradict each other"));
    }
    if said == CategoryCode::Clean && exit_code != 0 {
        return inconsistent(format!("Exit code {exit_code} and no findings contradict each other"));
    }
    if said == CategoryCode::Findings && !finds {
        return inconsistent(format!("Exit code {exit_code} stands for findings, and there are none"));
    }
    if is_proof_by_look(said) && (exit_code != 0 || facts.action.kind.starts_a_process()) {
        return inconsistent(format!(
            "A file or an answer is said to be as it must be, but a command ended with exit code {exit_code}"
        ));
    }
    if said == CategoryCode::ExpectedExit && !is_expected(&facts.action.expected_exit_codes, exit_code) {
        return Some((CategoryCode::UnexpectedExit, format!("Exit code {exit_code} is not an expected one")));
    }
    None
}

fn is_expected(expected: &[i32], exit_code: i32) -> bool {
    if expected.is_empty() { exit_code == 0 } else { expected.contains(&exit_code) }
}

fn judge_by_row(row: &CategoryRow, doubt: Option<String>, facts: &ActionFacts<'_>) -> ActionJudgement {
    let reason = doubt.or_else(|| ended_by_the_run(facts)).unwrap_or_else(|| facts.interpretation.reason.clone());
    let hung = facts.interpretation.hung.as_ref().filter(|_| row.code == CategoryCode::TimedOut);
    let reason = hung.map_or_else(|| reason.clone(), |hung| format!("{reason}. {hung}"));
    let debt = debt_of_row(row, facts, &reason);
    let mut classification = Classification::plain(row.result, row.code, reason);
    let (mut message, mut agent) = (row.message.to_owned(), row.agent);
    match row.work {
        ToolWork::Succeeded => classification.tool_succeeded = Some(true),
        ToolWork::Failed => classification.tool_failed = Some(true),
        ToolWork::Unknown => {}
    }
    let interpretation = facts.interpretation;
    classification.error_type = row.error_type.map(|word| interpretation.error_type.clone().unwrap_or_else(|| word.to_owned()));
    classification.recoverable_action = row.recoverable.map(str::to_owned);
    classification.possible_causes = match &interpretation.causes[..] {
        [] => row.causes.iter().map(|cause| (*cause).to_owned()).collect(),
        seen => seen.to_vec(),
    };
    if facts.action.class == ToolClass::Test {
        // A report that cannot be trusted as a whole may still show that a test passed. What a stopped tool has left shows nothing.
        let has_passed = interpretation.test_results.as_ref().is_some_and(|results| results.counts.passed > 0);
        let is_seen = has_passed && interpretation.category == row.code;
        classification.tests_ran = Some(row.tests_ran || is_seen);
    }
    if let (ActionEnd::TimedOut { limit, .. }, CategoryCode::TimedOut | CategoryCode::ServiceNotReady) = (facts.end, row.code) {
        classification.limit = Some(*limit);
        let value = facts.action.limit_value(*limit);
        classification.timeout_value = facts.run_timeout_hit().or(value.and_then(LimitValue::time)).map(DurationMs::from);
        classification.output_limit = value.and_then(LimitValue::size);
        classification.actual_duration = Some(facts.duration);
        let general = limits::message(*limit).unwrap_or(row.message);
        message = advised(row, facts).unwrap_or(general).to_owned();
        // A command gets advice about its time limit only if it is a server, and neither more time nor speed helps a server.
        let is_command = matches!(facts.action.kind, ActionKind::Command | ActionKind::CustomScript(_));
        if row.code == CategoryCode::TimedOut && is_command && advised(row, facts).is_some() {
            agent = AgentWord::FixSpecification;
        }
    }
    let blocking = if row.result == ResultType::Success { Blocking::Allowed } else { Blocking::Blocks };
    mark_file(&mut classification, facts.action, row.result);
    let agent_action = agent.action(message);
    let diagnostics = facts.interpretation.diagnostics.clone();
    let mut outcome = ActionJudgement { classification, blocking, debt, agent_action, diagnostics, summary: None };
    if row.result == ResultType::TestFailure {
        mark_red(&mut outcome, facts);
    }
    if facts.action.class == ToolClass::Validation {
        mark_validation(&mut outcome, facts);
    }
    outcome
}

impl ActionFacts<'_> {
    /// Returns the time limit of the whole run if the action exceeded that limit.
    pub(in crate::verdict) fn run_timeout_hit(&self) -> Option<Duration> {
        let ActionEnd::TimedOut { limit: LimitKind::Wall, .. } = self.end else { return None };
        self.run_timeout
    }
}

/// Returns the explanation for an action that ended because the time limit of the whole run was reached.
fn ended_by_the_run(facts: &ActionFacts<'_>) -> Option<String> {
    let timeout = facts.run_timeout_hit()?.as_secs_f64();
    Some(format!("The time-out of the run as a whole ({timeout} s) was over, so the action was stopped"))
}

/// Names the built-in file check as the validation tool. Every finding of a file check blocks (C16).
fn mark_file(classification: &mut Classification, action: &Action, result: ResultType) {
    let ActionKind::FileValidation(_) = action.kind else { return };
    classification.validation_tool = Some(action.tool_name().to_owned());
    match result {
        ResultType::Success => classification.code_has_issues = Some(false),
        ResultType::ValidationFailure => {
            classification.code_has_issues = Some(true);
            classification.is_expected_failure = Some(false);
        }
        ResultType::TestFailure
        | ResultType::ExecutionError
        | ResultType::Timeout
        | ResultType::PrerequisiteFailure
        | ResultType::SpecificationError => {}
    }
}

/// Sets tool and policy for a validation action that found nothing or could not run.
fn mark_validation(outcome: &mut ActionJudgement, facts: &ActionFacts<'_>) {
    outcome.classification.validation_tool = Some(facts.action.tool.report_name().to_owned());
    if outcome.classification.code == CategoryCode::NothingChecked {
        judge_nothing_checked(outcome, policy_of(facts.action));
        return;
    }
    if outcome.classification.code == CategoryCode::FilesChanged {
        judge_files_changed(outcome, policy_of(facts.action));
        return;
    }
    if outcome.classification.code == CategoryCode::Clean {
        let policy = policy_of(facts.action);
        outcome.classification.code_has_issues = Some(false);
        outcome.classification.policy_applied =
            Some(PolicyApplied::of(policy.block_on, policy.source, Blocking::Allowed, "No validation issues"));
        outcome.summary = Some(raw_summary(facts.interpretation));
    }
}

/// Decides whether it blocks that a validation tool had nothing to check. It does, unless the policy says that the tool never
/// blocks. Then the result still says that nothing was checked.
fn judge_nothing_checked(outcome: &mut ActionJudgement, policy: ToolPolicy) {
    let (blocking, reason) = match policy.block_on {
        BlockOn::Never => (Blocking::Allowed, "Nothing was checked (allowed by the policy NEVER)"),
        BlockOn::ErrorsAlways | BlockOn::ErrorsOnly | BlockOn::ErrorsAndWarnings | BlockOn::WarnOnly => {
            (Blocking::Blocks, "Nothing was checked")
        }
    };
    apply_policy(outcome, policy, blocking, reason);
}

/// Decides whether it blocks that a validation tool changed files of its own copy. Each change stands for a finding, so a policy
/// under which findings do not block allows it.
fn judge_files_changed(outcome: &mut ActionJudgement, policy: ToolPolicy) {
    outcome.classification.code_has_issues = Some(true);
    let (blocking, reason) = match policy.block_on {
        BlockOn::Never => (Blocking::Allowed, "Files were changed (allowed by the policy NEVER)"),
        BlockOn::WarnOnly => (Blocking::Allowed, "Files were changed (allowed by the policy WARN_ONLY)"),
        BlockOn::ErrorsAlways | BlockOn::ErrorsOnly | BlockOn::ErrorsAndWarnings => (Blocking::Blocks, "Files were changed"),
    };
    apply_policy(outcome, policy, blocking, reason);
}

fn apply_policy(outcome: &mut ActionJudgement, policy: ToolPolicy, blocking: Blocking, reason: &str) {
    outcome.blocking = blocking;
    if blocking == Blocking::Allowed {
        outcome.agent_action = AgentWord::Continue.action(format!("Nothing blocks: {reason}."));
        outcome.debt = DebtGeneration::none(reason);
    }
    outcome.classification.policy_applied = Some(PolicyApplied::of(policy.block_on, policy.source, blocking, reason));
}

fn judge_by_findings(facts: &ActionFacts<'_>) -> ActionJudgement {
    let tool = facts.action.tool.report_name();
    let words = words_for(tool);
    let judged = judge_findings(facts.interpretation, &policy_of(facts.action), &words, facts.end.exit_code());
    let has_errors = judged.summary.errors > 0;
    let remains = has_errors || judged.summary.warnings > 0;
    let reason = match (judged.cell.result == ResultType::Success, has_errors, judged.cell.blocking) {
        (true, _, _) => judged.applied.reason.clone(),
        (false, true, Blocking::Blocks) => format!("{} {} detected", words.display, words.errors),
        (false, true, Blocking::Allowed) => format!("{} {} detected (non-blocking)", words.display, words.errors),
        (false, false, Blocking::Blocks) => format!("{} warnings detected", words.display),
        (false, false, Blocking::Allowed) => format!("{} warnings detected (non-blocking)", words.display),
    };
    let agent_action = match judged.cell.blocking {
        Blocking::Allowed => AgentWord::Continue.action(format!("Nothing blocks: {}.", judged.applied.reason)),
        Blocking::Blocks => words.agent.action(format!("{}. Mend them.", judged.applied.reason)),
    };
    // If the policy dropped all findings, the result is clean.
    let code = if remains { CategoryCode::Findings } else { CategoryCode::Clean };
    let mut classification = Classification::plain(judged.cell.result, code, reason);
    classification.tool_succeeded = Some(true);
    classification.code_has_issues = Some(remains);
    classification.validation_tool = Some(tool.to_owned());
    classification.severity = judged.cell.severity;
    classification.fixable = judged.summary.fixable.map(|fixable| fixable > 0);
    if judged.cell.result != ResultType::Success {
        classification.is_expected_failure = Some(false);
        classification.issue_type = Some((if has_errors { words.error_issue } else { words.warning_issue }).to_owned());
        classification.blocks_compilation = Some(words.blocks_compilation && has_errors);
    }
    let debt = debt_of_findings(&judged, &words);
    classification.policy_applied = Some(judged.applied);
    let (diagnostics, summary) = (judged.diagnostics, Some(judged.summary));
    ActionJudgement { classification, blocking: judged.cell.blocking, debt, agent_action, diagnostics, summary }
}

/// Returns the action's policy. A validation action without a policy is judged strictly, because the configuration
/// should have set one.
fn policy_of(action: &Action) -> ToolPolicy {
    action.policy.clone().unwrap_or_else(|| ToolPolicy::plain(BlockOn::ErrorsAndWarnings, PolicySource::Default))
}

/// Returns the word in reports for what a prerequisite makes sure of; `None` for commands that are no service.
fn prerequisite_type(action: &Action) -> Option<&'static str> {
    match &action.kind {
        ActionKind::FileValidation(_) => Some("FILE_EXISTS"),
        ActionKind::HttpRequest(_) => Some("SERVICE_HEALTHY"),
        ActionKind::ClientCommand(call) => matches!(**call, ClientCall::Query(_)).then_some("DATABASE_AVAILABLE"),
        ActionKind::Command | ActionKind::CustomScript(_) | ActionKind::Review(_) => {
            action.service.as_ref().map(|_| "SERVICE_HEALTHY")
        }
    }
}

/// Takes back that a prerequisite or clean-up blocks, because its specification lets the run go on without it (`continueOnFailure`).
/// Seed 004 judges steps and conditions; the result itself stays what it is.
fn warn_only(outcome: &mut ActionJudgement, phase: ActionPhase) {
    let what = if phase == ActionPhase::Cleanup { "clean-up" } else { "prerequisite" };
    let reason = format!("The specification lets the run go on without this {what} (`continueOnFailure`)");
    outcome.classification.can_continue = Some(true);
    outcome.blocking = Blocking::Allowed;
    outcome.agent_action = AgentWord::Continue.action(format!("Nothing blocks. {reason}."));
    outcome.debt = DebtGeneration::none(reason);
}

/// Changes the result of a prerequisite to a prerequisite failure (C08), except for findings that the policy allows.
fn rewrite_prerequisite(outcome: &mut ActionJudgement, action: &Action) {
    let classification = &mut outcome.classification;
    if outcome.blocking == Blocking::Allowed {
        classification.can_continue = Some(true);
        return;
    }
    classification.underlying = Some(classification.category);
    classification.category = ResultType::PrerequisiteFailure;
    classification.prerequisite_type = prerequisite_type(action).map(str::to_owned);
    classification.can_continue = Some(action.continue_on_failure);
    if classification.is_tdd_red_phase.is_some() {
        classification.is_tdd_red_phase = Some(false);
    }
    as_prerequisite(&mut outcome.debt, &action.name);
}

/// Judges an action whose specification is wrong. The action was not run, so the result says nothing about the
/// project's code (C10, seed 004 example 6).
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
