//! The model of a project's store: what was sealed, in memory. Whether a verdict is fresh is decided by the real `compute_freshness`.

use std::path::PathBuf;
use std::sync::LazyLock;

use super::disk::{PlanKind, Tree, digest, plan_of};
use super::schedule::Shape;
use proctor_model::{
    Action, ActionPhase, Activity, Approval, Attention, Blocking, CheckCoverage, CommandExit, CurrentPlan, CurrentRoot,
    CurrentToolchains, Digest, FreshnessFacts, KnownCheck, LastCheckResult, LastVerdict, MovedRun, OverallResult, OverallStatus,
    ProjectId, ProjectStatus, Reuse, RunId, Sequence, TaskId, TddState, TestedPlace, Timestamp, TreeDigest, TreeFormat,
    VerdictStatus, compute_freshness, testing,
};

/// A run whose evidence is sealed.
#[derive(Debug, Clone)]
pub(super) struct SealedRun {
    pub(super) task: TaskId,
    pub(super) tree: TreeDigest,
    /// What the checks saw.
    pub(super) files: Tree,
    pub(super) plan: Digest,
    pub(super) end: SealedEnd,
    /// For each check that was carried out, whether it blocks.
    pub(super) checks: Vec<(String, bool)>,
    /// Whether every check has a result on the run's tree.
    pub(super) is_whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SealedEnd {
    Verdict,
    Moved { after: TreeDigest, paths: Vec<String> },
    NoVerdict,
}

#[derive(Debug)]
pub(super) struct StoreInMemory {
    pub(super) project: ProjectId,
    pub(super) root: PathBuf,
    pub(super) runs: Vec<SealedRun>,
    /// The plan that a person approved.
    pub(super) approved: Digest,
    pub(super) is_full: bool,
}

/// The checks of a project.
pub(super) fn checks_of(shape: &Shape) -> Vec<Action> {
    let named = |name: &str, paths: &[&str]| Action {
        name: name.to_owned(),
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        reuse: if shape.is_reusing { Reuse::Watch } else { Reuse::Off },
        ..testing::generic_action(ActionPhase::Step)
    };
    let second = shape.has_path_check.then(|| named("second", &["a"]));
    std::iter::once(named("first", &[])).chain(second).collect()
}

/// The result of a check: a function of the files that trigger it. Returns whether it blocks.
pub(super) fn blocks(check: &str, tree: &Tree) -> bool {
    let seen = if check == "first" { &tree[..5] } else { &tree[..1] };
    seen.iter().map(|entry| entry.map_or(1, |entry| entry.content / 4)).sum::<u64>() % 3 == 1
}

/// The tasks of a project, in the order in which they run on a save.
pub(super) fn tasks_of(shape: &Shape) -> Vec<TaskId> {
    let second = (shape.tasks > 1).then(|| TaskId::try_from("T002").expect("an id"));
    std::iter::once(TaskId::default_task()).chain(second).collect()
}

/// A million schedules need them ready made.
static RUN_IDS: LazyLock<Vec<RunId>> =
    LazyLock::new(|| (0..256).map(|sequence| RunId::new(Timestamp::from_millis(0), sequence)).collect());

pub(super) fn run_id(sequence: usize) -> RunId {
    RUN_IDS.get(sequence).cloned().unwrap_or_else(|| RunId::new(Timestamp::from_millis(0), sequence as u64))
}

impl StoreInMemory {
    /// Returns whether the project's plan may be carried out.
    pub(super) fn is_approved(&self, tree: &Tree) -> bool {
        let (kind, plan) = plan_of(tree);
        kind != PlanKind::AsksForMore || plan == self.approved
    }

    /// Compares the files, as far as they were read, with the verdicts.
    pub(super) fn status(&self, tree: Option<&Tree>, checks: &[Action], wanted: &[TaskId]) -> ProjectStatus {
        let mut tasks: Vec<TaskId> = Vec::new();
        for task in wanted.iter().chain(self.runs.iter().map(|run| &run.task)) {
            if !tasks.contains(task) {
                tasks.push(task.clone());
            }
        }
        let tasks = tasks.into_iter().map(|task| self.status_of(task, tree, checks)).collect();
        ProjectStatus {
            project: Some(self.project.clone()),
            root: self.root.clone(),
            tasks,
            problems: Vec::new(),
            started_early: None,
        }
    }

