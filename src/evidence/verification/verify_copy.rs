//! Verifying a run that was copied elsewhere: a run directory or archive of a store, or what `proctor export` made of a
//! run.

use std::path::{Path, PathBuf};

use crate::evidence::anchor::Anchor;
use crate::evidence::archive::ArchiveBounds;
use crate::evidence::files::{if_exists, open_no_follow, read_no_follow};
use crate::evidence::ledger_tail::parse_line;
use crate::evidence::line_signature::is_line_signed;
use crate::evidence::names::{EXPORTED_LEDGER, EXPORTED_PROOF, EXPORTED_RUN, MANIFEST_NAME, STATEMENTS_SUFFIX};
use crate::evidence::signing::PublicKey;
use crate::evidence::verification::check_anchor::check_proof;
use crate::evidence::verification::check_run::{CheckedRun, RunSigner, check_run};
use crate::evidence::verification::inspect::{InspectedDirectory, inspect_directory, needs_content};
use crate::evidence::verification::inspect_archive::{InspectedArchive, inspect_archive};
use crate::evidence::verification::verify_store::file_count_and_size;
use crate::evidence::verification::{EvidenceFault, FaultKind, VerificationResult};
use crate::evidence::{EvidenceError, KeyRing, KnownKey};
use crate::model::{Digest, RunLine, RunRecord};

/// A copied run, and the files that came with it if the copy is an export.
struct CopiedRun {
    run: InspectedDirectory,
    export: Option<ExportedFiles>,
}

/// The files of an export that do not belong to the run itself.
struct ExportedFiles {
    ledger: Option<Vec<u8>>,
    proof: Option<Vec<u8>>,
}

/// Verifies a directory or an archive with only a public key. Modes, owners and hard links are not checked, because
/// copying changes them.
///
/// If anchors are given, the copy must contain a proof that the run is in the anchored log.
pub fn verify_copy(path: &Path, key: &PublicKey, anchors: &[Anchor]) -> Result<VerificationResult, EvidenceError> {
    let mut result = VerificationResult::default();
    let copied = if path.is_dir() {
        look_at_directory(path)?
    } else {
        match inspect_archive(open_no_follow(path)?, ArchiveBounds::UNTRUSTED) {
            Ok(found) => CopiedRun::from_archive(found),
            Err(problem) => {
                let file = path.file_name().map(PathBuf::from).unwrap_or_default();
                result.faults.push(EvidenceFault::new(FaultKind::ArchiveUnreadable, file, problem.to_string()));
                return Ok(result);
            }
        }
    };
    let (base, record) = match &copied.export {
        Some(files) => (Path::new(EXPORTED_RUN), read_exported_line(files, key, anchors, &mut result)),
        None => {
            let missing = |_: &Anchor| EvidenceFault::new(FaultKind::ProofMissing, EXPORTED_PROOF, "only an export has it");
            result.faults.extend(anchors.first().map(missing));
            (Path::new(""), None)
        }
    };
    let context = CheckedRun { base, owner: None, project: None, record: record.as_ref(), signed: RunSigner::Key(key) };
    result.faults.extend(check_run(&copied.run, &context));
    result.runs = 1;
    (result.files, result.bytes) = file_count_and_size(&copied.run);
    result.faults.sort();
    Ok(result)
}

/// Returns the key of this ring that the copied run names as its signing key.
///
/// # Errors
/// When the copy is a file but not an archive, or cannot be read.
pub fn find_signing_key(path: &Path, ring: &KeyRing) -> Result<Option<PublicKey>, EvidenceError> {
    let run = if path.is_dir() {
        look_at_directory(path)?.run
    } else {
        let found = inspect_archive(open_no_follow(path)?, ArchiveBounds::UNTRUSTED);
        let wrong = |problem| EvidenceError::Archive { path: path.to_owned(), problem };
        CopiedRun::from_archive(found.map_err(wrong)?).run
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
        return Ok(CopiedRun { run: inspect_directory(directory, needs_content), export: None });
    }
    let read = |name: &str| if_exists(read_no_follow(&directory.join(name)));
    let export = ExportedFiles { ledger: read(EXPORTED_LEDGER)?, proof: read(EXPORTED_PROOF)? };
    Ok(CopiedRun { run: inspect_directory(&run, needs_content), export: Some(export) })
}

impl CopiedRun {
    fn from_archive(found: InspectedArchive) -> Self {
        if found.run.entries.is_empty() {
            return Self { run: found.top, export: None };
        }
        let content = |name: &str| found.top.content(name).map(<[u8]>::to_vec);
        let export = ExportedFiles { ledger: content(EXPORTED_LEDGER), proof: content(EXPORTED_PROOF) };
        Self { run: found.run, export: Some(export) }
    }
}

/// Reads and checks the ledger line in an export. The line contains the digest of the run's manifest.
fn read_exported_line(
    files: &ExportedFiles,
    key: &PublicKey,
    anchors: &[Anchor],
    result: &mut VerificationResult,
) -> Option<RunRecord> {
    let Some(bytes) = &files.ledger else {
        result.faults.push(EvidenceFault::new(
            FaultKind::LedgerMissing,
            EXPORTED_LEDGER,
            "an export has the run's line of the ledger",
        ));
        return None;
    };
    let faults = &mut result.faults;
    let mut report_fault = |kind, detail: &str| faults.push(EvidenceFault::new(kind, EXPORTED_LEDGER, detail));
    let line = bytes.strip_suffix(b"\n").filter(|line| !line.contains(&b'\n'));
    let Some((line, parsed)) = line.and_then(|line| Some((line, parse_line(line).ok()?))) else {
        report_fault(FaultKind::LineUnreadable, "one line about the run is expected");
        return None;
    };
    if !is_line_signed(line, key) {
        report_fault(FaultKind::LineSignature, &format!("key {} is expected", key.id().short()));
    }
    let line_hash_and_sequence = (Digest::of(line), parsed.sequence);
    faults.extend(check_proof(Path::new(EXPORTED_PROOF), files.proof.as_deref(), line_hash_and_sequence, key, anchors));
    match parsed.body.about_runs() {
        Some(RunLine::Sealed(record)) => {
            let record = RunRecord::clone(record);
            result.lines.push((bytes.len() as u64, parsed));
            Some(record)
        }
        Some(RunLine::Superseded(_) | RunLine::Pruned(_) | RunLine::Archived(_)) | None => {
            faults.push(EvidenceFault::new(FaultKind::LineUnreadable, EXPORTED_LEDGER, "it is about something else than a run"));
            None
        }
    }
}
