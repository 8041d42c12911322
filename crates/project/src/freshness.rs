//! Collects the facts from which [`compute_freshness`] decides whether a project's verdicts still apply.
//! The tree is read after the question was asked, and the ledger after the tree. So a verdict is called fresh only for
//! a tree that was on disk after the question was asked. Nothing is locked and nothing is run.

mod known_verdict;
mod plan_facts;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use crate::approved_tree::files_that_left_saved;
use crate::checked_index::catch_up;
use crate::error::ProjectError;
pub use crate::freshness::known_verdict::KnownAsked;
use crate::freshness::known_verdict::{KnownAnswer, KnownVerdict, known_verdict};
use crate::freshness::plan_facts::plan_facts;
use crate::known_trees::scan_once;
use crate::registration::{DirectoryOwner, RootDirectory};
use crate::request::{ProjectScope, ProjectSettings};
use crate::specifications::Specifications;
use crate::store_reader::StoreReader;
use crate::task_history::{PresentState, TaskHistory};
use crate::toolchains::{ToolchainNames, conditions_now};
use crate::trees::CheckedTrees;
use crate::waiting_approvals::add_what_they_wait_for;
use crate::workspace::Workspace;
use proctor_evidence::Store;
use proctor_index::{self as store, IndexError, RunsJudgedBy};
use proctor_model::{
    Action, Activity, Approval, Attention, CurrentPlan, CurrentRoot, Freshness, FreshnessFacts, PersonAsked, Plan, ProjectId,
    ProjectStatus, RuleChange, TaskId, TreeDigest, VerdictStatus, ViolationRecord, compute_freshness,
};
use proctor_plan::config::Configuration;
use proctor_tree::{self as tree, TreeHints, TreeIndex};

/// How often the rows are read again because another process has written to the index meanwhile.
const ATTEMPTS: u32 = 100;

/// A project as its files describe it now.
#[derive(Debug, Clone, Copy)]
pub struct DescribedProject<'a> {
    /// The plan of the project's own checks, as it would be run now.
    pub plan: &'a Plan,
    pub settings: &'a ProjectSettings,
    /// The configuration, from which the plans of other tasks are made.
    pub configuration: &'a Configuration,
}

/// Why the project's own checks have no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlanlessReason {
    /// The configuration is right, and the project has no checks. If it has test specifications, their tasks are all that
    /// it has.
    WithoutChecks,
    /// The configuration has errors.
    Wrong,
}

/// Why a project's own checks have no plan, with lines for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingOwnPlan {
    pub reason: PlanlessReason,
    /// One line for each problem.
    pub lines: Vec<String>,
}

/// A project whose own checks have no plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanlessProject<'a> {
    pub reason: PlanlessReason,
    /// Why there is no plan: one line for each problem.
    pub problems: &'a [String],
    /// Settings and configuration, if these can be read. They are used for tasks of test specifications, which may have
    /// plans all the same.
    pub readable: Option<(&'a ProjectSettings, &'a Configuration)>,
}

/// A question whether the verdicts of some tasks are fresh, and what is already known about the project.
struct StatusQuestion<'a> {
    project: Option<&'a ProjectId>,
    approval: Approval,
    root: &'a Path,
    /// The environment of proctor itself, which says where HOME is.
    ambient: &'a BTreeMap<OsString, OsString>,
    asked: FilesRead<'a>,
    /// The tasks to report on. Tasks that are watched or have a history are reported too.
    wanted: &'a [TaskId],
    known: KnownAsked,
}

/// What the project's configuration files say.
enum FilesRead<'a> {
    /// The files were read: there is a plan for the project's own checks, or there are problems.
    Described(Result<DescribedProject<'a>, PlanlessProject<'a>>),
    Unlooked,
}

impl<'a> StatusQuestion<'a> {
    fn readable(&self) -> Option<(&'a ProjectSettings, &'a Configuration)> {
        match &self.asked {
            FilesRead::Described(Ok(described)) => Some((described.settings, described.configuration)),
            FilesRead::Described(Err(undescribed)) => undescribed.readable,
            FilesRead::Unlooked => None,
        }
    }

