//! What a run is asked to do, and what can come of it.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::SandboxSettings;
use crate::ignore::{Matcher, MatcherSettings};
use crate::model::{
    Asker, CheckOrder, CommandExit, IsolationLevel, PauseRecord, Phase, Plan, PlanOrigin, ProjectId, RetentionLimits,
    RoutingSettings, RunId, TaskId, TreeDigest, TreePath, Trigger, Unapproved,
};
use crate::process::Control;
use crate::project::dependency::UnmetDependency;
use crate::project::error::RunError;
use crate::project::selection::Selection;
use crate::report::ExecutionReportV2;
use crate::sandbox::EnvironmentAdditions;
use crate::tree::TreeHints;

/// A project as it is registered in the store.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Its id.
    pub project: ProjectId,
    /// Its root, absolute, every link resolved.
    pub root: PathBuf,
    /// Who asks, for the ledger.
    pub asker: Asker,
}

/// The settings of a run that are not the plan's.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What belongs to the tree.
    pub matcher: MatcherSettings,
    /// Limits of the router.
    pub routing: RoutingSettings,
    /// What the environment's allow-list is extended by.
    pub environment: EnvironmentAdditions,
    /// How actions are kept apart.
    pub sandbox: SandboxSettings,
    /// The strongest level of isolation that is tried: the strongest there is, unless a test says otherwise.
    pub strongest_isolation: IsolationLevel,
    /// How long another writer of the project's evidence is waited for.
    pub lock_wait: Duration,
    /// How actions wait for those of other runs.
    pub queue: QueueLimits,
    /// In which order checks are carried out.
    pub order: CheckOrder,
    /// The name of the link to the evidence in the project; none: no link.
    pub link: Option<String>,
    /// The task list that is written into, relative to the project; none: no list is kept.
    pub task_list: Option<String>,
    /// How much of the project's evidence is kept.
    pub limits: RetentionLimits,
}

/// How actions wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// So many go on at once, over all processes that use the store.
    pub max_parallel: u32,
    /// How long one of them waits for its turn.
    pub wait: Duration,
}

/// A run that is asked for.
pub struct RunRequest<'a> {
    /// What to do.
    pub plan: &'a Plan,
    /// How.
    pub settings: &'a Settings,
    /// Where.
    pub scope: &'a Scope,
    /// Which checks to run.
    pub checks: Selection,
    /// The phase to judge in; none: the task's own.
    pub phase: Option<Phase>,
    /// Why.
    pub trigger: Trigger,
    /// If the tree still has this digest, there is nothing to do.
    pub unless_tree: Option<TreeDigest>,
    /// What may have changed since this workspace last looked at the tree: at the start of its last run, in the sweep that closed
    /// it, or for a digest, whichever was last. The sweep after the run looks at everything, whatever this says.
    pub hints: TreeHints,
    /// Whether events may have been lost since the last run.
    pub lost_events: bool,
    /// How it can be stopped.
    pub control: &'a Control,
}

impl RunRequest<'_> {
    /// Returns whether it is of a command that somebody typed, and not of the project's own checks, though it has their task. A review
    /// that is asked for has one of its own.
    pub(crate) fn is_typed(&self) -> bool {
        self.plan.origin == PlanOrigin::CommandLine && self.plan.task == TaskId::default_task()
    }
}

/// What came of a request.
#[derive(Debug)]
pub enum Carried {
    /// A run with a verdict for the tree that is still on disk.
    Judged(Box<Sealed>),
    /// The tree moved while it ran (S6): sealed, no verdict.
    Moved(Box<Sealed>),
    /// It was stopped by a person: sealed, no verdict.
    Interrupted(Box<Sealed>),
    /// A newer save stopped it: one ledger line, no directory.
    Superseded,
    /// Nothing was run: a newer save stopped it before it had begun.
    Withdrawn,
    /// Nothing was run: the tree has the digest the request named.
    Unchanged,
    /// Nothing was run: what changed since the last verdict triggers no check.
    Untriggered,
    /// Nothing was run: the task waits for a person (R9).
    Paused(PauseRecord),
    /// Nothing was run: tasks it depends on are not complete on this tree.
    Waits(Vec<UnmetDependency>),
    /// Nothing was run: the plan asks for less than was approved (S7).
    NotApproved(Unapproved),
}

/// A sealed run.
#[derive(Debug)]
pub struct Sealed {
    /// Its id.
    pub run_id: RunId,
    /// Its report, as it was written.
    pub report: ExecutionReportV2,
    /// Where the report lies.
    pub report_path: PathBuf,
    /// The tree it is a verdict for.
    pub tree: TreeDigest,
    /// The tree after its last process had ended.
    pub tree_after: TreeDigest,
    /// The names of the checks that did not succeed.
    pub failed: Vec<String>,
    /// What moved while it ran.
    pub moved: Vec<TreePath>,
    /// Whether the task waits for a person now.
    pub paused: bool,
    /// The exit code of a command that asked for it.
    pub exit: CommandExit,
}

impl Settings {
    /// Returns a matcher for one walk of the tree; index and watcher each learn the rules files on their own.
    ///
    /// # Errors
    /// When a pattern of the settings is wrong.
    pub fn new_matcher(&self) -> Result<Matcher, RunError> {
        new_matcher(&self.matcher)
    }

    /// Returns a matcher for whoever watches the tree.
    ///
    /// # Errors
    /// When a pattern of the settings is wrong.
    pub fn new_watching_matcher(&self) -> Result<Matcher, RunError> {
        new_matcher(&self.matcher.for_watching())
    }
}

/// Makes a matcher of settings.
///
/// # Errors
/// When a pattern is wrong.
pub fn new_matcher(settings: &MatcherSettings) -> Result<Matcher, RunError> {
    Matcher::new(settings)
        .map_err(|problems| RunError::Patterns(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))
}
