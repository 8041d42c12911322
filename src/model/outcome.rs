//! What an action and a run amount to: result types, classifications, debt, statuses (seed 004; tables R1, R3–R5).

use serde::{Deserialize, Serialize};

use crate::model::{BlockOn, ByteSize, CategoryCode, Diagnostic, DiagnosticSummary, DurationMs, LimitKind, PolicySource};

/// The seven result types of seed 004; every action that was carried out has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ResultType {
    /// Everything it stands for was seen to be true.
    Success,
    /// Tests failed, could not be collected, or none ran.
    TestFailure,
    /// The tool could not do its work.
    ExecutionError,
    /// The tool did its work and found issues in the code.
    ValidationFailure,
    /// A limit was hit.
    Timeout,
    /// A prerequisite did not succeed.
    PrerequisiteFailure,
    /// The specification is wrong; nothing was run.
    SpecificationError,
}

/// How bad a result or a debt item is.
// Declared as the published schema lists them, and compared by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline, description = "A severity."))]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Must be mended before anything else.
    Critical = 4,
    /// Must be mended.
    High = 3,
    /// Should be looked at.
    Medium = 2,
    /// Can wait.
    Low = 1,
}

/// Whether a result decides the verdict (E7). Flow is another matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Blocking {
    /// The verdict is FAILED.
    Blocks,
    /// The verdict may still be PASSED.
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

/// The policy as it was applied to one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyApplied {
    /// The strategy's name, for example `BLOCK_ON_ERRORS_ONLY`.
    pub strategy: String,
    /// Whether the findings block.
    pub blocking: bool,
    /// Why, with the counts.
    pub reason: String,
    /// Where the policy came from.
    pub policy_source: PolicySource,
}

/// The classification of one action, with seed 004's keys. Keys that do not apply are absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Classification {
    /// The result type.
    pub category: ResultType,
    /// The row that applied (E4 and its siblings).
    pub code: CategoryCode,
    /// The sentence for people.
    pub reason: String,
    /// Whether the tool did its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_succeeded: Option<bool>,
    /// Whether the tool failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_failed: Option<bool>,
    /// Whether any test ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_ran: Option<bool>,
    /// Whether the code has issues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_has_issues: Option<bool>,
    /// Whether the failure was declared beforehand (C06).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_expected_failure: Option<bool>,
    /// Whether it is a valid RED of a started cycle. Without declared failing tests this excuses nothing (R6).
    #[serde(rename = "isTDDRedPhase", skip_serializing_if = "Option::is_none")]
    pub is_tdd_red_phase: Option<bool>,
    /// `TYPE_ERROR`, `LINT_ERROR`, `LINT_WARNING`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue_type: Option<String>,
    /// How bad it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// What is wrong with the action's specification.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub validation_errors: Vec<String>,
    /// Tests that passed in the last green run and are not there any more (addition, C07).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub missing_tests: Vec<String>,
    /// Whether it keeps the code from being compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_compilation: Option<bool>,
    /// The tool's name in reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_tool: Option<String>,
    /// The policy that was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_applied: Option<PolicyApplied>,
    /// Whether the tool can mend some of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixable: Option<bool>,
    /// `TOOL_NOT_FOUND`, `USAGE_ERROR` and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// What a person can do at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recoverable_action: Option<String>,
    /// What may have led to it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub possible_causes: Vec<String>,
    /// What the result would have been outside the prerequisites (C08).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub underlying: Option<ResultType>,
    /// What the failed prerequisite was there for, in specification 2.0.0's words: `SERVICE_HEALTHY`, `FILE_EXISTS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prerequisite_type: Option<String>,
    /// Whether the run could go on after a failed prerequisite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_continue: Option<bool>,
    /// The limit that was hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitKind>,
    /// The limit's value, where it is one of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_value: Option<DurationMs>,
    /// The limit's value, where it is one of output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_limit: Option<ByteSize>,
    /// How long it really took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_duration: Option<DurationMs>,
}

/// Whether a result becomes a debt item, and which (R4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DebtGeneration {
    /// Whether an item is due.
    pub should_generate: bool,
    /// Its category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<DebtCategory>,
    /// Its severity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Why, or why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The file of the first finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specific_file: Option<String>,
    /// The line of the first finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specific_line: Option<u64>,
    /// What to do, made only of what was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_fix: Option<String>,
}

/// What an agent should do about a result; closed words, one of seed 004's last table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentAction {
    /// Whether anything is to be done.
    pub required: bool,
    /// `FIX_CODE`, `FIX_TYPES`, `FIX_SPECIFICATION`, `INSTALL_TOOL`, `START_SERVER`, `IMPLEMENT_FIX`, `ADD_TESTS`, `OPTIMIZE_OR_RAISE_TIMEOUT`, `ASK_HUMAN`, `CONTINUE`.
    pub action: String,
    /// The sentence for it.
    pub message: String,
}

/// What the judge says of one action that was carried out; `report/` shows it, and nobody judges it again.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionJudgement {
    /// Its category is the action's status.
    pub classification: Classification,
    /// Whether it decides the verdict. A valid RED blocks too; the run and the command know what to make of it (G5).
    pub blocking: Blocking,
    pub debt: DebtGeneration,
    pub agent_action: AgentAction,
    /// The tool's findings after the policy dropped and promoted some (C24).
    pub diagnostics: Vec<Diagnostic>,
    /// Counts over them; none where nothing was looked for.
    pub summary: Option<DiagnosticSummary>,
}

/// What happened in a run (R5, E17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OverallStatus {
    /// Every action succeeded.
    Success,
    /// Some did.
    PartialSuccess,
    /// It was aborted, or no step succeeded.
    Failed,
    /// The specification is wrong; nothing was run.
    SpecificationError,
    /// proctor was stopped or died.
    Interrupted,
    /// A newer save stopped it.
    Superseded,
    /// The tree changed while it ran.
    Moved,
}

/// The verdict: whether nothing blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum OverallResult {
    /// Nothing blocks.
    Passed,
    /// Something blocks.
    Failed,
}

/// The task's status as its owner sees it (Amendment 3 of the original documents).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TaskStatus {
    /// Done.
    Complete,
    /// Not blocked, not clean.
    Partial,
    /// Blocked.
    Failed,
}

/// Why a task is PARTIAL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PartialReason {
    /// Findings that the policy allows.
    NonBlockingFindings,
    /// A declared RED.
    ExpectedRed,
    /// Some checks were not run: others were asked for by name, or the change triggers them only.
    ChecksLeftOut,
    /// The verdict is PASSED, but a completion criterion is not met: the pass rate, evidence, or that a test ran.
    CriteriaUnmet,
    /// Protected files are not what was approved, and a person is asked for (S7).
    ProtectedFiles,
}

/// Whether the task may be ticked off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CompletionStatus {
    /// It may.
    Complete,
    /// It may not.
    Incomplete,
}

impl OverallStatus {
    /// Returns whether a run that ended so is a verdict on its tree: it may touch TDD state and `latest` (E17).
    pub fn counts(self) -> bool {
        match self {
            Self::Success | Self::PartialSuccess | Self::Failed | Self::SpecificationError => true,
            Self::Interrupted | Self::Superseded | Self::Moved => false,
        }
    }
}

impl Classification {
    /// Returns a classification with every optional key absent.
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
    /// Returns that no item is due, and why.
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
    /// Returns the record of a policy with its strategy's name.
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
    /// All severities, the worst first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Medium, Self::Low];
}

impl ResultType {
    /// All result types, in the order seed 004 lists them.
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
