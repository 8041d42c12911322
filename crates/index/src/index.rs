//! The index as the rest of proctor uses it: queries, updates, and automatic repair of a damaged file.
//!
//! Damage deep inside the file is found only when the damaged part is read. The code that opens the index can provide
//! the ledger lines from which the index is rebuilt ([`StoreIndex::repair_with`]). A damaged index is then moved aside
//! and rebuilt from these lines, and the query is repeated. Nothing is lost but time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::tables::{Tables, log_of, set_aside};
use crate::{ApprovalJudge, IndexError, IndexSealing, IndexedProject, IndexedRun, ProjectMatch, RunsJudgedBy};
use proctor_model::{
    CurrentApproval, Digest, KnownCheck, LedgerLine, ProjectId, RunId, Sequence, Serving, TaskId, TddState, TreeDigest,
    ViolationRecord,
};

/// The lines of every ledger. Each line comes with the offset in its ledger at which the line ends.
pub type AllLedgerLines = Vec<(ProjectId, Vec<(u64, LedgerLine)>)>;

/// The functions that a damaged index needs: one reads the ledgers to rebuild it, the other tells the user.
pub struct IndexRepair {
    /// Reads every ledger. A ledger that cannot be read is left out; the error is reported when that ledger is used.
    pub lines: Box<dyn Fn() -> AllLedgerLines + Send>,
    /// Tells the user about the repair. The argument is the path to which the damaged file was moved.
    pub done: Box<dyn Fn(&Path) + Send>,
}

/// The index of the ledgers. Several processes may have it open, but only one of them writes at a time.
#[derive(Debug)]
pub struct StoreIndex {
    /// `None` after [`Self::close_file`], until the index is used again.
    pub(super) tables: RefCell<Option<Tables>>,
    path: PathBuf,
    judge: ApprovalJudge,
    mending: Option<IndexRepair>,
    /// How often the file was rebuilt since it was opened.
    rebuilds: Cell<u32>,
    pub(super) sealing: Option<IndexSealing>,
    /// The projects of which every line was applied, with the state of the files then.
    current: RefCell<BTreeMap<ProjectId, CurrentState>>,
}

/// An open index, and the path of the damaged file that it replaces, if there was one.
#[derive(Debug)]
#[must_use = "an index that was set aside is to be reported, and the new one filled from the ledgers"]
pub struct OpenedStoreIndex {
    pub index: StoreIndex,
    /// The path to which a damaged file was moved. The index is then empty, and every ledger must be applied from its
    /// beginning.
    pub set_aside: Option<PathBuf>,
}

/// Defines a method for each query of [`Tables`]. The method repairs a damaged index and repeats the query.
macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        impl StoreIndex {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// When the index cannot be read.
                pub fn $name(&self, $($argument: $kind),*) -> Result<$answer, IndexError> {
                    self.query(|tables| tables.$name($($argument),*))
                }
            )*
        }
    };
}

