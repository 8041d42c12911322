//! The input and the possible results of a run.

use std::path::PathBuf;
use std::time::Duration;

use crate::dependency::UnmetDependency;
use crate::error::ProjectError;
use crate::found_inputs::LeftOut;
use crate::selection::Selection;
use proctor_evidence::report::{ExecutionReportV2, OutgoingRedactor};
use proctor_model::{
    Asker, CheckOrder, CommandExit, CopiedFiles, ExportFormat, IsolationLevel, OnDisk, ParallelChecks, PauseRecord, PersonAsked,
    Phase, Plan, PlanNote, PlanOrigin, ProjectId, RetentionLimits, RoutingSettings, RunId, SandboxSettings, TaskId, TreeDigest,
    TreeFormat, TreePath, Trigger, TriggerKind, UnapprovedPlan,
};
use proctor_plan::config::SpecificationSettings;
use proctor_sandbox::EnvironmentAdditions;
use proctor_sandbox::process::Control;
use proctor_tree::TreeHints;
use proctor_tree::ignore::{Matcher, MatcherSettings};

/// A registered project, and who is asking.
#[derive(Debug, Clone)]
pub struct ProjectScope {
    pub project: ProjectId,
    /// The absolute path of the root with all links resolved.
    pub root: PathBuf,
    /// The process that asks; the ledger records it.
    pub asker: Asker,
}

/// The settings of a run that do not belong to the plan.
#[derive(Debug, Clone)]
pub struct ProjectSettings {
    /// The settings that decide which files belong to the tree.
    pub matcher: MatcherSettings,
    /// The inputs that `inputs` of `[project]` names. Those of the matcher are these and the found ones.
    pub named_inputs: Vec<String>,
    /// What the project's files lead to beside it and is no input.
    pub left_out: Vec<LeftOut>,
    /// The settings of the router, which decides where a run sends its task: limits, and what follows from collection
    /// errors.
    pub routing: RoutingSettings,
    /// Environment variables that actions get in addition to the default ones.
    pub environment: EnvironmentAdditions,
    /// The values of placeholders in test specifications.
    pub specification: SpecificationSettings,
    /// The settings for the isolation of actions.
    pub sandbox: SandboxSettings,
    /// The socket of the container engine, which only the clients of DOCKER_COMMAND actions may use; `None` if they may use none. It
    /// comes from the user's own configuration and never from a file of the project.
    pub engine_socket: Option<String>,
    /// The strongest isolation level to try. Only tests set a weaker one than the strongest.
    pub strongest_isolation: IsolationLevel,
    /// The limit on the wait while another process writes the project's evidence. After this time the operation fails.
    pub lock_wait: Duration,
    /// `nice` of `[service]`, for runs that saves start.
    pub nice: u8,
    /// The limits of the queue in which actions wait for the actions of other runs.
    pub queue: QueueLimits,
    /// The most commands that a service holds started for the next runs of all projects.
    pub started: u32,
    pub order: CheckOrder,
    /// Which checks of `proctor.toml`, or of discovery, run at the same time.
    pub parallel: ParallelChecks,
    /// The name of the link in the project's root that leads to the evidence; `None` means no link.
    pub link: Option<String>,
    /// The path of the task list to update, relative to the project; `None` means no task list.
    pub task_list: Option<String>,
    /// The file with the keys of the people who may approve, as the settings name it; `None` if there is none.
    pub allowed_signers: Option<String>,
    /// The limits on the number, age and size of the stored runs; older runs beyond them are removed.
    pub limits: RetentionLimits,
    /// The forms in which each run is also kept, for other tools.
    pub exports: ExportSettings,
}

/// The forms in which each run is kept beside its report, so that other tools read it without help.
#[derive(Debug, Clone, Default)]
pub struct ExportSettings {
    pub formats: Vec<ExportFormat>,
    /// What takes out the texts that name this machine, its user and the place of the project.
    pub redactor: OutgoingRedactor,
}

/// The limits of the queue in which actions of different runs wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// The most actions at the same time, over all processes that use the store.
    pub max_parallel: u32,
    /// The limit on the time that an action waits for its turn. After this time the run fails with
    /// `ProjectError::Queue`.
    pub wait: Duration,
}

/// A requested run: what is run, for which project and task, and how the run can be stopped.
pub struct RunRequest<'a> {
    pub plan: &'a Plan,
    pub settings: &'a ProjectSettings,
    /// The project, and who asks for the run.
    pub scope: &'a ProjectScope,
    pub checks: Selection,
    /// The TDD phase by whose rules the run is judged; `None` means the phase that the task is in.
    pub phase: Option<Phase>,
    /// What started the run.
    pub trigger: Trigger,
    /// If the tree has this digest, nothing is run and the outcome is [`RunOutcome::Unchanged`]. With `None`, no
    /// digest prevents the run.
    pub unless_tree: Option<TreeDigest>,
    /// The paths that may have changed since this workspace last read the tree for any purpose. Only these paths are
    /// read before the run. If the checks run in the project itself, the whole tree is also read after the run.
    pub hints: TreeHints,
    /// Whether file events may have been lost since the last run.
    pub lost_events: bool,
    /// The control by which the run can be stopped.
    pub control: &'a Control,
}

