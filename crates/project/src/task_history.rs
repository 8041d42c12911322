//! What the ledger says about a task's past: its verdicts, the last result of each check, and the state of its cycle.

use crate::error::ProjectError;
use crate::gate::are_rules_approved;
use crate::ledger_runs::{run_of_ledger, run_of_row, sealed_report};
use proctor_evidence::report::EXECUTION_REPORT_FILE;
use proctor_evidence::{LedgerLookup, Store};
use proctor_index::{self as store, IndexedRun, RunsJudgedBy};
use proctor_model::{
    CheckStanding, CommandExit, CurrentPlan, KnownCheck, LastVerdict, MovedRun, OverallResult, OverallStatus, ProjectId, RunLine,
    TaskId, TddState, TreeDigest, newest_fresh_failure,
};

/// The number of a task's newest runs that are read to find out whether the tree changed during them. If the tree
/// changed during two runs in a row, it keeps changing.
const MOVED_RUNS: u32 = 2;

/// The past of a task, as the ledger has it.
#[derive(Default)]
pub(crate) struct TaskHistory {
    /// The verdict of the last run that was not a run of checks by name.
    pub(crate) verdict: Option<LastVerdict>,
    /// The last result of each check, in whichever run.
    pub(crate) checks: Vec<KnownCheck>,
    pub(crate) moved: Vec<MovedRun>,
    pub(crate) tdd: TddState,
}

/// The plan and the tree of a task as they are now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PresentState {
    pub(crate) plan: CurrentPlan,
    /// `None` while the tree is not read.
    pub(crate) tree: Option<TreeDigest>,
}

impl TaskHistory {
    pub(crate) fn read(
        store: &Store,
        index: &store::StoreIndex,
        (project, task): (&ProjectId, &TaskId),
        judged_by: RunsJudgedBy,
    ) -> Result<Self, ProjectError> {
        let tdd = index.tdd(project, task).map_err(ProjectError::Index)?;
        let verdict = index.last_run(project, task, judged_by).map_err(ProjectError::Index)?;
        // The seal of the index proves which run is the last. What it says is read from the ledger.
        let verdict = verdict.map(|run| run_of_row(store, project, &run)).transpose()?.flatten();
        let newest = index.runs(project, Some(task), judged_by, MOVED_RUNS).map_err(ProjectError::Index)?;
        let newest = newest.into_iter().take_while(|run| run.status == OverallStatus::Moved);
        let moved = newest.map(|run| moved_run(store, project, &run)).collect::<Result<_, _>>()?;
        let verdict = verdict.map(|run| last_verdict(store, project, run, &tdd));
        let checks = index.checks(project, task, judged_by).map_err(ProjectError::Index)?;
        Ok(Self { verdict, checks, moved, tdd })
    }

    /// Returns whether the last run was by rules that nobody approved before it or since: once the approved ones are there again, it says
    /// nothing of them.
    pub(crate) fn is_by_other_rules(
        store: &Store,
        index: &store::StoreIndex,
        (project, task): (&ProjectId, &TaskId),
    ) -> Result<bool, ProjectError> {
        let newest = index.runs(project, Some(task), RunsJudgedBy::AnyRules, 1).map_err(ProjectError::Index)?;
        let Some(run) = newest.first().filter(|run| run.by_changed_rules) else { return Ok(false) };
        let ledger = LedgerLookup::open(store, project).map_err(ProjectError::Evidence)?;
        let line = ledger.find(run.sequence).map_err(ProjectError::Evidence)?;
        match line.as_ref().and_then(|line| line.body.about_runs()) {
            Some(RunLine::Sealed(record)) => Ok(!are_rules_approved(index, project, record, run.sequence)?),
            Some(RunLine::Pruned(_) | RunLine::Superseded(_)) | None => Ok(true),
        }
    }

    /// Returns the verdict that decides on this plan and tree: the last one, unless a check blocks in another run on
    /// the same tree. Then it is the verdict of that run, because no verdict of other checks outweighs it. A failure
    /// that the task's cycle expects does not count.
    pub(crate) fn deciding_verdict(
        &self,
        store: &Store,
        project: &ProjectId,
        now: PresentState,
    ) -> Result<Option<LastVerdict>, ProjectError> {
        let last = || self.verdict.clone();
        let PresentState { plan: CurrentPlan::Known(plan), tree: Some(tree) } = now else { return Ok(last()) };
        let is_failure_of_now = |verdict: &LastVerdict| {
            (verdict.plan, verdict.tree, verdict.result) == (Some(plan), Some(tree), Some(OverallResult::Failed))
        };
        if self.verdict.as_ref().is_some_and(is_failure_of_now) {
            return Ok(last());
        }
        let Some(failure) = newest_fresh_failure(&self.checks, plan, tree) else { return Ok(last()) };
        let run = run_of_ledger(store, project, &failure.run_id)?;
        let verdict = run.map(|run| last_verdict(store, project, run, &self.tdd));
        // A cycle can expect a failure. A run of some checks is then no answer for the task.
        Ok(verdict.filter(|verdict| verdict.exit != CommandExit::Proceed).or_else(last))
    }

    /// Returns the checks of the current plan and which of them have a result for the current tree; empty if plan or tree
    /// are not known.
    pub(crate) fn check_standings(
        &self,
        now: PresentState,
        files_since: impl Fn(TreeDigest) -> Option<u64>,
    ) -> Vec<CheckStanding> {
        let PresentState { plan: CurrentPlan::Known(plan), tree: Some(tree) } = now else { return Vec::new() };
        let checks = self.checks.iter().filter(|check| check.plan == plan);
        checks.map(|check| CheckStanding::of(check, tree, &files_since)).collect()
    }
}

pub(crate) fn last_verdict(store: &Store, project: &ProjectId, run: IndexedRun, tdd: &TddState) -> LastVerdict {
    LastVerdict {
        exit: exit(&run, tdd),
        report: store.run_directory(project, &run.task, &run.run_id).join(EXECUTION_REPORT_FILE),
        run_id: run.run_id,
        sequence: run.sequence,
        coverage: run.coverage,
        tree: run.tree_digest,
        tree_format: run.tree_format,
        tested: run.tested,
        plan: run.plan_digest,
        status: run.status,
        result: run.result,
        blocking: run.blocking,
        ended: run.ended,
        isolation: run.weaker_isolation,
    }
}

/// Returns the exit code that a command gives for this run now. If the task's TDD cycle changed after the run, only the
/// result counts: a failure that was right in phase RED is wrong in another phase.
fn exit(run: &IndexedRun, tdd: &TddState) -> CommandExit {
    let by_result = match (run.status, run.result) {
        (OverallStatus::SpecificationError, _) => CommandExit::SpecificationWrong,
        (_, Some(OverallResult::Passed)) => CommandExit::Proceed,
        (_, Some(OverallResult::Failed) | None) => CommandExit::CodeNeedsWork,
    };
    match run.exit {
        Some(exit) if tdd.sequence.is_none_or(|changed| changed <= run.sequence) => exit,
        Some(_) | None => by_result,
    }
}

fn moved_run(store: &Store, project: &ProjectId, run: &IndexedRun) -> Result<MovedRun, ProjectError> {
    let report = sealed_report(store, project, &run.task, &run.run_id)?;
    let tree = report.tree;
    Ok(MovedRun {
        before: run.tree_digest,
        after: tree.as_ref().and_then(|tree| tree.after),
        paths: tree.map(|tree| tree.moved).unwrap_or_default(),
    })
}