questions! {
    /// Returns the number of the last applied line of a project's ledger, and the offset at which that line ends.
    position(project: &ProjectId) -> Option<(Sequence, u64)>;
    /// Returns a number that is another one after another connection has written to the index.
    changes_by_others() -> i64;
    /// Returns, for each project of which lines are applied, the offset in its ledger at which the last applied line ends. The seals
    /// of the rows are not checked.
    applied_lengths() -> BTreeMap<ProjectId, u64>;
    /// Returns every registered project, sorted by id.
    projects() -> Vec<IndexedProject>;
    /// Returns a registered project; `None` if no project has this id.
    project(id: &ProjectId) -> Option<IndexedProject>;
    /// Finds the project whose root is this directory, by comparing path, device, inode and Git directory.
    find_project(path: &str, device: u64, inode: u64, git_common_directory: Option<&str>) -> ProjectMatch;
    /// Returns the last runs of a project, or of one of its tasks, newest first.
    runs(project: &ProjectId, task: Option<&TaskId>, judged_by: RunsJudgedBy, limit: u32) -> Vec<IndexedRun>;
    /// Returns the last run of a task that counts and had a plan. Interrupted, superseded, moved and refused runs are
    /// skipped.
    last_run(project: &ProjectId, task: &TaskId, judged_by: RunsJudgedBy) -> Option<IndexedRun>;
    /// Returns the newest run of a task in which a check was executed on inputs with this digest and had a result that
    /// may be reused.
    run_on_inputs(project: &ProjectId, task: &TaskId, check: &str, inputs: Digest) -> Option<IndexedRun>;
    /// Returns the number of the oldest line about a run on a tree; `None` if no run was on this tree.
    oldest_run_on_tree(project: &ProjectId, tree: TreeDigest) -> Option<Sequence>;
    /// Returns the projects that have a run on a tree.
    projects_on_tree(tree: TreeDigest) -> Vec<ProjectId>;
    /// Returns the checks of a task's last plan in the plan's order, each with its last result. Empty if the ledger's lines
    /// do not name the checks.
    checks(project: &ProjectId, task: &TaskId, judged_by: RunsJudgedBy) -> Vec<KnownCheck>;
    /// Returns the TDD state of a task. A task without a state in the ledger has the state of a task that never
    /// started.
    tdd(project: &ProjectId, task: &TaskId) -> TddState;
    /// Returns, of the approvals of all tasks of a project, the newest one that holds settings; `None` if no approval
    /// holds settings.
    approved_settings(project: &ProjectId) -> Option<CurrentApproval>;
    /// Returns the approval of a task that is valid now; `None` if the task was never approved.
    approval(project: &ProjectId, task: &TaskId) -> Option<CurrentApproval>;
    /// Returns the tasks of a project that have an approval, sorted.
    approved_tasks(project: &ProjectId) -> Vec<TaskId>;
    /// Returns the prerequisites of a project that need not run again, by name, each with the digest of its inputs and
    /// outputs.
    prerequisites(project: &ProjectId) -> BTreeMap<String, Digest>;
    /// Returns, by path, the digests of the configuration files that the last complete run of a task read.
    configuration(project: &ProjectId, task: &TaskId) -> BTreeMap<String, Digest>;
    /// Returns the tasks of a project that have a run or a TDD state, sorted.
    tasks(project: &ProjectId) -> Vec<TaskId>;
    /// Returns the digest of a task list's marked blocks as proctor last wrote them; `None` if proctor never wrote
    /// them.
    task_list(project: &ProjectId, path: &str) -> Option<Digest>;
    /// Returns, in order, the violations that were recorded after a sealed run by approved rules. The run is counted backwards:
    /// `runs_ago` 0 means the last one.
    violations_since(project: &ProjectId, runs_ago: u32) -> Vec<ViolationRecord>;
    /// Returns the number of the ledger line that prunes a run; `None` if the run was not pruned.
    pruning_line(project: &ProjectId, run_id: &RunId) -> Option<Sequence>;
    /// Returns how many runs of a project were sealed.
    sealed_runs(project: &ProjectId) -> u64;
    /// Returns whether the background service watches a project.
    serving(project: &ProjectId) -> Serving;
    /// Returns the cached digests of tools' files: path, digest, and the stamp (size, inode and times) that the file
    /// had when it was hashed.
    file_digests() -> Vec<(String, String, Digest)>;
}

impl StoreIndex {
    /// Opens the index at `path`, and makes its tables if it has none of this version. A damaged file, or one with other tables, is moved
    /// aside and replaced by an empty one. `judge` decides which approvals count.
    ///
    /// # Errors
    /// When the file cannot be used, or a newer version wrote it.
    pub fn open(path: &Path, judge: ApprovalJudge) -> Result<OpenedStoreIndex, IndexError> {
        let opened = |tables, set_aside| OpenedStoreIndex {
            index: Self {
                tables: RefCell::new(Some(tables)),
                path: path.to_owned(),
                judge,
                mending: None,
                rebuilds: Cell::default(),
                sealing: None,
                current: RefCell::default(),
            },
            set_aside,
        };
        match Tables::open(path, judge) {
            Ok(tables) => Ok(opened(tables, None)),
            Err(error) if error.is_damage() => {
                let aside = set_aside(path)?;
                Ok(opened(Tables::open(path, judge)?, Some(aside)))
            }
            Err(error) => Err(error),
        }
    }

