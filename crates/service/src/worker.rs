//! The thread that carries out runs and status checks for a project. It owns everything a run needs. Other threads
//! reach it only by messages.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::effect::Order;
use crate::engine::EngineSettings;
use crate::errand::{Errand, ErrandDone, ErrandKind, ErrandTrouble};
use crate::event::RunFinish;
use crate::project_source::{ProjectDefinition, ProjectSource};
use crate::service::ProjectOpening;
use crate::watched_directory::WatchedDirectory;
use proctor_model::{
    Action, CopiedFiles, Freshness, HealthProblem, OverallResult, PersonAsked, Plan, ProjectStatus, Reuse, StopReason, TaskId,
    TreePath, Trigger, TriggerKind,
};
use proctor_project::{
    ApprovalQuestion, DescribedProject, KnownAsked, MissingOwnPlan, PlanlessProject, PlanlessReason, Progress, ProjectError,
    ProjectScope, ProjectSettings, RunOutcome, RunRequest, SealedReport, Selection, Workspace,
};
use proctor_sandbox::process::Control;
use proctor_tree::TreeHints;
use proctor_tree::ignore::{Matcher, MatcherSettings};
use proctor_tree::watch::Pace;

mod places;
mod plans;
mod queue;
mod serve;
#[cfg(test)]
pub(crate) mod simulated;

#[cfg(test)]
pub(super) use places::PlaceTurn;
pub(super) use places::{PlaceKind, WorkPlace, WorkPlaces};
pub(super) use plans::MissingPlan;
pub use plans::UnknownCheck;
use queue::TaskQueue;

/// A report of the worker's thread.
#[derive(Debug)]
pub enum WorkerReport {
    Progress(Progress),
    /// The settings that decide which files belong to the tree have changed, or the pace at which the tree is polled.
    Rules(Box<Matcher>, Pace),
    /// The scheduling settings have changed.
    Settings(EngineSettings),
    /// The run has ended with this result.
    Over(Box<FinishedRun>),
    /// The status check with this ticket has ended with this result.
    Looked(LookTicket, Box<Result<ProjectStatus, ProjectError>>),
    Errand(Box<Result<ErrandDone, ErrandTrouble>>),
    /// What a person must approve before a refused task runs; `None` if there is nothing to approve here.
    Question(Result<Option<Box<ApprovalQuestion>>, RunFailure>),
    /// Whether what a person approved is written.
    Approved(Result<(), RunFailure>),
    /// The project is open. Orders are carried out from now on.
    Opened(Box<OpenedProject>),
    /// The project could not be opened. No other report follows.
    Closed(OpenFailure),
}

/// The number of a requested status check. Its result carries the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LookTicket(pub u64);

/// What the event loop receives when the worker has opened a project.
#[derive(Debug)]
pub struct OpenedProject {
    pub scope: ProjectScope,
    /// The project's directory. Its watcher sends hints about the tree, and about approvals in the project's ledger.
    pub directory: Box<dyn WatchedDirectory>,
    /// The settings that decide when runs begin.
    pub engine: EngineSettings,
    /// The settings by which the watcher decides which files belong to the tree, and how often it polls.
    pub rules: (MatcherSettings, Pace),
    /// What people are told about the opening of the store, one line each.
    pub notes: Vec<String>,
    /// The project's name, if its settings ask for notifications on the desktop (`watch.notify`).
    pub notify: Option<String>,
}

/// Why a project could not be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFailure {
    pub reason: OpenFailureKind,
    /// The explanation, in lines for people.
    pub lines: Vec<String>,
}

/// The kinds of reasons why a project could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenFailureKind {
    /// The directory of the project does not exist.
    RootMissing,
    /// The directory may belong to another registered project. A person must decide which project it is.
    Doubtful,
    /// A client added a directory that is not registered. Only a command that writes to the evidence store registers one.
    NotRegistered,
    /// The project was to be added, but its configuration is wrong.
    Configuration,
    /// proctor itself failed, because of this problem.
    OwnFault(HealthProblem),
}

/// Receives a worker's reports. Returns false if the receiver is gone.
pub type SendReport = Box<dyn Fn(WorkerReport) -> bool + Send>;

