//! Verifying a run that is kept as an archive: is it the archive that the ledger names, and does it contain the run that was
//! sealed?

use std::path::Path;

use crate::Store;
use crate::archive::ArchiveBounds;
use crate::files::open_no_follow;
use crate::keys::KeyRing;
use crate::seal::join;
use crate::verification::check_run::{CheckedRun, RunSigner, check_file, check_run};
use crate::verification::check_store::relative;
use crate::verification::inspect::{InspectedEntry, InspectedFile, InspectionDepth, inspect_archive, inspect_entry};
use crate::verification::verify_store::{RunVerification, file_count_and_size};
use crate::verification::{EvidenceFault, FaultKind};
use proctor_model::{PackedRun, ProjectId, RunRecord, Sequence};

const SEALED_MODE: u32 = 0o400;

/// Verifies an archived run against two ledger lines: the one about the archive and the one about the run.
pub(super) fn verify_archive(
    store: &Store,
    project: &ProjectId,
    keys: &KeyRing,
    owner: u32,
    packed: &PackedRun,
    sequence: u64,
    record: &RunRecord,
) -> RunVerification {
    let path = store.archive_path(project, &packed.task, &packed.run_id);
    let base = relative(store, &path);
    let mut verification = RunVerification::default();
    let kind = match inspect_entry(&path, InspectionDepth::Digest) {
        InspectedEntry::File(file) => {
            verification.faults = check_file(&base, &file, SEALED_MODE, Some(owner));
            verification.faults.extend(compare(&base, &file, packed));
            let key = keys.key_for_line(project, Sequence(sequence));
            let signed = key.map_or(RunSigner::Nobody, |key| RunSigner::Key(key.public()));
            let context = CheckedRun { base: &base, owner: None, project: Some(project), record: Some(record), signed };
            check_archive_content(&path, packed, &context, &mut verification);
            verification.is_unsigned = matches!(signed, RunSigner::Nobody);
            return verification;
        }
        InspectedEntry::Unreadable(why) if path.symlink_metadata().is_ok() => (FaultKind::FileUnreadable, why),
        InspectedEntry::Unreadable(_) => (FaultKind::ArchiveMissing, format!("the ledger has {}", packed.archive_hash)),
        InspectedEntry::SymbolicLink(_) | InspectedEntry::Directory(_) | InspectedEntry::Other => {
            (FaultKind::NotAFile, "an archive is a file".to_owned())
        }
    };
    verification.faults = vec![EvidenceFault::new(kind.0, base, kind.1)];
    verification
}

fn compare(base: &Path, file: &InspectedFile, packed: &PackedRun) -> Option<EvidenceFault> {
    let is_unchanged = (file.hashed.bytes, file.hashed.sha256) == (packed.archive_bytes, packed.archive_hash);
    let detail = || format!("its SHA-256 is {}, the ledger has {}", file.hashed.sha256, packed.archive_hash);
    (!is_unchanged).then(|| EvidenceFault::new(FaultKind::ArchiveChanged, base, detail()))
}

/// Checks the files in an archive. This is done even if the ledger names another archive, to show which files of the run are
/// still valid.
fn check_archive_content(path: &Path, packed: &PackedRun, context: &CheckedRun<'_>, verification: &mut RunVerification) {
    let mut report_fault =
        |detail: String| verification.faults.push(EvidenceFault::new(FaultKind::ArchiveUnreadable, context.base, detail));
    let bounds = ArchiveBounds { files: packed.files, bytes: packed.bytes };
    let found = match open_no_follow(path).map_err(|error| error.to_string()) {
        Ok(file) => inspect_archive(file, bounds).map_err(|problem| problem.to_string()),
        Err(why) => Err(why),
    };
    let found = match found {
        Ok(found) if found.run_id == packed.run_id => found,
        Ok(found) => return report_fault(format!("it is of {}", found.run_id)),
        Err(why) => return report_fault(why),
    };
    verification.faults.extend(check_run(&found.top, context));
    let unlisted =
        |name: &Vec<u8>| EvidenceFault::new(FaultKind::FileUnlisted, join(context.base, name), "the run has no directories");
    verification.faults.extend(found.run.entries.keys().map(unlisted));
    (verification.files, verification.bytes) = file_count_and_size(&found.top);
}
