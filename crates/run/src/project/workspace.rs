//! What a process keeps between runs: evidence store, index, launcher, last known trees, digests of tools.

mod environments;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::project::approved_tree::ApprovedTrees;
use crate::project::checked_index::{apply_written, catch_up};
use crate::project::checked_trees::CheckedTrees;
use crate::project::deciding_files::DecidingFilesBefore;
use crate::project::environment_digest::{KnownDigests, KnownEnvironments};
use crate::project::error::ProjectError;
use crate::project::known_approvals::KnownApprovals;
use crate::project::known_trees::KnownTrees;
use crate::project::progress::Progress;
use crate::project::project_copies::ProjectCopies;
use crate::project::python::KeptBytecode;
use crate::project::refused_requests::RefusedRequests;
use crate::project::repaired_index::{Announce, announce_with, open_index};
use crate::project::request::{ProjectScope, ProjectSettings, RunRequest};
use crate::project::run_preparation::RunPreparation;
use crate::project::same_program::ProgramSearch;
use crate::project::selection::Selection;
use crate::project::specifications::Specifications;
use crate::project::task_error::TaskError;
use crate::project::tracked_outside::TrackedOutside;
use proctor_evidence::report::{
    RecoveryFacts, attested, describe_found_file, interrupted_report, parse_run_start, seal_hash, to_bytes,
};
use proctor_evidence::{
    self as evidence, DurableStep, InterruptedRun, Ledger, ProjectLock, SealInput, Store, WaitDecision, agents_directory,
};
use proctor_index as store;
use proctor_model::{
    Asker, Digest, LedgerLine, OverallStatus, Plan, PlanNote, ProjectId, RetentionLimits, RunId, RunRecord, StopReason, TaskId,
    TddState, Timestamp, TreeDigest, TreeFormat, TreeIssue, TreePath,
};
use proctor_plan::config::Configuration;
use proctor_sandbox::process::{LauncherHandle, clock};
use proctor_sandbox::search_path;
use proctor_tree::{self as tree, TreeHints};

/// A function that is called after every step of storing a run's evidence.
pub type StepObserver = Arc<dyn Fn(DurableStep) + Send + Sync>;

/// The tree of the last verdict, and the project and plan that the verdict is for.
struct VerdictTree {
    root: PathBuf,
    plan: Digest,
    index: tree::TreeIndex,
}

/// Everything that a run needs and that stays for the next run.
pub struct Workspace {
    pub store: Store,
    pub(crate) index: store::StoreIndex,
    executable: PathBuf,
    /// `None` while an action has the launcher to itself.
    launcher: Option<LauncherHandle>,
    pub(crate) ambient: BTreeMap<OsString, OsString>,
    observer: StepObserver,
    pub(crate) trees: KnownTrees,
    pub(super) tracked_outside: TrackedOutside,
    verdict_tree: Option<VerdictTree>,
    pub(crate) checked_trees: CheckedTrees,
    pub(crate) specifications: Specifications,
    digests: KnownDigests,
    environments: KnownEnvironments,
    opening_notes: Vec<String>,
    announce: Announce,
    runs_ahead: RunsAhead,
    pub(crate) run_preparation: RunPreparation,
    pub(crate) copies: ProjectCopies,
    pub(crate) bytecode: KeptBytecode,
    /// The requests of actions that the service has refused, for the report of their run. The service shares this
    /// record and adds to it.
    pub refused_requests: Arc<RefusedRequests>,
    /// The projects for which a trial mount of a snapshot has succeeded in this process. It is not tried again for
    /// them.
    pub(crate) mountable: BTreeSet<ProjectId>,
    pub(crate) approvals: KnownApprovals,
    /// The files that decide how a project is judged, as they were before a run that a save stopped, if they changed during it.
    /// The next run reports the change.
    pub(crate) before_stopped_run: BTreeMap<ProjectId, DecidingFilesBefore>,
    pub(crate) approved_trees: ApprovedTrees,
    /// The notes of each task's last plan in this process.
    pub(crate) last_notes: BTreeMap<(ProjectId, TaskId), Vec<PlanNote>>,
    /// The project of the last sealed run, and the limits for its evidence, for [`Self::keep_to_limits`].
    pub(crate) to_prune: Option<(ProjectScope, RetentionLimits)>,
}

