//! What was copied elsewhere: a run as it lies in the store, or what `proctor export` made of one, each as a directory or in one file.

use std::path::{Path, PathBuf};

use crate::evidence::anchor::Anchor;
use crate::evidence::archive::Bounds;
use crate::evidence::files::{if_there, open_plain, read_plain};
use crate::evidence::ledger_tail::parse_line;
use crate::evidence::line_signature::is_line_signed;
use crate::evidence::names::{EXPORTED_LEDGER, EXPORTED_PROOF, EXPORTED_RUN, MANIFEST_NAME, STATEMENTS_SUFFIX};
use crate::evidence::signing::PublicKey;
use crate::evidence::verification::check_anchor::check_proof;
use crate::evidence::verification::check_run::{RunContext, SignedBy, check_run};
use crate::evidence::verification::look::{FoundDirectory, is_read_of_a_run, look_at_files};
use crate::evidence::verification::look_archive::{FoundArchive, look_into_archive};
use crate::evidence::verification::whole::sizes;
use crate::evidence::verification::{Checked, Fault, FaultKind};
use crate::evidence::{EvidenceError, KeyRing, KnownKey};
use crate::model::{Digest, LedgerBody, RunRecord};

/// What was copied: a run, and where it is an export what came with it.
struct CopiedRun {
    run: FoundDirectory,
    export: Option<ExportedFiles>,
}

/// What an export has beside the run.
struct ExportedFiles {
    ledger: Option<Vec<u8>>,
    proof: Option<Vec<u8>>,
}

/// Verifies a directory or an archive with a public key and nothing else. Modes, owners and names are the copy's own and are not looked at.
///
/// With anchors, a proof must be there that the run is in the log that was anchored.
pub fn verify_copy(path: &Path, key: &PublicKey, anchors: &[Anchor]) -> Result<Checked, EvidenceError> {
    let mut checked = Checked::default();
    let copied = if path.is_dir() {
        look_at_directory(path)?
    } else {
        match look_into_archive(open_plain(path)?, Bounds::OF_A_STRANGER) {
            Ok(found) => CopiedRun::of_archive(found),
            Err(problem) => {
                let file = path.file_name().map(PathBuf::from).unwrap_or_default();
                checked.faults.push(Fault::of(FaultKind::ArchiveUnreadable, file, problem.to_string()));
                return Ok(checked);
            }
        }
    };
    let (base, record) = match &copied.export {
        Some(files) => (Path::new(EXPORTED_RUN), read_exported_line(files, key, anchors, &mut checked)),
        None => {
            let missing = |_: &Anchor| Fault::of(FaultKind::ProofMissing, EXPORTED_PROOF, "only an export has it");
            checked.faults.extend(anchors.first().map(missing));
            (Path::new(""), None)
        }
    };
    let context = RunContext { base, owner: None, project: None, record: record.as_ref(), signed: SignedBy::Key(key) };
    checked.faults.extend(check_run(&copied.run, &context));
    checked.runs = 1;
    (checked.files, checked.bytes) = sizes(&copied.run);
    checked.faults.sort();
    Ok(checked)
}

/// Returns the key of a ring that a copied run says it is signed with.
///
/// # Errors
/// When it is a file and no archive, or cannot be read.
pub fn signing_key_of(path: &Path, ring: &KeyRing) -> Result<Option<PublicKey>, EvidenceError> {
    let run = if path.is_dir() {
        look_at_directory(path)?.run
    } else {
        let found = look_into_archive(open_plain(path)?, Bounds::OF_A_STRANGER);
        let wrong = |problem| EvidenceError::Archive { path: path.to_owned(), problem };
        CopiedRun::of_archive(found.map_err(wrong)?).run
    };
    let names = run.entries.keys().filter_map(|name| std::str::from_utf8(name).ok());
    let mut statements = names.filter(|name| name.ends_with(STATEMENTS_SUFFIX)).filter_map(|name| run.content(name));
    let text = statements.find_map(|content| std::str::from_utf8(content).ok()).unwrap_or_default();
    let is_named = |key: &&KnownKey| text.contains(&key.id().hex());
    Ok(ring.keys().iter().rev().find(is_named).map(|key| key.public().clone()))
}

fn look_at_directory(directory: &Path) -> Result<CopiedRun, EvidenceError> {
    let run = directory.join(EXPORTED_RUN);
    if !run.is_dir() || directory.join(MANIFEST_NAME).exists() {
        return Ok(CopiedRun { run: look_at_files(directory, is_read_of_a_run), export: None });
    }
    let read = |name: &str| if_there(read_plain(&directory.join(name)));
    let export = ExportedFiles { ledger: read(EXPORTED_LEDGER)?, proof: read(EXPORTED_PROOF)? };
    Ok(CopiedRun { run: look_at_files(&run, is_read_of_a_run), export: Some(export) })
}

impl CopiedRun {
    fn of_archive(found: FoundArchive) -> Self {
        if found.run.entries.is_empty() {
            return Self { run: found.top, export: None };
        }
        let content = |name: &str| found.top.content(name).map(<[u8]>::to_vec);
        let export = ExportedFiles { ledger: content(EXPORTED_LEDGER), proof: content(EXPORTED_PROOF) };
        Self { run: found.run, export: Some(export) }
    }
}

/// Reads the one line of an export: it binds the manifest to the ledger it comes from.
fn read_exported_line(files: &ExportedFiles, key: &PublicKey, anchors: &[Anchor], checked: &mut Checked) -> Option<RunRecord> {
    let Some(bytes) = &files.ledger else {
        checked.faults.push(Fault::of(FaultKind::LedgerMissing, EXPORTED_LEDGER, "an export has the run's line of the ledger"));
        return None;
    };
    let faults = &mut checked.faults;
    let mut refuse = |kind, detail: &str| faults.push(Fault::of(kind, EXPORTED_LEDGER, detail));
    let line = bytes.strip_suffix(b"\n").filter(|line| !line.contains(&b'\n'));
    let Some((line, parsed)) = line.and_then(|line| Some((line, parse_line(line).ok()?))) else {
        refuse(FaultKind::LineUnreadable, "one line about the run is expected");
        return None;
    };
    if !is_line_signed(line, key) {
        refuse(FaultKind::LineSignature, &format!("key {} is expected", key.id().short()));
    }
    let of_line = (Digest::of(line), parsed.sequence);
    faults.extend(check_proof(Path::new(EXPORTED_PROOF), files.proof.as_deref(), of_line, key, anchors));
    match &parsed.body {
        LedgerBody::Run(record) => {
            let record = RunRecord::clone(record);
            checked.lines.push((bytes.len() as u64, parsed));
            Some(record)
        }
        LedgerBody::Registered(_)
        | LedgerBody::Superseded(_)
        | LedgerBody::Phase(_)
        | LedgerBody::Override(_)
        | LedgerBody::Serving(_)
        | LedgerBody::Approval(_)
        | LedgerBody::TaskList(_)
        | LedgerBody::Violation(_)
        | LedgerBody::Pruned(_)
        | LedgerBody::Archived(_)
        | LedgerBody::Governance(_)
        | LedgerBody::Retest(_) => {
            faults.push(Fault::of(FaultKind::LineUnreadable, EXPORTED_LEDGER, "it is about something else than a run"));
            None
        }
    }
}
