//! What a person or a rule has approved of a plan, in a form that a later plan can be compared with (S7).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    ActionId, ActionPhase, ActionWords, ApprovalTerms, ApprovedProgram, CoverageTarget, Digest, EvidenceKind, ExpectedOutput,
    JudgedSettings, OnSurvivors, ProtectedFiles, Reuse, Sequence, Severity, TaskId, ToolPolicy, TreeDigest,
};

/// Stands in place of a file name for a plan that was discovered from the project's own files.
pub const FOUND_IN_PROJECT: &str = ".";

/// What a plan demands of the project. A later plan that demands less, or something else, is weaker and needs a
/// person's approval.
///
/// These demands are stored in the ledger with the approval, so that no file that could be changed decides what was
/// approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanTerms {
    /// What the plan demands of each action.
    pub actions: BTreeMap<ActionId, ActionTerms>,
    /// The time limit for all prerequisites and steps together; `None` if they have no such limit.
    pub timeout_ms: Option<u64>,
    /// The success conditions; all of them must be met.
    pub success: Vec<String>,
    /// The failure conditions; none of them may be triggered.
    pub failure: Vec<String>,
    /// The output that the steps must have printed.
    pub expected_output: ExpectedOutput,
    /// The smallest share of steps that must end with SUCCESS, in hundredths of a per cent; `None` if the task has no
    /// criteria of its own.
    pub pass_rate_basis_points: Option<u32>,
    /// The tests that are declared to fail. Their failures do not count against the task (C06).
    pub expected_failing_tests: Vec<String>,
    /// The kinds of evidence that the run must produce, at least one file of each.
    pub required_evidence: Vec<EvidenceKind>,
    /// Whether only proctor may set the task's status. A later plan without this lock is weaker.
    pub task_status_lock: bool,
    /// The digest of those criteria of the task that no other field here holds; `None` if the task has no criteria of
    /// its own.
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
    /// The approved settings of the project: isolation, environment, tree, limits. They hold for all tasks of the
    /// project, so the newest approval of any task decides. `None` in approvals that were written before settings were
    /// approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<JudgedSettings>,
}

/// What a plan demands of one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionTerms {
    /// The action's name, by which a later plan's action is matched with this one. `None` for a plan from a test
    /// specification: its actions are matched by their ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The digest of what the action does and in which phase: command, directory, variables, tool, file or request, and
    /// the requirements on them.
    pub does: Digest,
    /// Like `does`, but without the path of the program, for a command that proctor itself chose; `None` for other
    /// commands. The path may change, for example when `.venv` is created, and that makes no plan weaker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub does_with_found: Option<Digest>,
    /// What the action does, in words for people.
    pub shown: String,
    /// What the action runs, part by part; `None` in approvals that were written before the parts were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<ActionWords>,
    /// What was found of the command's program when the command was approved. `None` if that is not known, for example in
    /// approvals that were written before it was recorded. Only checks have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ApprovedProgram>,
    /// The tree for which a rule first approved the command. `None` if that is not known, if a person approved it, or in approvals
    /// that were written before it was recorded. Only checks have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_on: Option<TreeDigest>,
    /// The action's phase; `None` for a check. Prerequisites and clean-up work in the project itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<ActionPhase>,
    /// Whether the check runs in the project itself, also where the other checks run on a snapshot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// The exit codes that count as success.
    pub expected_exit_codes: Vec<i32>,
    /// The limit on the duration of one attempt of the action, in milliseconds.
    pub timeout_ms: u64,
    /// The limit on the time in which the action prints nothing, in milliseconds; `None` means no limit.
    pub idle_timeout_ms: Option<u64>,
    /// The most bytes that the action may print; `None` means no limit.
    pub max_output_bytes: Option<u64>,
    /// Which findings make the verdict FAILED; `None` if no policy applies to the action.
    pub policy: Option<ToolPolicy>,
    /// The coverage that the check must reach; `None` if none is required.
    pub coverage: Option<CoverageTarget>,
    /// The largest number of times that an action is repeated while it does not succeed.
    pub retry_attempts: u8,
    /// Whether the action fails if processes of it are still running after its end.
    pub on_survivors: OnSurvivors,
    /// Globs of the paths that trigger the action; empty if every path does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Globs of the files that are copied to the project after the action wrote them in its snapshot; empty if no file
    /// is copied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Whether the test runner must first prove, by a control, that it reports a failing test as failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// In which runs an earlier result is used instead of running the action.
    #[serde(default, skip_serializing_if = "Reuse::is_off")]
    pub reuse: Reuse,
}

