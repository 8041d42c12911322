//! How a project's verdicts stand to its tree as it is now: gathers what [`compute_freshness`] decides on.
//!
//! The tree is looked at first and the ledger read afterwards, so that a verdict that is called fresh was there for a tree that was
//! on disk after the question was asked. Nothing is locked and nothing is run.

use std::path::Path;

use crate::config::Configuration;
use crate::evidence::{self, Store};
use crate::model::{
    Activity, Approval, Attention, CommandExit, FreshnessFacts, LastVerdict, MovedRun, OverallResult, OverallStatus, Plan,
    PlanNow, ProjectId, ProjectStanding, RootNow, RunId, Serving, TaskId, TaskStanding, TddState, TreeDigest, ViolationRecord,
    compute_freshness,
};
use crate::project::approval::unapproved_in;
use crate::project::archive::Archive;
use crate::project::error::RunError;
use crate::project::known_trees::look_once;
use crate::project::registration::{DirectoryOwner, RootDirectory};
use crate::project::request::{Scope, Settings};
use crate::project::specifications::{Specifications, TaskError};
use crate::project::workspace::{Workspace, catch_up};
use crate::report::{EXECUTION_REPORT_FILE, parse};
use crate::store::{self, IndexedRun};
use crate::tree::{self, TreeHints};

/// So many of the newest runs are looked at for ones whose tree moved: two in a row tell that it moves again and again.
const MOVED_RUNS: u32 = 2;

/// A project as its files describe it now.
#[derive(Debug, Clone, Copy)]
pub struct Described<'a> {
    /// What would be run.
    pub plan: &'a Plan,
    /// How.
    pub settings: &'a Settings,
    /// What the plans of other tasks are made with.
    pub configuration: &'a Configuration,
}

/// A project whose checks have no plan.
#[derive(Debug, Clone, Copy)]
pub struct Undescribed<'a> {
    /// Why, one line for each problem.
    pub problems: &'a [String],
    /// What can be read nevertheless: tasks of specifications may have plans.
    pub readable: Option<(&'a Settings, &'a Configuration)>,
}

/// Whose standing is asked for, and what is known of it beforehand.
struct Question<'a> {
    project: Option<&'a ProjectId>,
    approval: Approval,
    root: &'a Path,
    asked: Asked<'a>,
    /// The tasks that are asked about beside those that are watched or have a history.
    wanted: &'a [TaskId],
}

/// What the project's files say.
enum Asked<'a> {
    /// What would be run, or what is wrong.
    Described(Result<Described<'a>, Undescribed<'a>>),
    /// Nobody read them.
    Unlooked,
}

/// What the tree and the plan are now, as far as somebody looked.
struct Look<'a> {
    tree: Option<TreeDigest>,
    activity: Activity,
    /// The tasks that are asked about beside the configuration's and those that have a history.
    wanted: Vec<TaskId>,
    /// The specifications in that tree, and what their plans are made with; none where nobody looked.
    specifications: Option<(&'a Specifications, &'a Configuration)>,
}

/// What a task's plan is now.
struct PlanFacts {
    now: PlanNow,
    approval: Approval,
    problems: Vec<String>,
}

impl Archive {
    /// Returns how the verdicts of a directory stand, whether it is registered or not.
    ///
    /// # Errors
    /// When the tree, the ledger or the index cannot be read.
    pub fn standing(
        &mut self,
        root: &Path,
        described: Result<Described<'_>, Undescribed<'_>>,
        wanted: &[TaskId],
    ) -> Result<ProjectStanding, RunError> {
        let (project, approval) = self.find_approved(root)?;
        let question = Question { project: project.as_ref(), approval, root, asked: Asked::Described(described), wanted };
        let look = |settings: &Settings| look_once(&self.store, settings, project.as_ref(), root);
        stand(&self.store, &mut self.index, &mut Specifications::default(), &question, look)
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
        wanted: &[TaskId],
        activity: Activity,
    ) -> Result<ProjectStanding, RunError> {
        let question = Question { project, approval, root, asked: Asked::Unlooked, wanted };
        judge(
            &self.store,
            &mut self.index,
            &question,
            &Look { tree: None, activity, wanted: wanted.to_vec(), specifications: None },
        )
    }

