//! A run that is kept as an archive: whether that is the one the ledger names, and what is in it the run that was sealed.

use std::path::Path;

use crate::evidence::Store;
use crate::evidence::archive::Bounds;
use crate::evidence::files::open_plain;
use crate::evidence::keys::KeyRing;
use crate::evidence::seal::join;
use crate::evidence::verification::check_run::{RunContext, SignedBy, check_file, check_run};
use crate::evidence::verification::look::{FoundBytes, FoundEntry, Keep, look_at_entry};
use crate::evidence::verification::look_archive::look_into_archive;
use crate::evidence::verification::whole::{JudgedRun, relative, sizes};
use crate::evidence::verification::{Fault, FaultKind};
use crate::model::{PackedRun, ProjectId, RunRecord, Sequence};

const SEALED_MODE: u32 = 0o400;

/// Judges a run by what the ledger says of its archive, and of the run itself.
pub(super) fn judge_archive(
    (store, project): (&Store, &ProjectId),
    keys: &KeyRing,
    owner: u32,
    packed: &PackedRun,
    (sequence, record): (u64, &RunRecord),
) -> JudgedRun {
    let path = store.archive_path(project, &packed.task, &packed.run_id);
    let base = relative(store, &path);
    let mut judged = JudgedRun::default();
    let kind = match look_at_entry(&path, Keep::Digest) {
        FoundEntry::File(file) => {
            judged.faults = check_file(&base, &file, SEALED_MODE, Some(owner));
            judged.faults.extend(compare(&base, &file, packed));
            let key = keys.key_of(project, Sequence(sequence));
            let signed = key.map_or(SignedBy::Nobody, |key| SignedBy::Key(key.public()));
            let context = RunContext { base: &base, owner: None, project: Some(project), record: Some(record), signed };
            judge_content(&path, packed, &context, &mut judged);
            judged.is_unsigned = matches!(signed, SignedBy::Nobody);
            return judged;
        }
        FoundEntry::Unreadable(why) if path.symlink_metadata().is_ok() => (FaultKind::FileUnreadable, why),
        FoundEntry::Unreadable(_) => (FaultKind::ArchiveMissing, format!("the ledger has {}", packed.archive_hash)),
        FoundEntry::Link(_) | FoundEntry::Directory(_) | FoundEntry::Other => {
            (FaultKind::NotAFile, "an archive is a file".to_owned())
        }
    };
    judged.faults = vec![Fault::of(kind.0, base, kind.1)];
    judged
}

fn compare(base: &Path, file: &FoundBytes, packed: &PackedRun) -> Option<Fault> {
    let is_it = (file.bytes, file.sha256) == (packed.archive_bytes, packed.archive_hash);
    let detail = || format!("its SHA-256 is {}, the ledger has {}", file.sha256, packed.archive_hash);
    (!is_it).then(|| Fault::of(FaultKind::ArchiveChanged, base, detail()))
}

/// Checks what is in an archive, whether it is the one the ledger names or not: that says how much of it still stands.
fn judge_content(path: &Path, packed: &PackedRun, context: &RunContext<'_>, judged: &mut JudgedRun) {
    let mut refuse = |detail: String| judged.faults.push(Fault::of(FaultKind::ArchiveUnreadable, context.base, detail));
    let bounds = Bounds { files: packed.files, bytes: packed.bytes };
    let found = match open_plain(path).map_err(|error| error.to_string()) {
        Ok(file) => look_into_archive(file, bounds).map_err(|problem| problem.to_string()),
        Err(why) => Err(why),
    };
    let found = match found {
        Ok(found) if found.run_id == packed.run_id => found,
        Ok(found) => return refuse(format!("it is of {}", found.run_id)),
        Err(why) => return refuse(why),
    };
    judged.faults.extend(check_run(&found.top, context));
    let unlisted = |name: &Vec<u8>| Fault::of(FaultKind::FileUnlisted, join(context.base, name), "the run has no directories");
    judged.faults.extend(found.run.entries.keys().map(unlisted));
    (judged.files, judged.bytes) = sizes(&found.top);
}
