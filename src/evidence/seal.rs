//! Sealing a run: the durable order up to the commit, after which nothing in its directory changes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::evidence::changes::{remove_directory, seal_files, sync_directory, write_new};
use crate::evidence::error::failed;
use crate::evidence::file_syncs::SyncHandle;
use crate::evidence::files::{hash_file, list};
use crate::evidence::manifest::render_manifest;
use crate::evidence::names::{MANIFEST_NAME, REPORT_NAME, SIGNATURE_NAME, START_RECORD_NAME, statements_name};
use crate::evidence::output::remove_outputs_of_run;
use crate::evidence::signing::{Envelope, RunStatements, Signer, sign_for_ssh};
use crate::evidence::{DurableStep, EvidenceError, FileOperation, Ledger, Observer, Pending, RunDirectory, Store};
use crate::model::{Asker, Digest, LedgerBody, LedgerLine, RunRecord, SupersededRecord, Timestamp};
use crate::report::AttestedRun;

/// What a run is sealed with.
#[derive(Debug, Clone)]
pub struct Sealing {
    /// The bytes of `execution-report.json`.
    pub report: Vec<u8>,
    /// What the ledger says of the run. Its `manifest_hash` is computed while sealing, whatever it holds before.
    pub record: RunRecord,
    /// What of the report is attested beside it.
    pub attested: AttestedRun,
}

/// A sealed run: its line and where it ends, for the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRun {
    /// The ledger line that committed it.
    pub line: LedgerLine,
    /// The ledger's length after that line.
    pub offset_after: u64,
    /// Its directory.
    pub directory: PathBuf,
}

/// Whether something that is no regular file keeps a directory from being sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignEntries {
    /// It does.
    Refuse,
    /// It is left where it is, outside the manifest: recovery must not fail for ever.
    LeaveAlone,
}

/// Seals a run in the durable order ([`DurableStep::ALL`]) up to [`DurableStep::LedgerCommitted`], which is the commit.
///
/// An error before the commit leaves the run to `recover`. Index and `latest` are the caller's next steps, and then
/// [`ProjectLock::note_published`](crate::evidence::ProjectLock::note_published): until that is called the lock file names the run,
/// and whoever takes the lock next links it.
pub fn seal(
    mut run: RunDirectory,
    sealing: Sealing,
    ledger: &mut Ledger,
    asker: &Asker,
    now: Timestamp,
    observer: Observer<'_>,
) -> Result<SealedRun, EvidenceError> {
    run.begin_sync();
    let files = regular_files(&run.path, ForeignEntries::Refuse)?;
    let is_late = |path: &PathBuf| !run.syncs.has_begun(path);
    let others = files.iter().filter(|name| *name != START_RECORD_NAME.as_bytes());
    let late_files: Vec<_> = others.map(|name| join(&run.path, name)).filter(is_late).collect();
    // It has run beside the processes of the run and is nearly always over.
    run.finish_start_record()?;
    observer(DurableStep::RunRecordSynced);
    run.syncs.join()?;
    seal_files(&late_files)?;
    observer(DurableStep::FilesSynced);
    ledger.use_signer(run.signer.take().and_then(Pending::wait).flatten());
    let digests = complete_digests(&run.path, files, std::mem::take(&mut run.digests))?;
    let sealed = seal_synced((run.lock.store(), &run.path), digests, sealing, ledger, asker, now, observer)?;
    drop(run.is_open);
    Ok(sealed)
}

/// Records that a newer save stopped a run, and removes its directory and outputs (E17).
pub fn drop_superseded(
    mut run: RunDirectory,
    record: SupersededRecord,
    ledger: &mut Ledger,
    asker: &Asker,
    now: Timestamp,
) -> Result<(LedgerLine, u64), EvidenceError> {
    run.finish_start_record()?;
    run.syncs.join()?;
    let line = ledger.append(LedgerBody::Superseded(record), asker, now)?;
    remove_outputs_of_run(&run.lock, &run.run_id)?;
    remove_directory(&run.path)?;
    run.lock.end_run()?;
    drop(run.is_open);
    Ok((line, ledger.length()))
}

