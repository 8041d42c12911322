//! A directory that was copied elsewhere: a run as it lies in the store, or what `proctor export` made of one.

use std::path::Path;

use crate::evidence::EvidenceError;
use crate::evidence::anchor::Anchor;
use crate::evidence::files::{if_there, read_plain};
use crate::evidence::ledger_tail::parse_line;
use crate::evidence::line_signature::is_line_signed;
use crate::evidence::names::{EXPORTED_LEDGER, EXPORTED_PROOF, EXPORTED_RUN, MANIFEST_NAME};
use crate::evidence::signing::PublicKey;
use crate::evidence::verification::check_anchor::check_proof;
use crate::evidence::verification::check_run::{RunContext, SignedBy, check_run};
use crate::evidence::verification::look::{is_read_of_a_run, look_at_files};
use crate::evidence::verification::whole::sizes;
use crate::evidence::verification::{Checked, Fault, FaultKind};
use crate::model::{Digest, LedgerBody, RunRecord};

/// Verifies a directory with a public key and nothing else. Modes, owners and names are the copy's own and are not looked at.
///
/// With anchors, a proof must be there that the run is in the log that was anchored.
pub fn verify_directory(directory: &Path, key: &PublicKey, anchors: &[Anchor]) -> Result<Checked, EvidenceError> {
    let mut checked = Checked::default();
    let is_export = directory.join(EXPORTED_RUN).is_dir() && !directory.join(MANIFEST_NAME).exists();
    let (base, record) = if is_export {
        (Path::new(EXPORTED_RUN), read_exported_line(directory, key, anchors, &mut checked)?)
    } else {
        let missing = |_: &Anchor| Fault::of(FaultKind::ProofMissing, EXPORTED_PROOF, "only an export has it");
        checked.faults.extend(anchors.first().map(missing));
        (Path::new(""), None)
    };
    let found = look_at_files(&directory.join(base), is_read_of_a_run);
    let context = RunContext { base, owner: None, project: None, record: record.as_ref(), signed: SignedBy::Key(key) };
    checked.faults.extend(check_run(&found, &context));
    checked.runs = 1;
    (checked.files, checked.bytes) = sizes(&found);
    checked.faults.sort();
    Ok(checked)
}

/// Reads the one line of an export: it binds the manifest to the ledger it comes from.
fn read_exported_line(
    directory: &Path,
    key: &PublicKey,
    anchors: &[Anchor],
    checked: &mut Checked,
) -> Result<Option<RunRecord>, EvidenceError> {
    let Some(bytes) = if_there(read_plain(&directory.join(EXPORTED_LEDGER)))? else {
        checked.faults.push(Fault::of(FaultKind::LedgerMissing, EXPORTED_LEDGER, "an export has the run's line of the ledger"));
        return Ok(None);
    };
    let faults = &mut checked.faults;
    let mut refuse = |kind, detail: &str| faults.push(Fault::of(kind, EXPORTED_LEDGER, detail));
    let line = bytes.strip_suffix(b"\n").filter(|line| !line.contains(&b'\n'));
    let Some((line, parsed)) = line.and_then(|line| Some((line, parse_line(line).ok()?))) else {
        refuse(FaultKind::LineUnreadable, "one line about the run is expected");
        return Ok(None);
    };
    if !is_line_signed(line, key) {
        refuse(FaultKind::LineSignature, &format!("key {} is expected", key.id().short()));
    }
    let proof = if_there(read_plain(&directory.join(EXPORTED_PROOF)))?;
    let of_line = (Digest::of(line), parsed.sequence);
    faults.extend(check_proof(Path::new(EXPORTED_PROOF), proof.as_deref(), of_line, key, anchors));
    match &parsed.body {
        LedgerBody::Run(record) => {
            let record = RunRecord::clone(record);
            checked.lines.push((bytes.len() as u64, parsed));
            Ok(Some(record))
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
        | LedgerBody::Governance(_)
        | LedgerBody::Retest(_) => {
            faults.push(Fault::of(FaultKind::LineUnreadable, EXPORTED_LEDGER, "it is about something else than a run"));
            Ok(None)
        }
    }
}
