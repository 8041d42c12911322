//! The data that outlives a run: store, index, launcher, the last known tree, digests of tools.

use crate::report::ProgramV1;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::config::Configuration;
use crate::evidence::{self, DurableStep, InterruptedRun, Ledger, ProjectLock, SealInput, Store, WaitDecision};
use crate::model::{
    Action, Digest, LedgerLine, OverallStatus, Plan, ProjectId, RetentionLimits, RunId, RunRecord, StopReason, TaskId, TddState,
    Timestamp, TreeDigest, TreeFormat, TreeIssue, TreePath,
};
use crate::process::{LauncherHandle, clock};
use crate::project::environment_digest::{EnvironmentSurvey, FileStamp, KnownDigests, ProgramFile, file_digest, program_file};
use crate::project::error::ProjectError;
use crate::project::known_approvals::KnownApprovals;
use crate::project::known_trees::KnownTrees;
use crate::project::progress::Progress;
use crate::project::project_copies::ProjectCopies;
use crate::project::repaired_index::{Announce, announce_with, open_index};
use crate::project::request::{ProjectScope, ProjectSettings, RunRequest};
use crate::project::run_preparation::RunPreparation;
use crate::project::selection::Selection;
use crate::project::specifications::{Specifications, TaskError};
use crate::project::tool_version::{ToolPlace, read_tool_version};
use crate::report::{RecoveryFacts, attested, describe_found_file, interrupted_report, parse_run_start, seal_hash, to_bytes};
use crate::sandbox::home;
use crate::sandbox::search_path;
use crate::store;
use crate::tree::{self, TreeHints};

/// A function that is called after every durable step.
pub type StepObserver = Arc<dyn Fn(DurableStep) + Send + Sync>;

/// The tree of the last verdict, and the plan and project it belongs to.
struct VerdictTree {
    root: PathBuf,
    plan: Digest,
    index: tree::TreeIndex,
}

/// Everything a run needs that does not belong to the run itself.
pub struct Workspace {
    pub(crate) store: Store,
    pub(crate) index: store::StoreIndex,
    executable: PathBuf,
    launcher: LauncherHandle,
    ambient: BTreeMap<OsString, OsString>,
    observer: StepObserver,
    pub(crate) trees: KnownTrees,
    verdict_tree: Option<VerdictTree>,
    pub(crate) specifications: Specifications,
    digests: KnownDigests,
    opening_notes: Vec<String>,
    announce: Announce,
    runs_ahead: RunsAhead,
    pub(crate) run_preparation: RunPreparation,
    pub(crate) copies: ProjectCopies,
    /// For each project: why its snapshot cannot be mounted, or `None` if it can. Mounting is tried once in a process.
    pub(crate) mount_obstacles: BTreeMap<ProjectId, Option<String>>,
    pub(crate) approvals: KnownApprovals,
    /// The project of the last sealed run with its limits, for [`Self::keep_to_limits`].
    pub(crate) to_prune: Option<(ProjectScope, RetentionLimits)>,
}

/// Whether another run follows the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunsAhead {
    One,
    Many,
}

