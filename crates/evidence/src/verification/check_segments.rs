//! Checks the compressed segments of a ledger, and reads the ledger through them.

use std::path::Path;

use crate::ledger_file::{put_in, read_segment, segments};
use crate::verification::check_run::check_file;
use crate::verification::inspect::{InspectedEntry, InspectionDepth, inspect_entry};
use crate::verification::store_paths::{owner, relative};
use crate::verification::verify_store::LEDGER_MODE;
use crate::verification::{EvidenceFault, FaultKind};
use crate::{EvidenceError, Store};

/// Puts the bytes of a ledger's compressed segments in their places, and reports segments that do not hold them.
pub(super) fn put_segments_in(
    store: &Store,
    ledger: &Path,
    content: &mut [u8],
    faults: &mut Vec<EvidenceFault>,
) -> Result<(), EvidenceError> {
    for (range, path) in segments(ledger)? {
        let shown = relative(store, &path);
        let mut damaged = |why: String| faults.push(EvidenceFault::new(FaultKind::SegmentWrong, &shown, why));
        match read_segment(&range, &path) {
            Ok(_) if range.end > content.len() as u64 => damaged("the ledger is shorter".to_owned()),
            Ok(bytes) if put_in(content, 0, &range, &bytes) => {}
            Ok(_) => damaged("the ledger has other bytes there".to_owned()),
            Err(error) => damaged(error.to_string()),
        }
        if let InspectedEntry::File(file) = inspect_entry(&path, InspectionDepth::Content) {
            faults.extend(check_file(&shown, &file, LEDGER_MODE, Some(owner(store))));
        }
    }
    Ok(())
}
