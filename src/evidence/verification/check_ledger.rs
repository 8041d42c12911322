//! Whether a project's ledger is the one that was written: every line in its place, chained and signed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::evidence::keys::KeyRing;
use crate::evidence::ledger_tail::{ChainEnd, is_write_cut_short, parse_line, whole_length};
use crate::evidence::line_signature::is_line_signed;
use crate::evidence::verification::parallel::in_parallel;
use crate::evidence::verification::{Fault, FaultKind};
use crate::model::{Digest, LedgerBody, LedgerLine, ProjectId, PruneRecord, PrunedRun, RunId, Sequence};

/// A ledger as it was read.
#[derive(Debug, Default)]
pub(super) struct ReadLedger {
    /// The lines that could be read, each with the offset after it.
    pub(super) lines: Vec<(u64, LedgerLine)>,
    /// The hash of every line by its sequence.
    pub(super) hashes: BTreeMap<u64, Digest>,
    /// The hash of every whole line in the order of the file, whether it could be read or not.
    pub(super) in_order: Vec<Digest>,
    /// How many bytes there are of a line whose process died while it wrote it.
    pub(super) begun: Option<usize>,
}

impl ReadLedger {
    /// Returns the last line of the file, where it could be read.
    pub(super) fn last(&self) -> Option<&LedgerLine> {
        let (_, line) = self.lines.last()?;
        (self.hashes.get(&line.sequence.0) == self.in_order.last()).then_some(line)
    }
}

/// Checks a ledger's bytes.
pub(super) fn check_ledger(
    bytes: &[u8],
    path: &Path,
    project: &ProjectId,
    keys: &KeyRing,
    threads: usize,
    faults: &mut Vec<Fault>,
) -> ReadLedger {
    let mut read = ReadLedger::default();
    let (mut previous, mut expected, mut offset) = (Digest::of(b""), 1_u64, 0_u64);
    let whole = whole_length(bytes);
    let lines: Vec<&[u8]> = bytes[..whole].split_inclusive(|byte| *byte == b'\n').map(|line| &line[..line.len() - 1]).collect();
    let judged = in_parallel(&lines, threads, |line| judge_line(line, project, keys));
    for (number, (line, judged)) in lines.iter().zip(judged).enumerate() {
        let mut fault = |kind, detail: String| faults.push(Fault::of(kind, path, format!("line {}: {detail}", number + 1)));
        offset += line.len() as u64 + 1;
        let hash = Digest::of(line);
        read.in_order.push(hash);
        let Judged { line, signature } = match judged {
            Ok(judged) => judged,
            Err(problem) => {
                fault(FaultKind::LineUnreadable, problem);
                (previous, expected) = (hash, expected + 1);
                continue;
            }
        };
        if line.sequence.0 != expected {
            fault(FaultKind::LineSequence, format!("its sequence is {}, {expected} is expected", line.sequence.0));
        }
        if line.previous != previous {
            fault(FaultKind::LineChain, format!("it names {}, the line before has {previous}", line.previous));
        }
        signature.into_iter().for_each(|(kind, detail)| fault(kind, detail));
        (previous, expected) = (hash, line.sequence.0.saturating_add(1));
        read.hashes.insert(line.sequence.0, hash);
        read.lines.push((offset, line));
    }
    let torn = &bytes[whole..];
    let end = ChainEnd { length: whole as u64, sequence: Sequence(expected.saturating_sub(1)), hash: previous };
    if is_write_cut_short(torn, &end) {
        read.begun = (!torn.is_empty()).then_some(torn.len());
    } else {
        faults.push(Fault::of(FaultKind::LineTorn, path, format!("{} bytes after the last line", torn.len())));
    }
    check_bodies(&read, path, project, faults);
    read
}

struct Judged {
    line: LedgerLine,
    signature: Option<(FaultKind, String)>,
}

fn judge_line(bytes: &&[u8], project: &ProjectId, keys: &KeyRing) -> Result<Judged, String> {
    let line = parse_line(bytes).map_err(|problem| problem.to_string())?;
    let key = keys.key_of(project, line.sequence);
    let signature = match (key, &line.signature) {
        (None, None) => None,
        (None, Some(_)) => Some((FaultKind::LineSignature, "there is no key that could have signed it".to_owned())),
        (Some(key), None) => Some((FaultKind::LineUnsigned, format!("key {} signs since before it", key.id().short()))),
        (Some(key), Some(_)) if is_line_signed(bytes, key.public()) => None,
        (Some(key), Some(_)) => Some((FaultKind::LineSignature, format!("key {} is expected", key.id().short()))),
    };
    Ok(Judged { line, signature })
}

/// Checks what only several lines together can show.
fn check_bodies(read: &ReadLedger, path: &Path, project: &ProjectId, faults: &mut Vec<Fault>) {
    let mut runs: BTreeMap<&RunId, Sequence> = BTreeMap::new();
    let mut manifests: BTreeMap<&RunId, Digest> = BTreeMap::new();
    let mut put_away: BTreeSet<&RunId> = BTreeSet::new();
    for (_, line) in &read.lines {
        let run = match &line.body {
            LedgerBody::Registered(record) if record.project_id != *project => {
                let detail = format!("line {} registers `{}`", line.sequence.0, record.project_id);
                faults.push(Fault::of(FaultKind::ProjectDisagrees, path, detail));
                continue;
            }
            LedgerBody::Run(record) => {
                manifests.insert(&record.run_id, record.manifest_hash);
                &record.run_id
            }
            LedgerBody::Superseded(record) => &record.run_id,
            LedgerBody::Pruned(record) => {
                faults.extend(check_pruned(record, line.sequence, &manifests, path));
                put_away.extend(record.runs.iter().map(|run| &run.run_id));
                continue;
            }
            LedgerBody::Archived(record) => {
                for run in &record.runs {
                    // What is archived was sealed before, and neither archived nor pruned.
                    if manifests.get(&run.run_id) != Some(&run.manifest_hash) || !put_away.insert(&run.run_id) {
                        let detail = format!("line {} is about {}", line.sequence.0, run.run_id);
                        faults.push(Fault::of(FaultKind::ArchiveWrong, path, detail));
                    }
                }
                continue;
            }
            LedgerBody::Registered(_)
            | LedgerBody::Phase(_)
            | LedgerBody::Override(_)
            | LedgerBody::Serving(_)
            | LedgerBody::Approval(_)
            | LedgerBody::TaskList(_)
            | LedgerBody::Violation(_)
            | LedgerBody::Governance(_)
            | LedgerBody::Retest(_) => continue,
        };
        if let Some(first) = runs.insert(run, line.sequence) {
            let detail = format!("lines {} and {} are about {run}", first.0, line.sequence.0);
            faults.push(Fault::of(FaultKind::RunTwice, path, detail));
        }
    }
}

/// Checks that what is pruned was sealed before, with that manifest.
fn check_pruned(record: &PruneRecord, line: Sequence, manifests: &BTreeMap<&RunId, Digest>, path: &Path) -> Vec<Fault> {
    let is_wrong = |run: &&PrunedRun| manifests.get(&run.run_id) != Some(&run.manifest_hash);
    let fault = |run: &PrunedRun| Fault::of(FaultKind::PruneWrong, path, format!("line {} is about {}", line.0, run.run_id));
    record.runs.iter().filter(is_wrong).map(fault).collect()
}
