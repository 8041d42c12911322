//! Reading back: runs, reports, logs, TDD state. Needs no lock and never goes through the project's link (S1).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::evidence::{self, RunForm, Store};
use crate::model::{
    Digest, OverallResult, OverallStatus, ProjectId, PruneReason, RouteEntry, RunId, Serving, TaskId, TddState, Timestamp,
    TreeDigest,
};
use crate::project::error::RunError;
use crate::project::mended_index::{Announce, announce_with, open_index};
use crate::project::registration::{DirectoryOwner, RootDirectory};
use crate::project::workspace::catch_up;
use crate::report::{ExecutionReportV2, parse, report_hash};
use crate::store::{self, IndexedProject, IndexedRun};

/// The store, open for reading.
pub struct Archive {
    pub(crate) store: Store,
    pub(crate) index: store::StoreIndex,
    opening_notes: Vec<String>,
}

/// A project as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredProject {
    /// Its id.
    pub id: ProjectId,
    /// Its root, absolute, lossily decoded.
    pub path: String,
    /// Whether the service watches it.
    pub serving: Serving,
}

/// A run as the ledger has it.
#[derive(Debug, Clone)]
pub struct ArchivedRun {
    /// Its id.
    pub run_id: RunId,
    /// Its task.
    pub task: TaskId,
    /// What happened.
    pub status: OverallStatus,
    /// The verdict.
    pub result: Option<OverallResult>,
    /// How many results block.
    pub blocking: u32,
    /// When it began.
    pub started: Timestamp,
    /// The tree it tested.
    pub tree: Option<TreeDigest>,
    /// The route.
    pub route: Option<RouteEntry>,
    /// Its SHA256SUMS' hash, by which a copy of it is known.
    pub manifest_hash: Option<Digest>,
    /// The limit it was over, where its directory was removed.
    pub pruned: Option<PruneReason>,
    /// How it is kept, where it was not.
    pub form: RunForm,
}

impl Archive {
    /// Opens the store.
    ///
    /// # Errors
    /// When store or index cannot be had.
    pub fn open(state_root: &Path) -> Result<Self, RunError> {
        let store = Store::open(state_root).map_err(RunError::Evidence)?;
        let opened = open_index(&store)?;
        Ok(Self { store, index: opened.index, opening_notes: opened.notes })
    }

    /// Returns where the operators' log lies.
    pub fn log_directory(&self) -> PathBuf {
        self.store.log_directory()
    }