    /// Makes an empty index in memory, in place of one at `path` that cannot be opened because the store cannot be written. It is filled
    /// from the ledgers as a new one is, and is gone with this value.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn in_memory(path: &Path, judge: ApprovalJudge) -> Result<Self, IndexError> {
        Ok(Self {
            tables: RefCell::new(Some(Tables::in_memory(path, judge)?)),
            path: path.to_owned(),
            judge,
            mending: None,
            sealing: None,
            current: RefCell::default(),
            rebuilds: Cell::default(),
        })
    }

    /// Sets the functions by which damage that is found later is repaired automatically.
    pub fn repair_with(&mut self, mending: IndexRepair) {
        self.mending = Some(mending);
    }

    /// Moves the write-ahead log into the file and empties it, so that neither has what was deleted. If another process reads
    /// meanwhile, a later one that closes the index does it.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn empty_log(&mut self) -> Result<(), IndexError> {
        self.update(|tables, _| {
            let _refused = tables.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            Ok(())
        })
    }

    /// Returns how often the file was rebuilt since it was opened. A rebuilt index has no tests until they are added again, so an
    /// answer that was begun before says nothing about them.
    pub fn rebuilds(&self) -> u32 {
        self.rebuilds.get()
    }

    /// Closes the file until the index is used again. An index that is not used for a long time thus holds no descriptor.
    pub fn close_file(&mut self) {
        *self.tables.get_mut() = None;
    }

    /// Applies lines of a project's ledger in one transaction. Each line comes with the offset in the ledger at which
    /// it ends.
    ///
    /// Lines that were applied before are skipped. A line that does not follow the last applied line is an error, and
    /// then no line is applied.
    ///
    /// # Errors
    /// When the index cannot be written, a line does not follow the last applied one, or the rows have no valid seal.
    pub fn apply(&mut self, project: &ProjectId, lines: &[(u64, LedgerLine)]) -> Result<(), IndexError> {
        self.update(|tables, sealing| tables.apply(project, lines, sealing))
    }

    /// Deletes all rows of a project and makes them from `lines`, all lines of its ledger, in one transaction.
    ///
    /// # Errors
    /// As for [`Self::apply`].
    pub fn apply_anew(&mut self, project: &ProjectId, lines: &[(u64, LedgerLine)]) -> Result<(), IndexError> {
        self.update(|tables, sealing| tables.apply_anew(project, lines, sealing))
    }

    /// Deletes all rows of a project, so that its ledger can be applied again from the beginning.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn forget(&mut self, project: &ProjectId) -> Result<(), IndexError> {
        self.update(|tables, _| tables.forget(project))
    }

    /// Caches digests of files: path, stamp (size, inode and times) and digest. Only the newest row of each file is
    /// kept.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn remember_file_digests(&mut self, rows: &[(String, String, Digest)]) -> Result<(), IndexError> {
        self.update(|tables, _| tables.remember_file_digests(rows))
    }

    pub(super) fn query<T>(&self, question: impl Fn(&Tables) -> Result<T, IndexError>) -> Result<T, IndexError> {
        self.open_file()?;
        let ask = || question(self.tables.borrow().as_ref().expect("`open_file` has opened it"));
        match ask() {
            Err(error) if error.is_damage() && self.rebuild()? => ask(),
            answer => answer,
        }
    }

    /// Asks about the rows that no ledger line has. Where they are damaged, the error is returned: a rebuilt index has none of them,
    /// so the same question would find nothing.
    pub(super) fn query_tests<T>(&self, question: impl Fn(&Tables) -> Result<T, IndexError>) -> Result<T, IndexError> {
        self.open_file()?;
        question(self.tables.borrow().as_ref().expect("`open_file` has opened it"))
    }

    pub(super) fn update<T>(
        &mut self,
        statement: impl Fn(&mut Tables, Option<&IndexSealing>) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        self.open_file()?;
        let carry_out = |index: &mut Self| {
            let tables = index.tables.get_mut().as_mut().expect("`open_file` has opened it");
            statement(tables, index.sealing.as_ref())
        };
        match carry_out(self) {
            Err(error) if error.is_damage() && self.rebuild()? => carry_out(self),
            outcome => outcome,
        }
    }

    /// Opens the file again after [`Self::close_file`].
    fn open_file(&self) -> Result<(), IndexError> {
        if self.tables.borrow().is_some() {
            return Ok(());
        }
        match Tables::open(&self.path, self.judge) {
            Ok(tables) => *self.tables.borrow_mut() = Some(tables),
            Err(error) if error.is_damage() && self.rebuild()? => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Rebuilds the whole index, if [`Self::repair_with`] said how. The tests are then to be added again.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn rebuild_anew(&mut self) -> Result<(), IndexError> {
        self.rebuild().map(drop)
    }

    /// Rebuilds the index if `repair_with` was called. Returns whether the index was rebuilt.
    fn rebuild(&self) -> Result<bool, IndexError> {
        let Some(mending) = &self.mending else { return Ok(false) };
        // If another process has already moved the damaged file aside, the new file of that process is used. A file that could
        // not be opened at all is the one that is in place.
        let is_in_place = self.tables.borrow().as_ref().is_none_or(|tables| {
            self.path.metadata().is_ok_and(|metadata| Some((metadata.dev(), metadata.ino())) == tables.identity)
        });
        let aside = if is_in_place { Some(set_aside(&self.path)?) } else { None };
        let mut new = Tables::open(&self.path, self.judge)?;
        for (project, lines) in (mending.lines)() {
            new.apply(&project, &lines, self.sealing.as_ref())?;
        }
        *self.tables.borrow_mut() = Some(new);
        self.rebuilds.set(self.rebuilds.get().saturating_add(1));
        aside.iter().for_each(|aside| (mending.done)(aside));
        Ok(true)
    }
}

impl fmt::Debug for IndexSealing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("IndexSealing")
    }
}

