//! Decides whether a verdict still applies to what is on disk now. The decision compares digests and uses no file
//! events. Pure.
//!
//! A verdict is fresh while tree and plan have the digests that the verdict was made for, and its run covers every check on
//! this tree. What triggers a check (its `paths`) is no proof of what the check reads, so a check that did not run on this
//! tree keeps the task stale. Every state but `Fresh` is a reason why there is no fresh verdict. Toolchains and installed packages
//! that the run names by their content are compared by the stamps of their directories, so one whose files were changed in place is
//! still called fresh here; the gate looks at every file.

use std::path::PathBuf;

use proctor_wire::wire;

use crate::{
    Blocking, CheckCoverage, CheckStanding, CommandExit, Digest, FewerTests, IsolationLevel, KnownCheck, KnownFrom,
    OverallResult, OverallStatus, PersonAsked, ProjectId, RunId, Sequence, TaskId, TddState, TestedPlace, Timestamp, TreeDigest,
    TreeFormat, newest_fresh_failure,
};

/// How a task's last verdict relates to the present tree and plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Freshness {
    /// The verdict applies to the current tree and the current plan.
    Fresh {
        result: OverallResult,
        /// The exit code of a command that reports this verdict (G5).
        exit: CommandExit,
    },
    /// A run of the task is under way.
    Running,
    /// A run was started and waits for its turn on this machine.
    Queued,
    /// The last verdict does not count for the current tree and plan; the reason says why.
    Stale(StaleReason),
    /// The tree changed while it was tested, so the run has no verdict (S6).
    Moved { paths: Vec<String> },
    /// The run was repeated because the tree had changed, and the same paths changed again. Another run would prove
    /// nothing until something else changes (S6).
    Unstable { paths: Vec<String> },
    /// The task waits for a person to decide where it continues (R9).
    NeedsHuman,
    /// Nobody has approved the present plan.
    NotApproved,
    /// The project's directory does not exist.
    RootMissing,
    /// The configuration has errors, so no plan can be made from it.
    ConfigurationWrong,
    /// The task's specification has errors that make a run impossible, or no specification contains the task.
    SpecificationWrong,
    /// The task has never had a verdict.
    NoVerdict,
}

/// What changed since a stale verdict was made.
#[wire(Copy, Hash, schema)]
pub enum StaleReason {
    Tree,
    /// The digest of the tested tree does not have the current format, so it is not known whether the tree is the same (S9).
    DigestVersion,
    /// The plan has changed: its checks, commands, time-outs or policies.
    Plan,
    /// Both the files of the tree and the plan have changed.
    TreeAndPlan,
    /// The configuration no longer has the task.
    TaskGone,
    /// Tree and plan are the same, but the run does not cover every check on this tree, or later results contradict its
    /// verdict.
    Checks,
    /// Tree and plan are the same, and a check of the run left other content in its copy of the tree.
    RewroteTree,
    /// Tree and plan are the same, and a toolchain or a directory of installed packages has not the content that the run names.
    Toolchain,
}

/// What a command that waits for a fresh verdict does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitStep {
    /// The command ends with this state as its answer, because waiting would not change the state.
    Answer,
    /// The command keeps waiting, because a run that is queued or under way may bring a fresh verdict.
    GoOn,
    /// The command starts a run.
    Run,
}

/// All facts from which freshness is computed. The code that collects them does the I/O.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreshnessFacts {
    pub root: CurrentRoot,
    pub approval: Approval,
    pub plan: CurrentPlan,
    /// The digest of the present tree; `None` if it was not computed, for example because a run was under way.
    pub tree: Option<TreeDigest>,
    pub activity: Activity,
    /// The last verdict; or, if a check blocks on this tree in a newer run of some checks, the verdict of that run.
    pub verdict: Option<LastVerdict>,
    /// The task's checks, each with its last result.
    pub checks: Vec<KnownCheck>,
    /// The names of the checks that run only when somebody asks for them. A verdict without them is fresh, and proves nothing.
    pub on_request: Vec<String>,
    /// The runs after the last verdict during which the tree changed, newest first. Empty if the tree did not change
    /// during the newest run.
    pub moved: Vec<MovedRun>,
    pub attention: Attention,
    pub toolchains: CurrentToolchains,
}

/// Whether a project's directory exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CurrentRoot {
    Present,
    Missing,
}

/// Whether a plan is approved (S7). Registering a project approves its plan; an unregistered project has no approved
/// plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Approval {
    Approved,
    NotApproved,
}