    /// Returns what there is to say about the opening: an index that was set aside and rebuilt.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.opening_notes)
    }

    /// Says to whoever gave the command when the index is mended; otherwise it is in the operators' log alone.
    pub fn announce_with(&mut self, announce: Announce) {
        announce_with(&mut self.index, &self.store, announce);
    }

    /// Finds the project of a directory and brings the index up to its ledger; none when it is not registered.
    ///
    /// # Errors
    /// When the directory, the ledger or the index cannot be read.
    pub fn find_project(&mut self, root: &Path) -> Result<Option<ProjectId>, RunError> {
        let place = RootDirectory::of(root)?;
        self.catch_up_all()?;
        Ok(match place.find_in(&self.index)? {
            DirectoryOwner::Known(project) => Some(project),
            DirectoryOwner::Doubtful(doubt) => Some(doubt.project),
            DirectoryOwner::Unknown => None,
        })
    }

    /// Returns every registered project, sorted by id.
    ///
    /// # Errors
    /// When a ledger or the index cannot be read.
    pub fn projects(&mut self) -> Result<Vec<RegisteredProject>, RunError> {
        self.catch_up_all()?;
        let projects = self.index.projects().map_err(RunError::Index)?;
        let registered = |project: IndexedProject| {
            let serving = self.index.serving(&project.id).map_err(RunError::Index)?;
            Ok(RegisteredProject { id: project.id, path: project.root.path, serving })
        };
        projects.into_iter().map(registered).collect()
    }

    /// Applies what the index does not know yet: it may be new, deleted, or behind.
    pub(crate) fn catch_up_all(&mut self) -> Result<(), RunError> {
        for project in evidence::list_projects(&self.store).map_err(RunError::Evidence)? {
            catch_up(&self.store, &mut self.index, &project)?;
        }
        Ok(())
    }

    /// Returns the newest runs of a project.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn runs(&self, project: &ProjectId, limit: u32) -> Result<Vec<ArchivedRun>, RunError> {
        let runs = self.index.runs(project, None, limit).map_err(RunError::Index)?;
        let pruned = self.index.pruned(project).map_err(RunError::Index)?;
        Ok(runs.into_iter().map(|run| self.of_stored(project, run, &pruned)).collect())
    }

    /// Finds a sealed run by id or number; without one, the newest that has a directory.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn find(&self, project: &ProjectId, wanted: Option<&str>) -> Result<Option<ArchivedRun>, RunError> {
        let sealed = |run: &ArchivedRun| run.status != OverallStatus::Superseded;
        let Some(wanted) = wanted else {
            return Ok(self.runs(project, 100)?.into_iter().find(sealed));
        };
        let by_number = wanted.parse::<u64>().ok();
        let matches = |run: &IndexedRun| run.run_id.as_str() == wanted || by_number == Some(run.run_id.number());
        let runs = self.index.runs(project, None, u32::MAX).map_err(RunError::Index)?;
        let pruned = self.index.pruned(project).map_err(RunError::Index)?;
        // Where a run lies is looked up of those alone that are meant.
        Ok(runs.into_iter().filter(matches).map(|run| self.of_stored(project, run, &pruned)).find(sealed))
    }

    /// Returns a run's report, as bytes and read.
    ///
    /// # Errors
    /// When it is not there or does not read.
    pub fn report(&self, project: &ProjectId, run: &ArchivedRun) -> Result<(Vec<u8>, ExecutionReportV2), RunError> {
        let bytes = evidence::read_report(&self.store, project, &run.task, &run.run_id).map_err(RunError::Evidence)?;
        let report =
            parse(&bytes).map_err(|error| RunError::Report { run_id: run.run_id.clone(), problem: error.to_string() })?;
        Ok((bytes, report))
    }

    /// Hands the bytes of a file of a run on, piece by piece.
    ///
    /// # Errors
    /// When it is not there, or cannot be read.
    pub fn show_file(
        &self,
        project: &ProjectId,
        run: &ArchivedRun,
        name: &str,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), RunError> {
        evidence::stream_file(&self.store, project, (&run.task, &run.run_id), name, take).map_err(RunError::Evidence)
    }

    /// Returns where a run lies: its directory, or its archive.
    pub fn place(&self, project: &ProjectId, run: &ArchivedRun) -> PathBuf {
        match run.form {
            RunForm::Directory => self.store.run_directory(project, &run.task, &run.run_id),
            RunForm::Archive => self.store.archive_path(project, &run.task, &run.run_id),
        }
    }

    /// Returns the TDD state of a task by the ledger as it is now, also where another process has written to it since.
    ///
    /// # Errors
    /// When the ledger or the index cannot be read.
    pub fn cycle(&mut self, project: &ProjectId, task: &TaskId) -> Result<TddState, RunError> {
        catch_up(&self.store, &mut self.index, project)?;
        self.tdd(project, task)
    }

    /// Returns the TDD state of a task.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn tdd(&self, project: &ProjectId, task: &TaskId) -> Result<TddState, RunError> {
        self.index.tdd(project, task).map_err(RunError::Index)
    }

    fn of_stored(&self, project: &ProjectId, run: IndexedRun, pruned: &BTreeMap<RunId, PruneReason>) -> ArchivedRun {
        let is_archived = evidence::is_archived(&self.store, project, &run.task, &run.run_id);
        ArchivedRun {
            pruned: pruned.get(&run.run_id).copied(),
            form: if is_archived { RunForm::Archive } else { RunForm::Directory },
            manifest_hash: run.manifest_hash,
            run_id: run.run_id,
            task: run.task,
            status: run.status,
            result: run.result,
            blocking: run.blocking,
            started: run.started,
            tree: run.tree_digest,
            route: run.route,
        }
    }
}

/// Reads a report that is the one the ledger knows.
///
/// # Errors
/// When it cannot be read, or is another one.
pub(crate) fn sealed_report(
    store: &Store,
    index: &store::StoreIndex,
    project: &ProjectId,
    task: &TaskId,
    run_id: &RunId,
) -> Result<ExecutionReportV2, RunError> {
    let wrong = |problem: String| RunError::Report { run_id: run_id.clone(), problem };
    let bytes = evidence::read_report(store, project, task, run_id).map_err(RunError::Evidence)?;
    // First whether it is that one: of another one it does not matter what is wrong with it.
    let value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    let known = index.run(project, run_id).map_err(RunError::Index)?.and_then(|run| run.report_hash);
    if known != Some(report_hash(value)) {
        return Err(wrong("it is not the one the ledger knows".to_owned()));
    }
    parse(&bytes).map_err(|error| wrong(error.to_string()))
}
