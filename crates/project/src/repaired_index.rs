//! Opens the store's index. A damaged index is rebuilt from the ledgers, and a message says so.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, Once, PoisonError};

use crate::approval_request::approval_counts;
use crate::error::ProjectError;
use proctor_evidence::{self as evidence, EvidenceError, OwnSignatures, Store};
use proctor_index::{AllLedgerLines, IndexRepair, IndexSealing, StoreIndex};

/// The type of what the seal of an index signs.
const SEAL: &str = "application/vnd.proctor.index";

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
    let opened = StoreIndex::open(&store.index_path(), approval_counts)?;
    let mut index = opened.index;
    mend(&mut index, store, |_| ());
    let notes: Vec<String> = opened.set_aside.as_deref().map(note).into_iter().collect();
    notes.iter().for_each(|note| tracing::warn!("{note}"));
    Ok(OpenedIndex { index, notes })
}

/// Makes an index in memory for a store that cannot be written. It is filled from the ledgers when it is brought up to date.
pub(crate) fn open_index_in_memory(store: &Store) -> Result<OpenedIndex, ProjectError> {
    let mut index = StoreIndex::in_memory(&store.index_path(), approval_counts)?;
    index.seal_with(sealing(store, |_| ()));
    Ok(OpenedIndex { index, notes: Vec::new() })
}

/// From now on, also sends messages about a repaired index to the given function.
pub(crate) fn announce_with(index: &mut StoreIndex, store: &Store, announce: Announce) {
    mend(index, store, announce);
}

fn mend(index: &mut StoreIndex, store: &Store, announce: Announce) {
    index.seal_with(sealing(store, announce));
    let store = store.clone();
    let done = move |aside: &Path| {
        let note = note(aside);
        tracing::warn!("{note}");
        announce(&note);
    };
    index.repair_with(IndexRepair { lines: Box::new(move || every_line(&store)), done: Box::new(done) });
}

/// Returns the functions that seal rows with the store's key.
fn sealing(store: &Store, announce: Announce) -> IndexSealing {
    let signatures = Arc::new(OwnSignatures::new(store, SEAL));
    let verifying = signatures.clone();
    let (told, named) = (Once::new(), Mutex::new(BTreeSet::new()));
    IndexSealing {
        sign: Box::new(move |bytes| match signatures.sign(bytes) {
            Ok(signature) => signature,
            Err(error) => {
                told.call_once(|| {
                    let note = unsealed(&error);
                    tracing::warn!("{note}");
                    announce(&note);
                });
                None
            }
        }),
        verify: Box::new(move |bytes, signature| verifying.verifies(bytes, signature)),
        changed: Box::new(move |project| {
            let note = format!(
                "another program changed the index's rows of project {project}; they were not believed, and were made anew from \
                 the ledger"
            );
            tracing::warn!("{note}");
            announce(&note);
        }),
        unreadable: Box::new(move |project, why| {
            if named.lock().unwrap_or_else(PoisonError::into_inner).insert(project.clone()) {
                let note = format!("the ledger of project {project} cannot be read, other projects go on: {why}");
                tracing::warn!("{note}");
                announce(&note);
            }
        }),
    }
}

/// Returns the message that rows cannot be sealed because the key in use cannot be read. Rows without a seal are not believed the
/// next time, so every command reads the ledgers from their beginning.
fn unsealed(error: &EvidenceError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |error| error.source());
    let causes: String = causes.map(|cause| format!(": {cause}")).collect();
    format!(
        "the index cannot be sealed, so every command reads whole ledgers, which is slow ({error}{causes}); put the private key back \
         from a backup, or, if it is lost, begin with a new one: `proctor key rotate --lost`"
    )
}

fn note(aside: &Path) -> String {
    format!("the index was damaged; it was set aside as {} and rebuilt from the ledgers", aside.display())
}

/// Reads every ledger up to its first unreadable line. The error is not returned here: the next operation that reads
/// the same ledger reports it.
fn every_line(store: &Store) -> AllLedgerLines {
    let mut ledgers = AllLedgerLines::new();
    for project in evidence::list_projects(store).unwrap_or_default() {
        let lines = evidence::read_signed_lines(store, &project, 0, |_| true).and_then(|lines| {
            let lines = lines.map_while(Result::ok).collect();
            evidence::wait_for_lines(store, &project).map(|()| lines)
        });
        ledgers.push((project, lines.unwrap_or_default()));
    }
    ledgers
}
