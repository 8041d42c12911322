//! What is there of a run that the ledger calls pruned: the rest of what a process did not remove before it died, or something else.

use std::path::Path;

use crate::evidence::manifest::parse_manifest;
use crate::evidence::names::MANIFEST_NAME;
use crate::evidence::verification::check_run::{DIRECTORY_MODE, SEALED_MODE, check_access, check_file};
use crate::evidence::verification::look::{FoundDirectory, FoundEntry};
use crate::evidence::verification::{Fault, FaultKind, Unfinished, UnfinishedKind};
use crate::model::PrunedRun;

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Remainder {
    /// A process that pruned has died; the next one removes it.
    Unfinished(Unfinished),
    /// It should not be there.
    Fault(Fault),
}

/// Judges what is there. `last` is what the ledger's last line says of the run, where that line prunes it: any later line was written by
/// somebody who had removed all of it first.
///
/// What was put back whole and unchanged behind the last line passes as unfinished, too. It is what was sealed, the verdicts are in the
/// ledger as before, and the next writer removes it.
pub(super) fn check_pruned(found: &FoundDirectory, base: &Path, owner: u32, last: Option<&PrunedRun>) -> Remainder {
    let why = match last {
        None => "its directory should be gone",
        Some(_) if !is_private(found, base, owner) => "it is not as it was sealed: its permissions were changed",
        Some(run) if !is_of_the_sealed(found, owner, run) => "it is not what was sealed, and should be gone",
        Some(_) => {
            let detail = format!("{} files are left", found.entries.len());
            return Remainder::Unfinished(Unfinished::of(UnfinishedKind::Pruning, base, detail));
        }
    };
    Remainder::Fault(Fault::of(FaultKind::RunPruned, base, why))
}

fn is_private(found: &FoundDirectory, base: &Path, owner: u32) -> bool {
    found.access.is_some_and(|access| check_access(base, access, DIRECTORY_MODE, owner).is_empty())
}

/// Returns whether every file is one that was sealed with the run. The manifest is removed last: without it there may be nothing.
fn is_of_the_sealed(found: &FoundDirectory, owner: u32, run: &PrunedRun) -> bool {
    if found.entries.is_empty() {
        return true;
    }
    let manifest = found.file(MANIFEST_NAME).filter(|file| file.sha256 == run.manifest_hash);
    let Some(listed) = manifest.and_then(|file| parse_manifest(file.content.as_deref()?)) else { return false };
    found.entries.iter().all(|(name, entry)| match entry {
        FoundEntry::File(file) => {
            let is_manifest = name.as_slice() == MANIFEST_NAME.as_bytes();
            let is_listed = is_manifest || listed.get(name) == Some(&file.sha256);
            is_listed && check_file(Path::new(""), file, SEALED_MODE, Some(owner)).is_empty()
        }
        FoundEntry::Link(_) | FoundEntry::Directory(_) | FoundEntry::Other | FoundEntry::Unreadable(_) => false,
    })
}