/// A run that has ended, as the worker's thread hands it to the engine.
#[derive(Debug)]
pub struct FinishedRun {
    /// How the run ended, for the engine.
    pub finished: RunFinish,
    /// What the run copied to the project, if that changed the tree.
    pub copied: Option<CopiedFiles>,
    /// The run's result, for the screen.
    pub carried: Result<RunOutcome, RunFailure>,
    pub task: TaskId,
}

/// The reason why a run could not be carried out. The tested code is not the reason.
#[derive(Debug)]
pub enum RunFailure {
    /// The configuration is wrong; one line for each problem.
    Configuration(Vec<String>),
    /// The plan has no check of a name that the run was ordered for.
    UnknownCheck(UnknownCheck),
    /// The task's specification has errors, and the refusal of the run was sealed.
    Specification {
        /// What is wrong, in lines for people.
        lines: Vec<String>,
        sealed: Box<SealedReport>,
    },
    /// proctor itself failed.
    Run(ProjectError),
}

/// The handle of a project's worker. Dropping it waits until the worker has ended.
#[derive(Debug)]
pub struct Worker {
    /// `None` once nobody waits for the worker's end any more.
    queue: Option<TaskQueue>,
}

/// A request to the worker's thread, which carries out one request after the other.
#[derive(Debug)]
enum WorkerTask {
    Run(Order),
    Look(LookTicket, Vec<TaskId>, TreeHints),
    Errand(Errand),
    FindQuestion(TaskId),
    Approve(Box<ApprovalQuestion>),
}

struct WorkerState {
    workspace: Workspace,
    files: ProjectSource,
    scope: ProjectScope,
    report: SendReport,
    /// The settings by which the watcher decides which files belong to the tree, and its pace, as of the last run or
    /// status check. `None` before the first run or status check: until then the watcher uses the settings it was
    /// started with.
    rules: Option<(MatcherSettings, Pace)>,
    /// The scheduling settings as of the last run.
    engine: Option<EngineSettings>,
    /// The errors for which each task's last run was refused, as long as the task was not run since.
    refused: BTreeMap<TaskId, Vec<String>>,
    /// The places that the workers of a service share; `None` in a foreground watch, which has only this project.
    places: Option<WorkPlaces>,
    /// Held while the project stays ready for its next save.
    ready: Option<WorkPlace>,
    /// Held while a command is started for the project's next run.
    started: Option<WorkPlace>,
}

impl Worker {
    /// Starts the worker of a foreground watch. It keeps its thread and its launcher until the handle is dropped and the run under way
    /// has ended.
    pub fn start(workspace: Workspace, files: ProjectSource, scope: ProjectScope, report: SendReport) -> Self {
        let (rules, engine, refused) = (None, None, BTreeMap::new());
        let (places, ready, started) = (None, None, None);
        let worker = WorkerState { workspace, files, scope, report, rules, engine, refused, places, ready, started };
        Self { queue: Some(TaskQueue::of_resting(worker)) }
    }

    /// Starts the worker of a project of the service that is not open yet. A thread opens the project, because that may take a
    /// while. Whenever the worker has nothing to do, it gives up its thread, its launcher and its descriptors.
    ///
    /// # Errors
    /// When the system cannot create the thread.
    pub(crate) fn open(opening: ProjectOpening, report: SendReport, places: WorkPlaces) -> io::Result<Self> {
        let queue = TaskQueue::of_opening(move |queue| {
            let place = places.take(PlaceKind::Look, || queue.is_closed())?;
            match opening.open() {
                Ok((workspace, files, opened)) => {
                    let scope = opened.scope.clone();
                    workspace.remove_left_layers(&scope.project);
                    let (rules, engine) = (Some(opened.rules.clone()), Some(opened.engine.clone()));
                    let is_awaited = report(WorkerReport::Opened(Box::new(opened)));
                    drop(place);
                    let (refused, places, ready, started) = (BTreeMap::new(), Some(places), None, None);
                    let state = WorkerState { workspace, files, scope, report, rules, engine, refused, places, ready, started };
                    is_awaited.then_some(state)
                }
                Err(closed) => {
                    let _gone = report(WorkerReport::Closed(closed));
                    None
                }
            }
        })?;
        Ok(Self { queue: Some(queue) })
    }

    /// Sends an order to the worker. The engine ensures that only one order is under way at a time.
    pub fn order(&self, order: Order) {
        self.send(WorkerTask::Run(order));
    }