/// Writes report, signatures and manifest of a directory whose other files are synced, and commits.
pub(super) fn seal_synced(
    (store, directory): (&Store, &Path),
    mut digests: BTreeMap<Vec<u8>, Digest>,
    sealing: Sealing,
    ledger: &mut Ledger,
    asker: &Asker,
    now: Timestamp,
    observer: Observer<'_>,
) -> Result<SealedRun, EvidenceError> {
    let report_path = directory.join(REPORT_NAME);
    write_new(&report_path, &sealing.report)?;
    observer(DurableStep::ReportWritten);
    let mut paths = vec![report_path];
    let signatures = signatures(&sealing, &digests, ledger.signer(now)?);
    digests.insert(REPORT_NAME.into(), Digest::of(&sealing.report));
    for (name, bytes) in signatures {
        let path = directory.join(&name);
        write_new(&path, &bytes)?;
        digests.insert(name.into_bytes(), Digest::of(&bytes));
        paths.push(path);
    }
    observer(DurableStep::SignaturesWritten);
    let manifest = render_manifest(&digests);
    let manifest_path = directory.join(MANIFEST_NAME);
    write_new(&manifest_path, &manifest)?;
    paths.push(manifest_path);
    observer(DurableStep::ManifestWritten);
    // One wait for all of them: nothing before the commit relies on one being on disk earlier than another.
    let files = SyncHandle::begin(store.background(), move || seal_files(&paths));
    let entries = sync_directory(directory);
    files.join().and(entries)?;
    observer(DurableStep::DirectorySynced);
    let mut record = sealing.record;
    record.manifest_hash = Digest::of(&manifest);
    let line = ledger.append(LedgerBody::Run(Box::new(record)), asker, now)?;
    observer(DurableStep::LedgerCommitted);
    Ok(SealedRun { line, offset_after: ledger.length(), directory: directory.to_owned() })
}

/// Returns the files that sign a run (S4), by name: one for `ssh-keygen`, one with the statements for programs that know in-toto.
fn signatures(sealing: &Sealing, files: &BTreeMap<Vec<u8>, Digest>, signer: &Signer) -> [(String, Vec<u8>); 2] {
    let Sealing { report, record, attested } = sealing;
    let statements = RunStatements { record, attested, report: Digest::of(report), files };
    let envelopes = statements.to_payloads().map(|payload| Envelope::sign(&payload, signer).to_line());
    [(SIGNATURE_NAME.to_owned(), sign_for_ssh(report, signer)), (statements_name(&record.run_id), envelopes.concat())]
}

/// Returns the names of the regular files in a run directory.
pub(super) fn regular_files(directory: &Path, foreign: ForeignEntries) -> Result<Vec<Vec<u8>>, EvidenceError> {
    let mut names = Vec::new();
    for entry in list(directory)? {
        let is_file = entry.file_type().map_err(failed(FileOperation::List, &entry.path()))?.is_file();
        match (is_file, foreign) {
            (true, _) => names.push(entry.file_name().into_vec()),
            (false, ForeignEntries::Refuse) => return Err(EvidenceError::Foreign { path: entry.path() }),
            (false, ForeignEntries::LeaveAlone) => {}
        }
    }
    Ok(names)
}

/// Returns the digest of every file: the one that is known, or the one its content has now.
///
/// A file that is known and no longer there is an error when the manifest is made: it is asked for by name.
fn complete_digests(
    directory: &Path,
    names: Vec<Vec<u8>>,
    mut known: BTreeMap<Vec<u8>, Digest>,
) -> Result<BTreeMap<Vec<u8>, Digest>, EvidenceError> {
    let mut digests = BTreeMap::new();
    for name in names {
        let digest = match known.remove(&name) {
            Some(digest) => digest,
            None => hash_file(&join(directory, &name))?.1,
        };
        digests.insert(name, digest);
    }
    match known.into_keys().next() {
        None => Ok(digests),
        Some(missing) => {
            let path = join(directory, &missing);
            Err(failed(FileOperation::Open, &path)(std::io::Error::from(std::io::ErrorKind::NotFound)))
        }
    }
}

/// Returns the path of the entry with these bytes as its name.
pub(super) fn join(directory: &Path, name: &[u8]) -> PathBuf {
    directory.join(OsStr::from_bytes(name))
}

#[cfg(test)]
mod tests;
