//! The outcomes of actions and runs: result types, classifications, debt, statuses (seed 004; tables R1, R3–R5).

use serde::{Deserialize, Serialize};

use crate::model::{BlockOn, ByteSize, CategoryCode, Diagnostic, DiagnosticSummary, DurationMs, LimitKind, PolicySource};

/// The seven result types of seed 004. Every action that was carried out has exactly one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ResultType {
    /// Every requirement of a success was seen to be met.
    Success,
    /// Tests failed, could not be collected, or none ran.
    TestFailure,
    /// The tool could not do its work.
    ExecutionError,
    /// The tool did its work and found errors in the code.
    ValidationFailure,
    /// A limit was exceeded.
    Timeout,
    /// A prerequisite did not succeed.
    PrerequisiteFailure,
    /// The specification is wrong; nothing was run.
    SpecificationError,
}

/// The severity of a result or of a debt item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline, description = "A severity."))]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// It can wait.
    Critical = 4,
    /// It should be looked at.
    High = 3,
    /// It must be fixed.
    Medium = 2,
    /// It must be fixed before anything else.
    Low = 1,
}

/// Whether a result decides the verdict (E7). Whether the run continues after it is a separate setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Blocking {
    /// The result makes the verdict FAILED.
    Blocks,
    /// The result leaves the verdict open: it may still be PASSED.
    Allowed,
}

/// The debt categories: the eight of specification 2.0.0 and REFACTOR (C41).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DebtCategory {
    /// An endpoint answers 404.
    ApiEndpointMissing,
    /// Something that should be validated is not.
    ValidationMissing,
    /// Errors are not handled.
    ErrorHandlingMissing,
    /// The code computes the wrong thing.
    BusinessLogicError,
    /// The database's schema is wrong.
    DatabaseSchemaIssue,
    /// Something the run needs is not there or does not answer.
    IntegrationFailure,
    /// It takes too long.
    PerformanceIssue,
    /// It is insecure.
    SecurityVulnerability,
    /// It works and should be written better.
    Refactor,
}

/// The policy that was applied to an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyApplied {
    /// The strategy's name, for example `BLOCK_ON_ERRORS_ONLY`.
    pub strategy: String,
    /// Whether the findings block.
    pub blocking: bool,
    /// The reason, with the counts.
    pub reason: String,
    /// Where the policy was set.
    pub policy_source: PolicySource,
}

/// The classification of an action, with the keys of seed 004. Keys that do not apply are absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Classification {
    pub category: ResultType,
    /// The category code, a row of table E4 or of the tables like it.
    pub code: CategoryCode,
    /// The explanation for people.
    pub reason: String,
    /// Whether the tool could do its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_succeeded: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_failed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_ran: Option<bool>,
    /// Whether the code has errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_has_issues: Option<bool>,
    /// Whether the failure was declared before the run (C06).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_expected_failure: Option<bool>,
    /// Whether it is a valid RED of a started cycle. Without declared failing tests a RED excuses nothing (R6).
    #[serde(rename = "isTDDRedPhase", skip_serializing_if = "Option::is_none")]
    pub is_tdd_red_phase: Option<bool>,
    /// The kind of finding: `TYPE_ERROR`, `LINT_ERROR`, `LINT_WARNING`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The errors in the action's specification.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub validation_errors: Vec<String>,
    /// Tests that passed in the last green run and no longer exist (an addition to seed 004, C07).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub missing_tests: Vec<String>,
    /// Whether the findings keep the code from compiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_compilation: Option<bool>,
    /// The tool's name in reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_applied: Option<PolicyApplied>,
    /// Whether the tool can fix some of the findings automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixable: Option<bool>,
    /// The kind of error: `TOOL_NOT_FOUND`, `USAGE_ERROR` and others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// What a person can do right away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recoverable_action: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub possible_causes: Vec<String>,
    /// The result type that the same outcome has outside of prerequisites (C08).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub underlying: Option<ResultType>,
    /// The purpose of the failed prerequisite, in specification 2.0.0's words: `SERVICE_HEALTHY`, `FILE_EXISTS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prerequisite_type: Option<String>,
    /// Whether the run could continue after a failed prerequisite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_continue: Option<bool>,
    /// The limit that was exceeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitKind>,
    /// The value of the limit, when it is a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_value: Option<DurationMs>,
    /// The value of the limit, when it is an amount of output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_limit: Option<ByteSize>,
    /// The measured duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_duration: Option<DurationMs>,
}

