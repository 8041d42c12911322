//! Reads stored runs, reports, logs and TDD states. It takes no lock, and never follows the link in the project's root
//! that leads to the evidence (S1).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use nix::libc;

use crate::checked_index::{catch_up, catch_up_and_name};
use crate::error::{ProjectError, system_error_behind};
use crate::ledger_runs::{LedgerRuns, newest_sealed_run, pruned_since, run_with_number, unread_run};
use crate::registration::{DirectoryOwner, RootDirectory};
use crate::repaired_index::{Announce, announce_with, open_index, open_index_in_memory};
use proctor_evidence::report::{EXECUTION_REPORT_FILE, ExecutionReportV2, parse};
use proctor_evidence::{self as evidence, EvidenceError, LedgerLookup, SealedFiles, Store};
use proctor_index::{self as store, IndexedProject, IndexedRun};
use proctor_model::{LedgerLine, OverallStatus, ProjectId, PruneReason, RootIdentity, RunId, RunLine, Serving, TaskId, TddState};
use proctor_tree::TreeIndex;

/// The evidence store, opened for reading.
pub struct StoreReader {
    pub store: Store,
    pub(crate) index: store::StoreIndex,
    /// The environment of proctor itself, in which the programs of plans are searched.
    pub(crate) ambient: BTreeMap<OsString, OsString>,
    opening_notes: Vec<String>,
    /// The tree that was read last, and its root: only what changed since then is read again.
    pub(crate) last_tree: Option<(PathBuf, TreeIndex)>,
}

/// A registered project, as recorded in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredProject {
    pub id: ProjectId,
    /// The absolute path of the root, with invalid UTF-8 replaced.
    pub path: String,
    /// Whether the service watches the project.
    pub serving: Serving,
    /// The directory that all working trees of the project's repository share.
    pub repository: Option<String>,
}

impl RegisteredProject {
    /// Returns whether the directory is gone and its repository is not: git removed a linked working tree, or the present branch has no
    /// such directory. Lists leave the project out until the directory is there again; its evidence stays.
    pub fn was_removed_by_git(&self) -> bool {
        self.repository.as_ref().is_some_and(|repository| Path::new(repository).is_dir()) && !Path::new(&self.path).exists()
    }
}

/// A run, as recorded in the ledger, and what became of its evidence.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    pub run: IndexedRun,
    /// The limit that the run exceeded, if its evidence was removed.
    pub pruned: Option<PruneReason>,
}

impl Deref for RecordedRun {
    type Target = IndexedRun;

    fn deref(&self) -> &IndexedRun {
        &self.run
    }
}

/// Returns whether the index cannot be used because nothing may be written there. The ledgers say the same.
fn is_unwritable(error: &ProjectError) -> bool {
    matches!(error, ProjectError::Index(_))
        && system_error_behind(error).is_some_and(|number| [libc::EROFS, libc::EACCES, libc::EPERM].contains(&number))
}

