//! Checks that a project's ledger is unchanged: every line is in its place, chained to the one before, and signed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::keys::{KeyRing, KnownKey};
use crate::ledger_file::{put_in, read_segment, segments};
use crate::ledger_tail::{ChainEnd, is_write_cut_short, parse_line, whole_length};
use crate::line_signature::{describe_wrong_signature, is_line_signed};
use crate::verification::check_run::check_file;
use crate::verification::check_store::{owner, relative};
use crate::verification::inspect::{InspectedEntry, InspectionDepth, inspect_entry};
use crate::verification::steadily::in_parallel;
use crate::verification::verify_store::LEDGER_MODE;
use crate::verification::{EvidenceFault, FaultKind};
use crate::{EvidenceError, Store};
use proctor_model::{
    Digest, LedgerBody, LedgerLine, ProjectId, PruneReason, PrunedRun, RunId, RunLine, RunRecord, Sequence, TaskId,
};

/// What `check_ledger` read from a ledger file.
#[derive(Debug, Default)]
pub(super) struct ParsedLedger {
    /// The lines that could be parsed, each with the byte offset in the file at which the line ends.
    pub(super) lines: Vec<(u64, LedgerLine)>,
    /// The hash of each parsed line, by the line's sequence number.
    pub(super) hashes: BTreeMap<u64, Digest>,
    /// The hash of each whole line in the order of the file, whether it could be parsed or not.
    pub(super) all_hashes: Vec<Digest>,
    /// The length in bytes of an incomplete last line that a process was writing when it died; `None` if there is no
    /// such line.
    pub(super) cut_short: Option<usize>,
}

impl ParsedLedger {
    /// Returns the last whole line, if it could be parsed.
    pub(super) fn last(&self) -> Option<&LedgerLine> {
        let (_, line) = self.lines.last()?;
        (self.hashes.get(&line.sequence.0) == self.all_hashes.last()).then_some(line)
    }
}

/// Parses a ledger's bytes and reports every line that cannot be read, is out of place, or is not properly signed.
pub(super) fn check_ledger(
    bytes: &[u8],
    path: &Path,
    project: &ProjectId,
    keys: &KeyRing,
    threads: usize,
    faults: &mut Vec<EvidenceFault>,
) -> ParsedLedger {
    let mut read = ParsedLedger::default();
    let (mut previous, mut expected, mut offset) = (Digest::of(b""), 1_u64, 0_u64);
    let whole = whole_length(bytes);
    let lines: Vec<&[u8]> = bytes[..whole].split_inclusive(|byte| *byte == b'\n').map(|line| &line[..line.len() - 1]).collect();
    let judged = in_parallel(&lines, threads, |line| judge_line(line, project, keys));
    for (number, (line, judged)) in lines.iter().zip(judged).enumerate() {
        let mut fault =
            |kind, detail: String| faults.push(EvidenceFault::new(kind, path, format!("line {}: {detail}", number + 1)));
        offset += line.len() as u64 + 1;
        let hash = Digest::of(line);
        read.all_hashes.push(hash);
        let JudgedLine { line, signature } = match judged {
            Ok(judged) => judged,
            Err(problem) => {
                let is_signed = keys.keys().iter().any(|key| is_line_signed(line, key.public()));
                let why = if is_signed {
                    "its signature is right, so another version of proctor wrote it"
                } else {
                    "its signature does not fit its bytes, so it was changed"
                };
                fault(FaultKind::LineUnreadable, format!("{why}: {problem}"));
                (previous, expected) = (hash, expected + 1);
                continue;
            }
        };
        if line.sequence.0 != expected {
            fault(FaultKind::LineSequence, format!("its sequence is {}, {expected} is expected", line.sequence.0));
        }
        if line.previous != previous {
            fault(
                FaultKind::LineChain,
                format!("it names {} as the hash of the line before, which is {previous}", line.previous),
            );
        }
        signature.into_iter().for_each(|(kind, detail)| fault(kind, detail));
        if let Some((_, before)) = read.lines.last().filter(|(_, before)| line.time < before.time) {
            fault(FaultKind::TimeBackwards, format!("it is of {}, the line before it of {}", line.time, before.time));
        }
        (previous, expected) = (hash, line.sequence.0.saturating_add(1));
        read.hashes.insert(line.sequence.0, hash);
        read.lines.push((offset, line));
    }
    let torn = &bytes[whole..];
    let end = ChainEnd { length: whole as u64, sequence: Sequence(expected.saturating_sub(1)), hash: previous };
    if is_write_cut_short(torn, &end) {
        read.cut_short = (!torn.is_empty()).then_some(torn.len());
    } else {
        faults.push(EvidenceFault::new(FaultKind::LineTorn, path, format!("{} bytes after the last line", torn.len())));
    }
    check_lines_together(&read, path, project, faults);
    read
}