    /// Requests a status check: the thread compares the tree with the verdicts, also with those of the `wanted` tasks.
    /// It reads only what the hints name, unless the watcher uses outdated rules. The check comes after all earlier requests.
    pub fn look(&self, ticket: LookTicket, wanted: Vec<TaskId>, hints: TreeHints) {
        self.send(WorkerTask::Look(ticket, wanted, hints));
    }

    /// Requests an errand, such as a change of a task's cycle. It is carried out after all earlier requests.
    pub fn send_on(&self, errand: Errand) {
        self.send(WorkerTask::Errand(errand));
    }

    fn send(&self, task: WorkerTask) {
        if let Some(queue) = &self.queue {
            queue.push(task);
        }
    }

    /// Drops the handle without waiting for the end of the worker.
    pub fn let_go(mut self) {
        if let Some(queue) = self.queue.take() {
            queue.close();
        }
    }

    /// Asks the run that was ordered last to stop. A second call kills its remaining processes at once.
    pub fn stop(&self, reason: StopReason) {
        if let Some(queue) = &self.queue {
            queue.stop_run(reason);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            queue.close();
            queue.wait_for_end();
        }
    }
}

impl WorkerState {
    fn go_on_errand(&mut self, errand: &Errand) -> Result<ErrandDone, ErrandTrouble> {
        let reloaded = match self.files.read() {
            Ok(mut reloaded) => {
                if let ErrandKind::Review(proposal) = &errand.what {
                    let described = (&reloaded.settings, &reloaded.configuration);
                    return errand.review(proposal.as_ref(), (&mut self.workspace, &self.scope), described);
                }
                let plan = self.plan_of(&mut reloaded, &errand.task, &TreeHints::Everything).map_err(ErrandTrouble::Run)?;
                if let (Err(MissingPlan::Faulty(lines)), ErrandKind::Retest) = (&plan, &errand.what) {
                    let trigger = Trigger { kind: TriggerKind::Request, paths: Vec::new() };
                    if let RunFailure::Run(error) = self.refuse((&errand.task, trigger), &reloaded, lines.clone()) {
                        return Err(ErrandTrouble::Run(error));
                    }
                }
                plan.map(|plan| (plan, reloaded.settings, reloaded.configuration))
            }
            Err(lines) => Err(MissingPlan::Wrong(lines)),
        };
        errand.perform(&mut self.workspace, &self.scope, reloaded)
    }

    fn look(&mut self, wanted: &[TaskId], (hints, known): (&TreeHints, KnownAsked)) -> Result<ProjectStatus, ProjectError> {
        let reloaded = self.files.read();
        // Hints name every change only if the watcher uses the present rules. Otherwise the whole tree is read.
        let by_its_rules =
            |reloaded: &ProjectDefinition| self.rules.as_ref().is_some_and(|(matcher, _)| *matcher == reloaded.settings.matcher);
        let hints = if reloaded.as_ref().is_ok_and(by_its_rules) { hints } else { &TreeHints::Everything };
        if let Ok(reloaded) = &reloaded {
            let (settings, pace) = (reloaded.settings.clone(), reloaded.pace.clone());
            self.tell_new_rules(&settings, pace);
        }
        let described = match &reloaded {
            Ok(ProjectDefinition { default_plan: Ok(plan), settings, configuration, .. }) => {
                Ok(DescribedProject { plan, settings, configuration })
            }
            Ok(ProjectDefinition { default_plan: Err(missing), settings, configuration, .. }) => {
                let MissingOwnPlan { reason, lines } = missing;
                Err(PlanlessProject { reason: *reason, problems: lines, readable: Some((settings, configuration)) })
            }
            Err(problems) => Err(PlanlessProject { reason: PlanlessReason::Wrong, problems, readable: None }),
        };
        let started_early = self.workspace.memory_started_early();
        let status = self.workspace.project_status(&self.scope, described, wanted, (hints, known))?;
        Ok(ProjectStatus { started_early, ..status })
    }

