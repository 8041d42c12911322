//! Whether a verdict belongs to what is on disk now: computed from digests, never from file events. Pure.
//!
//! A verdict is fresh when the tree and the plan have the digests it was made for; everything else is a reason why there is none.
//! What tools are installed is not compared: a verdict on the same files by another compiler is still called fresh.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::{CommandExit, Digest, OverallResult, OverallStatus, ProjectId, RunId, TaskId, Timestamp, TreeDigest};

/// How a task's last verdict stands to the tree as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Freshness {
    /// It is a verdict for the tree and the plan as they are now.
    Fresh {
        /// Whether something blocks.
        result: OverallResult,
        /// The exit code of a command that ends with it (G5).
        exit: CommandExit,
    },
    /// A run is under way.
    Running,
    /// A run has begun and waits for its turn on this machine.
    Queued,
    /// The verdict is for something else.
    Stale(Outdated),
    /// The tree moved while it was tested (S6): no verdict.
    Moved {
        /// What moved.
        paths: Vec<String>,
    },
    /// The same paths moved again: another run would prove nothing until a change from outside (S6).
    Unstable {
        /// What moves.
        paths: Vec<String>,
    },
    /// The task waits for a person, who decides where it goes on (R9).
    NeedsHuman,
    /// Nobody has approved what would be run.
    NotApproved,
    /// The project's directory is not there.
    RootMissing,
    /// The configuration cannot be read as it is now.
    ConfigurationWrong,
    /// The task's specification has errors with which nothing can be run, or no specification has the task.
    SpecificationWrong,
    /// There never was a verdict.
    NoVerdict,
}

/// What a stale verdict is not for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outdated {
    /// The files have changed.
    Tree,
    /// What is run has changed: checks, commands, time-outs, policies.
    Plan,
    /// Both.
    TreeAndPlan,
    /// The configuration has no such task any more.
    TaskGone,
}

/// What a wait for a fresh verdict does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitStep {
    /// It ends with this answer: waiting would not change it.
    Answer,
    /// It goes on: what is under way may end it.
    GoOn,
    /// It needs a run.
    Run,
}

/// Everything that decides about freshness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreshnessFacts {
    /// Whether the project's directory is there.
    pub root: RootNow,
    /// Whether what would be run is approved.
    pub approval: Approval,
    /// What would be run.
    pub plan: PlanNow,
    /// The tree; none where nobody looked, because a run was under way.
    pub tree: Option<TreeDigest>,
    /// What goes on.
    pub activity: Activity,
    /// The last verdict.
    pub verdict: Option<LastVerdict>,
    /// The runs after it whose tree moved, the newest first; empty where the newest run did not move.
    pub moved: Vec<MovedRun>,
    /// Whether the task waits for a person.
    pub attention: Attention,
}

/// Whether a project's directory is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RootNow {
    /// It is.
    Present,
    /// It is not.
    Missing,
}

/// Whether a plan is approved (S7). Registering a project approves its plan; nothing of an unregistered one is approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Approval {
    /// It is.
    Approved,
    /// It is not.
    NotApproved,
}

/// What the project's files say is to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlanNow {
    /// A plan of this digest.
    Known(Digest),
    /// Nothing that can be read.
    Wrong,
    /// A specification with errors, or none that has the task.
    SpecificationWrong,
    /// A plan without this task.
    WithoutTask,
}

/// What goes on in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activity {
    /// Nothing.
    Idle,
    /// A run waits for its turn.
    Queued,
    /// A run.
    Running,
}

/// Whether a task waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attention {
    /// It does not.
    NotNeeded,
    /// It does (R9).
    Needed,
}

/// The last verdict of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastVerdict {
    /// Its run.
    pub run_id: RunId,
    /// The tree it is for; none where the run never came to look.
    pub tree: Option<TreeDigest>,
    /// The plan it is for; none likewise.
    pub plan: Option<Digest>,
    /// What happened.
    pub status: OverallStatus,
    /// Whether something blocks; none where nothing could be run.
    pub result: Option<OverallResult>,
    /// How many results block.
    pub blocking: u32,
    /// When its last process had ended.
    pub ended: Option<Timestamp>,
    /// The exit code of a command that ends with it.
    pub exit: CommandExit,
    /// Where its report lies.
    pub report: PathBuf,
}

/// A run whose tree moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedRun {
    /// The tree it began with.
    pub before: Option<TreeDigest>,
    /// The tree it left.
    pub after: Option<TreeDigest>,
    /// What moved.
    pub paths: Vec<String>,
}

