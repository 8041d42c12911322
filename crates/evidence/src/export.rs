//! Exports a run for another person: its files, and everything that is needed to verify them.

use std::path::Path;

use crate::archive::{ArchiveFolder, ArchiveMember, ArchiveWriter};
use crate::changes::{copy_file, create_directories, create_directory, create_file, remove_directory, remove_file, write_new};
use crate::error::failed;
use crate::files::{LARGEST_FILE, list_directory, open_no_follow};
use crate::keys::{KeyRing, find_signer, read_key_ring};
use crate::ledger_file::LedgerFile;
use crate::ledger_tail::parse_line;
use crate::names::{
    ARCHIVE_SUFFIX, EXPORTED_KEYS, EXPORTED_LEDGER, EXPORTED_PROOF, EXPORTED_RUN, check_component, statements_name,
};
use crate::signing::{PublicKey, SSH_IDENTITY, SSH_NAMESPACE};
use crate::{AcceptedKeys, EvidenceError, FileOperation, InclusionProof, LogCheckpoint, Store, read_log, verify_copy};
use proctor_model::{LedgerBody, ProjectId, RunId, TaskId};

/// The file of an export with the public key in PEM, for OpenSSL and libraries.
pub const EXPORTED_KEY: &str = "proctor.pub";
/// The file of an export with the public key in OpenSSH's form.
pub const EXPORTED_SIGNERS: &str = "allowed_signers";
const README: &str = include_str!("export.md");

/// Returns what `proctor key export` prints: the key in use as PEM, which most programs take from the beginning of a file, and then the
/// record of every key, a line each. With `ssh` the keys are lines of an allowed-signers file and the records are its comments.
/// `None` if there is no key.
pub fn exported_keys(ring: &KeyRing, ssh: bool) -> Option<String> {
    let current = ring.current()?;
    let records = ring.to_lines(None);
    if ssh {
        let signers: String = ring.keys().iter().rev().map(|key| allowed_signers(key.public())).collect();
        return Some(signers + &records.lines().map(|record| format!("# {record}\n")).collect::<String>());
    }
    Some(current.public().to_pem() + &records)
}

/// Returns the text of an allowed-signers file, for `ssh-keygen -Y verify -f` and git's `gpg.ssh.allowedSignersFile`.
pub fn allowed_signers(key: &PublicKey) -> String {
    format!("{SSH_IDENTITY} namespaces=\"{SSH_NAMESPACE}\" {}\n", key.to_ssh_line())
}

/// Exports a sealed run to a new directory, or to a new file if the name ends in `.tar.zst`. Returns the key that
/// signed the run.
///
/// The export contains the history of keys, and a proof that the run is in the log of the checkpoint `anchored`, or in the present log
/// if `anchored` is `None`. The key in use signs the checkpoint of the proof; replaced keys sign nothing any more.
///
/// # Errors
/// When the export does not verify, because the run is not as it was sealed: nothing is left of the export then.
pub fn export_run(
    store: &Store,
    project: &ProjectId,
    (task, run_id): (&TaskId, &RunId),
    to: &Path,
    anchored: Option<&LogCheckpoint>,
) -> Result<PublicKey, EvidenceError> {
    let (line, sequence) = find_line(store, project, run_id)?;
    let ring = read_key_ring(store)?;
    let known = ring.key_for_line(project, sequence).ok_or_else(|| EvidenceError::NotSigned { run_id: run_id.clone() })?;
    let key = known.public().clone();
    let proof = prove_inclusion_of_run(store, project, run_id, anchored)?;
    let readme = README.replace("RUN_ID", run_id.as_str()).replace("STATEMENTS", &statements_name(run_id));
    let files = vec![
        (EXPORTED_LEDGER, line),
        (EXPORTED_KEYS, ring.to_lines(Some(project)).into_bytes()),
        (EXPORTED_PROOF, proof.to_text().into_bytes()),
        (EXPORTED_KEY, key.to_pem().into_bytes()),
        (EXPORTED_SIGNERS, allowed_signers(&key).into_bytes()),
        ("README.md", readme.into_bytes()),
    ];
    if let Some(parent) = to.parent() {
        create_directories(parent)?;
    }
    let directory = store.run_directory(project, task, run_id);
    if is_archive_name(to) {
        write_archive(to, run_id, &files, &directory)?
    } else {
        write_directory(to, &files, &directory)?
    }
    // What was written is looked at as the receiver will, so nothing can change between the look and the copy.
    let mut found = verify_copy(to, &AcceptedKeys::History(ring), &[])?;
    if found.faults.is_empty() {
        return Ok(key);
    }
    if to.is_dir() {
        remove_directory(to)?
    } else {
        remove_file(to)?
    }
    Err(EvidenceError::ExportFaulty { run_id: run_id.clone(), fault: Box::new(found.faults.swap_remove(0)) })
}