/// The present plan, as the project's files give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CurrentPlan {
    Known(Digest),
    /// The configuration has errors, so there is no plan.
    Wrong,
    /// The specification has errors, or no specification contains the task.
    SpecificationWrong,
    /// The configuration has no errors, but it does not contain the task.
    WithoutTask,
}

/// Whether a run of a project is under way, or waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activity {
    Idle,
    Queued,
    Running,
}

/// Whether a task waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attention {
    NotNeeded,
    /// The task waits for a person's decision (R9).
    Needed,
}

/// Whether the toolchains and installed packages that the verdict's run names have the content that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CurrentToolchains {
    /// Each has the named content, or the run names none.
    AsNamed,
    Changed,
}

/// The last verdict of a task, and the tree and plan that it was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastVerdict {
    pub run_id: RunId,
    /// The number of the run's line in the ledger.
    pub sequence: Sequence,
    /// Whether the run covers every check; `None` if its ledger line, by an older version, does not say it.
    pub coverage: Option<CheckCoverage>,
    /// The tree that was tested; `None` if the run ended before it read the tree.
    pub tree: Option<TreeDigest>,
    /// The format of the digest of the tree that was tested.
    pub tree_format: TreeFormat,
    /// Where the checks worked; `None` if it is not known.
    pub tested: Option<TestedPlace>,
    /// The plan of the run; `None` if the run ended before it had a plan.
    pub plan: Option<Digest>,
    /// The status with which the run ended, for example SUCCESS or INTERRUPTED.
    pub status: OverallStatus,
    /// PASSED or FAILED; `None` if the run's ledger line has no verdict.
    pub result: Option<OverallResult>,
    /// The number of results that make the verdict FAILED.
    pub blocking: u32,
    /// The time at which the run's last process had ended; `None` if it is not known.
    pub ended: Option<Timestamp>,
    /// The isolation level of the run if it was weaker than namespaces.
    pub isolation: Option<IsolationLevel>,
    /// The exit code of a command that reports this verdict (G5).
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

/// A task and whether its verdict is fresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictStatus {
    pub task: TaskId,
    pub freshness: Freshness,
    /// The present tree; `None` if its digest was not computed.
    pub tree: Option<TreeDigest>,
    /// The digest of the present plan; `None` if it is not known, for example because the configuration has errors or does not
    /// contain this task.
    pub plan: Option<Digest>,
    /// The last verdict, fresh or not.
    pub verdict: Option<LastVerdict>,
    /// Where the verdict comes from, if it is not that of the task's own last run; `None` for the last run's own.
    pub known: Option<KnownFrom>,
    /// Why runs that judged just the present content do not count here, for people. Empty if none was looked for.
    pub not_known: Vec<String>,
    /// The checks of the present plan and which of them have a result for the present tree; empty if plan or tree are not
    /// known.
    pub checks: Vec<CheckStanding>,
    /// Lines for people: the errors in the task's specification, what its plan asks for without an approval, or for which failed task it
    /// waits.
    pub problems: Vec<String>,
    /// Which rules of the present plan are not the approved ones, such as `pytest: command, timeout`. A verdict by them is no proof.
    pub rules_changed: Vec<String>,
    /// What a person is asked about the task.
    pub person: Option<PersonAsked>,
    /// The task's cycle and the counts of the router.
    pub tdd: TddState,
    /// The project's test command that no check of the fresh verdict's run ran; `None` if one did, or without a fresh verdict.
    pub tests_not_run: Option<String>,
    /// How many tests the fresh verdict's run had less than the last whole run before it; `None` if there are not fewer, or without a fresh
    /// verdict.
    pub fewer_tests: Option<FewerTests>,
}

/// A project and the freshness of its tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectStatus {
    /// The project's id; `None` if the directory is not registered.
    pub project: Option<ProjectId>,
    pub root: PathBuf,
    /// The tasks: first the configured one, then the requested ones, then those that were run in the past.
    pub tasks: Vec<VerdictStatus>,
    /// The errors in the configuration, and the changes to the task list that were reverted; one line each.
    pub problems: Vec<String>,
    /// The memory, in bytes, of the command that was started early for the next run; `None` if none waits.
    pub started_early: Option<u64>,
}