impl fmt::Debug for IndexRepair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Mending")
    }
}

// Remembers, within a process, that the index was found to have every line of a ledger.
//
// A process that runs checks on each save asks this before each of them. The seal and the ledger are only read again when one of
// the files was written since, or when SQLite says that somebody changed the index.

/// What a file's metadata says about whether its content may be another one: which file it is, its size, and its two times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    file: (u64, u64),
    size: u64,
    times: [(i64, i64); 2],
}

impl FileState {
    fn of(path: &Path) -> Option<Self> {
        let metadata: Metadata = path.symlink_metadata().ok()?;
        Some(Self {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            times: [(metadata.mtime(), metadata.mtime_nsec()), (metadata.ctime(), metadata.ctime_nsec())],
        })
    }
}

/// The state in which a ledger and the index were when the index had every line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CurrentState {
    ledger: FileState,
    index: [Option<FileState>; 2],
    changes_by_others: i64,
    own_changes: u64,
}

/// The state in which a ledger and the index were before a seal was checked; without a value if there is no ledger.
#[derive(Debug)]
pub struct CheckedState(pub(super) Option<CurrentState>);

impl Tables {
    pub(super) fn state(&self, ledger: &Path) -> Result<Option<CurrentState>, IndexError> {
        let Some(ledger) = FileState::of(ledger) else { return Ok(None) };
        let path = &self.reader.path;
        Ok(Some(CurrentState {
            ledger,
            index: [FileState::of(path), FileState::of(&log_of(path))],
            changes_by_others: self.changes_by_others()?,
            own_changes: self.connection.total_changes(),
        }))
    }
}