    /// Returns the names of a task's checks that run only when somebody asks for them. Steps of specifications are no such checks.
    fn on_request(&self, task: &TaskId) -> Vec<String> {
        let FilesRead::Described(Ok(described)) = &self.asked else { return Vec::new() };
        let waits = |step: &&Action| !step.when.is_save() && *task == described.plan.task;
        described.plan.steps.iter().filter(waits).map(|step| step.name.clone()).collect()
    }

    /// Returns whether the project's configuration is right and has no checks, and none were found in its files.
    fn lacks_checks(&self) -> bool {
        matches!(&self.asked, FilesRead::Described(Err(planless)) if planless.reason == PlanlessReason::WithoutChecks)
    }
}

/// The current tree and plan, as far as they were read.
struct ScannedState<'a> {
    tree: Option<TreeDigest>,
    activity: Activity,
    /// The tasks to report on: requested tasks and watched tasks. The task of the project's own checks and tasks with a
    /// history are reported too.
    wanted: Vec<TaskId>,
    /// The test specifications in the tree, and the configuration for their plans; `None` if they were not read.
    specifications: Option<(&'a Specifications, &'a Configuration)>,
    /// Whether the project's own checks are reported on.
    own: OwnTask,
    /// The current tree, and the trees on which checks had their last results; `None` if the tree was not read.
    trees: Option<(TreeIndex, &'a CheckedTrees)>,
    /// The files that have left the approved tree.
    left: Vec<RuleChange>,
}

impl ScannedState<'_> {
    /// Returns a state of which nothing was read.
    fn unread(activity: Activity, wanted: Vec<TaskId>) -> Self {
        Self { tree: None, activity, wanted, specifications: None, own: OwnTask::Listed, trees: None, left: Vec::new() }
    }
}

/// Whether a status has the task of the project's own checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnTask {
    Listed,
    /// The project has test specifications and no checks of its own.
    Absent,
}

impl StoreReader {
    /// Returns whether the verdicts of a directory still apply to its current tree. The directory need not be
    /// registered.
    ///
    /// # Errors
    /// When the tree, the ledger or the index cannot be read.
    pub fn project_status(
        &mut self,
        root: &Path,
        described: Result<DescribedProject<'_>, PlanlessProject<'_>>,
        wanted: &[TaskId],
    ) -> Result<ProjectStatus, ProjectError> {
        let (project, approval) = self.find_approved(root)?;
        let (project, ambient, asked) = (project.as_ref(), &self.ambient, FilesRead::Described(described));
        let question = StatusQuestion { project, approval, root, ambient, asked, wanted, known: KnownAsked::WithoutOwn };
        let mut last_tree = None;
        let look = |settings: &ProjectSettings| {
            let tree = scan_once(&self.store, settings, project, root)?;
            last_tree = Some((root.to_owned(), tree.clone()));
            let left = project.map(|project| files_that_left_saved(&self.store, project, root, settings, &tree));
            Ok((tree, left.unwrap_or_default()))
        };
        // Another process ran the checks, so their trees are not known here.
        let stood =
            stand(&self.store, &mut self.index, &mut Specifications::default(), &CheckedTrees::default(), &question, look);
        self.last_tree = last_tree;
        stood
    }

    /// Computes the digest of a project's tree as it is now, whether a run is under way or not. `None` if there is no such project.
    ///
    /// # Errors
    /// When the tree, the ledger or the index cannot be read.
    pub fn tree_now(&mut self, root: &Path, settings: &ProjectSettings) -> Result<Option<TreeDigest>, ProjectError> {
        let Some(project) = self.find_approved(root)?.0.filter(|_| root.is_dir()) else { return Ok(None) };
        scan_once(&self.store, settings, Some(&project), root).map(|tree| Some(tree.digest()))
    }

    /// Returns the states of a project's verdicts without reading its tree. Because the tree is unknown, no verdict is
    /// called fresh.
    ///
    /// # Errors
    /// When the ledger or the index cannot be read.
    pub fn last_known_status(
        &mut self,
        project: Option<&ProjectId>,
        root: &Path,
        approval: Approval,
        wanted: &[TaskId],
        activity: Activity,
    ) -> Result<ProjectStatus, ProjectError> {
        let (ambient, asked) = (&self.ambient, FilesRead::Unlooked);
        let question = StatusQuestion { project, approval, root, ambient, asked, wanted, known: KnownAsked::Never };
        judge(&self.store, &mut self.index, &question, &ScannedState::unread(activity, wanted.to_vec()))
    }

