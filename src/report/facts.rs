//! What the builder is told: everything `run/` knows about one run, in the model's types.
//!
//! Plain data. Whoever fills it has judged already: nothing here is classified, routed or counted again, except the sums.

use crate::model::Kept;
use crate::report::ProgramV1;
use std::collections::BTreeMap;

use crate::model::{
    Action, ActionJudgement, ActionOutline, CompletionStatus, CriteriaEvaluation, Digest, DurationMs, Ended, EvidenceFile,
    NextNode, OverallResult, OverallStatus, PartialReason, Plan, PlanNote, ProjectId, RouteEntry, RunId, TaskId, TaskStatus,
    Timestamp, TreeComparison, TreeDigest, TreeIssue, Trigger,
};
use crate::report::{
    ActionResult, ConfigurationChangeV2, ContentionV2, EnvironmentV2, RunStartV1, SpecificationErrorV2, TddV2, TestsModifiedV2,
};

/// Everything the report of one run is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// The run.
    pub run_id: RunId,
    /// The project.
    pub project_id: ProjectId,
    /// The plan that was carried out.
    pub plan: Plan,
    /// Its digest.
    pub plan_digest: Digest,
    /// The file it came from, relative to the project.
    pub specification_file: Option<String>,
    /// What became of each of the plan's actions, phase by phase, in the order they were carried out.
    pub actions: Vec<ActionResult>,
    /// When the run began.
    pub started: Timestamp,
    /// When its last process had ended.
    pub ended: Timestamp,
    /// How long it took, by a clock that cannot step.
    pub duration: DurationMs,
    /// When the report is built.
    pub generated_at: Timestamp,
    /// The process that carried the run out.
    pub process_id: u32,
    /// What happened.
    pub overall_status: OverallStatus,
    /// The verdict; none where there is none (E17).
    pub overall_result: Option<OverallResult>,
    /// Why the verdict is what it is.
    pub overall_reason: String,
    /// Whether the task may be ticked off.
    pub completion: CompletionFacts,
    /// What the task's own criteria came to; none where it has none, or where there is no verdict.
    pub criteria: Option<CriteriaEvaluation>,
    /// What started the run.
    pub trigger: Trigger,
    /// The tree.
    pub tree: TreeFacts,
    /// How the run was kept apart.
    pub isolation: Option<IsolationFacts>,
    /// What the commands ran in.
    pub environment: EnvironmentV2,
    /// Configuration files that differ from the last sealed run of the task.
    pub configuration_changed: Vec<ConfigurationChangeV2>,
    /// How the protected files stand to what was approved; none: none are protected.
    pub tests_modified: Option<TestsModifiedV2>,
    /// Where the task goes next; none where nothing was routed.
    pub route: Option<RouteFacts>,
    /// The task's TDD state; none where the run does not touch it.
    pub tdd: Option<TddV2>,
    /// The other files of the run; never the manifest, the ledger or the report.
    pub evidence_files: Vec<EvidenceFile>,
    /// The actions that waited for those of other runs.
    pub contended: Vec<ContentionV2>,
    /// Why file events may have been missed before the run.
    pub lost_events: Vec<String>,
    /// What a person should know about the run. The plan's own notes are added by the builder, before these.
    pub notes: Vec<PlanNote>,
}

/// Everything the report of a run is made of that was refused: the specification of its task has errors.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusalFacts {
    /// The project.
    pub project_id: ProjectId,
    /// The task.
    pub task: TaskId,
    /// The specification, relative to the project.
    pub file: String,
    /// What is wrong with it, in the order of the file.
    pub errors: Vec<SpecificationErrorV2>,
    /// The actions of the task that errors stand in, as far as they can be read.
    pub invalid: Vec<InvalidFacts>,
    /// The tree it was read in.
    pub tree: TreeDigest,
    /// What could not take part in the tree's digest.
    pub issues: Vec<TreeIssue>,
    /// Why the run was asked for.
    pub trigger: Trigger,
    /// When it began.
    pub started: Timestamp,
    /// How long it took, by a clock that cannot step.
    pub duration: DurationMs,
    /// The process that refused it.
    pub process_id: u32,
    /// Why the verdict is what it is.
    pub reason: String,
    /// Whether the task may be ticked off.
    pub completion: CompletionFacts,
}

/// An action that was not run, because its specification is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidFacts {
    /// As far as it could be read.
    pub outline: ActionOutline,
    /// What is wrong; places are counted from the action.
    pub errors: Vec<SpecificationErrorV2>,
    /// What that amounts to.
    pub judgement: ActionJudgement,
}

/// Whether the task may be ticked off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionFacts {
    /// COMPLETE or INCOMPLETE.
    pub status: CompletionStatus,
    /// The task's status; none where there is no verdict.
    pub task_status: Option<TaskStatus>,
    /// Why it is PARTIAL.
    pub partial_reason: Option<PartialReason>,
    /// Why the task may or may not be ticked off.
    pub reason: String,
}

/// The tree that was tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFacts {
    /// Its digest when the run began.
    pub before: TreeDigest,
    /// The second look after the last process had ended; none where it was not taken.
    pub comparison: Option<TreeComparison>,
    /// Entries that are named instead of digested.
    pub issues: Vec<TreeIssue>,
}

/// How the run was kept apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsolationFacts {
    /// The weakest of what its actions reached.
    pub kept: Kept,
    /// The channels by which a command could reach outside the run.
    pub open_channels: Vec<String>,
}

/// A route, and what it overrides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteFacts {
    /// The decision.
    pub entry: RouteEntry,
    /// Where the table alone would have sent it, where another rule decided.
    pub override_of: Option<NextNode>,
}

/// What `run.json` is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStartFacts<'a> {
    /// The project.
    pub project_id: ProjectId,
    /// The plan that is going to be carried out.
    pub plan: &'a Plan,
    /// Its digest.
    pub plan_digest: Digest,
    /// The file it came from, relative to the project.
    pub specification_file: Option<String>,
    /// The tree it is going to test.
    pub tree_digest: TreeDigest,
    /// What started it.
    pub trigger: Trigger,
    /// When it began.
    pub started: Timestamp,
    /// The process that carries it out.
    pub process_id: u32,
}

/// What is known of a run whose process died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryFacts {
    /// The run.
    pub run_id: RunId,
    /// Its project.
    pub project_id: ProjectId,
    /// Its task.
    pub task: TaskId,
    /// Its start record; none where it is missing or damaged.
    pub start: Option<RunStartV1>,
    /// When it was found.
    pub recovered_at: Timestamp,
    /// The files it left, hashed when it was found.
    pub evidence_files: Vec<EvidenceFile>,
}

/// What the record of one action is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRecordFacts<'a> {
    /// The run.
    pub run_id: &'a RunId,
    /// The action.
    pub action: &'a Action,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// How it ended and what it printed.
    pub ended: &'a Ended,
    /// Where it ran, absolute.
    pub working_directory: String,
    /// The program that was found for it.
    pub program: Option<ProgramV1>,
    /// All variables it was given.
    pub environment: &'a BTreeMap<String, String>,
}