impl ProjectStatus {
    /// Moves a task to the front, because reports speak about the first task. A task that is not in the list changes
    /// nothing.
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
/// States that only a person can change come first. A fresh verdict comes before a run that is under way, because this
/// run tests the same tree and the verdict stays valid.
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
    let outdated = facts.verdict.as_ref().map(|verdict| {
        let outdated = outdated(verdict, facts.tree, plan);
        let outdated = outdated.or_else(|| (!covers_checks(verdict, facts)).then_some(StaleReason::Checks));
        outdated.or_else(|| (facts.toolchains == CurrentToolchains::Changed).then_some(StaleReason::Toolchain))
    });
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

/// Returns what changed since the verdict was made, or why it never held for its tree; `None` if it is for this tree and plan.
fn outdated(verdict: &LastVerdict, tree: Option<TreeDigest>, plan: Option<Digest>) -> Option<StaleReason> {
    let Some(plan) = plan else { return Some(StaleReason::TaskGone) };
    if verdict.tree.is_some() && !verdict.tree_format.is_computed() {
        return Some(StaleReason::DigestVersion);
    }
    // If the tree's digest was not computed, the tree cannot be taken for unchanged.
    let same_tree = tree.is_some() && verdict.tree == tree;
    match (same_tree, verdict.plan == Some(plan)) {
        (true, true) if verdict.status == OverallStatus::RewroteTree => Some(StaleReason::RewroteTree),
        (true, true) => None,
        (false, true) => Some(StaleReason::Tree),
        (true, false) => Some(StaleReason::Plan),
        (false, false) => Some(StaleReason::TreeAndPlan),
    }
}

/// Returns whether a verdict for the current tree and plan still stands. A check that fails on this tree confirms any verdict
/// except PASSED. Without such a check, the verdict must cover every check but those that wait for somebody to ask for them, and later
/// results must not contradict it.
fn covers_checks(verdict: &LastVerdict, facts: &FreshnessFacts) -> bool {
    let checks = facts.checks.as_slice();
    let Some((plan, tree)) = verdict.plan.zip(verdict.tree) else { return false };
    let fails = newest_fresh_failure(checks, plan, tree).is_some();
    match (verdict.result, verdict.coverage) {
        (Some(OverallResult::Failed) | None, _) if fails => true,
        (Some(OverallResult::Failed) | None, Some(CheckCoverage::Whole)) => !is_repaired(verdict, checks, (plan, tree)),
        (Some(OverallResult::Passed), Some(CheckCoverage::Whole)) => !fails,
        (Some(OverallResult::Passed), Some(CheckCoverage::Partial)) if !facts.on_request.is_empty() => {
            let waits = |check: &KnownCheck| facts.on_request.contains(&check.name);
            let succeeded = |check: &KnownCheck| check.fresh_result(plan, tree).is_some();
            !fails && checks.iter().all(|check| waits(check) || succeeded(check))
        }
        (_, Some(CheckCoverage::Partial) | None) => false,
    }
}

/// Returns whether every check succeeded on this tree, at least one of them after the verdict.
fn is_repaired(verdict: &LastVerdict, checks: &[KnownCheck], (plan, tree): (Digest, TreeDigest)) -> bool {
    let succeeded = |check: &KnownCheck| {
        check.fresh_result(plan, tree).filter(|last| last.blocking == Blocking::Allowed).map(|last| last.sequence)
    };
    let Some(sequences) = checks.iter().map(succeeded).collect::<Option<Vec<_>>>() else { return false };
    // A failure that a cycle expects is no failure to be repaired.
    verdict.exit != CommandExit::Proceed && sequences.iter().any(|sequence| *sequence > verdict.sequence)
}

/// Returns `Moved` or `Unstable` after runs during which the tree changed. Returns `None` if there is no such run, or if the
/// tree is not known, or is now neither as it was before nor as it was after the newest of them.
///
/// This function only describes the state: [`Repetitions`](crate::Repetitions) decides at the end of a run
/// whether the run is repeated.
fn compute_moved(runs: &[MovedRun], tree: Option<TreeDigest>) -> Option<Freshness> {
    let newest = runs.first().filter(|run| tree.is_some() && (run.after == tree || run.before == tree))?;
    let paths = newest.paths.clone();
    let moved_again = runs.get(1).is_some_and(|former| newest.paths.iter().all(|path| former.paths.contains(path)));
    Some(if moved_again { Freshness::Unstable { paths } } else { Freshness::Moved { paths } })
}

impl Freshness {
    /// Returns the exit code of a command that reports this freshness (G5).
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
            // No run could bring a verdict, because the configuration no longer has the task.
            | Self::Stale(StaleReason::TaskGone)
            // The checks would rewrite the same files again.
            | Self::Stale(StaleReason::RewroteTree)
            | Self::RootMissing
            | Self::Unstable { .. } => WaitStep::Answer,
            Self::Running | Self::Queued => WaitStep::GoOn,
            Self::Stale(_) | Self::Moved { .. } | Self::NoVerdict => WaitStep::Run,
        }
    }
}

#[cfg(test)]
mod tests;
