//! How a project's verdicts stand to its tree as it is now: gathers what [`compute_freshness`] decides on.
//!
//! The tree is looked at first and the ledger read afterwards, so that a verdict that is called fresh was there for a tree that was
//! on disk after the question was asked. Nothing is locked and nothing is run.

use std::path::Path;

use crate::evidence::{self, Store};
use crate::model::{
    Activity, Approval, Attention, CommandExit, FreshnessFacts, LastVerdict, MovedRun, OverallResult, OverallStatus, Plan,
    PlanNow, ProjectId, ProjectStanding, RootNow, RunId, Serving, TaskId, TaskStanding, TddState, TreeDigest, ViolationRecord,
    compute_freshness,
};
use crate::report::{EXECUTION_REPORT_FILE, parse};
use crate::run::archive::Archive;
use crate::run::error::RunError;
use crate::run::known_trees::look_once;
use crate::run::registration::{Found, Place};
use crate::run::request::{Scope, Settings};
use crate::run::workspace::{Workspace, catch_up};
use crate::store::{self, IndexedRun};
use crate::tree::Hints;

/// So many of the newest runs are looked at for ones whose tree moved: two in a row tell that it moves again and again.
const MOVED_RUNS: u32 = 2;

/// A project as its files describe it now.
#[derive(Debug, Clone, Copy)]
pub struct Described<'a> {
    /// What would be run.
    pub plan: &'a Plan,
    /// How.
    pub settings: &'a Settings,
}

/// Whose standing is asked for, and what is known of it beforehand.
struct Question<'a> {
    project: Option<&'a ProjectId>,
    approval: Approval,
    root: &'a Path,
    asked: Asked<'a>,
}

/// What the project's files say.
enum Asked<'a> {
    /// What would be run, or what is wrong.
    Described(Result<Described<'a>, &'a [String]>),
    /// Nobody read them; this was the task.
    Unlooked(TaskId),
}

/// What the tree and the plan are now, as far as somebody looked.
struct Look {
    tree: Option<TreeDigest>,
    activity: Activity,
}

impl Archive {
    /// Returns how the verdicts of a directory stand, whether it is registered or not.
    ///
    /// # Errors
    /// When the tree, the ledger or the index cannot be read.
    pub fn standing(&mut self, root: &Path, described: Result<Described<'_>, &[String]>) -> Result<ProjectStanding, RunError> {
        let (project, approval) = self.find_approved(root)?;
        let question = Question { project: project.as_ref(), approval, root, asked: Asked::Described(described) };
        let look = |settings: &Settings| {
            let index = look_once(&self.store, settings, project.as_ref(), root)?;
            Ok(index.digest())
        };
        stand(&self.store, &mut self.index, &question, look)
    }

    /// Returns how the verdicts of a project stand as far as that is known without a look at its tree: never fresh.
    ///
    /// # Errors
    /// When the ledger or the index cannot be read.
    pub fn standing_unlooked(
        &mut self,
        project: Option<&ProjectId>,
        root: &Path,
        approval: Approval,
        task: TaskId,
        activity: Activity,
    ) -> Result<ProjectStanding, RunError> {
        let question = Question { project, approval, root, asked: Asked::Unlooked(task) };
        judge(&self.store, &mut self.index, &question, &Look { tree: None, activity })
    }

    /// Returns whether a process writes a project's evidence at this moment.
    ///
    /// # Errors
    /// When the lock cannot be looked at.
    pub fn is_busy(&self, project: &ProjectId) -> Result<bool, RunError> {
        Ok(self.store.holder(project).map_err(RunError::Evidence)?.is_some())
    }

