//! What a person or a rule has approved of a plan, in a form that a later plan can be compared with (S7).
//!
//! Where the program of a command was when the command was approved (S7).
//!
//! The settings of a project that decide how it is judged and what its actions may reach, as an approval records them
//! (S7).

use std::collections::BTreeMap;
use std::fmt;

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::words::quoted_text;
use crate::{
    ActionId, ActionPhase, ActionWords, ApprovalTerms, CoverageTarget, Digest, EvidenceKind, ExpectedOutput, NetworkAccess,
    OnSurvivors, ProtectedFiles, Reuse, Sequence, Severity, Shards, TaskId, ToolPolicy, TreeDigest,
};

/// Stands in place of a file name for a plan that was discovered from the project's own files.
pub const FOUND_IN_PROJECT: &str = ".";

/// What a plan demands of the project. A later plan that demands less, or something else, is weaker and needs a
/// person's approval.
///
/// These demands are stored in the ledger with the approval, so that no file that could be changed decides what was
/// approved.
#[wire(schema)]
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
    /// The programs, by their paths, that the search path finds in directories of the user in front of others of the same names, with the
    /// digests of their bytes. `None` in approvals that were written before they were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_front: Option<BTreeMap<String, Digest>>,
}

/// What a plan demands of one action.
#[wire(schema, sparse)]
pub struct ActionTerms {
    /// The action's name, by which a later plan's action is matched with this one. `None` for a plan from a test
    /// specification: its actions are matched by their ids.
    pub name: Option<String>,
    /// The digest of what the action does and in which phase: command, directory, variables, tool, file or request, and
    /// the requirements on them.
    pub does: Digest,
    /// Like `does`, but without the path of the program, for a command that proctor itself chose; `None` for other
    /// commands. The path may change, for example when `.venv` is created, and that makes no plan weaker.
    pub does_with_found: Option<Digest>,
    /// What the action does, in words for people.
    pub shown: String,
    /// What the action runs, part by part; `None` in approvals that were written before the parts were recorded.
    pub words: Option<ActionWords>,
    /// What was found of the command's program when the command was approved. `None` if that is not known, for example in
    /// approvals that were written before it was recorded. Only checks have it.
    pub program: Option<ApprovedProgram>,
    /// The tree for which a rule first approved the command. `None` if that is not known, if a person approved it, or in approvals
    /// that were written before it was recorded. Only checks have it.
    pub approved_on: Option<TreeDigest>,
    /// The action's phase; `None` for a check. Prerequisites and clean-up work in the project itself.
    pub phase: Option<ActionPhase>,
    /// Into how many parts the tests are divided; `None` if one process runs them all. A test may pass only because another one ran
    /// in another process, so a change is told as another word of the command is.
    pub shards: Option<Shards>,
    /// Whether the check runs in the project itself, also where the other checks run on a snapshot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// The network of the action's processes.
    #[serde(default, skip_serializing_if = "NetworkAccess::is_open")]
    pub network: NetworkAccess,
    /// The exit codes that count as success.
    #[kept]
    pub expected_exit_codes: Vec<i32>,
    /// The limit on the duration of one attempt of the action, in milliseconds.
    pub timeout_ms: u64,
    /// The limit on the time in which the action prints nothing, in milliseconds; `None` means no limit.
    #[kept]
    pub idle_timeout_ms: Option<u64>,
    /// The most bytes that the action may print; `None` means no limit.
    #[kept]
    pub max_output_bytes: Option<u64>,
    /// Which findings make the verdict FAILED; `None` if no policy applies to the action.
    #[kept]
    pub policy: Option<ToolPolicy>,
    /// The coverage that the check must reach; `None` if none is required.
    #[kept]
    pub coverage: Option<CoverageTarget>,
    /// The largest number of times that an action is repeated while it does not succeed.
    pub retry_attempts: u8,
    /// Whether the action fails if processes of it are still running after its end.
    pub on_survivors: OnSurvivors,
    /// Globs of the paths that trigger the action; empty if every path does.
    pub paths: Vec<String>,
    /// Globs of the files that are copied to the project after the action wrote them in its snapshot; empty if no file
    /// is copied.
    pub writes: Vec<String>,
    /// The actions for which it waits, by the names by which actions are matched. `None` in approvals that were written before it
    /// was recorded.
    pub after: Option<Vec<String>>,
    /// Whether the test runner must first prove, by a control, that it reports a failing test as failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// In which runs an earlier result is used instead of running the action.
    #[serde(default, skip_serializing_if = "Reuse::is_never_in_a_run")]
    pub reuse: Reuse,
}

