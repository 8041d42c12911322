//! The index as a run and its readers open it: damage in it is mended from the ledgers, and said.

use std::path::Path;

use crate::evidence::{self, Store};
use crate::project::approval_request::approval_counts;
use crate::project::error::ProjectError;
use crate::store::{AllLedgerLines, IndexRepair, StoreIndex};

/// Says a line to whoever gave the command.
pub type Announce = fn(&str);

/// An index that was opened.
pub(crate) struct OpenedIndex {
    pub(crate) index: StoreIndex,
    /// What there is to say about the opening.
    pub(crate) notes: Vec<String>,
}

/// Opens the index of a store. What there is to say later is in the operators' log, unless [`announce_with`] is told otherwise.
pub(crate) fn open_index(store: &Store) -> Result<OpenedIndex, ProjectError> {
    let opened = StoreIndex::open(&store.index_path(), approval_counts).map_err(ProjectError::Index)?;
    let mut index = opened.index;
    mend(&mut index, store, |_| ());
    let notes: Vec<String> = opened.set_aside.as_deref().map(note).into_iter().collect();
    notes.iter().for_each(|note| tracing::warn!("{note}"));
    Ok(OpenedIndex { index, notes })
}

/// Says, from here on, when the index is mended.
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

/// Reads every ledger as far as it can be read: whoever needs the rest is told what is wrong with it.
fn every_line(store: &Store) -> AllLedgerLines {
    let mut ledgers = AllLedgerLines::new();
    for project in evidence::list_projects(store).unwrap_or_default() {
        let lines = evidence::read_lines(store, &project, 0).map(|lines| lines.map_while(Result::ok).collect());
        ledgers.push((project, lines.unwrap_or_default()));
    }
    ledgers
}
