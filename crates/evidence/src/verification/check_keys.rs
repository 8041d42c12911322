//! Checks that each key is endorsed by the previous one, and that private keys are private.

use std::path::Path;

use crate::KnownKey;
use crate::keys::{
    KeyRing, MissingKeySignature, is_temporary_key_file, number_from_record_name, private_name, record_name,
    temporary_private_name,
};
use crate::signing::Signer;
use crate::verification::check_run::{check_access, check_file};
use crate::verification::inspect::{InspectedDirectory, InspectedEntry};
use crate::verification::{EvidenceFault, FaultKind, UnfinishedKind, UnfinishedWork};
use proctor_model::{Digest, LedgerBody, LedgerLine, ProjectId};

const RECORD_MODE: u32 = 0o400;
const PRIVATE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// Checks the directory of the keys against the key records that could be read.
pub(super) fn check_keys(base: &Path, found: &InspectedDirectory, ring: &KeyRing, owner: u32) -> Vec<EvidenceFault> {
    let mut faults: Vec<EvidenceFault> =
        found.access.into_iter().flat_map(|access| check_access(base, access, DIRECTORY_MODE, owner)).collect();
    for (name, entry) in &found.entries {
        let name = String::from_utf8_lossy(name).into_owned();
        let path = base.join(&name);
        let mode = if number_from_record_name(&name).is_some() { RECORD_MODE } else { PRIVATE_MODE };
        let known = number_from_record_name(&name).is_some() || ring.keys().iter().any(|key| private_name(key.id()) == name);
        match entry {
            InspectedEntry::File(_) if is_temporary_key_file(&name) => {}
            InspectedEntry::File(file) if known => faults.extend(check_file(&path, file, mode, Some(owner))),
            InspectedEntry::File(_)
            | InspectedEntry::SymbolicLink(_)
            | InspectedEntry::Directory(_)
            | InspectedEntry::Other
            | InspectedEntry::Unreadable(_) => {
                faults.push(EvidenceFault::new(FaultKind::Foreign, path, "it is no key that a record names"));
            }
        }
    }
    for (key, why) in ring.missing_signatures() {
        let path = base.join(record_name(key.number()));
        match why {
            MissingKeySignature::Own => {
                faults.push(EvidenceFault::new(FaultKind::KeyUnproven, path, format!("key {}", key.id().short())))
            }
            MissingKeySignature::Endorsement => {
                faults.push(EvidenceFault::new(FaultKind::KeyNotEndorsed, path, format!("key {}", key.id().short())))
            }
        }
    }
    faults.extend(ring.current().and_then(|key| check_current_key(base, found, key.id())));
    faults
}

/// Checks the line after which each key took over from the key before it. The key's record names this line's number and
/// hash, so a ledger that was rewritten up to this line does not match.
pub(super) fn check_takeover_lines(
    ring: &KeyRing,
    project: &ProjectId,
    ledger: &Path,
    hash_of: impl Fn(u64) -> Option<Digest>,
) -> Vec<EvidenceFault> {
    let mut faults = Vec::new();
    for key in ring.keys() {
        let Some(position) = key.took_over_after(project).filter(|position| position.sequence.0 > 0) else { continue };
        if hash_of(position.sequence.0) != Some(position.hash) {
            let detail = format!("key {} took over after line {}, {}", key.id().short(), position.sequence.0, position.hash);
            faults.push(EvidenceFault::new(FaultKind::KeyPosition, ledger, detail));
        }
    }
    faults
}

/// Checks the lines that tell of new keys: after the line at which a key took over follows the line that has its record, and no other
/// line has one. Returns also whether such a line is still to be written, because a process died while it replaced the key.
pub(super) fn check_key_lines(
    ring: &KeyRing,
    project: &ProjectId,
    ledger: &Path,
    lines: &[(u64, LedgerLine)],
) -> (Vec<EvidenceFault>, Option<UnfinishedWork>) {
    let (mut faults, mut unfinished) = (Vec::new(), None);
    let mut fault = |detail: String| faults.push(EvidenceFault::new(FaultKind::KeyLine, ledger, detail));
    let line = |sequence: u64| lines.iter().map(|(_, line)| line).find(|line| line.sequence.0 == sequence);
    let is_purged = |sequence: u64| line(sequence).is_some_and(|line| matches!(line.body, LedgerBody::Purged(_)));
    let last = lines.last().map_or(0, |(_, line)| line.sequence.0);
    let position_of = |key: &KnownKey| key.took_over_after(project).map_or(0, |position| position.sequence.0);
    for key in ring.keys().iter().filter(|key| key.is_in_ledgers() && position_of(key) > 0) {
        let at = position_of(key);
        // A key that was replaced before it signed a line of this ledger is not told of.
        if ring.keys().iter().any(|later| later.number() > key.number() && position_of(later) == at) {
            continue;
        }
        let told = line(at + 1).map(|line| &line.body);
        let is_told = matches!(told, Some(LedgerBody::KeyReplaced(record)) if **record == key.record().for_project(project));
        if at == last && !is_purged(at) {
            let detail = format!("key {} took over after line {at}", key.id().short());
            unfinished = Some(UnfinishedWork::new(UnfinishedKind::KeyLine, ledger, detail));
        } else if at < last && !is_told && !is_purged(at) {
            fault(format!("line {} does not have the record of key {}", at + 1, key.id().short()));
        }
    }
    for (_, line) in lines {
        let LedgerBody::KeyReplaced(record) = &line.body else { continue };
        let is_expected =
            |key: &KnownKey| position_of(key) + 1 == line.sequence.0 && key.record().for_project(project) == **record;
        if !ring.keys().iter().any(is_expected) {
            fault(format!("line {} has the record of key {}, which did not take over there", line.sequence.0, record.key.number));
        }
    }
    (faults, unfinished)
}

/// Checks that the private half of the key in use exists and belongs to the key's record.
fn check_current_key(base: &Path, found: &InspectedDirectory, id: Digest) -> Option<EvidenceFault> {
    let name = private_name(id);
    // The process that made the key may have died before it gave the file its final name.
    let content = found.content(&name).or_else(|| found.content(&temporary_private_name(id)));
    let signer = content.and_then(|bytes| Signer::parse(std::str::from_utf8(bytes).ok()?).ok());
    let detail = match signer {
        Some(signer) if signer.public().id() == id => return None,
        Some(_) => "it is another key than its record says",
        None if !found.entries.contains_key(name.as_bytes()) => "it is gone, and nothing can be signed without it",
        None => "there is no private key in it",
    };
    Some(EvidenceFault::new(FaultKind::KeyUnreadable, base.join(name), detail))
}