/// Returns whether an export to this path is a single archive file; otherwise it is a directory.
pub fn is_archive_name(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ARCHIVE_SUFFIX))
}

fn write_directory(to: &Path, files: &[(&str, Vec<u8>)], directory: &Path) -> Result<(), EvidenceError> {
    create_directory(to)?;
    let run = to.join(EXPORTED_RUN);
    create_directory(&run)?;
    for (name, bytes) in files {
        write_new(&to.join(name), bytes)?;
    }
    for entry in list_directory(directory)? {
        let (from, copy) = (entry.path(), run.join(entry.file_name()));
        // Entries that are no regular files were not sealed, so they are not copied. Verification reports them in the
        // store.
        let metadata = entry.metadata().map_err(failed(FileOperation::List, &from))?;
        if metadata.is_file() {
            if metadata.len() > LARGEST_FILE {
                let why = format!("it has {} bytes, and at most {LARGEST_FILE} are copied", metadata.len());
                return Err(failed(FileOperation::Read, &from)(std::io::Error::other(why)));
            }
            copy_file(&from, &copy)?;
        }
    }
    Ok(())
}

/// Writes an export as one archive, whose files are all in a directory named like the run.
fn write_archive(to: &Path, run_id: &RunId, files: &[(&str, Vec<u8>)], directory: &Path) -> Result<(), EvidenceError> {
    let mut file = create_file(to)?;
    let mut writer = ArchiveWriter::begin(&mut file, to, run_id)?;
    let mut files: Vec<_> = files.iter().collect();
    files.sort();
    for (name, bytes) in files {
        let member = ArchiveMember { folder: ArchiveFolder::Top, name: (*name).to_owned() };
        writer.add(&member, bytes.len() as u64, &mut bytes.as_slice())?;
    }
    for name in file_names(directory)? {
        let path = directory.join(&name);
        let mut file = open_no_follow(&path)?;
        let bytes = file.metadata().map_err(failed(FileOperation::Read, &path))?.len();
        writer.add(&ArchiveMember { folder: ArchiveFolder::Run, name }, bytes, &mut file)?;
    }
    writer.finish()
}

/// Returns the names of the files in a run's directory, sorted. Anything but a regular file is an error.
fn file_names(directory: &Path) -> Result<Vec<String>, EvidenceError> {
    let mut names = Vec::new();
    for entry in list_directory(directory)? {
        let is_file = entry.file_type().map_err(failed(FileOperation::List, &entry.path()))?.is_file();
        let name = entry.file_name().into_string().ok().filter(|name| is_file && check_component(name).is_ok());
        names.push(name.ok_or_else(|| EvidenceError::Foreign { path: directory.to_owned() })?);
    }
    names.sort();
    Ok(names)
}

/// Proves that the run's line is in the log, with a checkpoint that the key in use signs.
fn prove_inclusion_of_run(
    store: &Store,
    project: &ProjectId,
    run_id: &RunId,
    anchored: Option<&LogCheckpoint>,
) -> Result<InclusionProof, EvidenceError> {
    let log = read_log(store, project)?;
    if let Some(anchored) = anchored.filter(|anchored| !log.extends(anchored)) {
        return Err(EvidenceError::NotAnchored { project: project.clone(), size: anchored.size });
    }
    let signer = find_signer(store)?.ok_or_else(|| EvidenceError::NotSigned { run_id: run_id.clone() })?;
    let checkpoint = anchored.cloned().unwrap_or_else(|| log.head()).sign(&signer);
    let proof = log.index_of(run_id).and_then(|index| log.prove_inclusion(index, &checkpoint));
    proof.ok_or_else(|| EvidenceError::AnchoredEarlier { run_id: run_id.clone(), size: checkpoint.checkpoint().size })
}

/// Finds the ledger line of a run. Returns the line exactly as it stands in the file, with its sequence number.
fn find_line(store: &Store, project: &ProjectId, run_id: &RunId) -> Result<(Vec<u8>, proctor_model::Sequence), EvidenceError> {
    let bytes = LedgerFile::open(&store.ledger_path(project))?.read_to_end()?;
    let found = bytes.split_inclusive(|byte| *byte == b'\n').find_map(|line| {
        let parsed = parse_line(line.strip_suffix(b"\n")?).ok()?;
        matches!(&parsed.body, LedgerBody::Run(record) if record.run_id == *run_id).then(|| (line.to_vec(), parsed.sequence))
    });
    found.ok_or_else(|| EvidenceError::NotInLedger { run_id: run_id.clone() })
}
