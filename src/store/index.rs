//! The index as everybody uses it: questions and answers, and mending by itself where a file that was opened turns out to be damaged.
//!
//! Damage deep inside the file shows only when somebody reads there. Whoever opens the index can say where the lines are that it was made
//! of ([`StoreIndex::mend_with`]); it is then set aside and made anew, and what was asked is asked again. Nothing but time is lost.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::model::{
    Digest, HeldApproval, LedgerLine, OverallResult, ProjectId, PruneReason, RunId, Sequence, Serving, TaskId, TddState,
    ViolationRecord,
};
use crate::store::tables::{Tables, set_aside};
use crate::store::{ApprovalJudge, IndexError, IndexedProject, IndexedRun, ProjectMatch};

/// The lines of every ledger, each with the offset after it.
pub type EveryLine = Vec<(ProjectId, Vec<(u64, LedgerLine)>)>;

/// How a damaged index is made anew.
pub struct Mending {
    /// Reads every ledger; one that cannot be read is left out, and whoever needs it hears of that.
    pub lines: Box<dyn Fn() -> EveryLine + Send>,
    /// Is told where the damaged file was moved to.
    pub done: Box<dyn Fn(&Path) + Send>,
}

/// The index over the ledgers. Several processes may have it open; one at a time writes.
#[derive(Debug)]
pub struct StoreIndex {
    pub(super) tables: RefCell<Tables>,
    mending: Option<Mending>,
}

/// An index that was opened.
#[derive(Debug)]
#[must_use = "an index that was set aside is to be reported, and the new one filled from the ledgers"]
pub struct Opened {
    /// The index.
    pub index: StoreIndex,
    /// Where a damaged file was moved to; the index is then empty, and every ledger is to be applied from its beginning.
    pub set_aside: Option<PathBuf>,
}

/// Writes the questions that [`Tables`] answers.
macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        impl StoreIndex {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// When the index cannot be read.
                pub fn $name(&self, $($argument: $kind),*) -> Result<$answer, IndexError> {
                    self.ask(|tables| tables.$name($($argument),*))
                }
            )*
        }
    };
}

questions! {
    /// Returns the last line of a project's ledger that the index knows, and the offset after it.
    position(project: &ProjectId) -> Option<(Sequence, u64)>;
    /// Returns every registered project, sorted by id.
    projects() -> Vec<IndexedProject>;
    /// Returns a registered project.
    project(id: &ProjectId) -> Option<IndexedProject>;
    /// Finds the project whose root is a directory, by everything its record holds.
    find_project(path: &str, device: u64, inode: u64, git_common_directory: Option<&str>) -> ProjectMatch;
    /// Returns the last runs of a project, or of one of its tasks, newest first.
    runs(project: &ProjectId, task: Option<&TaskId>, limit: u32) -> Vec<IndexedRun>;
    /// Returns a run.
    run(project: &ProjectId, run_id: &RunId) -> Option<IndexedRun>;
    /// Returns the last run of a task that counts and had a plan.
    last_run(project: &ProjectId, task: &TaskId) -> Option<IndexedRun>;
    /// Returns the last runs of a task with a verdict, or with that verdict, newest first; none that had no plan or is pruned.
    judged_runs(project: &ProjectId, task: &TaskId, verdict: Option<OverallResult>, limit: u32) -> Vec<IndexedRun>;
    /// Returns the newest run of a task that carried a check out on inputs with this digest, and settled it.
    run_on_inputs(project: &ProjectId, task: &TaskId, check: &str, inputs: Digest) -> Option<IndexedRun>;
    /// Returns the TDD state of a task; the state of one that never started where the ledger says nothing.
    tdd(project: &ProjectId, task: &TaskId) -> TddState;
    /// Returns the approval that holds for a task.
    approval(project: &ProjectId, task: &TaskId) -> Option<HeldApproval>;
    /// Returns the digest each prerequisite of a project last succeeded with, by name.
    prerequisites(project: &ProjectId) -> BTreeMap<String, Digest>;
    /// Returns the digests of the configuration files that the last complete run of a task read, by path.
    configuration(project: &ProjectId, task: &TaskId) -> BTreeMap<String, Digest>;
    /// Returns the tasks of a project that have a run or a TDD state, sorted.
    tasks(project: &ProjectId) -> Vec<TaskId>;
    /// Returns the digest of the blocks of a task list as they were last written; none where they never were.
    task_list(project: &ProjectId, path: &str) -> Option<Digest>;
    /// Returns the violations that were recorded after the sealed run so many runs ago, in their order: 0 is the last one.
    violations_since(project: &ProjectId, runs_ago: u32) -> Vec<ViolationRecord>;
    /// Returns the runs of a project that are pruned, with the limit each was over.
    pruned(project: &ProjectId) -> BTreeMap<RunId, PruneReason>;
    /// Returns how many runs of a project were sealed.
    sealed_runs(project: &ProjectId) -> u64;
    /// Returns whether the service watches a project.
    serving(project: &ProjectId) -> Serving;
    /// Returns what is remembered of files: path, stamp and digest.
    file_digests() -> Vec<(String, String, Digest)>;
}