    pub(crate) fn find_approved(&mut self, root: &Path) -> Result<(Option<ProjectId>, Approval), ProjectError> {
        if !root.is_dir() {
            // There is no directory at this path, so there is no device and inode to compare. The project is found by
            // its registered path.
            let path = root.to_string_lossy();
            let projects = self.projects()?;
            let found = projects.into_iter().find(|project| project.path == path).map(|project| project.id);
            let approval = if found.is_some() { Approval::Approved } else { Approval::NotApproved };
            return Ok((found, approval));
        }
        let place = RootDirectory::of(root)?;
        Ok(match place.find_checked(&self.store, &mut self.index)? {
            DirectoryOwner::Known(project) => (Some(project), Approval::Approved),
            DirectoryOwner::Doubtful(doubt) => (Some(doubt.project), Approval::NotApproved),
            DirectoryOwner::Unknown => (None, Approval::NotApproved),
        })
    }
}

impl Workspace {
    /// Returns whether the verdicts of a registered project still apply to its current tree. Only the paths in `hints`
    /// are read again.
    ///
    /// Callers that pass hints promise that no other path changed. If the hint for a changed path is missing, the
    /// answer may be wrong.
    ///
    /// # Errors
    /// When the tree, the ledger or the index cannot be read.
    pub fn project_status(
        &mut self,
        scope: &ProjectScope,
        described: Result<DescribedProject<'_>, PlanlessProject<'_>>,
        wanted: &[TaskId],
        (hints, known): (&TreeHints, KnownAsked),
    ) -> Result<ProjectStatus, ProjectError> {
        let question = StatusQuestion {
            wanted,
            known,
            project: Some(&scope.project),
            approval: Approval::Approved,
            root: &scope.root,
            ambient: &self.runner.ambient,
            asked: FilesRead::Described(described),
        };
        let look = |settings: &ProjectSettings| {
            let tree = self.trees.known.scan(&self.evidence.store, settings, scope, hints)?;
            let left = self.evidence.approved_trees.files_that_left(&self.evidence.store, scope, settings, &tree);
            Ok((tree, left))
        };
        catch_up(&self.evidence.store, &mut self.evidence.index, &scope.project)?;
        stand(
            &self.evidence.store,
            &mut self.evidence.index,
            &mut self.trees.specifications,
            &self.trees.checked,
            &question,
            look,
        )
    }
}

/// Reads the tree and judges. `look` returns the tree and the files that have left the approved one. The caller has brought the index up to
/// the project's ledger; it is brought up again after the tree was
/// read.
fn stand(
    store: &Store,
    index: &mut store::StoreIndex,
    specifications: &mut Specifications,
    checked_trees: &CheckedTrees,
    question: &StatusQuestion<'_>,
    look: impl FnOnce(&ProjectSettings) -> Result<(TreeIndex, Vec<RuleChange>), ProjectError>,
) -> Result<ProjectStatus, ProjectError> {
    let holder =
        question.project.map(|project| store.lock_holder(project).map_err(ProjectError::Evidence)).transpose()?.flatten();
    let activity = if holder.is_some() { Activity::Running } else { Activity::Idle };
    let readable = question.readable();
    let watched = readable.map(|(_, configuration)| &configuration.watch.tasks);
    let named = watched.map(|watched| watched.named.clone()).unwrap_or_default();
    let wanted = [question.wanted, &named].concat();
    let mut seen = ScannedState::unread(activity, wanted);
    let lacks_checks = question.lacks_checks();
    // While a run is under way, the tree is not read. Without a digest of the tree no verdict is called fresh, and
    // the run brings a new verdict.
    if let (Some((settings, configuration)), Activity::Idle) = (readable, activity)
        && question.root.is_dir()
    {
        let (tree, left) = look(settings)?;
        seen.left = left;
        (seen.tree, seen.trees) = (Some(tree.digest()), Some((tree.clone(), checked_trees)));
        let watched = &configuration.watch.tasks;
        if lacks_checks || watched.asks_for_specifications() || needs_specifications(index, question, &seen.wanted)? {
            specifications.update(question.root, &tree, &settings.specification);
            if lacks_checks || watched.asks_for_specifications() {
                seen.wanted.extend(specifications.tasks());
            }
            seen.specifications = Some((specifications, configuration));
        }
    } else if lacks_checks {
        // The files are not read now. Those that were read last say which tasks there are.
        seen.wanted.extend(specifications.tasks());
    }
    let has_specifications = !specifications.is_empty() || (seen.tree.is_none() && !has_history(index, question)?);
    if lacks_checks && has_specifications && !question.wanted.contains(&TaskId::default_task()) {
        seen.own = OwnTask::Absent;
    }
    judge(store, index, question, &seen)
}