    /// Returns whether the service watches a project.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn serving(&self, project: &ProjectId) -> Result<Serving, RunError> {
        self.index.serving(project).map_err(RunError::Index)
    }

    fn find_approved(&mut self, root: &Path) -> Result<(Option<ProjectId>, Approval), RunError> {
        if !root.is_dir() {
            // A place cannot be taken of what is not there: whoever was registered at this path is meant.
            let path = root.to_string_lossy();
            let projects = self.projects()?;
            let found = projects.into_iter().find(|project| project.path == path).map(|project| project.id);
            let approval = if found.is_some() { Approval::Approved } else { Approval::NotApproved };
            return Ok((found, approval));
        }
        self.catch_up_all()?;
        Ok(match Place::of(root)?.find_in(&self.index)? {
            Found::Known(project) => (Some(project), Approval::Approved),
            Found::Doubtful(doubt) => (Some(doubt.project), Approval::NotApproved),
            Found::Unknown => (None, Approval::NotApproved),
        })
    }
}

impl Workspace {
    /// Returns how the verdicts of a registered project stand; its tree is looked at warm, at what the hints say.
    ///
    /// Hints that name a path too few make the answer wrong: whoever gives other hints than everything vouches for them.
    ///
    /// # Errors
    /// When the tree, the ledger or the index cannot be read.
    pub fn standing(
        &mut self,
        scope: &Scope,
        described: Result<Described<'_>, &[String]>,
        hints: &Hints,
    ) -> Result<ProjectStanding, RunError> {
        let question = Question {
            project: Some(&scope.project),
            approval: Approval::Approved,
            root: &scope.root,
            asked: Asked::Described(described),
        };
        let look = |settings: &Settings| {
            let index = self.trees.look(&self.store, settings, scope, hints)?;
            Ok(index.digest())
        };
        stand(&self.store, &mut self.index, &question, look)
    }
}

fn stand(
    store: &Store,
    index: &mut store::Index,
    question: &Question<'_>,
    look: impl FnOnce(&Settings) -> Result<TreeDigest, RunError>,
) -> Result<ProjectStanding, RunError> {
    let holder = question.project.map(|project| store.holder(project).map_err(RunError::Evidence)).transpose()?.flatten();
    let activity = if holder.is_some() { Activity::Running } else { Activity::Idle };
    // While a run is under way its own closing look tells more than one from here.
    let tree = match (&question.asked, activity) {
        (Asked::Described(Ok(described)), Activity::Idle) if question.root.is_dir() => Some(look(described.settings)?),
        _ => None,
    };
    judge(store, index, question, &Look { tree, activity })
}

fn judge(store: &Store, index: &mut store::Index, question: &Question<'_>, look: &Look) -> Result<ProjectStanding, RunError> {
    if let Some(project) = question.project {
        catch_up(store, index, project)?;
    }
    let mut tasks = Vec::new();
    for task in tasks_of(index, question)? {
        let history = question.project.map(|project| History::read(store, index, project, &task)).transpose()?;
        let history = history.unwrap_or_default();
        let facts = FreshnessFacts {
            root: if question.root.is_dir() { RootNow::Present } else { RootNow::Missing },
            approval: question.approval,
            plan: plan_now(question, &task, history.verdict.as_ref()),
            tree: look.tree,
            activity: look.activity,
            verdict: history.verdict,
            moved: history.moved,
            attention: if history.tdd.paused.is_some() { Attention::Needed } else { Attention::NotNeeded },
        };
        let plan = match (facts.plan, &question.asked) {
            (PlanNow::Known(digest), Asked::Described(_)) => Some(digest),
            (PlanNow::Known(_) | PlanNow::Wrong | PlanNow::WithoutTask, _) => None,
        };
        let freshness = compute_freshness(&facts);
        tasks.push(TaskStanding { freshness, task, tree: look.tree, plan, verdict: facts.verdict });
    }
    let mut problems = match &question.asked {
        Asked::Described(Err(problems)) => problems.to_vec(),
        Asked::Described(Ok(_)) | Asked::Unlooked(_) => Vec::new(),
    };
    if let Some(project) = question.project {
        // Those of the last report, and those since: whoever asks after a run wants to know them too.
        let violations = index.violations_since(project, 1).map_err(RunError::Index)?;
        problems.extend(violations.iter().map(ViolationRecord::sentence));
    }
    Ok(ProjectStanding { project: question.project.cloned(), root: question.root.to_owned(), tasks, problems })
}

