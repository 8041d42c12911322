//! The input of the report's builder: everything that `run/` knows about a run, in the types of the model.
//!
//! All judgements were made before. Nothing here is classified, routed or counted again, except for sums.

use crate::model::ReachedIsolation;
use crate::report::ProgramV1;
use std::collections::BTreeMap;

use crate::model::{
    Action, ActionJudgement, ActionOutline, CompletionStatus, CriteriaEvaluation, Digest, DurationMs, EndedAction, EvidenceFile,
    NextNode, OverallResult, OverallStatus, PartialReason, Plan, PlanNote, ProjectId, RouteEntry, RunId, TaskId, TaskStatus,
    Timestamp, TreeComparison, TreeDigest, TreeIssue, Trigger,
};
use crate::report::{
    ActionResult, ConfigurationChangeV2, ContentionV2, EnvironmentV2, RunStartV1, SpecificationErrorV2, TddV2, TestsModifiedV2,
};

/// Everything that the report of a run is built from.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    pub run_id: RunId,
    pub project_id: ProjectId,
    /// The plan that was carried out.
    pub plan: Plan,
    pub plan_digest: Digest,
    /// The file that the plan comes from, relative to the project.
    pub specification_file: Option<String>,
    /// The result of each action of the plan, phase by phase, in the order of execution.
    pub actions: Vec<ActionResult>,
    /// The time when the run began.
    pub started: Timestamp,
    /// The time when the run's last process had ended.
    pub ended: Timestamp,
    /// The duration, measured with a monotonic clock.
    pub duration: DurationMs,
    /// The time when the report is built.
    pub generated_at: Timestamp,
    /// The id of the process that carried out the run.
    pub process_id: u32,
    /// How the run ended.
    pub overall_status: OverallStatus,
    /// The verdict; `None` if the run has no verdict (E17).
    pub overall_result: Option<OverallResult>,
    /// The reason of the verdict.
    pub overall_reason: String,
    /// Whether the task may be marked as done.
    pub completion: CompletionFacts,
    /// The evaluation of the task's own criteria; `None` if it has none, or the run has no verdict.
    pub criteria: Option<CriteriaEvaluation>,
    /// What started the run.
    pub trigger: Trigger,
    pub tree: TreeFacts,
    /// How the run was isolated.
    pub isolation: Option<IsolationFacts>,
    /// The environment of the commands.
    pub environment: EnvironmentV2,
    /// Configuration files that changed since the last sealed run of the task.
    pub configuration_changed: Vec<ConfigurationChangeV2>,
    /// The comparison of the protected files with the approved ones; `None` if no files are protected.
    pub tests_modified: Option<TestsModifiedV2>,
    /// Where the task goes next; `None` if the run was not routed.
    pub route: Option<RouteFacts>,
    /// The task's TDD state; `None` if the run does not change it.
    pub tdd: Option<TddV2>,
    /// The other files of the run, without manifest, ledger and report.
    pub evidence_files: Vec<EvidenceFile>,
    /// The actions that waited for actions of other runs.
    pub contended: Vec<ContentionV2>,
    /// Why file events may have been missed before the run.
    pub lost_events: Vec<String>,
    /// Remarks about the run for people. The builder puts the plan's own remarks before these.
    pub notes: Vec<PlanNote>,
}

/// Everything that the report of a refused run is built from. A run is refused when the specification of its task has errors.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusalFacts {
    pub project_id: ProjectId,
    pub task: TaskId,
    /// The specification's path, relative to the project.
    pub file: String,
    /// The errors of the specification, in the order of the file.
    pub errors: Vec<SpecificationErrorV2>,
    /// The actions of the task that contain errors, as far as they can be read.
    pub invalid: Vec<InvalidFacts>,
    /// The tree in which the specification was read.
    pub tree: TreeDigest,
    /// Entries that could not be digested.
    pub issues: Vec<TreeIssue>,
    /// What started the run.
    pub trigger: Trigger,
    pub started: Timestamp,
    /// The duration, measured with a monotonic clock.
    pub duration: DurationMs,
    /// The id of the process that refused the run.
    pub process_id: u32,
    /// The reason of the verdict.
    pub reason: String,
    /// Whether the task may be marked as done.
    pub completion: CompletionFacts,
}

/// An action that was not run because its specification is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidFacts {
    /// The action, as far as it could be read.
    pub outline: ActionOutline,
    /// The errors; their positions are relative to the action.
    pub errors: Vec<SpecificationErrorV2>,
    pub judgement: ActionJudgement,
}

/// Whether the task may be marked as done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionFacts {
    pub status: CompletionStatus,
    /// The task's status; `None` if the run has no verdict.
    pub task_status: Option<TaskStatus>,
    /// Why the status is PARTIAL.
    pub partial_reason: Option<PartialReason>,
    /// Why the task may or may not be marked as done.
    pub reason: String,
}

/// Facts about the tree that was tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFacts {
    /// The digest when the run began.
    pub before: TreeDigest,
    /// The comparison after the last process had ended; `None` if no comparison was made.
    pub comparison: Option<TreeComparison>,
    /// Entries that could not be digested.
    pub issues: Vec<TreeIssue>,
}

/// How a run was isolated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsolationFacts {
    /// The weakest isolation among the run's actions.
    pub kept: ReachedIsolation,
    /// The ways by which a command could reach outside of the run.
    pub open_channels: Vec<String>,
}

/// A route, and what it overrides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteFacts {
    pub entry: RouteEntry,
    /// The node from the table, if another rule decided differently.
    pub override_of: Option<NextNode>,
}

/// The facts that `run.json` is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStartFacts<'a> {
    pub project_id: ProjectId,
    /// The plan that will be carried out.
    pub plan: &'a Plan,
    pub plan_digest: Digest,
    /// The file that the plan comes from, relative to the project.
    pub specification_file: Option<String>,
    /// The tree that will be tested.
    pub tree_digest: TreeDigest,
    /// What started the run.
    pub trigger: Trigger,
    pub started: Timestamp,
    /// The id of the process that carries out the run.
    pub process_id: u32,
}

/// What is known about a run whose process died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryFacts {
    pub run_id: RunId,
    pub project_id: ProjectId,
    pub task: TaskId,
    /// The start record; `None` if it is missing or damaged.
    pub start: Option<RunStartV1>,
    /// The time when the run was found.
    pub recovered_at: Timestamp,
    /// The files that the run left, hashed when they were found.
    pub evidence_files: Vec<EvidenceFile>,
}

/// Everything that the record of one action is built from.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRecordFacts<'a> {
    pub run_id: &'a RunId,
    pub action: &'a Action,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// How the process ended, and what it printed.
    pub ended: &'a EndedAction,
    /// The working directory as an absolute path.
    pub working_directory: String,
    /// The program that was executed.
    pub program: Option<ProgramV1>,
    /// All environment variables of the command.
    pub environment: &'a BTreeMap<String, String>,
}
