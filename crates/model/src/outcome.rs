//! How actions and runs ended and how they are judged: result types, classifications, debt, statuses (design document
//! seed 004; tables J1, J3–J5).

use proctor_wire::wire;

use crate::{BlockOn, ByteSize, CategoryCode, Diagnostic, DiagnosticSummary, DurationMs, LimitKind, PolicySource};

/// The seven result types of the execution report, from the design document seed 004. Every action that was carried out
/// has exactly one of them.
#[wire(Copy, PartialOrd, Ord, Hash, screaming, schema, named)]
pub enum ResultType {
    /// Every requirement for a success is proved to be met. A result that is in doubt is never a SUCCESS.
    Success,
    /// Tests failed, could not be collected, or none ran.
    TestFailure,
    /// The tool could not do its work, for example because it is not installed.
    ExecutionError,
    /// The tool did its work and found errors in the code.
    ValidationFailure,
    /// The action exceeded a limit, for example its time limit.
    Timeout,
    /// A prerequisite did not succeed.
    PrerequisiteFailure,
    /// The specification is wrong; nothing was run.
    SpecificationError,
}

/// The severity of a result or of a debt item.
#[wire(Copy, PartialOrd, Ord, Hash, upper, named)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema), schemars(inline, description = "A severity."))]
pub enum Severity {
    /// The finding or debt item must be fixed before anything else.
    Critical = 4,
    /// The finding or debt item should be fixed as soon as nothing CRITICAL is left.
    High = 3,
    /// The finding or debt item can be fixed when the code around it is changed.
    Medium = 2,
    /// The work can wait.
    Low = 1,
}

/// Whether a result makes the verdict FAILED (E7). Another setting, `continue_on_failure`, decides whether the run
/// continues after this result.
#[wire(Copy, Hash, lower, schema)]
pub enum Blocking {
    /// The result makes the verdict FAILED.
    Blocks,
    /// The result alone does not make the verdict FAILED.
    Allowed,
}

/// The debt categories: the eight of specification 2.0.0 and REFACTOR (C41).
#[wire(Copy, PartialOrd, Ord, Hash, screaming)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema), schemars(inline))]
pub enum DebtCategory {
    /// An endpoint answers 404.
    ApiEndpointMissing,
    /// An input or a configuration value is not validated.
    ValidationMissing,
    /// The code does not handle an error that can occur.
    ErrorHandlingMissing,
    /// The code computes the wrong thing.
    BusinessLogicError,
    /// The database's schema is wrong.
    DatabaseSchemaIssue,
    /// A service, program or file that the run needs is missing or does not answer.
    IntegrationFailure,
    /// The code, or a check of it, takes too long.
    PerformanceIssue,
    /// An attacker can misuse the code.
    SecurityVulnerability,
    /// The code works but should be restructured.
    Refactor,
}

/// The policy that decided whether the findings of an action block.
#[wire(open, schema)]
pub struct PolicyApplied {
    /// The strategy's name, for example `BLOCK_ON_ERRORS_ONLY`.
    pub strategy: String,
    /// Whether the findings make the verdict FAILED.
    pub blocking: bool,
    /// Why the findings block or do not block, with their numbers.
    pub reason: String,
    /// Where the policy was set: the tool's default or a place in a configuration file.
    pub policy_source: PolicySource,
}

