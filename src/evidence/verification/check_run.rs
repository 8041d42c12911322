//! Whether a run's directory is the one that was sealed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::evidence::manifest::parse_manifest;
use crate::evidence::names::MANIFEST_NAME;
use crate::evidence::seal::join;
use crate::evidence::signing::PublicKey;
use crate::evidence::verification::check_report::check_report;
use crate::evidence::verification::check_signatures::check_signatures;
use crate::evidence::verification::look::{Access, FoundBytes, FoundDirectory, FoundEntry};
use crate::evidence::verification::{Fault, FaultKind};
use crate::model::{Digest, ProjectId, RunRecord};

pub(super) const SEALED_MODE: u32 = 0o400;
pub(super) const DIRECTORY_MODE: u32 = 0o700;

/// What is known of a run beside its directory.
pub(super) struct RunContext<'a> {
    /// Where the directory lies, as faults name it.
    pub(super) base: &'a Path,
    /// Whose evidence this is; none for a copy, which has modes and owners of its own.
    pub(super) owner: Option<u32>,
    /// The project; none for a copy of the directory alone.
    pub(super) project: Option<&'a ProjectId>,
    /// What the ledger says of it; none likewise.
    pub(super) record: Option<&'a RunRecord>,
    /// Who must have signed it.
    pub(super) signed: SignedBy<'a>,
}

/// Who must have signed a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum SignedBy<'a> {
    /// The owner of this key.
    Key(&'a PublicKey),
    /// Nobody: it was made before there was a key.
    Nobody,
}

/// Checks everything about a run that was sealed.
pub(super) fn check_run(found: &FoundDirectory, context: &RunContext<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let (Some(owner), Some(access)) = (context.owner, found.access) {
        faults.extend(check_access(context.base, access, DIRECTORY_MODE, owner));
    }
    for (name, entry) in &found.entries {
        faults.extend(check_entry(&join(context.base, name), entry, context.owner));
    }
    if let Some(manifest) = check_manifest(found, context, &mut faults) {
        faults.extend(check_listed(found, &manifest, context.base));
        let report = check_report(found, context, &mut faults);
        check_signatures(found, &manifest, report.as_ref(), context, &mut faults);
    }
    faults
}

/// Checks whose something is.
pub(super) fn check_access(path: &Path, access: Access, mode: u32, owner: u32) -> Vec<Fault> {
    let mut faults = Vec::new();
    if access.mode != mode {
        faults.push(Fault::of(FaultKind::WrongMode, path, format!("{:04o} instead of {mode:04o}", access.mode)));
    }
    if access.owner != owner {
        faults.push(Fault::of(FaultKind::WrongOwner, path, format!("user {} instead of {owner}", access.owner)));
    }
    faults
}

/// Checks one file of ours: its names, and where it is no copy its mode and owner.
pub(super) fn check_file(path: &Path, file: &FoundBytes, mode: u32, owner: Option<u32>) -> Vec<Fault> {
    let Some(owner) = owner else { return Vec::new() };
    let mut faults = check_access(path, file.access, mode, owner);
    if file.names != 1 {
        faults.push(Fault::of(FaultKind::SecondName, path, format!("{} names", file.names)));
    }
    faults
}

fn check_entry(path: &Path, entry: &FoundEntry, owner: Option<u32>) -> Vec<Fault> {
    let what = match entry {
        FoundEntry::File(file) => return check_file(path, file, SEALED_MODE, owner),
        FoundEntry::Unreadable(why) => return vec![Fault::of(FaultKind::FileUnreadable, path, why)],
        FoundEntry::Link(target) => format!("a link to `{}`", target.display()),
        FoundEntry::Directory(_) => "a directory".to_owned(),
        FoundEntry::Other => "a pipe, socket or device".to_owned(),
    };
    vec![Fault::of(FaultKind::NotAFile, path, what)]
}

fn check_manifest(
    found: &FoundDirectory,
    context: &RunContext<'_>,
    faults: &mut Vec<Fault>,
) -> Option<BTreeMap<Vec<u8>, Digest>> {
    let path = context.base.join(MANIFEST_NAME);
    let Some(file) = found.file(MANIFEST_NAME) else {
        faults.push(Fault::of(FaultKind::ManifestMissing, path, "no file of that name can be read"));
        return None;
    };
    if let Some(expected) = context.record.map(|record| record.manifest_hash).filter(|expected| *expected != file.sha256) {
        let detail = format!("its SHA-256 is {}, the ledger has {}", file.sha256, expected);
        faults.push(Fault::of(FaultKind::ManifestChanged, path.clone(), detail));
    }
    let manifest = file.content.as_deref().and_then(parse_manifest);
    if manifest.is_none() {
        faults.push(Fault::of(FaultKind::ManifestMalformed, path, "lines `<SHA-256>  <name>`, sorted by name, are expected"));
    }
    manifest
}

fn check_listed(found: &FoundDirectory, manifest: &BTreeMap<Vec<u8>, Digest>, base: &Path) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, expected) in manifest {
        match found.entries.get(name) {
            Some(FoundEntry::File(file)) if file.sha256 != *expected => {
                let detail = format!("its SHA-256 is {}, the manifest has {expected}", file.sha256);
                faults.push(Fault::of(FaultKind::FileChanged, join(base, name), detail));
            }
            // What has its name and is no file was named already.
            Some(_) => {}
            None => faults.push(Fault::of(FaultKind::FileMissing, join(base, name), format!("the manifest has {expected}"))),
        }
    }
    let is_unlisted = |name: &&Vec<u8>| name.as_slice() != MANIFEST_NAME.as_bytes() && !manifest.contains_key(*name);
    for name in found.entries.keys().filter(is_unlisted) {
        faults.push(Fault::of(FaultKind::FileUnlisted, join(base, name), "the manifest does not have it"));
    }
    faults
}

/// Returns the path of a file of the run, as faults name it.
pub(super) fn named(context: &RunContext<'_>, name: &str) -> PathBuf {
    context.base.join(name)
}