/// Why a plan counts as approved.
#[wire(Copy, Hash, schema)]
pub enum ApprovalReason {
    /// The plan is the first one of a task that is new to the project.
    NewTask,
    /// The rules are those that were approved before. Earlier versions of proctor wrote it also for rules that were stricter, or easier
    /// within limits.
    WeakensNothing,
    /// A person approved the plan.
    Person,
    /// The newest commit that a fetch brought of the followed branch has these rules (`[gate] follow`).
    FollowedBranch,
}

/// The approval of a task's plan, as the ledger records it.
#[wire(schema, sparse)]
pub struct ApprovalRecord {
    pub task: TaskId,
    /// The file that the plan comes from, relative to the project; [`FOUND_IN_PROJECT`] for checks that no file names.
    pub file: String,
    /// The digest of the plan with all defaults filled in.
    pub plan_digest: Digest,
    pub reason: ApprovalReason,
    /// Where the plan differs from the plan that was approved before, in words: what a person approved, or what the followed branch
    /// has. Nothing else approves a plan that differs.
    pub weakened: Vec<String>,
    pub terms: PlanTerms,
    /// The digests of the protected files at the approval; `None` if no file is protected, or if the digests were not
    /// computed yet.
    pub protected: Option<ProtectedFiles>,
    /// A person's signature over the approval, as `ssh-keygen -Y sign` writes it; `None` if no person signed.
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

/// A rule by which a run is judged, and that is not as it was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleChange {
    /// The action, the table of settings, or another part of the rules: `pytest`, `watch`, `plan`.
    pub name: String,
    /// Which field of it differs: `command`, `timeout`, or `added` for the whole action.
    pub field: String,
    /// How it differs, in words for people.
    pub difference: String,
}

impl RuleChange {
    /// Returns what differs without how: each name once, with its fields, such as `pytest: command, timeout`.
    pub fn in_short(changes: &[Self]) -> Vec<String> {
        let mut named: Vec<(&str, Vec<&str>)> = Vec::new();
        for change in changes {
            match named.iter_mut().find(|(name, _)| *name == change.name) {
                Some((_, fields)) if fields.contains(&change.field.as_str()) => {}
                Some((_, fields)) => fields.push(&change.field),
                None => named.push((&change.name, vec![&change.field])),
            }
        }
        named.into_iter().map(|(name, fields)| format!("{name}: {}", fields.join(", "))).collect()
    }
}

impl fmt::Display for RuleChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {}", self.name, self.field, self.difference)
    }
}

/// Where the rules of a plan differ from the approved ones. What differs and is in neither list is free.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleDifference {
    /// Changes that open more of the machine, or change what later runs use: a person approves them before anything runs.
    pub opens: Vec<RuleChange>,
    /// Changes by which a run may be judged differently. The checks run, and the result is no proof until a person approves it.
    pub changed: Vec<RuleChange>,
}

impl RuleDifference {
    pub fn is_empty(&self) -> bool {
        self.opens.is_empty() && self.changed.is_empty()
    }

    /// Adds what differs elsewhere.
    pub fn extend(&mut self, other: Self) {
        self.opens.extend(other.opens);
        self.changed.extend(other.changed);
    }