impl StoreReader {
    /// Returns whether the service watches a project.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn serving(&self, project: &ProjectId) -> Result<Serving, ProjectError> {
        self.index.serving(project).map_err(ProjectError::Index)
    }

    /// Opens the evidence store. `ambient` is the environment of proctor itself.
    ///
    /// # Errors
    ///
    /// When the store or its index cannot be opened.
    pub fn open(state_root: &Path, ambient: BTreeMap<OsString, OsString>) -> Result<Self, ProjectError> {
        let store = Store::open(state_root)?;
        let opened = match open_index(&store) {
            Err(error) if is_unwritable(&error) => open_index_in_memory(&store)?,
            opened => opened?,
        };
        Ok(Self { store, index: opened.index, ambient, opening_notes: opened.notes, last_tree: None })
    }

    /// Opens the evidence store with an index in memory, which is filled from the ledgers. So the store can be read on a full disk,
    /// where the index on disk takes no newer lines.
    ///
    /// # Errors
    ///
    /// When the store cannot be opened.
    pub fn open_in_memory(state_root: &Path, ambient: BTreeMap<OsString, OsString>) -> Result<Self, ProjectError> {
        let store = Store::open(state_root)?;
        let opened = open_index_in_memory(&store)?;
        Ok(Self { store, index: opened.index, ambient, opening_notes: opened.notes, last_tree: None })
    }

    /// Returns the directory of the store.
    pub fn state_root(&self) -> &Path {
        self.store.root()
    }

    /// Returns the directory of the log files that `proctor` writes about its own work.
    pub fn log_directory(&self) -> PathBuf {
        self.store.log_directory()
    }

    /// Closes the index until it is used again, so that a reader that waits holds no descriptors.
    pub fn close_files(&mut self) {
        self.index.close_file();
    }

    /// Returns the messages about opening the store, such as that the index was set aside and rebuilt.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.opening_notes)
    }

    /// Also sends messages about a repaired index to the given function. Without this call they are only in the log
    /// that proctor writes about its own work.
    pub fn announce_with(&mut self, announce: Announce) {
        announce_with(&mut self.index, &self.store, announce);
    }

    /// Updates the index and finds the project of a directory. If it is unclear whether the directory is a registered
    /// project, that project is returned. `None` if the directory is not registered.
    ///
    /// # Errors
    ///
    /// When the directory, the project's ledger or the index cannot be read. A ledger of another project that cannot be read is
    /// named in a note.
    pub fn find_project(&mut self, root: &Path) -> Result<Option<ProjectId>, ProjectError> {
        let place = RootDirectory::of(root)?;
        Ok(match place.find_checked(&self.store, &mut self.index)? {
            DirectoryOwner::Known(project) => Some(project),
            DirectoryOwner::Doubtful(doubt) => Some(doubt.project),
            DirectoryOwner::Unknown => None,
        })
    }

    /// Returns every registered project, sorted by id. A project whose ledger cannot be read is named in a note; it is returned as
    /// far as its ledger could be read.
    ///
    /// # Errors
    /// When the directory of the ledgers, the keys or the index cannot be read.
    pub fn projects(&mut self) -> Result<Vec<RegisteredProject>, ProjectError> {
        match catch_up_and_name(&self.store, &mut self.index) {
            // On a full disk the index takes no newer lines. The projects that it knows are still to be shown.
            Err(error) if system_error_behind(&error) == Some(libc::ENOSPC) => {}
            caught_up => caught_up?,
        }
        let projects = self.index.projects()?;
        let registered = |project: IndexedProject| {
            let serving = self.index.serving(&project.id)?;
            let RootIdentity { path, git_common_directory, .. } = project.root;
            Ok(RegisteredProject { id: project.id, path, serving, repository: git_common_directory })
        };
        projects.into_iter().map(registered).collect()
    }

    /// Returns the newest runs of a project, at most `limit`, newest first. They are read from the ledger, from its end on: each
    /// line's signature and its place in the chain are checked. The index is not used.
    ///
    /// # Errors
    /// When the ledger cannot be read, or a line is not as proctor wrote it.
    pub fn runs(&self, project: &ProjectId, limit: u32) -> Result<Vec<RecordedRun>, ProjectError> {
        let ledger = LedgerLookup::open(&self.store, project)?;
        let mut newest = LedgerRuns::newest(&ledger);
        let mut runs = Vec::new();
        while runs.len() < usize::try_from(limit).unwrap_or(usize::MAX)
            && let Some(run) = newest.next().transpose()?
        {
            let pruned = newest.pruned(&run.run_id);
            runs.push(RecordedRun { run, pruned });
        }
        Ok(runs)
    }

    /// Finds a sealed run by its id or number. Without `wanted`, returns the newest sealed run. Runs that a newer save stopped
    /// are not sealed. The run's line in the ledger is checked.
    ///
    /// # Errors
    ///
    /// When the ledger or the index cannot be read, or a line of the ledger is not as proctor wrote it.
    pub fn find(&self, project: &ProjectId, wanted: Option<&str>) -> Result<Option<RecordedRun>, ProjectError> {
        let ledger = LedgerLookup::open(&self.store, project)?;
        let Some(wanted) = wanted else {
            let newest = newest_sealed_run(&ledger)?;
            return Ok(newest.map(|(run, pruned)| RecordedRun { run, pruned }));
        };
        let number = wanted.parse().ok().or_else(|| Some(RunId::try_from(wanted.to_owned()).ok()?.number()));
        // No run has any other name.
        let Some(number) = number else { return Ok(None) };
        let is_wanted = |run: &IndexedRun| {
            let is_named = run.run_id.as_str() == wanted || wanted.parse() == Ok(run.run_id.number());
            is_named && run.status != OverallStatus::Superseded
        };
        let run = run_with_number(&self.store, &ledger, project, number)?.filter(is_wanted);
        let Some(run) = run else { return Ok(None) };
        let pruned = self.pruned(&ledger, project, &run.task, &run.run_id)?;
        Ok(Some(RecordedRun { run, pruned }))
    }

    /// Returns a run's report, as bytes and parsed.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Pruned`] when the run was pruned meanwhile. Other errors when the report is missing or cannot be read, or is
    /// not the one that the ledger has the hash of.
    pub fn report(&self, project: &ProjectId, run: &RecordedRun) -> Result<(Vec<u8>, ExecutionReportV2), ProjectError> {
        let bytes = self.with_files(project, run, |files| files.read(EXECUTION_REPORT_FILE))?;
        let report =
            parse(&bytes).map_err(|error| ProjectError::Report { run_id: run.run_id.clone(), problem: error.to_string() })?;
        Ok((bytes, report))
    }

    /// Passes the bytes of one of a run's files to a function, piece by piece. Before, the file is compared with the hash that
    /// it had when the run was sealed.
    ///
    /// # Errors
    ///
    /// [`ProjectError::Pruned`] when the run was pruned meanwhile. Other errors when the file is missing, was changed, or cannot be
    /// read.
    pub fn show_file(
        &self,
        project: &ProjectId,
        run: &RecordedRun,
        name: &str,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ProjectError> {
        self.with_files(project, run, |files| files.check(name))?;
        let shown = evidence::stream_file(&self.store, project, (&run.task, &run.run_id), name, take);
        shown.map_err(|error| self.unless_pruned(project, run, error))
    }

    /// Returns whether a project with this id is registered. The index is brought up to date with the project's ledger first.
    ///
    /// # Errors
    /// When the ledger or the index cannot be read.
    pub fn knows(&mut self, project: &ProjectId) -> Result<bool, ProjectError> {
        if !self.store.ledger_path(project).is_file() {
            return Ok(false);
        }
        catch_up(&self.store, &mut self.index, project)?;
        Ok(self.index.project(project)?.is_some())
    }

    /// Returns the names of the files that a run was sealed with, sorted; none for a run that was pruned.
    ///
    /// # Errors
    /// When the run's manifest is missing, was changed, or cannot be read.
    pub fn file_names(&self, project: &ProjectId, run: &RecordedRun) -> Result<Vec<String>, ProjectError> {
        if run.pruned.is_some() {
            return Ok(Vec::new());
        }
        self.with_files(project, run, |files| Ok(files.names()))
    }

    /// Reads files of a sealed run. Another process may prune the run at any time. So before an error is returned, the
    /// files are read once more, and the ledger is asked whether the run was pruned.
    fn with_files<T>(
        &self,
        project: &ProjectId,
        run: &RecordedRun,
        read: impl Fn(&SealedFiles) -> Result<T, EvidenceError>,
    ) -> Result<T, ProjectError> {
        let no_hash = || ProjectError::Evidence(EvidenceError::NotInLedger { run_id: run.run_id.clone() });
        let manifest = run.sealed.ok_or_else(no_hash)?.manifest;
        let attempt = || read(&SealedFiles::open(&self.store, project, &run.task, &run.run_id, manifest)?);
        attempt().or_else(|_| attempt()).map_err(|error| self.unless_pruned(project, run, error))
    }

    /// Returns the error to report where a file of a run cannot be read: that the run was pruned, or else the given error.
    fn unless_pruned(&self, project: &ProjectId, run: &RecordedRun, error: EvidenceError) -> ProjectError {
        match pruned_since(&self.store, project, &run.run_id) {
            Ok(Some(why)) => ProjectError::Pruned { run_id: run.run_id.clone(), why },
            Ok(None) | Err(_) => unread_run(&self.store, project, &run.task, &run.run_id, error),
        }
    }

    /// Returns a run from its checked line. Why it was pruned is only known of the newest pruned runs: for an older one the whole
    /// ledger would have to be read.
    pub(crate) fn recorded_run(
        &self,
        project: &ProjectId,
        ledger: &LedgerLookup,
        run: IndexedRun,
    ) -> Result<RecordedRun, ProjectError> {
        let sequence = self.index.pruning_line(project, &run.run_id)?;
        let line = sequence.map(|sequence| ledger.find(sequence).map_err(ProjectError::Evidence)).transpose()?.flatten();
        let pruned = line.and_then(|line| reason_in(&line, &run.run_id));
        Ok(RecordedRun { run, pruned })
    }

    /// Returns the limit because of which a run was pruned; `None` if the ledger does not say that it was pruned.
    fn pruned(
        &self,
        ledger: &LedgerLookup,
        project: &ProjectId,
        task: &TaskId,
        run_id: &RunId,
    ) -> Result<Option<PruneReason>, ProjectError> {
        let is_there = self.store.run_directory(project, task, run_id).is_dir();
        let sequence = self.index.pruning_line(project, run_id)?;
        if sequence.is_none() && !is_there {
            // The index knows only the newest pruned runs.
            return pruned_since(&self.store, project, run_id);
        }
        let line = sequence.map(|sequence| ledger.find(sequence).map_err(ProjectError::Evidence)).transpose()?.flatten();
        Ok(line.and_then(|line| reason_in(&line, run_id)))
    }

    /// Returns the path of a run's directory.
    pub fn place(&self, project: &ProjectId, run: &RecordedRun) -> PathBuf {
        self.store.run_directory(project, &run.task, &run.run_id)
    }

    /// Returns the current TDD state of a task. New lines of the ledger are read first, because another process may
    /// have written some.
    ///
    /// # Errors
    ///
    /// When the ledger or the index cannot be read.
    pub fn cycle(&mut self, project: &ProjectId, task: &TaskId) -> Result<TddState, ProjectError> {
        catch_up(&self.store, &mut self.index, project)?;
        self.tdd(project, task)
    }

    /// Returns the TDD state of a task according to the index, without reading the ledger.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn tdd(&self, project: &ProjectId, task: &TaskId) -> Result<TddState, ProjectError> {
        self.index.tdd(project, task).map_err(ProjectError::Index)
    }
}

/// Returns the limit because of which a line of the ledger prunes a run; `None` if it does not prune this run.
fn reason_in(line: &LedgerLine, run_id: &RunId) -> Option<PruneReason> {
    match line.body.about_runs() {
        Some(RunLine::Pruned(runs)) => runs.iter().find(|run| run.run_id == *run_id).map(|run| run.why),
        Some(RunLine::Sealed(_) | RunLine::Superseded(_)) | None => None,
    }
}