    /// Returns the verdict of a run that judged just the files as they are, where every check may take an earlier result (`reuse`) and
    /// nobody asked for a run.
    fn known_verdict(&mut self, order: &Order, plan: &Plan, settings: &ProjectSettings) -> Option<FinishedRun> {
        // What cannot be read now makes the run itself fail, with the reason.
        if !may_be_known(order, &plan.steps) || !self.workspace.has_run_on_tree(settings, &self.scope, &order.hints).ok()? {
            return None;
        }
        let standing = self.look(std::slice::from_ref(&order.task), (&order.hints, KnownAsked::InAnyCase)).ok()?;
        let (finished, note) = end_by_known_verdict(order, &plan.steps, &standing)?;
        let _gone = (self.report)(WorkerReport::Progress(Progress::Note(note)));
        Some(finished)
    }

    fn run_order(&mut self, order: &Order, control: &Control) -> FinishedRun {
        let failed = |trouble| FinishedRun::failed(order, RunFinish::Failed, trouble);
        let mut reloaded = match self.files.read() {
            Ok(reloaded) => reloaded,
            Err(lines) => return failed(RunFailure::Configuration(lines)),
        };
        self.tell_new_rules(&reloaded.settings, reloaded.pace.clone());
        let plan = match self.plan_of(&mut reloaded, &order.task, &order.hints) {
            Ok(Ok(plan)) => plan,
            Ok(Err(MissingPlan::Wrong(lines) | MissingPlan::Unknown(lines))) => {
                self.tell_tasks(&reloaded, &order.hints);
                return failed(RunFailure::Configuration(lines));
            }
            Ok(Err(MissingPlan::Faulty(lines))) => {
                self.tell_tasks(&reloaded, &order.hints);
                return failed(self.refuse((&order.task, order.trigger.clone()), &reloaded, lines));
            }
            Err(error) => return failed(RunFailure::Run(error)),
        };
        self.tell_tasks(&reloaded, &order.hints);
        self.refused.remove(&order.task);
        if let Some(unknown) = UnknownCheck::find(&order.selection, &plan.steps) {
            return failed(RunFailure::UnknownCheck(unknown));
        }
        if let Some(known) = self.known_verdict(order, &plan, &reloaded.settings) {
            return known;
        }
        let settings = reloaded.settings;
        self.let_start_early(settings.started);
        let checks = order.selection.clone();
        let request = RunRequest {
            plan: &plan,
            settings: &settings,
            scope: &self.scope,
            checks,
            phase: None,
            trigger: order.trigger.clone(),
            unless_tree: order.unless_tree,
            hints: order.hints.clone(),
            lost_events: order.lost_events,
            control,
        };
        let report = &self.report;
        let mut show = |progress: Progress| {
            let _gone = report(WorkerReport::Progress(progress));
        };
        FinishedRun::of(order, proctor_run::run_plan(&mut self.workspace, &request, &mut show))
    }
}

impl WorkerState {
    /// Lets the run leave a started command for the next run, if one of the places for such commands is free. `most` is how many there
    /// may be.
    fn let_start_early(&mut self, most: u32) {
        let is_allowed = match &self.places {
            // A foreground watch has this project alone.
            None => most > 0,
            Some(places) => {
                self.started = self.started.take().filter(|_| most > 0).or_else(|| places.try_take_started(most));
                self.started.is_some()
            }
        };
        self.workspace.let_start_early(is_allowed);
    }

    /// Reports a changed pace and changed settings that decide which files belong to the tree, because the watcher has to use
    /// them too.
    fn tell_new_rules(&mut self, settings: &ProjectSettings, pace: Pace) {
        let now = (settings.matcher.clone(), pace.clone());
        let is_new = self.rules.as_ref().is_some_and(|before| *before != now);
        self.rules = Some(now);
        // Wrong patterns are not reported here: they make the run itself fail, with the reason.
        if let (true, Ok(matcher)) = (is_new, settings.new_watching_matcher()) {
            let _gone = (self.report)(WorkerReport::Rules(Box::new(matcher), pace));
        }
    }

    /// Reports the tasks that run on a save and the settings for their scheduling, if these have changed.
    fn tell_tasks(&mut self, reloaded: &ProjectDefinition, hints: &TreeHints) {
        let found = watched_tasks(&mut self.workspace, &self.scope, reloaded, hints);
        // A tree that cannot be read makes the run itself fail, with the reason.
        if let Ok(tasks) = found {
            self.tell_new_settings(EngineSettings { tasks, ..reloaded.engine.clone() });
        }
    }

