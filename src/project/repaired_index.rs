//! Opens the store's index. A damaged index is rebuilt from the ledgers, and a message says so.

use std::path::Path;

use crate::evidence::{self, Store};
use crate::project::approval_request::approval_counts;
use crate::project::error::ProjectError;
use crate::store::{AllLedgerLines, IndexRepair, StoreIndex};

/// A function that shows a message to the user of the command.
pub type Announce = fn(&str);

/// The index of a store, ready for use.
pub(crate) struct OpenedIndex {
    pub(crate) index: StoreIndex,
    /// The messages about opening the index.
    pub(crate) notes: Vec<String>,
}

/// Opens the index of a store. If the index is repaired later, messages about that go to proctor's log;
/// [`announce_with`] also shows them to the user.
pub(crate) fn open_index(store: &Store) -> Result<OpenedIndex, ProjectError> {
    let opened = StoreIndex::open(&store.index_path(), approval_counts).map_err(ProjectError::Index)?;
    let mut index = opened.index;
    mend(&mut index, store, |_| ());
    let notes: Vec<String> = opened.set_aside.as_deref().map(note).into_iter().collect();
    notes.iter().for_each(|note| tracing::warn!("{note}"));
    Ok(OpenedIndex { index, notes })
}

/// From now on, also sends messages about a repaired index to the given function.
pub(crate) fn announce_with(index: &mut StoreIndex, store: &Store, announce: Announce) {
    mend(index, store, announce);
}

fn mend(index: &mut StoreIndex, store: &Store, announce: Announce) {
    let store = store.clone();
    let done = move |aside: &Path| {
        let note = note(aside);
        tracing::warn!("{note}");
        announce(&note);
    };
    index.repair_with(IndexRepair { lines: Box::new(move || every_line(&store)), done: Box::new(done) });
}

fn note(aside: &Path) -> String {
    format!("the index was damaged; it was set aside as {} and rebuilt from the ledgers", aside.display())
}

/// Reads every ledger up to its first unreadable line. The error is not returned here: the next operation that reads
/// the same ledger reports it.
fn every_line(store: &Store) -> AllLedgerLines {
    let mut ledgers = AllLedgerLines::new();
    for project in evidence::list_projects(store).unwrap_or_default() {
        let lines = evidence::read_lines(store, &project, 0).map(|lines| lines.map_while(Result::ok).collect());
        ledgers.push((project, lines.unwrap_or_default()));
    }
    ledgers
}