struct JudgedLine {
    line: LedgerLine,
    signature: Option<(FaultKind, String)>,
}

fn judge_line(bytes: &&[u8], project: &ProjectId, keys: &KeyRing) -> Result<JudgedLine, String> {
    let line = parse_line(bytes).map_err(|problem| problem.to_string())?;
    let key = keys.key_for_line(project, line.sequence);
    let signature = match (key, &line.signature) {
        (None, None) => None,
        (None, Some(_)) => Some((FaultKind::LineSignature, "there is no key that could have signed it".to_owned())),
        (Some(key), None) => Some((FaultKind::LineUnsigned, format!("key {} was in use", key.id().short()))),
        (Some(key), Some(_)) if is_line_signed(bytes, key.public()) => None,
        (Some(key), Some(_)) => {
            let known: Vec<_> = keys.keys().iter().map(KnownKey::public).collect();
            Some((FaultKind::LineSignature, describe_wrong_signature(bytes, key.public(), &known)))
        }
    };
    Ok(JudgedLine { line, signature })
}

/// Checks the rules that concern several lines: no run has two lines, and pruned runs were sealed before.
fn check_lines_together(read: &ParsedLedger, path: &Path, project: &ProjectId, faults: &mut Vec<EvidenceFault>) {
    let mut runs: BTreeMap<&RunId, Sequence> = BTreeMap::new();
    let mut manifests: BTreeMap<&RunId, Digest> = BTreeMap::new();
    for (_, line) in &read.lines {
        if let LedgerBody::Registered(record) = &line.body
            && record.project_id != *project
        {
            let detail = format!("line {} registers `{}`", line.sequence.0, record.project_id);
            faults.push(EvidenceFault::new(FaultKind::ProjectDisagrees, path, detail));
        }
        let run = match line.body.about_runs() {
            Some(RunLine::Sealed(record)) => {
                manifests.insert(&record.run_id, record.manifest_hash);
                &record.run_id
            }
            Some(RunLine::Superseded(record)) => &record.run_id,
            Some(RunLine::Pruned(pruned)) => {
                faults.extend(check_pruned(pruned, line.sequence, &manifests, path));
                continue;
            }
            None => continue,
        };
        if let Some(first) = runs.insert(run, line.sequence) {
            let detail = format!("lines {} and {} are about {run}", first.0, line.sequence.0);
            faults.push(EvidenceFault::new(FaultKind::RunTwice, path, detail));
        }
    }
}

/// Checks that each pruned run was sealed before, with the manifest that the pruning line names.
fn check_pruned(pruned: &[PrunedRun], line: Sequence, manifests: &BTreeMap<&RunId, Digest>, path: &Path) -> Vec<EvidenceFault> {
    let is_wrong = |run: &&PrunedRun| manifests.get(&run.run_id) != Some(&run.manifest_hash);
    let fault =
        |run: &PrunedRun| EvidenceFault::new(FaultKind::PruneWrong, path, format!("line {} is about {}", line.0, run.run_id));
    pruned.iter().filter(is_wrong).map(fault).collect()
}

