//! Whether the keys are those that took over from each other, and private.

use std::path::Path;

use crate::evidence::keys::{KeyRing, Unproven, is_unfinished, number_of_record, private_name, record_name, unplaced_name};
use crate::evidence::signing::Signer;
use crate::evidence::verification::check_run::{check_access, check_file};
use crate::evidence::verification::look::{FoundDirectory, FoundEntry};
use crate::evidence::verification::{Fault, FaultKind};
use crate::model::{Digest, ProjectId};

const RECORD_MODE: u32 = 0o400;
const PRIVATE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// Checks the directory of the keys against the records that could be read of it.
pub(super) fn check_keys(base: &Path, found: &FoundDirectory, ring: &KeyRing, owner: u32) -> Vec<Fault> {
    let mut faults: Vec<Fault> =
        found.access.into_iter().flat_map(|access| check_access(base, access, DIRECTORY_MODE, owner)).collect();
    for (name, entry) in &found.entries {
        let name = String::from_utf8_lossy(name).into_owned();
        let path = base.join(&name);
        let mode = if number_of_record(&name).is_some() { RECORD_MODE } else { PRIVATE_MODE };
        let known = number_of_record(&name).is_some() || ring.keys().iter().any(|key| private_name(key.id()) == name);
        match entry {
            FoundEntry::File(_) if is_unfinished(&name) => {}
            FoundEntry::File(file) if known => faults.extend(check_file(&path, file, mode, Some(owner))),
            FoundEntry::File(_)
            | FoundEntry::Link(_)
            | FoundEntry::Directory(_)
            | FoundEntry::Other
            | FoundEntry::Unreadable(_) => {
                faults.push(Fault::of(FaultKind::Foreign, path, "it is no key that a record names"));
            }
        }
    }
    for (key, why) in ring.unproven() {
        let path = base.join(record_name(key.number()));
        match why {
            Unproven::BySelf => faults.push(Fault::of(FaultKind::KeyUnproven, path, format!("key {}", key.id().short()))),
            Unproven::ByPrevious => faults.push(Fault::of(FaultKind::KeyNotEndorsed, path, format!("key {}", key.id().short()))),
        }
    }
    faults.extend(ring.current().and_then(|key| check_private(base, found, key.id())));
    faults
}

/// Checks that the ledger of a project still has the lines after which keys took over.
pub(super) fn check_positions(
    ring: &KeyRing,
    project: &ProjectId,
    ledger: &Path,
    hash_of: impl Fn(u64) -> Option<Digest>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for key in ring.keys() {
        let Some(position) = key.took_over_after(project).filter(|position| position.sequence.0 > 0) else { continue };
        if hash_of(position.sequence.0) != Some(position.hash) {
            let detail = format!("key {} took over after line {}, {}", key.id().short(), position.sequence.0, position.hash);
            faults.push(Fault::of(FaultKind::KeyPosition, ledger, detail));
        }
    }
    faults
}

/// Checks that the key in use is there and the one its record says.
fn check_private(base: &Path, found: &FoundDirectory, id: Digest) -> Option<Fault> {
    let name = private_name(id);
    // The process that made it may have died before it gave it its name.
    let content = found.content(&name).or_else(|| found.content(&unplaced_name(id)));
    let signer = content.and_then(|bytes| Signer::parse(std::str::from_utf8(bytes).ok()?).ok());
    let detail = match signer {
        Some(signer) if signer.public().id() == id => return None,
        Some(_) => "it is another key than its record says",
        None => "there is no private key in it",
    };
    Some(Fault::of(FaultKind::KeyUnreadable, base.join(name), detail))
}