/// How many runs this process will still make, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunsAhead {
    One,
    Many,
}

impl Workspace {
    /// Opens the evidence store. A caller that runs something soon starts the launcher beforehand, because starting it takes a
    /// while. Without a launcher, the first action starts one.
    ///
    /// # Errors
    ///
    /// When the store or its index cannot be opened.
    pub fn open(
        state_root: &Path,
        executable: &Path,
        launcher: Option<LauncherHandle>,
        ambient: BTreeMap<OsString, OsString>,
        observer: StepObserver,
    ) -> Result<Self, ProjectError> {
        let store = Store::open(state_root).map_err(ProjectError::Evidence)?;
        let opened = open_index(&store)?;
        let mut workspace = Self {
            store,
            index: opened.index,
            executable: executable.to_owned(),
            launcher,
            ambient,
            observer,
            trees: KnownTrees::default(),
            tracked_outside: TrackedOutside::default(),
            checked_trees: CheckedTrees::default(),
            verdict_tree: None,
            specifications: Specifications::default(),
            digests: KnownDigests::new(),
            environments: KnownEnvironments::default(),
            opening_notes: opened.notes,
            announce: |_| (),
            runs_ahead: RunsAhead::Many,
            run_preparation: RunPreparation::default(),
            copies: ProjectCopies::default(),
            bytecode: KeptBytecode::default(),
            refused_requests: Arc::default(),
            mountable: BTreeSet::new(),
            approvals: KnownApprovals::default(),
            before_stopped_run: BTreeMap::new(),
            approved_trees: ApprovedTrees::default(),
            last_notes: BTreeMap::new(),
            to_prune: None,
        };
        workspace.digests = workspace.load_digests()?;
        Ok(workspace)
    }

    /// Returns the directory of the log files that `proctor` writes about its own work.
    pub fn log_directory(&self) -> PathBuf {
        self.store.log_directory()
    }

    /// Returns the directory in which the running coding agents are registered that use proctor's hooks or its MCP server.
    pub fn agents_directory(&self) -> PathBuf {
        agents_directory(self.store.root())
    }