// Checks the compressed segments of a ledger, and reads the ledger through them.

/// Puts the bytes of a ledger's compressed segments in their places, and reports segments that do not hold them.
pub(super) fn put_segments_in(
    store: &Store,
    ledger: &Path,
    content: &mut [u8],
    faults: &mut Vec<EvidenceFault>,
) -> Result<(), EvidenceError> {
    for (range, path) in segments(ledger)? {
        let shown = relative(store, &path);
        let mut damaged = |why: String| faults.push(EvidenceFault::new(FaultKind::SegmentWrong, &shown, why));
        match read_segment(&range, &path) {
            Ok(_) if range.end > content.len() as u64 => damaged("the ledger is shorter".to_owned()),
            Ok(bytes) if put_in(content, 0, &range, &bytes) => {}
            Ok(_) => damaged("the ledger has other bytes there".to_owned()),
            Err(error) => damaged(error.to_string()),
        }
        if let InspectedEntry::File(file) = inspect_entry(&path, InspectionDepth::Content) {
            faults.extend(check_file(&shown, &file, LEDGER_MODE, Some(owner(store))));
        }
    }
    Ok(())
}

// What a ledger says about each run of its project, by the kind of ledger line.

/// What the ledger says about each run, by the kind of ledger line.
#[derive(Default)]
pub(super) struct RunsInLedger<'a> {
    /// The sealed runs, each with the sequence number of its ledger line.
    pub(super) runs: BTreeMap<&'a RunId, (u64, &'a RunRecord)>,
    /// The runs that a newer save stopped, each with its task.
    pub(super) superseded: BTreeMap<&'a RunId, &'a TaskId>,
    pub(super) pruned: BTreeSet<&'a RunId>,
    /// The pruned runs that an earlier version packed into files. These files are not read.
    pub(super) packed: BTreeSet<&'a RunId>,
    /// The runs that the ledger's last line prunes.
    pub(super) pruned_last: &'a [PrunedRun],
}

impl<'a> RunsInLedger<'a> {
    pub(super) fn from_ledger(read: &'a ParsedLedger) -> Self {
        let pruned_last = read.last().map_or(&[][..], |line| line.body.pruned_runs());
        let mut runs = Self { pruned_last, ..Self::default() };
        for (_, line) in &read.lines {
            match line.body.about_runs() {
                Some(RunLine::Sealed(record)) => drop(runs.runs.insert(&record.run_id, (line.sequence.0, record))),
                Some(RunLine::Superseded(record)) => drop(runs.superseded.insert(&record.run_id, &record.task)),
                Some(RunLine::Pruned(pruned)) => {
                    runs.pruned.extend(pruned.iter().map(|run| &run.run_id));
                    for run in pruned {
                        // A packed run that was pruned or purged later is that.
                        match run.why {
                            PruneReason::Archived => runs.packed.insert(&run.run_id),
                            PruneReason::Days | PruneReason::Runs | PruneReason::Bytes | PruneReason::Purged => {
                                runs.packed.remove(&run.run_id)
                            }
                        };
                    }
                }
                None => {}
            }
        }
        runs
    }

    /// Returns whether a line is about a run of this task, so that the task has a directory.
    pub(super) fn has_task(&self, task: &TaskId) -> bool {
        self.runs.values().any(|(_, record)| record.task == *task) || self.superseded.values().any(|of| *of == task)
    }

    /// Returns the run to which `latest` of this task should point.
    pub(super) fn latest(&self, task: &TaskId) -> Option<&'a RunId> {
        let counting = self.runs.values().filter(|(_, record)| record.task == *task && record.leads_latest());
        counting.max_by_key(|(sequence, _)| *sequence).map(|(_, record)| &record.run_id)
    }
}