impl<'a> RunRequest<'a> {
    /// Returns a request for all checks, on the tree as it is now, in the phase that the task is in.
    pub fn new(
        plan: &'a Plan,
        settings: &'a ProjectSettings,
        scope: &'a ProjectScope,
        kind: TriggerKind,
        control: &'a Control,
    ) -> Self {
        Self {
            plan,
            settings,
            scope,
            checks: Selection::All,
            phase: None,
            trigger: Trigger { kind, paths: Vec::new() },
            unless_tree: None,
            hints: TreeHints::Everything,
            lost_events: false,
            control,
        }
    }

    /// Returns whether the run is for a command that was typed on the command line. The plan of such a run has the same
    /// task as the project's own checks, although it is not the plan of these checks. A review that a person asks for
    /// has a task of its own.
    pub fn is_typed(&self) -> bool {
        self.plan.origin == PlanOrigin::CommandLine && self.plan.task == TaskId::default_task()
    }
}

/// How a requested run ended, or why nothing was run.
#[derive(Debug)]
pub enum RunOutcome {
    /// The run has a verdict. If the checks ran in the project itself, the tree on disk was still the tested one at
    /// the end.
    Judged(Box<SealedReport>),
    /// The tree changed during the run (S6). The run is sealed without a verdict.
    Moved(Box<SealedReport>),
    /// The run was stopped by a request or a signal before its end. It is sealed without a verdict.
    Interrupted(Box<SealedReport>),
    /// A helper process of proctor (the launcher, or the keeper of one action) died while an action went on. The run is sealed
    /// without a verdict. The plan was then carried out once more, and the same happened again; this is the repetition.
    HelperDied(Box<SealedReport>),
    /// A newer save stopped the run. Only a ledger line records it; there is no directory of evidence.
    Superseded,
    /// Nothing was run, because a newer save came before the start.
    Withdrawn,
    /// Nothing was run, because the tree still has the digest in [`RunRequest::unless_tree`].
    Unchanged,
    /// Nothing was run, because the changes since the last verdict trigger no check.
    Untriggered,
    /// Nothing was run, because the task waits for a person (R9).
    Paused(PauseRecord),
    /// Nothing was run, because the task depends on these tasks, which are not complete on this tree.
    Waits(Vec<UnmetDependency>),
    /// Nothing was run, because the plan opens what a person must approve first (S7).
    NotApproved(UnapprovedPlan),
}

/// A run whose evidence is sealed, with its report.
#[derive(Debug)]
pub struct SealedReport {
    pub run_id: RunId,
    pub report: ExecutionReportV2,
    pub report_path: PathBuf,
    /// The tree that the verdict is for.
    pub tree: TreeDigest,
    /// The tree at the end of the run. If the checks ran on a snapshot, the tree is not read then, and this is the
    /// tree that was copied last.
    pub tree_after: TreeDigest,
    /// The names of the checks that did not succeed, but for those of `warned`.
    pub failed: Vec<String>,
    /// The names of the checks that did not succeed, which is allowed: they do not make the verdict FAILED.
    pub warned: Vec<String>,
    /// The notes about the discovery of the checks that both this run and the last run of the task have. They need not
    /// be shown again.
    pub told_notes: Vec<PlanNote>,
    /// The paths that changed during the run.
    pub moved: Vec<TreePath>,
    /// What is on disk at the end of the run, for the decision whether a run without a verdict is repeated.
    pub on_disk: OnDisk,
    /// The files that checks wrote and that were copied to the project; `None` if nothing was copied that changed the
    /// tree.
    pub copied: Option<CopiedFiles>,
    /// What the task asks a person after this run.
    pub person: Option<PersonAsked>,
    /// The exit code for a command that asked for the run.
    pub exit: CommandExit,
}

impl ProjectSettings {
    /// Returns the format of the tree's digest.
    pub fn tree_format(&self) -> TreeFormat {
        if self.matcher.inputs.is_empty() { TreeFormat::V2 } else { TreeFormat::V3 }
    }

    /// Returns a matcher, which decides which files belong to the tree, for one walk of the tree. The tree index and
    /// the file watcher need one matcher each, because a matcher remembers the rules files (`.gitignore`) that it has
    /// read.
    ///
    /// # Errors
    ///
    /// When a pattern of the settings is wrong.
    pub fn new_matcher(&self) -> Result<Matcher, ProjectError> {
        new_matcher(&self.matcher)
    }

    /// Returns a matcher for the file watcher, which decides which paths of the tree are watched.
    ///
    /// # Errors
    ///
    /// When a pattern of the settings is wrong.
    pub fn new_watching_matcher(&self) -> Result<Matcher, ProjectError> {
        new_matcher(&self.matcher.for_watching())
    }
}

/// Builds a matcher from settings.
///
/// # Errors
///
/// When a pattern is wrong.
pub fn new_matcher(settings: &MatcherSettings) -> Result<Matcher, ProjectError> {
    Matcher::new(settings)
        .map_err(|problems| ProjectError::Patterns(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))
}