/// Returns whether the project's own checks were run in the past.
fn has_history(index: &store::StoreIndex, question: &StatusQuestion<'_>) -> Result<bool, ProjectError> {
    let Some(project) = question.project else { return Ok(false) };
    Ok(index.tasks(project)?.contains(&TaskId::default_task()))
}

/// Returns whether at least one of the tasks can only come from a test specification. If there is none, the caller need
/// not read the specifications.
fn needs_specifications(
    index: &store::StoreIndex,
    question: &StatusQuestion<'_>,
    wanted: &[TaskId],
) -> Result<bool, ProjectError> {
    let own = own_task(question);
    Ok(tasks_of(index, question, wanted, OwnTask::Listed)?.iter().any(|task| *task != own && *task != TaskId::default_task()))
}

/// Judges from the rows of the index. Another program may change rows after their seal was checked. So all of it is done again if
/// another connection has written to the index meanwhile.
fn judge(
    store: &Store,
    index: &mut store::StoreIndex,
    question: &StatusQuestion<'_>,
    look: &ScannedState<'_>,
) -> Result<ProjectStatus, ProjectError> {
    for _ in 0..ATTEMPTS {
        let before = index.changes_by_others()?;
        let status = judge_once(store, index, question, look)?;
        if index.changes_by_others()? == before {
            return Ok(status);
        }
    }
    Err(ProjectError::Index(IndexError::Unsteady { path: store.index_path() }))
}

