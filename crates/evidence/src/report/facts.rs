//! The input of the report's builder: everything that `run/` knows about a run, in the types of the model.
//!
//! All judgements come from `verdict/` and `routing/`. The report's builder classifies, routes and counts nothing
//! again, except for sums.

use crate::report::ProgramV1;
use proctor_model::IsolationFacts;
use std::collections::BTreeMap;

use crate::report::{
    ActionResult, ConfigurationChangeV2, ContentionV2, EnvironmentV2, RunStartV1, SnapshotV2, SpecificationErrorV2, TddV2,
    TestsModifiedV2,
};
use proctor_model::{
    Action, ActionJudgement, ActionOutline, ActionPhase, CompletionStatus, CriteriaEvaluation, Digest, DurationMs, EndedAction,
    EvidenceFile, FewerTests, NextNode, OverallResult, OverallStatus, PartialReason, Plan, PlanNote, ProjectId, RouteEntry,
    RunId, TaskId, TaskStatus, Timestamp, TreeComparison, TreeDifference, TreeDigest, TreeFormat, TreeIssue, Trigger,
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
    pub started: Timestamp,
    /// The time when the run's last process had ended.
    pub ended: Timestamp,
    /// The run's duration, measured with a monotonic clock.
    pub duration: DurationMs,
    pub generated_at: Timestamp,
    /// The id of the process that carried out the run.
    pub process_id: u32,
    /// How the run ended, for example SUCCESS or SUPERSEDED. The verdict is a separate field.
    pub overall_status: OverallStatus,
    /// The verdict; `None` if the run has no verdict (E17).
    pub overall_result: Option<OverallResult>,
    /// The reason of the verdict, for people.
    pub overall_reason: String,
    /// Whether the task may be marked as done.
    pub completion: CompletionFacts,
    /// The evaluation of the task's own criteria; `None` if the task has no criteria of its own, or the run has no
    /// verdict.
    pub criteria: Option<CriteriaEvaluation>,
    /// What started the run, for example a saved file or a request.
    pub trigger: Trigger,
    pub tree: TreeFacts,
    pub isolation: Option<IsolationFacts>,
    /// The digest of the commands' environment, and the names of the variables that were passed on.
    pub environment: EnvironmentV2,
    /// Configuration files that changed since the last sealed run of the task.
    pub configuration_changed: Vec<ConfigurationChangeV2>,
    /// Which rules of the run nobody had approved when it began.
    pub rules_changed: Vec<String>,
    /// How many tests the run has less than the last whole run before it; `None` if there are not fewer.
    pub fewer_tests: Option<FewerTests>,
    /// The comparison of the protected files with the approved ones; `None` if no files are protected.
    pub tests_modified: Option<TestsModifiedV2>,
    /// Where the task goes next; `None` if the run was not routed.
    pub route: Option<RouteFacts>,
    /// The phase and the attempts of the task's TDD cycle; `None` if the run does not change them.
    pub tdd: Option<TddV2>,
    /// The evidence files of the run, except the manifest, the ledger and this report.
    pub evidence_files: Vec<EvidenceFile>,
    /// The actions that waited for actions of other runs.
    pub contended: Vec<ContentionV2>,
    /// Why file events may have been missed before the run.
    pub lost_events: Vec<String>,
    /// Remarks about the run for people. The builder puts the plan's own remarks before these.
    pub notes: Vec<PlanNote>,
}

/// Everything that the report of a refused run is built from. A run is refused when the specification of its task has
/// errors.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusalFacts {
    pub project_id: ProjectId,
    pub task: TaskId,
    /// The specification's path, relative to the project.
    pub file: String,
    /// The errors of the specification, in the order of the file.
    pub errors: Vec<SpecificationErrorV2>,
    /// The actions of the task, in the order of the specification, as far as they can be read.
    pub actions: Vec<RefusedAction>,
    /// The digest of the tree in which the specification was read.
    pub tree: TreeDigest,
    pub tree_format: TreeFormat,
    /// Entries of the tree that could not be digested.
    pub issues: Vec<TreeIssue>,
    /// What started the run, for example a saved file or a request.
    pub trigger: Trigger,
    pub started: Timestamp,
    /// The run's duration, measured with a monotonic clock.
    pub duration: DurationMs,
    /// The id of the process that refused the run.
    pub process_id: u32,
    /// The reason of the verdict, for people.
    pub reason: String,
    /// Whether the task may be marked as done.
    pub completion: CompletionFacts,
}

/// An action of a run that was refused. None of its actions was run.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedAction {
    pub phase: ActionPhase,
    /// The action, as far as it could be read.
    pub outline: ActionOutline,
    /// The errors in the action; `None` if the action has none.
    pub invalid: Option<InvalidFacts>,
}

/// The errors in an action.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidFacts {
    /// The specification's errors in this action; their positions are relative to the action.
    pub errors: Vec<SpecificationErrorV2>,
    pub judgement: ActionJudgement,
}

/// Whether the task may be marked as done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionFacts {
    pub status: CompletionStatus,
    /// The task's status; `None` if the run has no verdict.
    pub task_status: Option<TaskStatus>,
    /// Why `task_status` is PARTIAL.
    pub partial_reason: Option<PartialReason>,
    /// Why the task may or may not be marked as done.
    pub reason: String,
}

/// The tree that a run tested: its digest, what changed in it during the run, and where the checks worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFacts {
    pub format: TreeFormat,
    /// The tree's digest when the run began.
    pub before: TreeDigest,
    /// What had changed in the tree when the last process had ended; `None` if the tree was not compared.
    pub comparison: Option<TreeComparison>,
    /// In which files the tree differs from the one that the task's last run tested; `None` if that tree is not known.
    pub since_last_run: Option<TreeDifference>,
    /// Entries of the tree that could not be digested.
    pub issues: Vec<TreeIssue>,
    /// Whether the checks ran on a snapshot; `None` if nothing was run.
    pub snapshot: Option<SnapshotV2>,
}

/// Where a run sends the task, and the node that this decision overrides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteFacts {
    pub entry: RouteEntry,
    /// The node that the routing table gives, if another rule sent the task elsewhere.
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
    /// The digest of the tree that will be tested.
    pub tree_digest: TreeDigest,
    pub tree_format: TreeFormat,
    /// What started the run, for example a saved file or a request.
    pub trigger: Trigger,
    pub started: Timestamp,
    /// The id of the process that carries out the run.
    pub process_id: u32,
}

/// What is known about a run whose process died. The report of the run is built from this afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryFacts {
    pub run_id: RunId,
    pub project_id: ProjectId,
    pub task: TaskId,
    /// The run's start record, `run.json`; `None` if it is missing or damaged.
    pub start: Option<RunStartV1>,
    /// The time when the dead run was found.
    pub recovered_at: Timestamp,
    /// The files that the run left, hashed when they were found.
    pub evidence_files: Vec<EvidenceFile>,
}

/// Everything that the record of one action is built from.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRecordFacts<'a> {
    pub run_id: &'a RunId,
    pub action: &'a Action,
    /// The attempt's number; the first is 1.
    pub attempt: u32,
    /// How the process ended, and what it printed.
    pub ended: &'a EndedAction,
    /// The working directory as an absolute path.
    pub working_directory: String,
    /// The program file that was executed; `None` if the program was not found.
    pub program: Option<ProgramV1>,
    /// All environment variables of the command, including secret ones. The record hides secret values.
    pub environment: &'a BTreeMap<String, String>,
}
