//! What was approved of a plan, in terms that a later plan can be compared with (S7).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    ActionId, ApprovalTerms, CoverageTarget, Digest, EvidenceKind, ExpectedOutput, OnSurvivors, ProtectedFiles, Reuse, Sequence,
    Severity, TaskId, ToolPolicy,
};

/// Stands for the file of a plan that was found from the project's own files.
pub const FOUND_IN_PROJECT: &str = ".";

/// What a plan asks for: everything of which less, or something else, would be a weakening.
///
/// It lies in the ledger with the approval, so that what was approved does not depend on any file that could be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanTerms {
    /// Its actions.
    pub actions: BTreeMap<ActionId, ActionTerms>,
    /// How long prerequisites and steps may take together.
    pub timeout_ms: Option<u64>,
    /// The conditions that must be met.
    pub success: Vec<String>,
    /// The conditions that must not be triggered.
    pub failure: Vec<String>,
    /// What must have been printed.
    pub expected_output: ExpectedOutput,
    /// The least share of steps that must be SUCCESS, in hundredths of a per cent; none: the task has no criteria of its own.
    pub pass_rate_basis_points: Option<u32>,
    /// The tests that are declared to fail, and excused where they do (C06).
    pub expected_failing_tests: Vec<String>,
    /// Kinds of evidence of which the run must have left a file.
    pub required_evidence: Vec<EvidenceKind>,
    /// Whether only proctor may set the task's status.
    pub task_status_lock: bool,
    /// Digest of whatever else the task is judged by; none: it has no criteria of its own.
    pub judged: Option<Digest>,
    /// The tasks that must be complete first.
    pub dependencies: Vec<TaskId>,
    /// What is said of type checkers' strictness, to which the project is held (C24).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strictness: Vec<String>,
    /// The severities whose failures become debt; empty: none do.
    pub debt: Vec<Severity>,
    /// How it is approved that it asks for less, and which files are protected.
    #[serde(default, skip_serializing_if = "ApprovalTerms::is_default")]
    pub approval: ApprovalTerms,
}

/// What one action asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionTerms {
    /// Its name, where that tells it from the plan's other actions: its number says nothing then. None: its id does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Digest of what it does and in which phase: command, directory, variables, tool, file or request, and what is asked of these.
    pub does: Digest,
    /// The same but for the program of its command, where that was found and not written: another that is found does as much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub does_with_found: Option<Digest>,
    /// What it does, for people.
    pub shown: String,
    /// Exit codes that succeed.
    pub expected_exit_codes: Vec<i32>,
    /// Its wall-clock limit.
    pub timeout_ms: u64,
    /// Its longest time without output.
    pub idle_timeout_ms: Option<u64>,
    /// The most it may print.
    pub max_output_bytes: Option<u64>,
    /// How findings are judged.
    pub policy: Option<ToolPolicy>,
    /// The coverage it must reach.
    pub coverage: Option<CoverageTarget>,
    /// How often it is tried again.
    pub retry_attempts: u8,
    /// What processes that it leaves behind mean.
    pub on_survivors: OnSurvivors,
    /// Globs that limit what triggers it; empty: everything does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Whether its runner must first fail a test that has to fail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// When an earlier verdict may stand for it.
    #[serde(default, skip_serializing_if = "Reuse::is_off")]
    pub reuse: Reuse,
}

/// Why a plan is approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalReason {
    /// It is the first plan of a task that the project did not have.
    NewTask,
    /// It weakens nothing of the plan that was approved before.
    WeakensNothing,
    /// A person said so, at a terminal.
    Person,
}

/// The approval of a task's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalRecord {
    /// The task.
    pub task: TaskId,
    /// The file it comes from, relative to the project; [`FOUND_IN_PROJECT`] for checks that no file names.
    pub file: String,
    /// Digest of the plan as resolved.
    pub plan_digest: Digest,
    /// Why it is approved.
    pub reason: ApprovalReason,
    /// What it weakens of the plan that was approved before, in words; only a person approves that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<String>,
    /// What it asks for.
    pub terms: PlanTerms,
    /// The protected files as they are approved; none: there are none, or nobody has looked at them yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<ProtectedFiles>,
    /// The signature by which a person approved it, as `ssh-keygen -Y sign` writes it; none: it was not approved by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The approval that holds for a task: what a later plan is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldApproval {
    /// The line of the ledger that gave it.
    pub sequence: Sequence,
    /// Digest of the plan.
    pub plan_digest: Digest,
    /// What it asks for.
    pub terms: PlanTerms,
    /// The protected files as they are approved, as in [`ApprovalRecord::protected`].
    pub protected: Option<ProtectedFiles>,
}

/// A plan that is not approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unapproved {
    /// Its task.
    pub task: TaskId,
    /// The file it comes from, as in [`ApprovalRecord::file`].
    pub file: String,
    /// What it weakens, in words.
    pub weakened: Vec<String>,
    /// Which protected files are not what was approved, in words.
    pub protected: Vec<String>,
    /// What it asks for beyond what was approved, in words.
    pub strengthened: Vec<String>,
    /// What changed besides and makes no verdict easier, in words.
    pub neutral: Vec<String>,
    /// By what a person approves it.
    pub way: ApprovalWay,
}

/// By what a person approves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalWay {
    /// By an answer at a terminal, or a signature of a listed key.
    Answer,
    /// By a signature alone: what was approved requires one.
    Signature,
}

/// Returns what people call the plan of a task from a file.
pub fn plan_subject(task: &TaskId, file: &str) -> String {
    if file == FOUND_IN_PROJECT { format!("task `{task}` as found in the project") } else { format!("task `{task}` of `{file}`") }
}

/// Returns the command by which a person approves a task's plan.
pub fn approve_command(task: &TaskId) -> String {
    if *task == TaskId::default_task() { "proctor approve".to_owned() } else { format!("proctor approve --task {task}") }
}
