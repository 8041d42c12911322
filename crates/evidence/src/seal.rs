//! Sealing a run: the durable steps up to the commit, after which nothing in the run's directory changes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::changes::{remove_directory, seal_files, sync_directory, write_new};
use crate::error::failed;
use crate::file_syncs::SyncHandle;
use crate::files::{hash_file, list_directory};
use crate::manifest::render_manifest;
use crate::names::{MANIFEST_NAME, REPORT_NAME, SIGNATURE_NAME, START_RECORD_NAME, statements_name};
use crate::output::remove_outputs_of_run;
use crate::report::AttestedRun;
use crate::signing::{Envelope, RunStatements, SSH_NAMESPACE, Signer, StatementForm, sign_for_ssh};
use crate::{DurableStep, DurableStepObserver, EvidenceError, FileOperation, Ledger, RunDirectory, Store};
use proctor_model::{Asker, Digest, LedgerBody, LedgerLine, RunRecord, SupersededRecord, Timestamp};

/// What `seal` writes about a run, apart from the files that are in the run's directory already.
#[derive(Debug, Clone)]
pub struct SealInput {
    /// The bytes of `execution-report.json`.
    pub report: Vec<u8>,
    /// The content of the run's ledger line. `manifest_hash` is overwritten with the hash that sealing computes.
    pub record: RunRecord,
    /// The part of the report that goes into the signed statements.
    pub attested: AttestedRun,
}

/// A sealed run: its ledger line and its directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRun {
    /// The ledger line that committed the run.
    pub line: LedgerLine,
    /// The ledger's length in bytes after the run's line. The SQLite index needs this length.
    pub offset_after: u64,
    pub directory: PathBuf,
}

/// How sealing treats directories, links and other entries of a run directory that are not regular files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignEntries {
    /// Sealing fails if the run directory contains an entry that is not a regular file.
    Refuse,
    /// Entries that are not regular files stay in the run directory and are left out of the manifest. Recovery uses this,
    /// because otherwise the same entry would make every recovery fail.
    LeaveAlone,
}

/// Seals a run: carries out the steps of [`DurableStep::ALL`] up to [`DurableStep::LedgerCommitted`], which is the
/// commit.
///
/// If a step before the commit fails, `recover` has to seal the run. After the commit, the caller updates the index and
/// `latest`, and then calls [`ProjectLock::mark_published`](crate::ProjectLock::mark_published). Until that
/// call the lock file names the run, and the next process that takes the lock makes the link `latest`.
pub fn seal(
    mut run: RunDirectory,
    input: SealInput,
    ledger: &mut Ledger,
    asker: &Asker,
    now: Timestamp,
    observer: DurableStepObserver<'_>,
) -> Result<SealedRun, EvidenceError> {
    run.begin_sync_of_start_record();
    let names = regular_files(&run.path, ForeignEntries::Refuse)?;
    let is_late = |path: &PathBuf| !run.syncs.has_begun(path);
    let others = names.iter().filter(|name| *name != START_RECORD_NAME.as_bytes());
    let late = others.map(|name| join(&run.path, name)).filter(is_late).collect();
    let digests = complete_digests(&run.path, names, std::mem::take(&mut run.digests))?;
    let store = run.lock.store().clone();
    let directory = run.path.clone();
    let files = RunFiles { store: &store, directory: &directory, digests, late };
    let wait_for_others = || {
        // The sync of `run.json` went on while the run's processes ran, so it is nearly always done by now.
        run.finish_start_record()?;
        observer(DurableStep::RunRecordSynced);
        run.syncs.join()?;
        observer(DurableStep::FilesSynced);
        Ok(())
    };
    let sealed = write_and_commit(files, input, ledger, asker, now, observer, wait_for_others)?;
    drop(run.is_open);
    Ok(sealed)
}

/// Records that a newer save stopped this run, and removes its directory and outputs (E17).
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

