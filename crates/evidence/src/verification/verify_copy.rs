//! Verifying a run that was copied elsewhere: a run directory or archive of a store, or what `proctor export` made of a
//! run.

use std::path::{Path, PathBuf};

use crate::anchor::Anchor;
use crate::files::open_no_follow;
use crate::keys::{AcceptedKeys, AcceptedKeysError, KeyRing};
use crate::ledger_tail::parse_line;
use crate::line_signature::{describe_wrong_signature, is_line_signed};
use crate::names::{EXPORTED_KEYS, EXPORTED_LEDGER, EXPORTED_PROOF, EXPORTED_RUN, MANIFEST_NAME, STATEMENTS_SUFFIX};
use crate::signing::PublicKey;
use crate::verification::check_anchor::check_proof;
use crate::verification::check_run::{CheckedRun, RunSigner, check_entry, check_run};
use crate::verification::inspect::{
    InspectedArchive, InspectedDirectory, InspectedEntry, InspectionDepth, inspect_archive, inspect_directory, inspect_entry,
    needs_content,
};
use crate::verification::verify_store::file_count_and_size;
use crate::verification::{EvidenceFault, FaultKind, VerificationResult, sort_by_cause};
use crate::{EvidenceError, InclusionProof};
use proctor_model::{Digest, RunLine, RunRecord};

/// A copied run, and the files that came with it if the copy is an export.
struct CopiedRun {
    run: InspectedDirectory,
    export: Option<ExportedFiles>,
}

/// The files of an export that do not belong to the run itself.
struct ExportedFiles {
    ledger: Option<Vec<u8>>,
    proof: Option<Vec<u8>>,
    keys: Option<Vec<u8>>,
    /// A fault for each of these files that is no regular file, or cannot be read.
    faults: Vec<EvidenceFault>,
}

/// Verifies a directory or an archive with public keys alone. Modes, owners and hard links are not checked, because
/// copying changes them.
///
/// The keys of an export follow from the accepted ones and the history that the export carries. If anchors are given, the copy must
/// contain a proof that the run is in the anchored log.
pub fn verify_copy(path: &Path, keys: &AcceptedKeys, anchors: &[Anchor]) -> Result<VerificationResult, EvidenceError> {
    let mut result = VerificationResult::default();
    let copied = if path.is_dir() {
        look_at_directory(path)
    } else {
        match inspect_archive(open_no_follow(path)?) {
            Ok(found) => CopiedRun::from_archive(found),
            Err(problem) => {
                let file = path.file_name().map(PathBuf::from).unwrap_or_default();
                result.faults.push(EvidenceFault::new(FaultKind::ArchiveUnreadable, file, problem.to_string()));
                return Ok(result);
            }
        }
    };
    let exported = copied.export.as_ref().map(|files| {
        let keys = files.accepted_keys(keys, &mut result.faults);
        let line = read_exported_line(files, &keys, anchors, &mut result);
        // A name that is there and is no file is not reported as missing too.
        result.faults.retain(|fault| files.faults.iter().all(|known| known.file != fault.file));
        result.faults.extend(files.faults.iter().cloned());
        (keys, line)
    });
    if exported.is_none() {
        let missing = |_: &Anchor| EvidenceFault::new(FaultKind::ProofMissing, EXPORTED_PROOF, "only an export has it");
        result.faults.extend(anchors.first().map(missing));
    }
    let base = Path::new(if exported.is_some() { EXPORTED_RUN } else { "" });
    // Without a readable ledger line it is not known which key was in force, so the signatures are checked by the key that the run names.
    let named = named_key(&copied.run, exported.as_ref().map_or(keys, |(keys, _)| keys)).cloned();
    let (record, key) = match exported.and_then(|(_, line)| line) {
        Some(line) => (Some(line.record), Some(line.key)),
        None => (None, named),
    };
    let Some(key) = key else {
        let detail = "it names none of the accepted keys".to_owned();
        result.faults.push(EvidenceFault::new(FaultKind::SignatureWrong, base, detail));
        return Ok(result);
    };
    let context = CheckedRun { base, owner: None, project: None, record: record.as_ref(), signed: RunSigner::Key(&key) };
    result.faults.extend(check_run(&copied.run, &context));
    result.runs = 1;
    (result.files, result.bytes) = file_count_and_size(&copied.run);
    sort_by_cause(&mut result.faults);
    Ok(result)
}

/// Returns whether a copied run says that one of these keys signed it.
///
/// # Errors
/// When the copy is a file but not an archive, or cannot be read.
pub fn names_a_key(path: &Path, ring: &KeyRing) -> Result<bool, EvidenceError> {
    let run = if path.is_dir() {
        look_at_directory(path).run
    } else {
        let found = inspect_archive(open_no_follow(path)?);
        let wrong = |problem| EvidenceError::Archive { path: path.to_owned(), problem };
        CopiedRun::from_archive(found.map_err(wrong)?).run
    };
    Ok(named_key(&run, &AcceptedKeys::History(ring.clone())).is_some())
}