fn judge_once(
    store: &Store,
    index: &mut store::StoreIndex,
    question: &StatusQuestion<'_>,
    look: &ScannedState<'_>,
) -> Result<ProjectStatus, ProjectError> {
    if let Some(project) = question.project {
        catch_up(store, index, project)?;
    }
    let mut tasks = Vec::new();
    for task in tasks_of(index, question, &look.wanted, look.own)? {
        let read = |index: &store::StoreIndex, judged_by| match question.project {
            Some(project) => TaskHistory::read(store, index, (project, &task), judged_by),
            None => Ok(TaskHistory::default()),
        };
        let mut history = read(index, RunsJudgedBy::AnyRules)?;
        let plan = plan_facts(index, question, look, &task, history.verdict.as_ref())?;
        // A run by changed rules leaves nothing to the approved ones (S7).
        if let Some(project) = question.project
            && look.tree.is_some()
            && plan.changed.is_empty()
            && look.left.is_empty()
            && TaskHistory::is_by_other_rules(store, index, (project, &task))?
        {
            history = read(index, RunsJudgedBy::ApprovedRules)?;
        }
        let now = PresentState { plan: plan.now, tree: look.tree };
        let verdict = match question.project {
            Some(project) => history.deciding_verdict(store, project, now)?,
            None => None,
        };
        let files_since = |earlier| {
            let (tree, checked_trees) = look.trees.as_ref()?;
            Some(tree::changed_paths(checked_trees.find(question.root, earlier)?, tree).len() as u64)
        };
        let checks = history.check_standings(now, files_since);
        // Of a verdict on another tree nobody asks.
        let on_tree = verdict.as_ref().filter(|verdict| look.tree.is_some() && verdict.tree == look.tree);
        let names = ToolchainNames::new(question.root, question.ambient);
        let run = question.project.zip(on_tree).map(|(project, verdict)| (project, verdict.sequence));
        let (conditions, toolchains) = conditions_now(store, &names, run)?;
        let facts = FreshnessFacts {
            on_request: question.on_request(&task),
            root: if question.root.is_dir() { CurrentRoot::Present } else { CurrentRoot::Missing },
            approval: plan.approval,
            plan: plan.now,
            tree: look.tree,
            activity: look.activity,
            verdict,
            checks: history.checks,
            moved: history.moved,
            attention: if history.tdd.paused.is_some() { Attention::Needed } else { Attention::NotNeeded },
            toolchains,
        };
        let digest = match (facts.plan, &question.asked) {
            (CurrentPlan::Known(digest), FilesRead::Described(_)) => Some(digest),
            (CurrentPlan::Known(_) | CurrentPlan::Wrong | CurrentPlan::SpecificationWrong | CurrentPlan::WithoutTask, _) => None,
        };
        let freshness = compute_freshness(&facts);
        let of_fresh = conditions.filter(|_| matches!(freshness, Freshness::Fresh { .. }));
        let known = known_verdict(store, index, question, look, (&plan, &freshness, &history.tdd));
        let (tests_not_run, fewer_tests) = of_fresh.map(|run| (run.tests_not_run, run.fewer_tests)).unwrap_or_default();
        let problems = plan.problems;
        let approval =
            (freshness == Freshness::NotApproved && !problems.is_empty()).then(|| PersonAsked::approval(&task, &problems));
        let (freshness, verdict, checks, (known, not_known)) = match known {
            KnownAnswer::Known(found) => {
                let KnownVerdict { freshness, verdict, from } = *found;
                (freshness, Some(verdict), Vec::new(), (Some(from), Vec::new()))
            }
            KnownAnswer::Unknown(why) => (freshness, facts.verdict, checks, (None, why)),
            KnownAnswer::NotAsked => (freshness, facts.verdict, checks, (None, Vec::new())),
        };
        let (person, tdd) = (approval.or_else(|| PersonAsked::of_cycle(&task, &history.tdd)), history.tdd);
        tasks.push(VerdictStatus {
            freshness,
            task,
            tree: look.tree,
            plan: digest,
            verdict,
            known,
            not_known,
            checks,
            problems,
            rules_changed: RuleChange::in_short(&[look.left.clone(), plan.changed].concat()),
            person,
            tdd,
            tests_not_run,
            fewer_tests,
        });
    }
    if let Some((specifications, _)) = look.specifications {
        add_what_they_wait_for(&mut tasks, &specifications.listed());
    }
    let mut problems = match &question.asked {
        // Where the directory is gone, so are the files of which the problems tell.
        FilesRead::Described(Err(undescribed)) if look.own == OwnTask::Listed && question.root.is_dir() => {
            undescribed.problems.to_vec()
        }
        FilesRead::Described(_) | FilesRead::Unlooked => Vec::new(),
    };
    if let Some((specifications, _)) = look.specifications
        && (look.own == OwnTask::Absent || !look.wanted.is_empty())
    {
        problems.extend(specifications.faults_without_task().into_iter().map(ToString::to_string));
    }
    if let Some(project) = question.project {
        // Violations (reverted changes to the task list) that the last report already names are included too, because
        // the caller may not have seen that report.
        let violations = index.violations_since(project, 1)?;
        problems.extend(violations.iter().map(ViolationRecord::sentence));
    }
    Ok(ProjectStatus { project: question.project.cloned(), root: question.root.to_owned(), tasks, problems, started_early: None })
}

/// Returns the task of the project's own checks: the task of their plan, or `default` if the question has no plan.
fn own_task(question: &StatusQuestion<'_>) -> TaskId {
    match &question.asked {
        FilesRead::Described(Ok(described)) => described.plan.task.clone(),
        FilesRead::Described(Err(_)) | FilesRead::Unlooked => TaskId::default_task(),
    }
}

/// Returns the task of the project's own checks, then the requested tasks, then all other tasks with a history. No task
/// is repeated.
fn tasks_of(
    index: &store::StoreIndex,
    question: &StatusQuestion<'_>,
    wanted: &[TaskId],
    own: OwnTask,
) -> Result<Vec<TaskId>, ProjectError> {
    let known = match question.project {
        Some(project) => index.tasks(project)?,
        None => Vec::new(),
    };
    let mut tasks = match own {
        OwnTask::Listed => vec![own_task(question)],
        OwnTask::Absent => Vec::new(),
    };
    for task in wanted.iter().cloned().chain(known) {
        if !tasks.contains(&task) {
            tasks.push(task);
        }
    }
    Ok(tasks)
}