    /// Returns the messages about opening the store, such as that the index was set aside and rebuilt.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.opening_notes)
    }

    /// Also sends messages about a repaired index to the given function. Without this call they are only in the log
    /// that proctor writes about its own work.
    pub fn announce_with(&mut self, announce: Announce) {
        self.announce = announce;
        announce_with(&mut self.index, &self.store, announce);
    }

    /// Reports that a run is sealed, but that the index could not be updated.
    pub(crate) fn say_behind(&self, run_id: &RunId, error: &ProjectError) {
        let causes = std::iter::successors(std::error::Error::source(error), |error| error.source());
        let causes: String = causes.map(|cause| format!(": {cause}")).collect();
        let line =
            format!("run {run_id} is sealed, but index or links are behind ({error}{causes}); the next run brings them up to it");
        tracing::warn!("{line}");
        (self.announce)(&line);
    }

    /// Announces that the next run is the last one. The launcher then ends while that run is sealed, so the process
    /// need not wait for it afterwards.
    pub fn expect_one_run(&mut self) {
        self.runs_ahead = RunsAhead::One;
    }

    /// Returns whether another run may follow, so that preparing it is worthwhile.
    pub(crate) fn has_runs_ahead(&self) -> bool {
        self.runs_ahead == RunsAhead::Many
    }

    pub(crate) fn dismiss_launcher_after_last_run(&mut self) {
        match self.runs_ahead {
            RunsAhead::One => self.launcher.iter_mut().for_each(LauncherHandle::dismiss),
            RunsAhead::Many => {}
        }
    }

    /// Gives up the launcher and every open file. The next request opens again what it needs.
    pub fn rest(&mut self) {
        // The launcher ends first, because it may have prepared the isolation of an action in the directory for the next run.
        self.launcher = None;
        self.refused_requests.forget_launchers();
        self.run_preparation.close();
        self.copies.close_files();
        self.index.close_file();
    }

    /// Returns the TDD state of a task according to the index.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn tdd(&self, project: &ProjectId, task: &TaskId) -> Result<TddState, ProjectError> {
        self.index.tdd(project, task).map_err(ProjectError::Index)
    }

    pub(crate) fn observer(&self) -> StepObserver {
        Arc::clone(&self.observer)
    }

    pub(crate) fn ambient(&self) -> &BTreeMap<OsString, OsString> {
        &self.ambient
    }

    /// Returns where the programs of a project's plans are searched.
    pub(crate) fn program_search<'a>(&'a self, scope: &'a ProjectScope, settings: &'a ProjectSettings) -> ProgramSearch<'a> {
        ProgramSearch { root: &scope.root, ambient: &self.ambient, additions: Some(&settings.environment) }
    }

    pub(crate) fn path_variable(&self) -> OsString {
        search_path(&self.ambient)
    }

    /// Returns proctor's own program file. Started with other arguments, it is the launcher.
    pub(crate) fn executable(&self) -> &Path {
        &self.executable
    }

    /// Returns the launcher. If it has died, a new one is started first.
    pub(crate) fn launcher(&mut self) -> Result<&mut LauncherHandle, ProjectError> {
        let launcher = self.take_working_launcher();
        let launcher = launcher.map_or_else(|| LauncherHandle::execute(&self.executable).map_err(ProjectError::Launcher), Ok)?;
        self.refused_requests.register_launcher(launcher.process_id().as_raw());
        Ok(self.launcher.insert(launcher))
    }

    /// Lends the launcher to an action that runs at the same time as others. The launcher may have started a keeper in
    /// advance (the process that holds an action's processes together). Returns `None` if the launcher is lent already or
    /// has died.
    pub(crate) fn take_working_launcher(&mut self) -> Option<LauncherHandle> {
        self.launcher.take().filter(|launcher| !launcher.is_lost())
    }

    /// Returns whether the launcher is up and not lent.
    pub(crate) fn has_working_launcher(&self) -> bool {
        self.launcher.as_ref().is_some_and(|launcher| !launcher.is_lost())
    }

    /// Takes back a launcher that an action no longer needs. If the workspace has another working launcher, the
    /// returned one is ended.
    pub(crate) fn give_back_launcher(&mut self, launcher: LauncherHandle) {
        if self.launcher.as_ref().is_none_or(LauncherHandle::is_lost) {
            self.launcher = Some(launcher);
        }
    }

    /// Locks a project's evidence. If another process holds the lock, waits until `wait` is over or `stopped` returns a
    /// reason.
    pub(crate) fn lock(
        &self,
        scope: &ProjectScope,
        wait: Duration,
        stopped: &dyn Fn() -> Option<StopReason>,
        show: &mut dyn FnMut(Progress),
    ) -> Result<ProjectLock, ProjectError> {
        let begun = clock::monotonic();
        let mut told = false;
        let lock = self.store.lock(&scope.project, &mut || {
            if !told && !wait.is_zero() {
                told = true;
                show(Progress::WaitingForLock { wait });
            }
            let in_time = clock::monotonic().since(begun) < wait;
            if in_time && stopped().is_none() { WaitDecision::GoOn } else { WaitDecision::GiveUp }
        });
        lock.map_err(|error| match stopped() {
            Some(reason) => ProjectError::StoppedWaiting(reason),
            None => ProjectError::Lock(error),
        })
    }

    /// Opens the ledger, and seals as INTERRUPTED the runs whose process died.
    pub(crate) fn recovered_ledger(
        &mut self,
        lock: &ProjectLock,
        scope: &ProjectScope,
        show: &mut dyn FnMut(Progress),
    ) -> Result<Ledger, ProjectError> {
        let mut ledger = Ledger::open(lock).map_err(ProjectError::Evidence)?;
        if let Some(torn) = ledger.torn_line_file() {
            show(Progress::Note(format!("the ledger's last line was torn; it was cut off and kept as {}", torn.display())));
        }
        if ledger.finished_prunings() > 0 {
            let removed = ledger.finished_prunings();
            show(Progress::Note(format!(
                "a pruning was ended whose process had died: {removed} directories of runs were removed"
            )));
        }
        let runs = recover_runs(lock, &mut ledger, &scope.asker)?;
        if !runs.is_empty() {
            show(Progress::Recovered { runs });
        }
        Ok(ledger)
    }

    /// Adds the ledger lines that the index lacks, for example because another process wrote them.
    pub(crate) fn catch_up(&mut self, project: &ProjectId) -> Result<(), ProjectError> {
        catch_up(&self.store, &mut self.index, project)
    }

    pub(crate) fn apply(&mut self, project: &ProjectId, offset_after: u64, line: LedgerLine) -> Result<(), ProjectError> {
        self.approvals.wrote(project, &line);
        apply_written(&self.store, &mut self.index, project, &[(offset_after, line)])
    }

    pub(crate) fn prerequisites_met(&self, project: &ProjectId) -> Result<BTreeMap<String, Digest>, ProjectError> {
        self.index.prerequisites(project).map_err(ProjectError::Index)
    }

    pub(crate) fn configuration_before(
        &self,
        project: &ProjectId,
        task: &TaskId,
    ) -> Result<BTreeMap<String, Digest>, ProjectError> {
        self.index.configuration(project, task).map_err(ProjectError::Index)
    }

    /// Reads a project's tree without a run. Returns the tree's digest, and the entries whose digests could not be
    /// computed.
    ///
    /// The next reading with hints starts from this tree, so the hints of this call need not be repeated.
    ///
    /// # Errors
    ///
    /// When the root cannot be read, or a pattern of the settings is wrong.
    pub fn tree_digest(
        &mut self,
        settings: &ProjectSettings,
        scope: &ProjectScope,
        hints: &TreeHints,
    ) -> Result<(TreeDigest, Vec<TreeIssue>), ProjectError> {
        let index = self.trees.scan(&self.store, settings, scope, hints)?;
        Ok((index.digest(), index.issues()))
    }

    /// Returns the plan of a task in a test specification of the current tree. For the hints see [`Self::tree_digest`].
    ///
    /// # Errors
    ///
    /// When the tree cannot be read. That the task has no plan is the inner error.
    pub fn plan_of_task(
        &mut self,
        (settings, configuration): (&ProjectSettings, &Configuration),
        scope: &ProjectScope,
        task: &TaskId,
        hints: &TreeHints,
    ) -> Result<Result<Plan, TaskError>, ProjectError> {
        Ok(self.read_specifications(settings, scope, hints)?.plan(configuration, task))
    }

    /// Returns every task of every test specification in the current tree, each after the tasks that it depends on.
    ///
    /// # Errors
    ///
    /// When the tree cannot be read.
    pub fn specified_tasks(
        &mut self,
        settings: &ProjectSettings,
        scope: &ProjectScope,
        hints: &TreeHints,
    ) -> Result<Vec<TaskId>, ProjectError> {
        Ok(self.read_specifications(settings, scope, hints)?.tasks())
    }

    /// Returns the test specifications in the current tree.
    ///
    /// # Errors
    ///
    /// When the tree cannot be read.
    pub fn read_specifications(
        &mut self,
        settings: &ProjectSettings,
        scope: &ProjectScope,
        hints: &TreeHints,
    ) -> Result<&Specifications, ProjectError> {
        let index = self.trees.scan(&self.store, settings, scope, hints)?;
        self.specifications.update(&scope.root, &index, &settings.specification);
        Ok(&self.specifications)
    }

    /// Saves the known trees with enough unsaved changes for the next start of proctor. This is meant for idle time.
    pub fn save_trees(&mut self) {
        self.trees.save(&self.store);
        self.environments.save(&self.store);
    }

    /// Reads the whole tree again after the last process of a run has ended.
    pub(crate) fn rescan_tree(&mut self, request: &RunRequest<'_>) -> Result<tree::TreeIndex, ProjectError> {
        self.trees.scan(&self.store, request.settings, request.scope, &TreeHints::Everything)
    }

    /// Remembers the tree of a verdict, if the plan has checks that only some changes trigger.
    ///
    /// A run of checks that were selected by name keeps the remembered tree, because the other checks did not run on
    /// this tree.
    pub(crate) fn keep_verdict_tree(&mut self, request: &RunRequest<'_>, plan: Digest, index: &tree::TreeIndex) {
        self.keep_checked_tree(request, index);
        let is_needed = request.plan.steps.iter().any(|step| !step.paths.is_empty());
        match request.checks {
            Selection::All | Selection::Missing | Selection::Triggered { .. } => {
                let kept = || VerdictTree { root: request.scope.root.clone(), plan, index: index.clone() };
                self.verdict_tree = is_needed.then(kept);
            }
            Selection::Named(_) => {}
        }
    }

    /// Remembers the tree of a run, so that the state of the project can say how many files have changed since each check ran.
    fn keep_checked_tree(&mut self, request: &RunRequest<'_>, index: &tree::TreeIndex) {
        let (scope, plan) = (request.scope, request.plan);
        // All checks of a plan with one check ran on the tree of the last verdict.
        if plan.steps.len() > 1
            && let Ok(checks) = self.index.checks(&scope.project, &plan.task)
        {
            self.checked_trees.keep(&scope.root, &plan.task, index.clone(), &checks);
        }
    }

    /// Returns every path that differs from the tree of the last verdict on the same plan; `None` if there is no such
    /// verdict.
    pub(crate) fn changed_since_verdict(
        &self,
        request: &RunRequest<'_>,
        plan: Digest,
        now: &tree::TreeIndex,
    ) -> Option<Vec<TreePath>> {
        let last = self.verdict_tree.as_ref().filter(|last| last.root == request.scope.root && last.plan == plan)?;
        Some(tree::changed_paths(&last.index, now))
    }
}