/// Returns the accepted key that a copied run names as its signer. If only one key is accepted, it is that key, even if the run names
/// another.
fn named_key<'a>(run: &InspectedDirectory, keys: &'a AcceptedKeys) -> Option<&'a PublicKey> {
    let names = run.entries.keys().filter_map(|name| std::str::from_utf8(name).ok());
    let mut statements = names.filter(|name| name.ends_with(STATEMENTS_SUFFIX)).filter_map(|name| run.content(name));
    let text = statements.find_map(|content| std::str::from_utf8(content).ok()).unwrap_or_default();
    match keys {
        AcceptedKeys::Single(key) => Some(key),
        AcceptedKeys::History(_) => keys.all().into_iter().find(|key| text.contains(&key.id().hex())),
    }
}

impl ExportedFiles {
    /// Returns the accepted keys together with those of the history that the export carries. With one key alone, an export without a
    /// history cannot be verified: it would not be known whether the key was in force at the run's line.
    fn accepted_keys(&self, keys: &AcceptedKeys, faults: &mut Vec<EvidenceFault>) -> AcceptedKeys {
        let mut wrong = |kind, detail: String| faults.push(EvidenceFault::new(kind, EXPORTED_KEYS, detail));
        let Some(bytes) = &self.keys else {
            if matches!(keys, AcceptedKeys::Single(_)) {
                wrong(
                    FaultKind::KeyHistoryMissing,
                    "whether the key was in force at the line of the run cannot be said".to_owned(),
                );
            }
            return keys.clone();
        };
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let carried = KeyRing::from_records(lines).map_err(AcceptedKeysError::Record);
        match carried.and_then(|carried| keys.with_history(&carried)) {
            Ok(all) => all,
            Err(error) => {
                wrong(FaultKind::KeyHistoryWrong, error.to_string());
                keys.clone()
            }
        }
    }
}

fn look_at_directory(directory: &Path) -> CopiedRun {
    let run = directory.join(EXPORTED_RUN);
    if !run.is_dir() || directory.join(MANIFEST_NAME).exists() {
        return CopiedRun { run: inspect_directory(directory, needs_content), export: None };
    }
    let mut faults = Vec::new();
    let mut read = |name: &str| {
        let path = directory.join(name);
        path.symlink_metadata().ok()?;
        let entry = inspect_entry(&path, InspectionDepth::Content);
        faults.extend(check_entry(Path::new(name), &entry, None));
        if let InspectedEntry::File(file) = entry { file.content } else { None }
    };
    let (ledger, proof, keys) = (read(EXPORTED_LEDGER), read(EXPORTED_PROOF), read(EXPORTED_KEYS));
    let export = ExportedFiles { ledger, proof, keys, faults };
    CopiedRun { run: inspect_directory(&run, needs_content), export: Some(export) }
}

impl CopiedRun {
    fn from_archive(found: InspectedArchive) -> Self {
        if found.run.entries.is_empty() {
            return Self { run: found.top, export: None };
        }
        let content = |name: &str| found.top.content(name).map(<[u8]>::to_vec);
        let (ledger, proof, keys) = (content(EXPORTED_LEDGER), content(EXPORTED_PROOF), content(EXPORTED_KEYS));
        let export = ExportedFiles { ledger, proof, keys, faults: Vec::new() };
        Self { run: found.run, export: Some(export) }
    }
}

/// The line of the ledger in an export: its record, and the key that was in force at it.
struct ExportedLine {
    record: RunRecord,
    key: PublicKey,
}

/// Reads and checks the ledger line in an export. The line contains the digest of the run's manifest.
fn read_exported_line(
    files: &ExportedFiles,
    keys: &AcceptedKeys,
    anchors: &[Anchor],
    result: &mut VerificationResult,
) -> Option<ExportedLine> {
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
    // Only the checkpoint of the proof names the project, and the ranges of the keys are different in each project.
    let proof = files.proof.as_deref().and_then(|bytes| InclusionProof::parse(bytes).ok());
    let project = proof.as_ref().map(|proof| &proof.checkpoint().checkpoint().project);
    let of_line = project.and_then(|project| keys.key_for_line(project, parsed.sequence));
    // Without a proof, which is a fault of its own, any accepted key may have been in force.
    let key = match of_line {
        Some(key) => key.clone(),
        None => (*keys.all().into_iter().find(|key| is_line_signed(line, key)).or_else(|| keys.all().first().copied())?).clone(),
    };
    if !is_line_signed(line, &key) {
        report_fault(FaultKind::LineSignature, &describe_wrong_signature(line, &key, &keys.all()));
    }
    let (path, proof) = (Path::new(EXPORTED_PROOF), files.proof.as_deref());
    faults.extend(check_proof(path, proof, Digest::of(line), parsed.sequence, keys, anchors));
    match parsed.body.about_runs() {
        Some(RunLine::Sealed(record)) => {
            let record = RunRecord::clone(record);
            result.lines.push((bytes.len() as u64, parsed));
            Some(ExportedLine { record, key })
        }
        Some(RunLine::Superseded(_) | RunLine::Pruned(_)) | None => {
            faults.push(EvidenceFault::new(FaultKind::LineUnreadable, EXPORTED_LEDGER, "it is about something else than a run"));
            None
        }
    }
}