/// The files of a run directory in which report, signatures and manifest are still missing.
pub(super) struct RunFiles<'a> {
    pub(super) store: &'a Store,
    pub(super) directory: &'a Path,
    pub(super) digests: BTreeMap<Vec<u8>, Digest>,
    /// The files whose sync has not begun. They are synced together with report, signatures and manifest, at the cost of one wait for the
    /// disk.
    pub(super) late: Vec<PathBuf>,
}

/// Writes report, signatures and manifest, syncs them, waits for the syncs of the other files, and commits the run.
pub(super) fn write_and_commit(
    files: RunFiles<'_>,
    input: SealInput,
    ledger: &mut Ledger,
    asker: &Asker,
    now: Timestamp,
    observer: DurableStepObserver<'_>,
    wait_for_others: impl FnOnce() -> Result<(), EvidenceError>,
) -> Result<SealedRun, EvidenceError> {
    let RunFiles { store, directory, mut digests, late: mut paths } = files;
    let report_path = directory.join(REPORT_NAME);
    write_new(&report_path, &input.report)?;
    observer(DurableStep::ReportWritten);
    paths.push(report_path);
    let signatures = signatures(&input, &digests, ledger.signer(now)?);
    digests.insert(REPORT_NAME.into(), Digest::of(&input.report));
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
    // All these files are waited for together: before the commit, nothing depends on the order in which they reach the
    // disk.
    let files = SyncHandle::begin(store.syncs(), move || seal_files(&paths));
    let others = wait_for_others();
    let entries = sync_directory(directory);
    files.join().and(others).and(entries)?;
    observer(DurableStep::DirectorySynced);
    let mut record = input.record;
    record.manifest_hash = Digest::of(&manifest);
    let line = ledger.append(LedgerBody::Run(Box::new(record)), asker, now)?;
    observer(DurableStep::LedgerCommitted);
    Ok(SealedRun { line, offset_after: ledger.length(), directory: directory.to_owned() })
}

/// Returns the two signature files of a run by name (S4): the SSH signature of the report, and the signed in-toto
/// statements.
fn signatures(input: &SealInput, files: &BTreeMap<Vec<u8>, Digest>, signer: &Signer) -> [(String, Vec<u8>); 2] {
    let SealInput { report, record, attested } = input;
    let statements = RunStatements { form: StatementForm::OfTree, record, attested, report_digest: Digest::of(report), files };
    let envelopes = statements.to_payloads().map(|payload| Envelope::sign(&payload, signer).to_line());
    [
        (SIGNATURE_NAME.to_owned(), sign_for_ssh(report, SSH_NAMESPACE, signer)),
        (statements_name(&record.run_id), envelopes.concat()),
    ]
}

/// Returns the names of the regular files in a run directory.
pub(super) fn regular_files(directory: &Path, foreign: ForeignEntries) -> Result<Vec<Vec<u8>>, EvidenceError> {
    let mut names = Vec::new();
    for entry in list_directory(directory)? {
        let is_file = entry.file_type().map_err(failed(FileOperation::List, &entry.path()))?.is_file();
        match (is_file, foreign) {
            (true, _) => names.push(entry.file_name().into_vec()),
            (false, ForeignEntries::Refuse) => return Err(EvidenceError::Foreign { path: entry.path() }),
            (false, ForeignEntries::LeaveAlone) => {}
        }
    }
    Ok(names)
}

/// Returns the digest of every file. An unknown digest is computed from the file's present content.
///
/// It is an error if a file with a known digest no longer exists.
fn complete_digests(
    directory: &Path,
    names: Vec<Vec<u8>>,
    mut known: BTreeMap<Vec<u8>, Digest>,
) -> Result<BTreeMap<Vec<u8>, Digest>, EvidenceError> {
    let mut digests = BTreeMap::new();
    for name in names {
        let digest = match known.remove(&name) {
            Some(digest) => digest,
            None => hash_file(&join(directory, &name))?.sha256,
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

/// Joins a directory and a name that need not be UTF-8.
pub(super) fn join(directory: &Path, name: &[u8]) -> PathBuf {
    directory.join(OsStr::from_bytes(name))
}

#[cfg(test)]
mod tests;