/// A task and how its verdict stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStanding {
    /// The task.
    pub task: TaskId,
    /// How it stands.
    pub freshness: Freshness,
    /// The tree now; none where nobody looked.
    pub tree: Option<TreeDigest>,
    /// The plan now, where the configuration has this task and can be read.
    pub plan: Option<Digest>,
    /// Its last verdict, fresh or not.
    pub verdict: Option<LastVerdict>,
    /// What is wrong with its specification, or what it weakens of what was approved; one line for each.
    pub problems: Vec<String>,
}

/// A project and how its tasks stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectStanding {
    /// The project; none where the directory is not registered.
    pub project: Option<ProjectId>,
    /// Its root.
    pub root: PathBuf,
    /// The task of its configuration first, then those that were asked for, then those it once had.
    pub tasks: Vec<TaskStanding>,
    /// What is wrong with the configuration, and what was put back in the task list; one line each.
    pub problems: Vec<String>,
}

impl ProjectStanding {
    /// Puts a task first, where it is one of them: what is answered is about the first.
    pub fn with_first(mut self, task: &TaskId) -> Self {
        if let Some(position) = self.tasks.iter().position(|standing| standing.task == *task) {
            self.tasks[..=position].rotate_right(1);
        }
        self
    }

    /// Returns how a task stands.
    pub fn of(&self, task: &TaskId) -> Option<&TaskStanding> {
        self.tasks.iter().find(|standing| standing.task == *task)
    }
}

/// Computes how a verdict stands.
///
/// What only a person can change comes first, then a fresh verdict: a run that repeats it makes it no worse.
pub fn compute_freshness(facts: &FreshnessFacts) -> Freshness {
    if facts.root == RootNow::Missing {
        return Freshness::RootMissing;
    }
    if facts.approval == Approval::NotApproved {
        return Freshness::NotApproved;
    }
    if facts.attention == Attention::Needed {
        return Freshness::NeedsHuman;
    }
    let plan = match facts.plan {
        PlanNow::Wrong => return Freshness::ConfigurationWrong,
        PlanNow::SpecificationWrong => return Freshness::SpecificationWrong,
        PlanNow::Known(plan) => Some(plan),
        PlanNow::WithoutTask => None,
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

/// Returns what a verdict is not for; none: it is for exactly this.
fn outdated(verdict: &LastVerdict, tree: Option<TreeDigest>, plan: Option<Digest>) -> Option<Outdated> {
    let Some(plan) = plan else { return Some(Outdated::TaskGone) };
    // A tree nobody looked at is not known to be the same.
    let same_tree = tree.is_some() && verdict.tree == tree;
    match (same_tree, verdict.plan == Some(plan)) {
        (true, true) => None,
        (false, true) => Some(Outdated::Tree),
        (true, false) => Some(Outdated::Plan),
        (false, false) => Some(Outdated::TreeAndPlan),
    }
}

/// A run whose tree moved says something about now only while what it began with or left is still there.
///
/// Nothing is repeated here: [`Repetitions`](crate::model::Repetitions) decides about that when a run ends. This reads from recorded runs
/// what came of it, for whoever asks later.
fn compute_moved(runs: &[MovedRun], tree: Option<TreeDigest>) -> Option<Freshness> {
    let newest = runs.first().filter(|run| tree.is_some() && (run.after == tree || run.before == tree))?;
    let paths = newest.paths.clone();
    let moved_again = runs.get(1).is_some_and(|former| former.paths == newest.paths);
    Some(if moved_again { Freshness::Unstable { paths } } else { Freshness::Moved { paths } })
}

impl Freshness {
    /// Returns the exit code of a command that answers with it (G5).
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

    /// Returns what a wait for a fresh verdict does next.
    pub fn wait_step(&self) -> WaitStep {
        match self {
            Self::Fresh { .. }
            | Self::NeedsHuman
            | Self::NotApproved
            | Self::ConfigurationWrong
            | Self::SpecificationWrong
            // Nothing could be run for it.
            | Self::Stale(Outdated::TaskGone)
            | Self::RootMissing
            | Self::Unstable { .. } => WaitStep::Answer,
            Self::Running | Self::Queued => WaitStep::GoOn,
            Self::Stale(_) | Self::Moved { .. } | Self::NoVerdict => WaitStep::Run,
        }
    }
}

#[cfg(test)]
mod tests;