    fn tell_new_settings(&mut self, settings: EngineSettings) {
        if self.engine.as_ref() != Some(&settings) {
            let _gone = (self.report)(WorkerReport::Settings(settings.clone()));
            self.engine = Some(settings);
        }
    }
}

/// Returns the tasks that run on a save. The tree is searched for specifications only if the settings ask for tasks
/// of specifications.
///
/// # Errors
/// When the tree cannot be read.
pub fn watched_tasks(
    workspace: &mut Workspace,
    scope: &ProjectScope,
    reloaded: &ProjectDefinition,
    hints: &TreeHints,
) -> Result<Vec<TaskId>, ProjectError> {
    let watched = &reloaded.configuration.watch.tasks;
    if !watched.asks_for_specifications() {
        return Ok(watched.among(&[]));
    }
    Ok(watched.among(&workspace.specified_tasks(&reloaded.settings, scope, hints)?))
}

/// Returns whether a verdict of an earlier run may stand for the ordered one: nobody asked for the run, every check may take an
/// earlier result, and none writes into the project, where the files of another content would stay.
fn may_be_known(order: &Order, checks: &[Action]) -> bool {
    let is_about_all = !matches!(order.selection, Selection::Named(_));
    order.trigger.kind == TriggerKind::Save
        && is_about_all
        && checks.iter().all(|check| check.reuse != Reuse::Off && check.writes.is_empty())
}

/// Returns the end of the ordered run if the task's verdict is for the present files, and a note for people.
fn end_by_known_verdict(order: &Order, checks: &[Action], standing: &ProjectStatus) -> Option<(FinishedRun, String)> {
    let task = standing.of(&order.task)?;
    let Freshness::Fresh { result, .. } = task.freshness else { return None };
    // On the tree of the last run, nothing is run anyway.
    let (tree, known) = (task.tree.filter(|tree| order.unless_tree != Some(*tree))?, task.known.as_ref()?);
    // Which of them failed is in the report of the run. All of them count as failed, so that none is left out next time.
    let (word, failed) = match result {
        OverallResult::Passed => ("PASSED", Vec::new()),
        OverallResult::Failed => ("FAILED", checks.iter().map(|check| check.name.clone()).collect()),
    };
    let words = known.words(&standing.root.display().to_string());
    let note = format!("{word} · nothing was run: these files are {words}");
    let finished = RunFinish::Verdict { tree, failed, warned: Vec::new(), paused: false };
    Some((FinishedRun { finished, copied: None, carried: Ok(RunOutcome::Unchanged), task: order.task.clone() }, note))
}

fn finished_of(carried: &Result<RunOutcome, ProjectError>, selection: &Selection) -> RunFinish {
    match carried {
        Ok(RunOutcome::Judged(sealed)) => {
            let paused = sealed.person.as_ref().is_some_and(PersonAsked::holds_runs);
            let (failed, warned) = (sealed.failed.clone(), sealed.warned.clone());
            match selection {
                Selection::Every | Selection::All | Selection::Missing | Selection::Triggered { .. } => {
                    RunFinish::Verdict { tree: sealed.tree, failed, warned, paused }
                }
                Selection::Named(_) => RunFinish::Partial { failed, warned, paused },
            }
        }
        Ok(RunOutcome::Moved(sealed)) => {
            let paths: BTreeSet<TreePath> = sealed.moved.iter().cloned().collect();
            RunFinish::Moved { paths, on_disk: sealed.on_disk }
        }
        Ok(RunOutcome::Interrupted(_) | RunOutcome::Superseded | RunOutcome::Withdrawn)
        | Err(ProjectError::StoppedWaiting(_)) => RunFinish::Stopped,
        Ok(RunOutcome::Unchanged) => RunFinish::Unchanged,
        Ok(RunOutcome::Untriggered) => RunFinish::Untriggered,
        Ok(RunOutcome::Paused(_)) => RunFinish::Paused,
        Ok(RunOutcome::NotApproved(_)) => RunFinish::Refused,
        Ok(RunOutcome::Waits(_)) => RunFinish::Waits,
        Ok(RunOutcome::HelperDied(_)) => RunFinish::Failed,
        Err(_) => RunFinish::Failed,
    }
}
