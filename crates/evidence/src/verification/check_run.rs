//! Checks that a run's directory is exactly what was sealed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::manifest::parse_manifest;
use crate::names::MANIFEST_NAME;
use crate::seal::join;
use crate::signing::PublicKey;
use crate::verification::check_report::check_report;
use crate::verification::check_signatures::check_signatures;
use crate::verification::inspect::{InspectedDirectory, InspectedEntry, InspectedFile, OwnerAndMode};
use crate::verification::{EvidenceFault, FaultKind};
use proctor_model::{Digest, ProjectId, RunRecord};

pub(super) const SEALED_MODE: u32 = 0o400;
pub(super) const DIRECTORY_MODE: u32 = 0o700;

/// The facts about a run that do not come from its directory.
pub(super) struct CheckedRun<'a> {
    /// The directory's path, as it is shown in faults.
    pub(super) base: &'a Path,
    /// The user who must own the files. `None` for a copy, whose modes and owners do not matter.
    pub(super) owner: Option<u32>,
    /// The project to which the run must belong; `None` for a copy, which may come from any project.
    pub(super) project: Option<&'a ProjectId>,
    /// The run's ledger record; `None` for a copy without its ledger line.
    pub(super) record: Option<&'a RunRecord>,
    pub(super) signed: RunSigner<'a>,
}

/// The key that must have signed a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum RunSigner<'a> {
    Key(&'a PublicKey),
    /// The run is older than the store's first key, so no key signed it.
    Nobody,
}

/// Checks modes, owners, manifest, files, report and signatures of a sealed run.
pub(super) fn check_run(found: &InspectedDirectory, context: &CheckedRun<'_>) -> Vec<EvidenceFault> {
    let mut faults = Vec::new();
    if let (Some(owner), Some(access)) = (context.owner, found.access) {
        faults.extend(check_access(context.base, access, DIRECTORY_MODE, owner));
    }
    for (name, entry) in &found.entries {
        faults.extend(check_entry(&join(context.base, name), entry, context.owner));
    }
    if let Some(manifest) = check_manifest(found, context, &mut faults) {
        faults.extend(check_files_against_manifest(found, &manifest, context.base));
        let report = check_report(found, context, &mut faults);
        check_signatures(found, &manifest, report.as_ref(), context, &mut faults);
    }
    faults
}

pub(super) fn check_access(path: &Path, access: OwnerAndMode, mode: u32, owner: u32) -> Vec<EvidenceFault> {
    let mut faults = Vec::new();
    if access.mode != mode {
        faults.push(EvidenceFault::new(FaultKind::WrongMode, path, format!("{:04o} instead of {mode:04o}", access.mode)));
    }
    if access.owner != owner {
        faults.push(EvidenceFault::new(FaultKind::WrongOwner, path, format!("user {} instead of {owner}", access.owner)));
    }
    faults
}

/// Checks a file's number of hard links, its mode and its owner. Without `owner` the file is in a copy, where none of
/// these matter.
pub(super) fn check_file(path: &Path, file: &InspectedFile, mode: u32, owner: Option<u32>) -> Vec<EvidenceFault> {
    let Some(owner) = owner else { return Vec::new() };
    let mut faults = check_access(path, file.access, mode, owner);
    if file.hard_links != 1 {
        faults.push(EvidenceFault::new(FaultKind::SecondName, path, format!("{} names", file.hard_links)));
    }
    faults
}

/// Checks that an entry is a file that could be read, and what [`check_file`] checks of it.
pub(super) fn check_entry(path: &Path, entry: &InspectedEntry, owner: Option<u32>) -> Vec<EvidenceFault> {
    let what = match entry {
        InspectedEntry::File(file) => return check_file(path, file, SEALED_MODE, owner),
        InspectedEntry::Unreadable(why) => return vec![EvidenceFault::new(FaultKind::FileUnreadable, path, why)],
        InspectedEntry::SymbolicLink(target) => format!("a link to `{}`", target.display()),
        InspectedEntry::Directory(_) => "a directory".to_owned(),
        InspectedEntry::Other => "a pipe, socket or device".to_owned(),
    };
    vec![EvidenceFault::new(FaultKind::NotAFile, path, what)]
}

fn check_manifest(
    found: &InspectedDirectory,
    context: &CheckedRun<'_>,
    faults: &mut Vec<EvidenceFault>,
) -> Option<BTreeMap<Vec<u8>, Digest>> {
    let path = context.base.join(MANIFEST_NAME);
    let Some(file) = found.file(MANIFEST_NAME) else {
        faults.push(EvidenceFault::new(FaultKind::ManifestMissing, path, "no file of that name can be read"));
        return None;
    };
    if let Some(expected) = context.record.map(|record| record.manifest_hash).filter(|expected| *expected != file.hashed.sha256) {
        let detail = format!("its SHA-256 is {}, the ledger has {}", file.hashed.sha256, expected);
        faults.push(EvidenceFault::new(FaultKind::ManifestChanged, path.clone(), detail));
    }
    let manifest = file.content.as_deref().and_then(parse_manifest);
    if manifest.is_none() {
        faults.push(EvidenceFault::new(
            FaultKind::ManifestMalformed,
            path,
            "lines `<SHA-256>  <name>`, sorted by name, are expected",
        ));
    }
    manifest
}

fn check_files_against_manifest(
    found: &InspectedDirectory,
    manifest: &BTreeMap<Vec<u8>, Digest>,
    base: &Path,
) -> Vec<EvidenceFault> {
    let mut faults = Vec::new();
    for (name, expected) in manifest {
        match found.entries.get(name) {
            Some(InspectedEntry::File(file)) if file.hashed.sha256 != *expected => {
                let detail = format!("its SHA-256 is {}, the manifest has {expected}", file.hashed.sha256);
                faults.push(EvidenceFault::new(FaultKind::FileChanged, join(base, name), detail));
            }
            // An entry with this name that is not a file was reported already.
            Some(_) => {}
            None => {
                faults.push(EvidenceFault::new(FaultKind::FileMissing, join(base, name), format!("the manifest has {expected}")))
            }
        }
    }
    let is_unlisted = |name: &&Vec<u8>| name.as_slice() != MANIFEST_NAME.as_bytes() && !manifest.contains_key(*name);
    for name in found.entries.keys().filter(is_unlisted) {
        faults.push(EvidenceFault::new(FaultKind::FileUnlisted, join(base, name), "the manifest does not have it"));
    }
    faults
}

/// Returns the path of a file of the run, as it is shown in faults.
pub(super) fn path_in_run(context: &CheckedRun<'_>, name: &str) -> PathBuf {
    context.base.join(name)
}