/// Returns the task of the configuration, then those that have a history.
fn tasks_of(index: &store::Index, question: &Question<'_>) -> Result<Vec<TaskId>, RunError> {
    let own = match &question.asked {
        Asked::Described(Ok(described)) => described.plan.task.clone(),
        Asked::Described(Err(_)) => TaskId::default_task(),
        Asked::Unlooked(task) => task.clone(),
    };
    let known = match question.project {
        Some(project) => index.tasks(project).map_err(RunError::Index)?,
        None => Vec::new(),
    };
    let others = known.into_iter().filter(|task| *task != own).collect::<Vec<_>>();
    Ok(std::iter::once(own).chain(others).collect())
}

fn plan_now(question: &Question<'_>, task: &TaskId, verdict: Option<&LastVerdict>) -> PlanNow {
    match &question.asked {
        Asked::Described(Err(_)) => PlanNow::Wrong,
        Asked::Described(Ok(described)) if described.plan.task == *task => {
            PlanNow::Known(crate::spec::plan_digest(described.plan))
        }
        // Nobody read the files. The tree is not known either, so that nothing is called fresh for it.
        Asked::Unlooked(own) if own == task => {
            verdict.and_then(|verdict| verdict.plan).map_or(PlanNow::WithoutTask, PlanNow::Known)
        }
        Asked::Described(Ok(_)) | Asked::Unlooked(_) => PlanNow::WithoutTask,
    }
}

/// What the ledger says of a task.
#[derive(Default)]
struct History {
    verdict: Option<LastVerdict>,
    moved: Vec<MovedRun>,
    tdd: TddState,
}

impl History {
    fn read(store: &Store, index: &store::Index, project: &ProjectId, task: &TaskId) -> Result<Self, RunError> {
        let tdd = index.tdd(project, task).map_err(RunError::Index)?;
        let verdict = index.last_run(project, task).map_err(RunError::Index)?;
        let newest = index.runs(project, Some(task), MOVED_RUNS).map_err(RunError::Index)?;
        let newest = newest.into_iter().take_while(|run| run.status == OverallStatus::Moved);
        let moved = newest.map(|run| moved_run(store, project, &run)).collect::<Result<_, _>>()?;
        let verdict = verdict.map(|run| last_verdict(store, project, run, &tdd));
        Ok(Self { verdict, moved, tdd })
    }
}

fn last_verdict(store: &Store, project: &ProjectId, run: IndexedRun, tdd: &TddState) -> LastVerdict {
    LastVerdict {
        exit: exit(&run, tdd),
        report: store.run_directory(project, &run.task, &run.run_id).join(EXECUTION_REPORT_FILE),
        run_id: run.run_id,
        tree: run.tree_digest,
        plan: run.plan_digest,
        status: run.status,
        result: run.result,
        blocking: run.blocking,
        ended: run.ended,
    }
}

/// What the run's line says holds until something else changes the task's cycle: a RED that was valid is none in another phase.
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

fn moved_run(store: &Store, project: &ProjectId, run: &IndexedRun) -> Result<MovedRun, RunError> {
    let bytes = evidence::read_report(store, project, &run.task, &run.run_id).map_err(RunError::Evidence)?;
    let report = parse(&bytes).map_err(|error| report_error(&run.run_id, &error))?;
    let tree = report.tree;
    Ok(MovedRun {
        before: run.tree_digest,
        after: tree.as_ref().and_then(|tree| tree.after),
        paths: tree.map(|tree| tree.moved).unwrap_or_default(),
    })
}

fn report_error(run_id: &RunId, error: &impl ToString) -> RunError {
    RunError::Report { run_id: run_id.clone(), problem: error.to_string() }
}