/// Locks a project's evidence. Waits at most `wait` for another process that holds the lock.
pub(crate) fn lock_within(store: &Store, project: &ProjectId, wait: Duration) -> Result<ProjectLock, ProjectError> {
    let begun = clock::monotonic();
    let lock = store.lock(project, &mut || {
        if clock::monotonic().since(begun) < wait { WaitDecision::GoOn } else { WaitDecision::GiveUp }
    });
    lock.map_err(ProjectError::Lock)
}

/// Seals the runs of dead processes as INTERRUPTED, and returns them.
pub(super) fn recover_runs(lock: &ProjectLock, ledger: &mut Ledger, asker: &Asker) -> Result<Vec<RunId>, ProjectError> {
    let now = clock::now();
    let build = |run: &InterruptedRun| seal_input_of_interrupted(run, now);
    evidence::recover(lock, ledger, now, asker, &build).map_err(ProjectError::Evidence)
}

/// Makes the report and the ledger record of a run whose process died, from the files that the process left (S2, E17).
fn seal_input_of_interrupted(run: &InterruptedRun, now: Timestamp) -> SealInput {
    let start = run.start_record.as_deref().and_then(|bytes| parse_run_start(bytes).ok());
    let details = start.as_ref().map(|start| &start.details);
    let tree_digest = details.map(|details| details.tree_digest);
    let tree_format = details.map_or(TreeFormat::CURRENT, |details| details.tree_format);
    let plan_digest = details.and_then(|details| details.test_specification.plan_digest);
    let files = run.files.iter().map(|file| describe_found_file(&file.name, file.content.bytes, file.content.sha256)).collect();
    let report = seal_hash(interrupted_report(&RecoveryFacts {
        run_id: run.run_id.clone(),
        project_id: run.project.clone(),
        task: run.task.clone(),
        start,
        recovered_at: now,
        evidence_files: files,
    }));
    let report_hash = report.authenticity.report_hash.expect("`seal_hash` set it");
    let time = (report.execution_summary.start_time, now);
    let known = RunRecord::without_verdict(run.run_id.clone(), run.task.clone(), report_hash, OverallStatus::Interrupted, time);
    let record = RunRecord { tree_digest, tree_format, plan_digest, ..known };
    SealInput { report: to_bytes(&report), record, attested: attested(&report) }
}