/// The classification of an action, with the keys of the execution report as the design document seed 004 defines it.
/// Keys that do not apply are absent.
#[wire(open, schema, sparse)]
pub struct Classification {
    pub category: ResultType,
    /// The exact reason of the result, for example `NO_TESTS_EXECUTED`. The design decisions list the codes, for
    /// example those of pytest in table E4.
    pub code: CategoryCode,
    pub reason: String,
    /// Whether the tool could do its work. A linter that finds errors in the code has done its work.
    pub tool_succeeded: Option<bool>,
    pub tool_failed: Option<bool>,
    pub tests_ran: Option<bool>,
    /// Whether the tool found errors in the project's code.
    pub code_has_issues: Option<bool>,
    /// Whether the tests that failed were declared to fail before the run (C06).
    pub is_expected_failure: Option<bool>,
    /// Whether the tests failed as the RED phase of a started cycle demands. If no tests were declared to fail, such a
    /// failure still makes the verdict FAILED (R6).
    #[serde(rename = "isTDDRedPhase")]
    pub is_tdd_red_phase: Option<bool>,
    /// The kind of finding: `TYPE_ERROR`, `LINT_ERROR`, `LINT_WARNING`.
    pub issue_type: Option<String>,
    pub severity: Option<Severity>,
    /// The errors in the action's specification.
    pub validation_errors: Vec<String>,
    /// Tests that passed in the last green run and no longer exist (C07). The design document seed 004, which defines
    /// the other keys, does not have this one.
    pub missing_tests: Vec<String>,
    pub blocks_compilation: Option<bool>,
    pub validation_tool: Option<String>,
    pub policy_applied: Option<PolicyApplied>,
    /// Whether the tool can fix some of the findings automatically.
    pub fixable: Option<bool>,
    /// The kind of error: `TOOL_NOT_FOUND`, `USAGE_ERROR` and others.
    pub error_type: Option<String>,
    /// What a person can do right away, such as a command to install the missing tool.
    pub recoverable_action: Option<String>,
    pub possible_causes: Vec<String>,
    /// The result type that a failed prerequisite would have had as a check (C08).
    pub underlying: Option<ResultType>,
    /// What the failed prerequisite makes sure of, in specification 2.0.0's words: `SERVICE_HEALTHY` or `FILE_EXISTS`.
    pub prerequisite_type: Option<String>,
    /// Whether the run could go on after a prerequisite failed.
    pub can_continue: Option<bool>,
    pub limit: Option<LimitKind>,
    /// The value of the exceeded limit, if it limits a time.
    pub timeout_value: Option<DurationMs>,
    /// The value of the exceeded limit, if it limits the amount of output.
    pub output_limit: Option<ByteSize>,
    /// How long the action ran, to be compared with the limit.
    pub actual_duration: Option<DurationMs>,
}

/// Whether a result becomes a debt item, and what the item says (J4).
#[wire(open, schema, sparse)]
pub struct DebtGeneration {
    pub should_generate: bool,
    pub category: Option<DebtCategory>,
    pub severity: Option<Severity>,
    pub title: Option<String>,
    /// Why a debt item is written, or why no debt item is written.
    pub reason: Option<String>,
    /// The file of the first finding.
    pub specific_file: Option<String>,
    /// The line of the first finding.
    pub specific_line: Option<u64>,
    /// The suggested fix, based only on what the run saw.
    pub suggested_fix: Option<String>,
}

/// What an agent should do about a result, in one of the words that the execution report allows (last table of the
/// design document seed 004).
#[wire(open, schema)]
pub struct AgentAction {
    /// Whether the agent has to do anything.
    pub required: bool,
    /// One of the words `FIX_CODE`, `FIX_TYPES`, `FIX_SPECIFICATION`, `INSTALL_TOOL`, `START_SERVER`, `IMPLEMENT_FIX`,
    /// `ADD_TESTS`, `OPTIMIZE_OR_RAISE_TIMEOUT`, `ASK_HUMAN` and `CONTINUE`.
    pub action: String,
    /// What the agent should do, in words.
    pub message: String,
}

/// The judgement of an action that was carried out. `report/` shows this judgement and does not judge the action again.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionJudgement {
    /// The classification; its category is the status that the report shows for the action.
    pub classification: Classification,
    /// Whether the action makes the verdict FAILED. Tests that fail as the RED phase demands also make the verdict
    /// FAILED, unless they were declared to fail. In both cases, declared or not, a `proctor` command exits as after a
    /// success (G5).
    pub blocking: Blocking,
    pub debt: DebtGeneration,
    pub agent_action: AgentAction,
    /// The tool's findings, after the policy dropped or promoted some of them (C24).
    pub diagnostics: Vec<Diagnostic>,
    /// How many errors and warnings the tool found; `None` if the tool does not search for findings.
    pub summary: Option<DiagnosticSummary>,
}

/// How a run ended (J5, E17).
#[wire(Copy, Hash, screaming, schema)]
pub enum OverallStatus {
    Success,
    /// At least one step passed, but other steps failed or were skipped, or there are findings that the policy allows.
    PartialSuccess,
    /// A prerequisite failed, or no step passed.
    Failed,
    SpecificationError,
    /// proctor was stopped or died during the run, so there is no verdict.
    Interrupted,
    /// A newer save stopped the run, so there is no verdict.
    Superseded,
    /// The tree changed during the run, so there is no verdict.
    Moved,
    /// The checks passed, and one of them left other content in its copy of the tree than the tree has: what ran was not all on the
    /// tree that was digested. Such a run is shown, and it is no verdict on its tree.
    RewroteTree,
}

