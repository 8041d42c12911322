//! What was approved of a plan, in a form that a later plan can be compared with (S7).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    ActionId, ApprovalTerms, CoverageTarget, Digest, EvidenceKind, ExpectedOutput, OnSurvivors, ProtectedFiles, Reuse, Sequence,
    Severity, TaskId, ToolPolicy,
};

/// The file name recorded for a plan that was discovered from the project's own files.
pub const FOUND_IN_PROJECT: &str = ".";

/// The demands of a plan. Asking for less than these, or for something else, is a weakening.
///
/// The terms are kept in the ledger with the approval, so that what was approved does not depend on any file that could be
/// changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanTerms {
    /// The demands of each action.
    pub actions: BTreeMap<ActionId, ActionTerms>,
    /// The common time limit of prerequisites and steps.
    pub timeout_ms: Option<u64>,
    /// The success conditions, all of which must be met.
    pub success: Vec<String>,
    /// The failure conditions, none of which may be triggered.
    pub failure: Vec<String>,
    /// The output that the steps must have printed.
    pub expected_output: ExpectedOutput,
    /// The smallest share of steps that must end with SUCCESS, in hundredths of a per cent; `None` if the task has no criteria of its own.
    pub pass_rate_basis_points: Option<u32>,
    /// The tests that are declared to fail and are excused when they do (C06).
    pub expected_failing_tests: Vec<String>,
    /// The kinds of evidence that the run must produce, at least one file of each.
    pub required_evidence: Vec<EvidenceKind>,
    /// Whether only proctor may set the task's status. A plan that gives this up is weaker.
    pub task_status_lock: bool,
    /// The digest of the remaining criteria of the task; `None` if it has no criteria of its own.
    pub judged: Option<Digest>,
    /// The tasks that must be complete before this one runs.
    pub dependencies: Vec<TaskId>,
    /// The settings for strict type checking that the project must keep (C24).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strictness: Vec<String>,
    /// The severities whose failures become debt; empty if no failure becomes debt.
    pub debt: Vec<Severity>,
    /// How a weaker plan is approved, and which files are protected.
    #[serde(default, skip_serializing_if = "ApprovalTerms::is_default")]
    pub approval: ApprovalTerms,
}

/// The demands of one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionTerms {
    /// The action's name, when no other action of the plan has it; `None` if the action is identified by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The digest of what it does and in which phase: command, directory, variables, tool, file or request, and the checks on
    /// these.
    pub does: Digest,
    /// Like `does`, but without a program that proctor looked up itself: another program found later is accepted as equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub does_with_found: Option<Digest>,
    /// What it does, as text for display.
    pub shown: String,
    /// The exit codes that count as success.
    pub expected_exit_codes: Vec<i32>,
    /// The wall-clock limit.
    pub timeout_ms: u64,
    /// The longest allowed time without output.
    pub idle_timeout_ms: Option<u64>,
    /// The largest allowed output.
    pub max_output_bytes: Option<u64>,
    /// The policy by which findings are judged.
    pub policy: Option<ToolPolicy>,
    /// The coverage that must be reached.
    pub coverage: Option<CoverageTarget>,
    /// How many times a failed attempt is repeated.
    pub retry_attempts: u8,
    /// The effect on the result if the action leaves processes behind.
    pub on_survivors: OnSurvivors,
    /// Globs of the paths that trigger the action; empty if every path does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Whether the runner must first show that it fails a test that has to fail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// When an earlier verdict may be used instead of running the action.
    #[serde(default, skip_serializing_if = "Reuse::is_off")]
    pub reuse: Reuse,
}

/// Why a plan counts as approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalReason {
    /// It is the first plan of a task that is new to the project.
    NewTask,
    /// It weakens nothing compared with the plan that was approved before.
    WeakensNothing,
    /// A person approved it at a terminal.
    Person,
}

/// The approval of a task's plan, as the ledger records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalRecord {
    pub task: TaskId,
    /// The file that the plan comes from, relative to the project; [`FOUND_IN_PROJECT`] for checks that no file names.
    pub file: String,
    /// The digest of the plan with all defaults filled in.
    pub plan_digest: Digest,
    pub reason: ApprovalReason,
    /// What the plan weakens compared with the approved plan, in words. Only a person approves a plan that weakens something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<String>,
    /// The demands that are approved.
    pub terms: PlanTerms,
    /// The protected files as approved; `None` if no files are protected, or their digests were not computed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<ProtectedFiles>,
    /// A person's signature over the approval, as `ssh-keygen -Y sign` writes it; `None` if it was approved without a signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The approval in force for a task. A later plan is compared with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentApproval {
    /// The ledger line that holds the approval.
    pub sequence: Sequence,
    /// The digest of the approved plan.
    pub plan_digest: Digest,
    /// The demands that are approved.
    pub terms: PlanTerms,
    /// The protected files as approved, as in [`ApprovalRecord::protected`].
    pub protected: Option<ProtectedFiles>,
}

/// A plan that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnapprovedPlan {
    pub task: TaskId,
    /// The file that the plan comes from, as in [`ApprovalRecord::file`].
    pub file: String,
    /// What the plan weakens, in words.
    pub weakened: Vec<String>,
    /// Which protected files differ from the approved ones, in words.
    pub protected: Vec<String>,
    /// What the plan demands beyond the approved plan, in words.
    pub strengthened: Vec<String>,
    /// Other changes that do not make the verdict easier to pass, in words.
    pub neutral: Vec<String>,
    /// How a person can approve it.
    pub way: ApprovalWay,
}

/// How a person can approve a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalWay {
    /// By an answer at a terminal, or by a signature with a listed key.
    Answer,
    /// By a signature only, because the approved plan requires one.
    Signature,
}

/// Returns the name for messages of a task's plan from `file`.
pub fn plan_subject(task: &TaskId, file: &str) -> String {
    if file == FOUND_IN_PROJECT { format!("task `{task}` as found in the project") } else { format!("task `{task}` of `{file}`") }
}

/// Returns the command with which a person approves a task's plan.
pub fn approve_command(task: &TaskId) -> String {
    if *task == TaskId::default_task() { "proctor approve".to_owned() } else { format!("proctor approve --task {task}") }
}