impl Workspace {
    /// Opens the store. The launcher is passed in, because the caller starts it first: it takes a while to start.
    ///
    /// # Errors
    ///
    /// When the store or its index cannot be opened.
    pub fn open(
        state_root: &Path,
        executable: &Path,
        launcher: LauncherHandle,
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
            verdict_tree: None,
            specifications: Specifications::default(),
            digests: KnownDigests::new(),
            opening_notes: opened.notes,
            announce: |_| (),
            runs_ahead: RunsAhead::Many,
            run_preparation: RunPreparation::default(),
            copies: ProjectCopies::default(),
            mount_obstacles: BTreeMap::new(),
            approvals: KnownApprovals::default(),
            to_prune: None,
        };
        workspace.digests = workspace.load_digests()?;
        Ok(workspace)
    }

    /// Returns the directory of the operators' log.
    pub fn log_directory(&self) -> PathBuf {
        self.store.log_directory()
    }

    /// Returns the messages about opening the store, such as that the index was set aside and rebuilt.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.opening_notes)
    }

    /// Sends messages about a repaired index to the given function. Without this they are only in the operators' log.
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

    /// Announces that the next run is the last one. Its launcher then ends while the run is sealed, so nobody has to wait for it.
    pub fn expect_one_run(&mut self) {
        self.runs_ahead = RunsAhead::One;
    }

    /// Returns whether another run follows, which is worth preparing for.
    pub(crate) fn has_runs_ahead(&self) -> bool {
        self.runs_ahead == RunsAhead::Many
    }

    pub(crate) fn dismiss_launcher_after_last_run(&mut self) {
        match self.runs_ahead {
            RunsAhead::One => self.launcher.dismiss(),
            RunsAhead::Many => {}
        }
    }

    /// Returns the TDD state of a task.
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

    pub(crate) fn path_variable(&self) -> OsString {
        search_path(&self.ambient)
    }

    /// Returns the program that serves as launcher when it is started with the right arguments.
    pub(crate) fn executable(&self) -> &Path {
        &self.executable
    }

    /// Returns the launcher, and replaces it if it has died.
    pub(crate) fn launcher(&mut self) -> Result<&mut LauncherHandle, ProjectError> {
        if self.launcher.is_lost() {
            self.launcher = LauncherHandle::execute(&self.executable).map_err(ProjectError::Launcher)?;
        }
        Ok(&mut self.launcher)
    }

    /// Locks a project's evidence. Waits for another writer until the time limit or a stop request.
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

    /// Opens the ledger, and closes runs that a dead process left open.
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
        let now = clock::now();
        let build = |run: &evidence::InterruptedRun| seal_input_of_interrupted(run, now);
        let runs = evidence::recover(lock, &mut ledger, now, &scope.asker, &build).map_err(ProjectError::Evidence)?;
        if !runs.is_empty() {
            show(Progress::Recovered { runs });
        }
        Ok(ledger)
    }

    /// Updates the index from the ledger.
    pub(crate) fn catch_up(&mut self, project: &ProjectId) -> Result<(), ProjectError> {
        catch_up(&self.store, &mut self.index, project)
    }

    pub(crate) fn apply(&mut self, project: &ProjectId, offset_after: u64, line: LedgerLine) -> Result<(), ProjectError> {
        self.approvals.wrote(project, &line);
        self.index.apply(project, &[(offset_after, line)]).map_err(ProjectError::Index)
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

    /// Returns the current digest of a project's tree, and the entries that could not be digested. No run is needed.
    ///
    /// The next reading with hints starts from this state, so earlier hints need not be repeated.
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
    /// When the tree cannot be read. A task without a plan is a value.
    pub fn plan_of_task(
        &mut self,
        (settings, configuration): (&ProjectSettings, &Configuration),
        scope: &ProjectScope,
        task: &TaskId,
        hints: &TreeHints,
    ) -> Result<Result<Plan, TaskError>, ProjectError> {
        self.read_specifications(settings, scope, hints)?;
        Ok(self.specifications.plan(configuration, task))
    }

    /// Returns every task of every test specification in the current tree, sorted.
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
        self.read_specifications(settings, scope, hints)?;
        Ok(self.specifications.tasks())
    }

    fn read_specifications(
        &mut self,
        settings: &ProjectSettings,
        scope: &ProjectScope,
        hints: &TreeHints,
    ) -> Result<(), ProjectError> {
        let index = self.trees.scan(&self.store, settings, scope, hints)?;
        self.specifications.update(&scope.root, &index);
        Ok(())
    }

    /// Saves the known trees for the next start, if there are enough unsaved changes. It is meant for idle time.
    pub fn save_trees(&mut self) {
        self.trees.save(&self.store);
    }

    /// Reads the tree before a run.
    pub(crate) fn scan_tree(&mut self, request: &RunRequest<'_>) -> Result<tree::TreeIndex, ProjectError> {
        self.trees.scan(&self.store, request.settings, request.scope, &request.hints)
    }

    /// Reads the whole tree again after the last process of a run has ended.
    pub(crate) fn rescan_tree(&mut self, request: &RunRequest<'_>) -> Result<tree::TreeIndex, ProjectError> {
        self.trees.scan(&self.store, request.settings, request.scope, &TreeHints::Everything)
    }

    /// Remembers the tree of a verdict, if the plan has checks that only some changes trigger.
    ///
    /// A run of selected checks does not change it, because the other checks were not carried out on this tree.
    pub(crate) fn keep_verdict_tree(&mut self, request: &RunRequest<'_>, plan: Digest, index: &tree::TreeIndex) {
        let is_needed = request.plan.steps.iter().any(|step| !step.paths.is_empty());
        match request.checks {
            Selection::All | Selection::Triggered { .. } => {
                let kept = || VerdictTree { root: request.scope.root.clone(), plan, index: index.clone() };
                self.verdict_tree = is_needed.then(kept);
            }
            Selection::Named(_) => {}
        }
    }

    /// Returns every path that differs from the tree of the last verdict on the same plan; `None` if there is no such verdict.
    pub(crate) fn changed_since_verdict(
        &self,
        request: &RunRequest<'_>,
        plan: Digest,
        now: &tree::TreeIndex,
    ) -> Option<Vec<TreePath>> {
        let last = self.verdict_tree.as_ref().filter(|last| last.root == request.scope.root && last.plan == plan)?;
        Some(tree::changed_paths(&last.index, now))
    }

    /// Begins the survey of a plan's tools and of installed packages.
    pub(crate) fn begin_environment_survey(&self, request: &RunRequest<'_>) -> EnvironmentSurvey {
        let (background, known) = (self.store.background(), self.digests.clone());
        EnvironmentSurvey::begin(background, known, request.plan, &request.scope.root, &self.path_variable())
    }

    pub(crate) fn remember_digests(&mut self, learnt: &KnownDigests) -> Result<(), ProjectError> {
        let new: Vec<_> = learnt.iter().filter(|(file, _)| !self.digests.contains_key(file)).collect();
        let rows: Vec<_> = new
            .iter()
            .map(|(file, digest)| (file.real_path.to_string_lossy().into_owned(), file.stamp.0.clone(), **digest))
            .collect();
        self.digests.extend(learnt.iter().map(|(file, digest)| (file.clone(), *digest)));
        if rows.is_empty() { Ok(()) } else { self.index.remember_file_digests(&rows).map_err(ProjectError::Index) }
    }

    /// Returns the facts about the program of an action.
    pub(crate) fn program_facts(
        &mut self,
        action: &Action,
        (root, directory): (&Path, &Path),
        program: &Path,
    ) -> Option<ProgramV1> {
        let file = program_file(program)?;
        let known = self.digests.get(&file).copied();
        let sha256 = known.or_else(|| {
            let digest = file_digest(&file.real_path)?;
            self.digests.insert(file.clone(), digest);
            let row = (file.real_path.to_string_lossy().into_owned(), file.stamp.0.clone(), digest);
            // If the digest cannot be stored, it is computed again the next time.
            let _forgotten = self.index.remember_file_digests(&[row]);
            Some(digest)
        });
        let place = ToolPlace { program, directory, root, home: home(&self.ambient) };
        let version = read_tool_version(action.tool, &place);
        Some(ProgramV1 { path: file.real_path.display().to_string(), sha256, version })
    }

    fn load_digests(&self) -> Result<KnownDigests, ProjectError> {
        let rows = self.index.file_digests().map_err(ProjectError::Index)?;
        let known = rows
            .into_iter()
            .map(|(path, stamp, digest)| (ProgramFile { real_path: PathBuf::from(path), stamp: FileStamp(stamp) }, digest));
        Ok(known.collect())
    }
}

/// Locks a project, and waits for that as long as `wait`.
pub(crate) fn lock_within(store: &Store, project: &ProjectId, wait: Duration) -> Result<ProjectLock, ProjectError> {
    let begun = clock::monotonic();
    let lock = store.lock(project, &mut || {
        if clock::monotonic().since(begun) < wait { WaitDecision::GoOn } else { WaitDecision::GiveUp }
    });
    lock.map_err(ProjectError::Lock)
}

/// Applies the ledger's lines that the index does not know yet.
pub(crate) fn catch_up(store: &Store, index: &mut store::StoreIndex, project: &ProjectId) -> Result<(), ProjectError> {
    let offset = index.position(project).map_err(ProjectError::Index)?.map_or(0, |(_, offset)| offset);
    let lines = evidence::read_lines(store, project, offset).map_err(ProjectError::Evidence)?;
    let lines = lines.collect::<Result<Vec<_>, _>>().map_err(ProjectError::Evidence)?;
    if lines.is_empty() {
        return Ok(());
    }
    index.apply(project, &lines).map_err(ProjectError::Index)
}

/// Returns the report and the ledger record for a run whose process died, made from the files that it left (S2, E17).
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
