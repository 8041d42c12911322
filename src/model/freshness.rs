//! Decides whether a verdict still applies to what is on disk now. It compares digests and ignores file events. Pure.
//!
//! A verdict is fresh when tree and plan still have the digests that it was made for. Every other state is a reason why there is
//! no fresh verdict. Installed tools are not compared: a verdict on the same files by another compiler is still called fresh.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::{CommandExit, Digest, OverallResult, OverallStatus, ProjectId, RunId, TaskId, Timestamp, TreeDigest};

/// How a task's last verdict relates to the tree as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Freshness {
    /// The verdict applies to the current tree and the current plan.
    Fresh {
        result: OverallResult,
        /// The exit code of a command that reports this verdict (G5).
        exit: CommandExit,
    },
    /// A run is under way.
    Running,
    /// A run was started and waits for its turn on this machine.
    Queued,
    /// The verdict was made for another tree or another plan.
    Stale(StaleReason),
    /// The tree changed while it was tested, so the run has no verdict (S6).
    Moved {
        /// The paths that changed.
        paths: Vec<String>,
    },
    /// The same paths changed again during the repetition. Another run would prove nothing until something else changes (S6).
    Unstable {
        /// The paths that keep changing.
        paths: Vec<String>,
    },
    /// The task waits for a person to decide where it continues (R9).
    NeedsHuman,
    /// Nobody has approved the plan that would be run.
    NotApproved,
    /// The project's directory does not exist.
    RootMissing,
    /// The configuration cannot be read in its current state.
    ConfigurationWrong,
    /// The task's specification has errors that make a run impossible, or no specification has the task.
    SpecificationWrong,
    /// There has never been a verdict.
    NoVerdict,
}

/// What changed since a stale verdict was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StaleReason {
    Tree,
    /// The plan has changed: checks, commands, time-outs or policies.
    Plan,
    /// Both files and plan have changed.
    TreeAndPlan,
    /// The configuration no longer has the task.
    TaskGone,
}

/// What a command that waits for a fresh verdict does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitStep {
    /// It ends with this state as the answer, because waiting would not change it.
    Answer,
    /// It keeps waiting: the run under way may bring a fresh verdict.
    GoOn,
    /// It starts a run.
    Run,
}

/// All facts that freshness is computed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreshnessFacts {
    /// Whether the project's directory exists.
    pub root: CurrentRoot,
    /// Whether the plan that would be run is approved.
    pub approval: Approval,
    /// The plan that would be run.
    pub plan: CurrentPlan,
    /// The tree's digest; `None` if it was not computed, because a run was under way.
    pub tree: Option<TreeDigest>,
    /// Whether a run is under way.
    pub activity: Activity,
    pub verdict: Option<LastVerdict>,
    /// The runs after the last verdict during which the tree changed, newest first; empty if it did not change during the newest run.
    pub moved: Vec<MovedRun>,
    pub attention: Attention,
}

/// Whether a project's directory exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CurrentRoot {
    Present,
    Missing,
}

/// Whether a plan is approved (S7). Registering a project approves its plan; an unregistered project has no approved plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Approval {
    Approved,
    NotApproved,
}

/// The plan according to the project's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CurrentPlan {
    Known(Digest),
    /// The files cannot be read.
    Wrong,
    /// The specification has errors, or no specification has the task.
    SpecificationWrong,
    /// A plan that does not have this task.
    WithoutTask,
}

/// Whether a run is under way in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activity {
    Idle,
    Queued,
    Running,
}

/// Whether a task waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attention {
    /// The task does not wait.
    NotNeeded,
    /// The task waits for a person's decision (R9).
    Needed,
}

/// The last verdict of a task, and the tree and plan that it was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastVerdict {
    /// The run that made the verdict.
    pub run_id: RunId,
    /// The tree that the verdict is for; `None` if the run ended before it read the tree.
    pub tree: Option<TreeDigest>,
    /// The plan that the verdict is for; `None` if the run ended before it had a plan.
    pub plan: Option<Digest>,
    /// How the run ended.
    pub status: OverallStatus,
    /// Whether something blocks; `None` if nothing could be run.
    pub result: Option<OverallResult>,
    /// The number of blocking results.
    pub blocking: u32,
    /// The time when the run's last process had ended.
    pub ended: Option<Timestamp>,
    /// The exit code of a command that reports this verdict.
    pub exit: CommandExit,
    pub report: PathBuf,
}

/// A run during which the tree changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedRun {
    pub before: Option<TreeDigest>,
    pub after: Option<TreeDigest>,
    pub paths: Vec<String>,
}

/// A task and the state of its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictStatus {
    pub task: TaskId,
    pub freshness: Freshness,
    /// The current tree; `None` if its digest was not computed.
    pub tree: Option<TreeDigest>,
    /// The current plan; `None` if the configuration cannot be read or does not have this task.
    pub plan: Option<Digest>,
    /// The last verdict, fresh or not.
    pub verdict: Option<LastVerdict>,
    /// The errors in its specification, or what its plan weakens; one line for each.
    pub problems: Vec<String>,
}