/// Why a plan counts as approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ApprovalReason {
    /// The plan is the first one of a task that is new to the project.
    NewTask,
    /// The plan demands no less than the plan that was approved before.
    WeakensNothing,
    /// A person approved the plan.
    Person,
}

/// The approval of a task's plan, as the ledger records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalRecord {
    pub task: TaskId,
    /// The file that the plan comes from, relative to the project; [`FOUND_IN_PROJECT`] for checks that no file names.
    pub file: String,
    /// The digest of the plan with all defaults filled in.
    pub plan_digest: Digest,
    pub reason: ApprovalReason,
    /// What the plan weakens compared with the approved plan, in words. Only a person approves a plan that weakens
    /// something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<String>,
    pub terms: PlanTerms,
    /// The digests of the protected files at the approval; `None` if no file is protected, or if the digests were not
    /// computed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<ProtectedFiles>,
    /// A person's signature over the approval, as `ssh-keygen -Y sign` writes it; `None` if no person signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The latest approval of a task's plan. Every later plan is compared with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentApproval {
    /// The ledger line that holds the approval.
    pub sequence: Sequence,
    pub plan_digest: Digest,
    /// The demands of the approved plan.
    pub terms: PlanTerms,
    /// The digests of the protected files at the approval, as in [`ApprovalRecord::protected`].
    pub protected: Option<ProtectedFiles>,
}

/// A plan that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnapprovedPlan {
    pub task: TaskId,
    /// The file that the plan comes from, as in [`ApprovalRecord::file`].
    pub file: String,
    pub asks_for: AsksFor,
    /// What the plan and the settings weaken compared with what was approved, one sentence each.
    pub weakened: Vec<String>,
    /// The names of the settings and checks that `weakened` is about; empty if it is about the plan as a whole.
    pub names: Vec<String>,
    /// Which protected files differ from the approved ones, one sentence each.
    pub protected: Vec<String>,
    /// What the plan demands in addition to the approved plan, one sentence each.
    pub strengthened: Vec<String>,
    /// Other changes of the plan that do not make the verdict easier to pass, one sentence each.
    pub neutral: Vec<String>,
    pub way: ApprovalWay,
}

impl UnapprovedPlan {
    /// Returns the name that a person types to approve the plan: the name of the first setting or check that is weaker, or the
    /// name of the task if there is no such setting or check.
    pub fn name_to_type(&self) -> &str {
        self.names.first().map_or_else(|| self.task.as_str(), String::as_str)
    }
}

/// What a plan that waits for approval asks for, compared with what was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsksFor {
    /// The plan demands less, or the settings are weaker.
    Less,
    /// The only unapproved changes are changes of settings that give actions access to more of the machine.
    More,
    /// The same, in a project of which no settings were approved yet.
    MoreAtFirst,
}

impl AsksFor {
    /// Returns the verb with its objects, after a plan's name.
    pub fn words(self) -> &'static str {
        match self {
            Self::Less => "asks for less than was approved",
            Self::More => "asks for more than was approved",
            Self::MoreAtFirst => "asks for more than a project may without an approval",
        }
    }
}

/// In which way a person can approve a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalWay {
    /// The person answers at a terminal, or signs with a listed key.
    Answer,
    /// The person must sign with a listed key, because the approved plan requires a signature.
    Signature,
}

/// Returns the words by which messages name a task's plan from `file`.
pub fn plan_subject(task: &TaskId, file: &str) -> String {
    if file == FOUND_IN_PROJECT { format!("task `{task}` as found in the project") } else { format!("task `{task}` of `{file}`") }
}

/// Returns the command with which a person approves a task's plan.
pub fn approve_command(task: &TaskId) -> String {
    if *task == TaskId::default_task() { "proctor approve".to_owned() } else { format!("proctor approve --task {task}") }
}