/// Whether a result becomes a debt item, and the content of the item (R4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DebtGeneration {
    pub should_generate: bool,
    /// The item's category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<DebtCategory>,
    /// The item's severity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The item's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Why an item is created, or why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The file of the first finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specific_file: Option<String>,
    /// The line of the first finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specific_line: Option<u64>,
    /// The suggested fix, based only on what was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_fix: Option<String>,
}

/// What an agent should do about a result. The words are the fixed list of seed 004's last table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentAction {
    /// Whether the agent has to do anything.
    pub required: bool,
    /// One of `FIX_CODE`, `FIX_TYPES`, `FIX_SPECIFICATION`, `INSTALL_TOOL`, `START_SERVER`, `IMPLEMENT_FIX`, `ADD_TESTS`,
    /// `OPTIMIZE_OR_RAISE_TIMEOUT`, `ASK_HUMAN`, `CONTINUE`.
    pub action: String,
    /// The instruction in words.
    pub message: String,
}

/// The judgement of an action that was carried out. `report/` shows it, and nothing judges the action again.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionJudgement {
    /// The classification, whose category becomes the action's status.
    pub classification: Classification,
    /// Whether the action decides the verdict. A valid RED blocks too; the run's exit code takes it into account (G5).
    pub blocking: Blocking,
    pub debt: DebtGeneration,
    pub agent_action: AgentAction,
    /// The tool's findings, after the policy dropped or promoted some of them (C24).
    pub diagnostics: Vec<Diagnostic>,
    /// Counts of the findings; `None` if the action does not search for findings.
    pub summary: Option<DiagnosticSummary>,
}

/// How a run ended (R5, E17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OverallStatus {
    Success,
    /// Some actions succeeded.
    PartialSuccess,
    /// The run was aborted, or no step succeeded.
    Failed,
    /// The specification is wrong; nothing was run.
    SpecificationError,
    /// proctor was stopped or died.
    Interrupted,
    /// A newer save stopped the run.
    Superseded,
    /// The tree changed during the run.
    Moved,
}

/// The verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum OverallResult {
    Passed,
    Failed,
}

/// The task's status as the report shows it: COMPLETE, PARTIAL or FAILED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TaskStatus {
    Complete,
    /// Nothing blocks, but the task is not complete.
    Partial,
    Failed,
}

/// Why a task is PARTIAL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PartialReason {
    /// There are findings that the policy allows.
    NonBlockingFindings,
    /// Tests failed that were declared to fail.
    ExpectedRed,
    /// Some checks were not run, because only others were selected by name or triggered by the change.
    ChecksLeftOut,
    /// The verdict is PASSED, but a completion criterion is not met: the pass rate, required evidence, or that a test ran.
    CriteriaUnmet,
    /// Protected files differ from the approved ones, and a person has to approve them (S7).
    ProtectedFiles,
}

/// Whether the task may be marked as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CompletionStatus {
    Complete,
    Incomplete,
}

impl ResultType {
    /// Returns whether the action was executed. An action with a wrong specification is among the results but was not executed (C62).
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

impl CompletionStatus {
    /// Returns its word, as it is written in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "COMPLETE",
            Self::Incomplete => "INCOMPLETE",
        }
    }
}

impl Severity {
    /// Returns its word, as it is written in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Critical => "CRITICAL",
        }
    }
}

impl OverallStatus {
    /// Returns whether a run with this status is a verdict on its tree. Only then may it change TDD state and `latest` (E17).
    pub fn counts(self) -> bool {
        match self {
            Self::Success | Self::PartialSuccess | Self::Failed | Self::SpecificationError => true,
            Self::Interrupted | Self::Superseded | Self::Moved => false,
        }
    }
}

impl Classification {
    /// Returns a classification without any optional key.
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
    /// Returns the decision that no debt item is created, with the reason.
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

impl Severity {
    /// All severities, worst first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Medium, Self::Low];
}

impl ResultType {
    /// All result types, in the order of seed 004.
    pub const ALL: [Self; 7] = [
        Self::Success,
        Self::TestFailure,
        Self::ExecutionError,
        Self::ValidationFailure,
        Self::Timeout,
        Self::PrerequisiteFailure,
        Self::SpecificationError,
    ];
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
