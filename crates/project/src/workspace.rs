//! What a process keeps between runs, by owner. A function takes the owners that it uses, and no more.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::deciding_files::DecidingFilesBefore;
use crate::error::ProjectError;
use crate::evidence::{Evidence, StepObserver};
use crate::installed::Installed;
use crate::refused_requests::RefusedRequests;
use crate::repaired_index::Announce;
use crate::request::{ProjectScope, ProjectSettings};
use crate::runner::{Runner, RunsAhead};
use crate::specifications::Specifications;
use crate::task_error::TaskError;
use crate::trees::Trees;
use proctor_evidence::{Store, agents_directory};
use proctor_model::{Digest, Plan, PlanNote, ProjectId, RetentionLimits, TaskId, TreeDigest, TreeIssue};
use proctor_plan::config::Configuration;
use proctor_sandbox::process::LauncherHandle;
use proctor_tools::SessionCode;
use proctor_tree::TreeHints;

/// Everything that a run needs and that stays for the next run.
pub struct Workspace {
    pub evidence: Evidence,
    pub trees: Trees,
    pub installed: Installed,
    pub runner: Runner,
    pub last_runs: LastRuns,
}

/// What the last runs of this process leave for the next run, and for the idle time after them.
#[derive(Default)]
pub struct LastRuns {
    /// The files that decide how a project is judged, as they were before a run that a save stopped, if they changed during it.
    /// The next run reports the change.
    pub before_stopped_run: BTreeMap<ProjectId, DecidingFilesBefore>,
    /// The notes of each task's last plan.
    pub notes: BTreeMap<(ProjectId, TaskId), Vec<PlanNote>>,
    /// What files of Python said of sessions of pytest, by their content.
    pub session_code: BTreeMap<Digest, Arc<SessionCode>>,
    /// The project of the last sealed run, and the limits for its evidence, for [`Workspace::keep_to_limits`].
    pub to_prune: Option<(ProjectScope, RetentionLimits)>,
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
        let evidence = Evidence::open(state_root, observer)?;
        let installed = Installed::read(&evidence.index)?;
        let runner = Runner::new(executable.to_owned(), launcher, ambient);
        Ok(Self { evidence, trees: Trees::default(), installed, runner, last_runs: LastRuns::default() })
    }

    /// Returns the evidence store.
    pub fn store(&self) -> &Store {
        &self.evidence.store
    }

    /// Shares the record of refused requests with the service, which adds to it.
    pub fn share_refused_requests(&mut self, record: Arc<RefusedRequests>) {
        self.runner.refused_requests = record;
    }

    /// Returns the directory of the log files that `proctor` writes about its own work.
    pub fn log_directory(&self) -> PathBuf {
        self.evidence.store.log_directory()
    }

    /// Returns the directory in which the running coding agents are registered that use proctor's hooks or its MCP server.
    pub fn agents_directory(&self) -> PathBuf {
        agents_directory(self.evidence.store.root())
    }

    /// Returns the messages about opening the store, such as that the index was set aside and rebuilt.
    pub fn take_notes(&mut self) -> Vec<String> {
        self.evidence.take_notes()
    }

    /// Also sends messages about a repaired index to the given function. Without this call they are only in the log
    /// that proctor writes about its own work.
    pub fn announce_with(&mut self, announce: Announce) {
        self.evidence.announce_with(announce);
    }

    /// Announces that the next run is the last one. The launcher then ends while that run is sealed, so the process
    /// need not wait for it afterwards.
    pub fn expect_one_run(&mut self) {
        self.runner.runs_ahead = RunsAhead::One;
    }

    /// Says whether the next run may leave a command that is started for the run after it.
    pub fn let_start_early(&mut self, is_allowed: bool) {
        self.runner.preparation.let_start_early(is_allowed);
    }

    /// Returns the memory, in bytes, of the command that was started for the next run; `None` if none was.
    pub fn memory_started_early(&self) -> Option<u64> {
        let bytes = || self.runner.working_launcher().map_or(0, LauncherHandle::memory_of_commands);
        self.has_started_early().then(bytes).filter(|bytes| *bytes > 0)
    }

    /// Returns whether the last run has left such a command.
    pub fn has_started_early(&self) -> bool {
        self.runner.preparation.has_started_early()
    }

    /// Gives up the launcher and every open file. The next request opens again what it needs.
    pub fn rest(&mut self) {
        self.runner.rest();
        self.evidence.index.close_file();
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
        let index = self.trees.known.scan(&self.evidence.store, settings, scope, hints)?;
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
        self.trees.read_specifications(&self.evidence.store, settings, scope, hints)
    }

    /// Saves the known trees with enough unsaved changes for the next start of proctor. This is meant for idle time.
    pub fn save_trees(&mut self) {
        self.trees.known.save(&self.evidence.store);
        self.installed.environments.save(&self.evidence.store);
    }
}