/// The verdict on one tree. It is FAILED, for example, if at least one result blocks.
#[wire(Copy, Hash, upper, schema)]
pub enum OverallResult {
    Passed,
    Failed,
}

/// The task's status as the report shows it: COMPLETE, PARTIAL or FAILED.
#[wire(Copy, Hash, upper, schema)]
pub enum TaskStatus {
    Complete,
    /// No result blocks, but the task is not complete.
    Partial,
    Failed,
}

/// Why a task is PARTIAL although no result blocks.
#[wire(Copy, Hash, screaming, schema)]
pub enum PartialReason {
    /// There are findings that the policy allows, such as warnings.
    NonBlockingFindings,
    /// Tests failed that were declared to fail.
    ExpectedRed,
    /// Some checks were not run, because only others were selected by name or triggered by the change.
    ChecksLeftOut,
    /// The verdict is PASSED, but a completion criterion is not met: too few steps pass, required evidence is missing,
    /// or no test ran.
    CriteriaUnmet,
    /// Protected files differ from the approved ones, and a person has to approve them (S7).
    ProtectedFiles,
    /// A check left other content in its copy of the tree than the tree has.
    RewroteTree,
    /// The run was judged by rules that nobody had approved (S7).
    ChangedRules,
    /// No check runs the project's own test command.
    TestsNotRun,
}

/// Whether the task may be marked as done.
#[wire(Copy, Hash, upper, schema, named)]
pub enum CompletionStatus {
    Complete,
    Incomplete,
}

impl ResultType {
    /// Returns whether the action was executed. An action with a wrong specification has a result although it was not
    /// executed (C62).
    pub fn was_executed(self) -> bool {
        match self {
            Self::SpecificationError => false,
            Self::Success
            | Self::TestFailure
            | Self::ExecutionError
            | Self::ValidationFailure
            | Self::Timeout
            | Self::PrerequisiteFailure => true,
        }
    }
}

impl OverallStatus {
    /// Returns whether a run with this status is a verdict on its tree. A run without a verdict changes neither the TDD
    /// state nor the link `latest` (E17).
    pub fn counts(self) -> bool {
        match self {
            Self::Success | Self::PartialSuccess | Self::Failed | Self::SpecificationError | Self::RewroteTree => true,
            Self::Interrupted | Self::Superseded | Self::Moved => false,
        }
    }
}

impl Classification {
    /// Returns a classification in which every optional key is absent.
    pub fn plain(category: ResultType, code: CategoryCode, reason: impl Into<String>) -> Self {
        Self {
            category,
            code,
            reason: reason.into(),
            tool_succeeded: None,
            tool_failed: None,
            tests_ran: None,
            code_has_issues: None,
            is_expected_failure: None,
            is_tdd_red_phase: None,
            issue_type: None,
            severity: None,
            validation_errors: Vec::new(),
            missing_tests: Vec::new(),
            blocks_compilation: None,
            validation_tool: None,
            policy_applied: None,
            fixable: None,
            error_type: None,
            recoverable_action: None,
            possible_causes: Vec::new(),
            underlying: None,
            prerequisite_type: None,
            can_continue: None,
            limit: None,
            timeout_value: None,
            output_limit: None,
            actual_duration: None,
        }
    }
}

impl DebtGeneration {
    /// Returns the decision that no debt item is written, with the reason.
    pub fn none(reason: impl Into<String>) -> Self {
        Self {
            should_generate: false,
            category: None,
            severity: None,
            title: None,
            reason: Some(reason.into()),
            specific_file: None,
            specific_line: None,
            suggested_fix: None,
        }
    }
}

impl PolicyApplied {
    /// Returns the record of an applied policy, with the name of its strategy.
    pub fn of(block_on: BlockOn, source: PolicySource, blocking: Blocking, reason: impl Into<String>) -> Self {
        Self {
            strategy: block_on.strategy().to_owned(),
            blocking: blocking == Blocking::Blocks,
            reason: reason.into(),
            policy_source: source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CompletionStatus, Severity};

    #[test]
    fn words_are_those_of_the_json_form() {
        for severity in [Severity::Low, Severity::Medium, Severity::High, Severity::Critical] {
            assert_eq!(serde_json::to_value(severity).unwrap(), severity.word());
        }
        for status in [CompletionStatus::Complete, CompletionStatus::Incomplete] {
            assert_eq!(serde_json::to_value(status).unwrap(), status.word());
        }
    }
}