/// A project and the state of its tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectStatus {
    /// The project; `None` if the directory is not registered.
    pub project: Option<ProjectId>,
    pub root: PathBuf,
    /// The tasks: first the configured one, then the requested ones, then those that the project had in the past.
    pub tasks: Vec<VerdictStatus>,
    /// The errors in the configuration, and the changes to the task list that were reverted; one line each.
    pub problems: Vec<String>,
}

impl ProjectStatus {
    /// Moves a task to the front if it is in the list, because the answer is about the first task.
    pub fn with_first(mut self, task: &TaskId) -> Self {
        if let Some(position) = self.tasks.iter().position(|standing| standing.task == *task) {
            self.tasks[..=position].rotate_right(1);
        }
        self
    }

    pub fn of(&self, task: &TaskId) -> Option<&VerdictStatus> {
        self.tasks.iter().find(|standing| standing.task == *task)
    }
}

/// Computes the freshness of a verdict.
///
/// States that only a person can change come first. A fresh verdict comes before a run under way: the run tests the same tree and
/// does not make the verdict less valid.
pub fn compute_freshness(facts: &FreshnessFacts) -> Freshness {
    if facts.root == CurrentRoot::Missing {
        return Freshness::RootMissing;
    }
    if facts.approval == Approval::NotApproved {
        return Freshness::NotApproved;
    }
    if facts.attention == Attention::Needed {
        return Freshness::NeedsHuman;
    }
    let plan = match facts.plan {
        CurrentPlan::Wrong => return Freshness::ConfigurationWrong,
        CurrentPlan::SpecificationWrong => return Freshness::SpecificationWrong,
        CurrentPlan::Known(plan) => Some(plan),
        CurrentPlan::WithoutTask => None,
    };
    let outdated = facts.verdict.as_ref().map(|verdict| outdated(verdict, facts.tree, plan));
    if let (Some(None), Some(verdict)) = (outdated, &facts.verdict) {
        let result = verdict.result.unwrap_or(OverallResult::Failed);
        return Freshness::Fresh { result, exit: verdict.exit };
    }
    match facts.activity {
        Activity::Running => return Freshness::Running,
        Activity::Queued => return Freshness::Queued,
        Activity::Idle => {}
    }
    if let Some(moved) = compute_moved(&facts.moved, facts.tree) {
        return moved;
    }
    match outdated.flatten() {
        Some(outdated) => Freshness::Stale(outdated),
        None => Freshness::NoVerdict,
    }
}

/// Returns what changed since the verdict; `None` if tree and plan are the same.
fn outdated(verdict: &LastVerdict, tree: Option<TreeDigest>, plan: Option<Digest>) -> Option<StaleReason> {
    let Some(plan) = plan else { return Some(StaleReason::TaskGone) };
    // A tree without a computed digest is not known to be the same.
    let same_tree = tree.is_some() && verdict.tree == tree;
    match (same_tree, verdict.plan == Some(plan)) {
        (true, true) => None,
        (false, true) => Some(StaleReason::Tree),
        (true, false) => Some(StaleReason::Plan),
        (false, false) => Some(StaleReason::TreeAndPlan),
    }
}

/// Returns the state after runs during which the tree changed. These runs are relevant only while the tree is still as it was before or
/// after one of them.
///
/// Nothing is repeated here: [`Repetitions`](crate::model::Repetitions) decides about that when a run ends.
fn compute_moved(runs: &[MovedRun], tree: Option<TreeDigest>) -> Option<Freshness> {
    let newest = runs.first().filter(|run| tree.is_some() && (run.after == tree || run.before == tree))?;
    let paths = newest.paths.clone();
    let moved_again = runs.get(1).is_some_and(|former| former.paths == newest.paths);
    Some(if moved_again { Freshness::Unstable { paths } } else { Freshness::Moved { paths } })
}

impl Freshness {
    /// Returns the exit code of a command that reports this state (G5).
    pub fn exit(&self) -> CommandExit {
        match self {
            Self::Fresh { exit, .. } => *exit,
            Self::NeedsHuman | Self::NotApproved => CommandExit::PersonNeeded,
            Self::ConfigurationWrong | Self::SpecificationWrong => CommandExit::SpecificationWrong,
            Self::Running
            | Self::Queued
            | Self::Stale(_)
            | Self::Moved { .. }
            | Self::Unstable { .. }
            | Self::RootMissing
            | Self::NoVerdict => CommandExit::NoFreshVerdict,
        }
    }

    /// Returns what a command that waits for a fresh verdict does next.
    pub fn wait_step(&self) -> WaitStep {
        match self {
            Self::Fresh { .. }
            | Self::NeedsHuman
            | Self::NotApproved
            | Self::ConfigurationWrong
            | Self::SpecificationWrong
            // The task was removed, so no run could bring a verdict.
            | Self::Stale(StaleReason::TaskGone)
            | Self::RootMissing
            | Self::Unstable { .. } => WaitStep::Answer,
            Self::Running | Self::Queued => WaitStep::GoOn,
            Self::Stale(_) | Self::Moved { .. } | Self::NoVerdict => WaitStep::Run,
        }
    }
}

#[cfg(test)]
mod tests;