    /// Returns whether a process writes a project's evidence at this moment.
    ///
    /// # Errors
    /// When the lock cannot be looked at.
    pub fn is_busy(&self, project: &ProjectId) -> Result<bool, RunError> {
        Ok(self.store.lock_holder(project).map_err(RunError::Evidence)?.is_some())
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
        Ok(match RootDirectory::of(root)?.find_in(&self.index)? {
            DirectoryOwner::Known(project) => (Some(project), Approval::Approved),
            DirectoryOwner::Doubtful(doubt) => (Some(doubt.project), Approval::NotApproved),
            DirectoryOwner::Unknown => (None, Approval::NotApproved),
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
        described: Result<Described<'_>, Undescribed<'_>>,
        wanted: &[TaskId],
        hints: &TreeHints,
    ) -> Result<ProjectStanding, RunError> {
        let question = Question {
            wanted,
            project: Some(&scope.project),
            approval: Approval::Approved,
            root: &scope.root,
            asked: Asked::Described(described),
        };
        let look = |settings: &Settings| self.trees.look(&self.store, settings, scope, hints);
        stand(&self.store, &mut self.index, &mut self.specifications, &question, look)
    }
}

fn stand(
    store: &Store,
    index: &mut store::StoreIndex,
    specifications: &mut Specifications,
    question: &Question<'_>,
    look: impl FnOnce(&Settings) -> Result<tree::TreeIndex, RunError>,
) -> Result<ProjectStanding, RunError> {
    let holder = question.project.map(|project| store.lock_holder(project).map_err(RunError::Evidence)).transpose()?.flatten();
    let activity = if holder.is_some() { Activity::Running } else { Activity::Idle };
    let readable = match &question.asked {
        Asked::Described(Ok(described)) => Some((described.settings, described.configuration)),
        Asked::Described(Err(undescribed)) => undescribed.readable,
        Asked::Unlooked => None,
    };
    if let Some(project) = question.project {
        catch_up(store, index, project)?;
    }
    let watched = readable.map(|(_, configuration)| &configuration.watch.tasks);
    let named = watched.map(|watched| watched.named.clone()).unwrap_or_default();
    let wanted = [question.wanted, &named].concat();
    let mut seen = Look { tree: None, activity, wanted, specifications: None };
    // While a run is under way its own closing look tells more than one from here.
    if let (Some((settings, configuration)), Activity::Idle) = (readable, activity)
        && question.root.is_dir()
    {
        let tree = look(settings)?;
        seen.tree = Some(tree.digest());
        let watched = &configuration.watch.tasks;
        if watched.asks_for_specifications() || needs_specifications(index, question, &seen.wanted)? {
            specifications.update(question.root, &tree);
            if watched.asks_for_specifications() {
                seen.wanted.extend(specifications.tasks());
            }
            seen.specifications = Some((specifications, configuration));
        }
    }
    judge(store, index, question, &seen)
}

/// Returns whether a task is asked about that only a specification can have: nothing is read where none is.
fn needs_specifications(index: &store::StoreIndex, question: &Question<'_>, wanted: &[TaskId]) -> Result<bool, RunError> {
    let own = own_task(question);
    Ok(tasks_of(index, question, wanted)?.iter().any(|task| *task != own && *task != TaskId::default_task()))
}

fn judge(
    store: &Store,
    index: &mut store::StoreIndex,
    question: &Question<'_>,
    look: &Look<'_>,
) -> Result<ProjectStanding, RunError> {
    if let Some(project) = question.project {
        catch_up(store, index, project)?;
    }
    let mut tasks = Vec::new();
    for task in tasks_of(index, question, &look.wanted)? {
        let history = question.project.map(|project| History::read(store, index, project, &task)).transpose()?;
        let history = history.unwrap_or_default();
        let plan = plan_facts(index, question, look, &task, history.verdict.as_ref())?;
        let facts = FreshnessFacts {
            root: if question.root.is_dir() { RootNow::Present } else { RootNow::Missing },
            approval: plan.approval,
            plan: plan.now,
            tree: look.tree,
            activity: look.activity,
            verdict: history.verdict,
            moved: history.moved,
            attention: if history.tdd.paused.is_some() { Attention::Needed } else { Attention::NotNeeded },
        };
        let digest = match (facts.plan, &question.asked) {
            (PlanNow::Known(digest), Asked::Described(_)) => Some(digest),
            (PlanNow::Known(_) | PlanNow::Wrong | PlanNow::SpecificationWrong | PlanNow::WithoutTask, _) => None,
        };
        let freshness = compute_freshness(&facts);
        let (tree, verdict, problems) = (look.tree, facts.verdict, plan.problems);
        tasks.push(TaskStanding { freshness, task, tree, plan: digest, verdict, problems });
    }
    let mut problems = match &question.asked {
        Asked::Described(Err(undescribed)) => undescribed.problems.to_vec(),
        Asked::Described(Ok(_)) | Asked::Unlooked => Vec::new(),
    };
    if let Some(project) = question.project {
        // Those of the last report, and those since: whoever asks after a run wants to know them too.
        let violations = index.violations_since(project, 1).map_err(RunError::Index)?;
        problems.extend(violations.iter().map(ViolationRecord::sentence));
    }
    Ok(ProjectStanding { project: question.project.cloned(), root: question.root.to_owned(), tasks, problems })
}

/// Returns the task whose plan was read beforehand.
fn own_task(question: &Question<'_>) -> TaskId {
    match &question.asked {
        Asked::Described(Ok(described)) => described.plan.task.clone(),
        Asked::Described(Err(_)) | Asked::Unlooked => TaskId::default_task(),
    }
}

/// Returns the task of the configuration, then those that were asked for, then those that have a history.
fn tasks_of(index: &store::StoreIndex, question: &Question<'_>, wanted: &[TaskId]) -> Result<Vec<TaskId>, RunError> {
    let known = match question.project {
        Some(project) => index.tasks(project).map_err(RunError::Index)?,
        None => Vec::new(),
    };
    let mut tasks = vec![own_task(question)];
    for task in wanted.iter().cloned().chain(known) {
        if !tasks.contains(&task) {
            tasks.push(task);
        }
    }
    Ok(tasks)
}

fn plan_facts(
    index: &store::StoreIndex,
    question: &Question<'_>,
    look: &Look<'_>,
    task: &TaskId,
    verdict: Option<&LastVerdict>,
) -> Result<PlanFacts, RunError> {
    let facts = |now, problems| PlanFacts { now, approval: question.approval, problems };
    let is_own = own_task(question) == *task;
    let read;
    let plan = match &question.asked {
        Asked::Described(Ok(described)) if is_own => described.plan,
        Asked::Described(Err(undescribed)) if is_own || undescribed.readable.is_none() => {
            return Ok(facts(PlanNow::Wrong, Vec::new()));
        }
        Asked::Described(_) => match look.specifications.map(|(read, configuration)| read.plan(configuration, task)) {
            Some(Ok(plan)) => {
                read = plan;
                &read
            }
            // It had verdicts: they are of a task that is gone.
            Some(Err(TaskError::Unknown { .. })) if verdict.is_some() => return Ok(facts(PlanNow::WithoutTask, Vec::new())),
            Some(Err(error)) => return Ok(facts(PlanNow::SpecificationWrong, error.lines())),
            // Nobody looked, because a run is under way. The tree is not known either, so that nothing is called fresh for it.
            None => return Ok(facts(plan_of_verdict(verdict), Vec::new())),
        },
        Asked::Unlooked => return Ok(facts(plan_of_verdict(verdict), Vec::new())),
    };
    let digest = crate::spec::plan_digest(plan);
    let unapproved = match question.project {
        Some(project) => unapproved_in(index, project, plan, digest)?,
        None => None,
    };
    let approval = if unapproved.is_some() { Approval::NotApproved } else { question.approval };
    Ok(PlanFacts { now: PlanNow::Known(digest), approval, problems: unapproved.map(|it| it.weakened).unwrap_or_default() })
}

fn plan_of_verdict(verdict: Option<&LastVerdict>) -> PlanNow {
    verdict.and_then(|verdict| verdict.plan).map_or(PlanNow::WithoutTask, PlanNow::Known)
}

/// What the ledger says of a task.
#[derive(Default)]
struct History {
    verdict: Option<LastVerdict>,
    moved: Vec<MovedRun>,
    tdd: TddState,
}

impl History {
    fn read(store: &Store, index: &store::StoreIndex, project: &ProjectId, task: &TaskId) -> Result<Self, RunError> {
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
