//! Remembers, within a process, that the index was found to have every line of a ledger.
//!
//! A process that runs checks on each save asks this before each of them. The seal and the ledger are only read again when one of
//! the files was written since, or when SQLite says that somebody changed the index.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::tables::{Tables, log_of};
use crate::{IndexError, StoreIndex};
use proctor_model::ProjectId;

/// What a file's metadata says about whether its content may be another one: which file it is, its size, and its two times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileState {
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

impl Tables {
    fn state(&self, ledger: &Path) -> Result<Option<CurrentState>, IndexError> {
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
#[expect(clippy::disallowed_methods, reason = "a test plays whoever writes a ledger")]
mod tests {
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