    /// Returns every change in words for people, those that open the machine first.
    pub fn texts(&self) -> Vec<String> {
        self.opens.iter().chain(&self.changed).map(ToString::to_string).collect()
    }
}

/// A plan that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnapprovedPlan {
    pub task: TaskId,
    /// The file that the plan comes from, as in [`ApprovalRecord::file`].
    pub file: String,
    pub asks_for: AsksFor,
    /// Where the plan and the settings differ from what was approved.
    pub difference: RuleDifference,
    /// Which protected files differ from the approved ones, one sentence each.
    pub protected: Vec<String>,
    pub way: ApprovalWay,
}

impl UnapprovedPlan {
    /// Returns everything that differs, in words for people.
    pub fn texts(&self) -> Vec<String> {
        self.difference.texts().into_iter().chain(self.protected.iter().cloned()).collect()
    }

    /// Returns the name that a person types to approve the plan: that of the first difference, or the task's if only protected files
    /// differ.
    pub fn name_to_type(&self) -> &str {
        let mut changes = self.difference.opens.iter().chain(&self.difference.changed);
        changes.next().map_or_else(|| self.task.as_str(), |change| change.name.as_str())
    }
}

/// What a plan that waits for approval asks for, compared with what was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsksFor {
    /// The rules differ, and open nothing of the machine.
    OtherRules,
    /// More of the machine is opened, or made for later runs.
    More,
    /// The same, in a project of which no settings were approved yet.
    MoreAtFirst,
}

words! {
    /// Returns the verb with its objects, after a plan's name.
    pub fn AsksFor::words: OtherRules "has other rules than were approved", More "asks for more than was approved",
        MoreAtFirst "asks for more than a project may without an approval"
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

/// What the search for a program found when the command that names it was approved. Later searches prove less: whoever
/// starts proctor chooses its `PATH`, and can so hide a program or put another one in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum ApprovedProgram {
    /// There was no such program, or nobody approved the one that was found: it lies in a directory of its own, and no person was asked.
    Absent,
    Found {
        /// The absolute path under which the program was found. Links in it are not resolved.
        path: String,
        /// The digest of the program's bytes; `None` if the file is larger than 64 MiB or could not be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Digest>,
        /// By which way the program was found; `None` for a program that the command names by a path, and in older lines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        way: Option<ProgramWay>,
    },
}

/// By which way the search path led to a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum ProgramWay {
    /// In a directory of the project, or in a virtual environment: relative to the project if it lies there. What is in it is named by
    /// the digest of the environment.
    Environment { name: String },
    /// In what a manager of toolchains has in the user's home directory. Another version of a toolchain is the same way.
    Toolchain { kind: String },
    /// In a directory that only root can write. The path counts.
    System,
    /// In another directory. Path and content count.
    Elsewhere,
}

/// The value of a setting, in a form that can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SettingValue {
    Number(u64),
    /// A word or a text. A limit that is not set is the word `off`.
    Text(String),
    List(Vec<String>),
}

/// Values of settings by their key, such as `sandbox.mode`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct JudgedSettings {
    pub values: BTreeMap<String, SettingValue>,
}

impl fmt::Display for SettingValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Text(text) => formatter.write_str(&quoted_text(text)),
            Self::List(entries) => {
                let quoted: Vec<String> = entries.iter().map(|entry| quoted_text(entry)).collect();
                write!(formatter, "[{}]", quoted.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ApprovedProgram::{Absent, Found};

    #[test]
    fn the_form_in_the_ledger_is_short() {
        let found = Found { path: "/usr/bin/make".to_owned(), content: None, way: None };
        let texts = [Absent, found].map(|program| serde_json::to_string(&program).expect("it has a JSON form"));
        assert_eq!(texts, ["\"absent\"", "{\"found\":{\"path\":\"/usr/bin/make\"}}"]);
    }
}