impl StoreIndex {
    /// Opens the index at `path`, creating or migrating it. A damaged file is set aside and an empty one made in its place. `judge` says
    /// which approvals count.
    ///
    /// # Errors
    /// When the file cannot be used, or a newer version has written it.
    pub fn open(path: &Path, judge: ApprovalJudge) -> Result<Opened, IndexError> {
        let opened = |tables, set_aside| Opened { index: Self { tables: RefCell::new(tables), mending: None }, set_aside };
        match Tables::open(path, judge) {
            Ok(tables) => Ok(opened(tables, None)),
            Err(IndexError::Corrupt { .. }) => {
                let aside = set_aside(path)?;
                Ok(opened(Tables::open(path, judge)?, Some(aside)))
            }
            Err(error) => Err(error),
        }
    }

    /// From here on damage is mended by itself.
    pub fn mend_with(&mut self, mending: Mending) {
        self.mending = Some(mending);
    }

    /// Applies lines of a project's ledger, each with the offset after it, in one transaction.
    ///
    /// Lines the index knows are passed over; one that does not follow the last known one is an error, and then none of them
    /// is applied.
    ///
    /// # Errors
    /// When the index cannot be written, or a line does not follow.
    pub fn apply(&mut self, project: &ProjectId, lines: &[(u64, LedgerLine)]) -> Result<(), IndexError> {
        self.tell(|tables| tables.apply(project, lines))
    }

    /// Forgets everything about a project, so that its ledger is applied from the beginning.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn forget(&mut self, project: &ProjectId) -> Result<(), IndexError> {
        self.tell(|tables| tables.forget(project))
    }

    /// Remembers digests; a file has one stamp and digest at a time.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn remember_file_digests(&mut self, rows: &[(String, String, Digest)]) -> Result<(), IndexError> {
        self.tell(|tables| tables.remember_file_digests(rows))
    }

    fn ask<T>(&self, question: impl Fn(&Tables) -> Result<T, IndexError>) -> Result<T, IndexError> {
        let answer = question(&self.tables.borrow());
        match answer {
            Err(error) if error.is_damage() && self.is_mended()? => question(&self.tables.borrow()),
            answer => answer,
        }
    }

    fn tell<T>(&mut self, statement: impl Fn(&mut Tables) -> Result<T, IndexError>) -> Result<T, IndexError> {
        let outcome = statement(self.tables.get_mut());
        match outcome {
            Err(error) if error.is_damage() && self.is_mended()? => statement(self.tables.get_mut()),
            outcome => outcome,
        }
    }

    /// Makes the index anew, where it is known of what; returns whether it was made.
    fn is_mended(&self) -> Result<bool, IndexError> {
        let Some(mending) = &self.mending else { return Ok(false) };
        let mut tables = self.tables.borrow_mut();
        let path = tables.reader.path.clone();
        // Where another process has set it aside, its new file is as good for this one.
        let is_in_place = path.metadata().is_ok_and(|metadata| Some((metadata.dev(), metadata.ino())) == tables.identity);
        let aside = if is_in_place { Some(set_aside(&path)?) } else { None };
        let mut new = Tables::open(&path, tables.judge)?;
        for (project, lines) in (mending.lines)() {
            new.apply(&project, &lines)?;
        }
        *tables = new;
        drop(tables);
        aside.iter().for_each(|aside| (mending.done)(aside));
        Ok(true)
    }
}

impl fmt::Debug for Mending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Mending")
    }
}

#[cfg(test)]
mod tests;