    fn status_of(&self, task: TaskId, tree: Option<&Tree>, checks: &[Action]) -> VerdictStatus {
        let plan = tree.map(plan_of);
        let facts = FreshnessFacts {
            root: if tree.is_some() { CurrentRoot::Present } else { CurrentRoot::Missing },
            approval: if tree.is_none_or(|tree| self.is_approved(tree)) { Approval::Approved } else { Approval::NotApproved },
            plan: match plan {
                Some((PlanKind::Plain | PlanKind::AsksForMore, plan)) => CurrentPlan::Known(plan),
                Some((PlanKind::Wrong, _)) | None => CurrentPlan::Wrong,
            },
            tree: tree.map(digest),
            activity: Activity::Idle,
            verdict: self.last_verdict(&task),
            checks: checks.iter().map(|check| self.known_check(&task, check)).collect(),
            on_request: Vec::new(),
            moved: self.moved_runs(&task),
            attention: Attention::NotNeeded,
            toolchains: CurrentToolchains::AsNamed,
        };
        VerdictStatus {
            task,
            freshness: compute_freshness(&facts),
            tree: facts.tree,
            plan: plan.map(|(_, plan)| plan),
            verdict: facts.verdict,
            known: None,
            not_known: Vec::new(),
            checks: Vec::new(),
            problems: Vec::new(),
            rules_changed: Vec::new(),
            person: None,
            tdd: TddState::default(),
            tests_not_run: None,
            fewer_tests: None,
        }
    }

    fn runs_of<'s>(&'s self, task: &'s TaskId) -> impl Iterator<Item = (usize, &'s SealedRun)> {
        self.runs.iter().enumerate().rev().filter(move |(_, run)| run.task == *task)
    }

    fn last_verdict(&self, task: &TaskId) -> Option<LastVerdict> {
        let (number, run) = self.runs_of(task).find(|(_, run)| run.end == SealedEnd::Verdict)?;
        let is_red = run.checks.iter().any(|(_, blocks)| *blocks);
        Some(LastVerdict {
            run_id: run_id(number + 1),
            sequence: Sequence(number as u64 + 1),
            coverage: Some(if run.is_whole { CheckCoverage::Whole } else { CheckCoverage::Partial }),
            tree: Some(run.tree),
            tree_format: TreeFormat::CURRENT,
            tested: None::<TestedPlace>,
            plan: Some(run.plan),
            status: if is_red { OverallStatus::Failed } else { OverallStatus::Success },
            result: Some(if is_red { OverallResult::Failed } else { OverallResult::Passed }),
            blocking: u32::from(is_red),
            ended: None,
            isolation: None,
            exit: if is_red { CommandExit::CodeNeedsWork } else { CommandExit::Proceed },
            report: PathBuf::new(),
        })
    }

    /// The last result of a check. A run with no verdict gives none.
    fn known_check(&self, task: &TaskId, check: &Action) -> KnownCheck {
        let found = self.runs_of(task).filter(|(_, run)| run.end == SealedEnd::Verdict).find_map(|(number, run)| {
            let (_, blocks) = run.checks.iter().find(|(name, _)| *name == check.name)?;
            Some((number, run, *blocks))
        });
        let last = found.map(|(number, run, blocks)| LastCheckResult {
            sequence: Sequence(number as u64 + 1),
            run_id: run_id(number + 1),
            tree: run.tree,
            blocking: if blocks { Blocking::Blocks } else { Blocking::Allowed },
        });
        let plan = found.map_or(Digest::from_bytes([0; 32]), |(_, run, _)| run.plan);
        KnownCheck { id: check.id.clone(), name: check.name.clone(), plan, last }
    }

    fn moved_runs(&self, task: &TaskId) -> Vec<MovedRun> {
        let moved = self.runs_of(task).map_while(|(_, run)| match &run.end {
            SealedEnd::Moved { after, paths } => {
                Some(MovedRun { before: Some(run.tree), after: Some(*after), paths: paths.clone() })
            }
            SealedEnd::Verdict | SealedEnd::NoVerdict => None,
        });
        moved.collect()
    }

    /// Whether the last run of a task tested what was on disk when it ended and has no verdict, because files were written meanwhile.
    pub(super) fn was_tested_in_vain(&self, task: &TaskId) -> bool {
        let last = self.runs_of(task).next();
        last.is_some_and(|(_, run)| matches!(run.end, SealedEnd::Moved { after, .. } if after == run.tree))
    }

    /// Whether a check has a result on this tree by this plan.
    pub(super) fn has_result(&self, task: &TaskId, check: &str, tree: TreeDigest, plan: Digest) -> bool {
        let is_on_it = |run: &SealedRun| run.end == SealedEnd::Verdict && run.tree == tree && run.plan == plan;
        self.runs_of(task).any(|(_, run)| is_on_it(run) && run.checks.iter().any(|(name, _)| name == check))
    }
}