impl StoreIndex {
    /// Notes that the index has every line of the ledger at `ledger`, if the file ends where the last applied line ends. The caller
    /// has checked the seal of the project's rows, or has just sealed them.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn note_current(&self, project: &ProjectId, ledger: &Path) -> Result<(), IndexError> {
        let state = self.query(|tables| {
            let end = tables.position(project)?.map(|(_, end)| end);
            Ok(tables.state(ledger)?.filter(|state| Some(state.ledger.size) == end))
        })?;
        let mut known = self.current.borrow_mut();
        match state {
            Some(state) => known.insert(project.clone(), state),
            None => known.remove(project),
        };
        Ok(())
    }

    /// Notes that the index has every line of a ledger: its last applied line ends at `end`, and the seal of the project's rows was right
    /// after the files had this state. What was changed since then is found by [`Self::is_current`].
    pub fn note_checked(&self, project: &ProjectId, CheckedState(before): CheckedState, end: u64) {
        let is_whole = |state: &CurrentState| state.ledger.size == end;
        before.filter(is_whole).map(|state| self.current.borrow_mut().insert(project.clone(), state));
    }

    /// Returns whether neither the ledger at `ledger` nor the index was changed since [`Self::note_current`].
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn is_current(&self, project: &ProjectId, ledger: &Path) -> Result<bool, IndexError> {
        let Some(known) = self.current.borrow().get(project).cloned() else { return Ok(false) };
        let state = self.query(|tables| tables.state(ledger))?;
        Ok(state == Some(known))
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test plays whoever writes a ledger")]
mod current_tests {
    use std::fs;

    use tempfile::TempDir;

    use crate::testing::{TestIndex, project, run_record};
    use proctor_model::OverallStatus;

    const SHOP: &str = "shop-00000001";

    /// Returns an index with a run, and a file that is as long as the ledger whose lines are applied.
    fn noted() -> (TestIndex, TempDir, std::path::PathBuf) {
        let mut test = TestIndex::new();
        test.append_run(SHOP, run_record(1, "default", OverallStatus::Success));
        let directory = TempDir::new().unwrap();
        let ledger = directory.path().join("ledger");
        let (_, end) = test.index.position(&project(SHOP)).unwrap().unwrap();
        fs::write(&ledger, vec![b'x'; usize::try_from(end).unwrap()]).unwrap();
        test.index.note_current(&project(SHOP), &ledger).unwrap();
        (test, directory, ledger)
    }

    #[test]
    fn nothing_is_current_before_it_was_noted_and_a_shorter_ledger_is_not_noted() {
        let (test, directory, ledger) = noted();
        let is_current = |path| test.index.is_current(&project(SHOP), path).unwrap();
        assert!(is_current(&ledger));
        let shorter = directory.path().join("shorter");
        fs::write(&shorter, "x").unwrap();
        assert!(!is_current(&shorter));
        test.index.note_current(&project(SHOP), &shorter).unwrap();
        assert!(!is_current(&shorter) && !is_current(&ledger));
    }

    #[test]
    fn a_ledger_that_grew_or_was_replaced_or_is_gone_is_not_current() {
        for change in ["grown", "replaced", "gone"] {
            let (test, directory, ledger) = noted();
            match change {
                "grown" => fs::write(&ledger, [fs::read(&ledger).unwrap(), b"y".to_vec()].concat()).unwrap(),
                "replaced" => {
                    fs::copy(&ledger, directory.path().join("other")).unwrap();
                    fs::rename(directory.path().join("other"), &ledger).unwrap();
                }
                _ => fs::remove_file(&ledger).unwrap(),
            }
            assert!(!test.index.is_current(&project(SHOP), &ledger).unwrap(), "{change}");
        }
    }

    #[test]
    fn a_change_of_the_index_by_anybody_is_noticed() {
        let (mut test, _directory, ledger) = noted();
        test.append_run(SHOP, run_record(2, "default", OverallStatus::Success));
        assert!(!test.index.is_current(&project(SHOP), &ledger).unwrap());
        let (test, _directory, ledger) = noted();
        rusqlite::Connection::open(&test.path).unwrap().execute("UPDATE runs SET counts = 0", []).unwrap();
        assert!(!test.index.is_current(&project(SHOP), &ledger).unwrap());
    }
}
