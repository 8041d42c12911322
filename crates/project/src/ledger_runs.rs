//! Runs as lines of the ledger describe them. Every line was checked: its signature and its place in the chain.
//!
//! The seal of the index does not cover the rows of older runs, so another program may have added, changed or removed such rows.
//! What decides something is therefore read here. The index only tells where a line may be.

use std::collections::BTreeMap;

use crate::error::ProjectError;
use proctor_evidence::report::{ExecutionReportV2, parse, report_hash};
use proctor_evidence::{self as evidence, EvidenceError, LedgerLookup, NewestLines, Store};
use proctor_index::{self as store, IndexedRun, line_mark};
use proctor_model::{Digest, LedgerLine, OverallStatus, ProjectId, PruneReason, RunId, RunLine, RunRecord, Sequence, TaskId};

/// The runs of a ledger, newest first. The iterator ends after the first error.
pub struct LedgerRuns<'a> {
    lines: NewestLines<'a>,
    pruned: BTreeMap<RunId, PruneReason>,
}

impl<'a> LedgerRuns<'a> {
    pub fn newest(ledger: &'a LedgerLookup) -> Self {
        Self { lines: ledger.newest(), pruned: BTreeMap::new() }
    }

    /// Returns the limit because of which a run was pruned. This is known of every run that the iterator has returned, and of
    /// every older run that was pruned after that: a run is pruned by a line that comes after its own.
    pub fn pruned(&self, run_id: &RunId) -> Option<PruneReason> {
        self.pruned.get(run_id).copied()
    }
}

impl Iterator for LedgerRuns<'_> {
    type Item = Result<IndexedRun, ProjectError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = match self.lines.next()? {
                Ok(line) => line,
                Err(error) => return Some(Err(ProjectError::Evidence(error))),
            };
            if let Some(RunLine::Pruned(runs)) = line.body.about_runs() {
                self.pruned.extend(runs.iter().map(|run| (run.run_id.clone(), run.why)));
            }
            if let Some(run) = IndexedRun::of_line(&line) {
                return Some(Ok(run));
            }
        }
    }
}

/// Returns the newest run that was not superseded, and the limit because of which it was pruned.
///
/// # Errors
/// When the ledger cannot be read, or a line is not as proctor wrote it.
pub(crate) fn newest_sealed_run(ledger: &LedgerLookup) -> Result<Option<(IndexedRun, Option<PruneReason>)>, ProjectError> {
    let mut runs = LedgerRuns::newest(ledger);
    while let Some(run) = runs.next().transpose()? {
        if run.status != OverallStatus::Superseded {
            let why = runs.pruned(&run.run_id);
            return Ok(Some((run, why)));
        }
    }
    Ok(None)
}

/// Returns the run with this number; `None` if the ledger has no such run.
///
/// Numbers only grow along the ledger, and none is greater than that of the run's line. Between two runs that are counted there are at
/// least as many lines as runs, so few lines are read. In an older store a run has the number that the next line had when it began,
/// and a jump may go too far there: then the lines are read one after the other.
///
/// # Errors
/// When the ledger cannot be read, or a line is not as proctor wrote it.
pub(crate) fn run_with_number(
    store: &Store,
    ledger: &LedgerLookup,
    project: &ProjectId,
    number: u64,
) -> Result<Option<IndexedRun>, ProjectError> {
    let (mut from, mut before, mut is_jumping) = (Sequence(number), None, true);
    loop {
        match first_run_from(store, ledger, project, from)? {
            Some(run) if run.run_id.number() == number => return Ok(Some(run)),
            Some(run) if run.run_id.number() < number => {
                let step = if is_jumping { number - run.run_id.number() } else { 1 };
                (from, before) = (Sequence(run.sequence.0 + step), Some(run.sequence));
            }
            Some(_) | None => {
                let Some(before) = before.filter(|_| is_jumping) else { return Ok(None) };
                (from, is_jumping) = (Sequence(before.0 + 1), false);
            }
        }
    }
}

/// Returns the first run that has its line at this place of the ledger or after it.
fn first_run_from(
    store: &Store,
    ledger: &LedgerLookup,
    project: &ProjectId,
    from: Sequence,
) -> Result<Option<IndexedRun>, ProjectError> {
    let Some((end, first)) = ledger.find_with_end(from)? else { return Ok(None) };
    if let Some(run) = IndexedRun::of_line(&first) {
        return Ok(Some(run));
    }
    let is_first = |line: &LedgerLine| line_mark(line) == line_mark(&first);
    for line in evidence::read_signed_lines(store, project, end, is_first)? {
        if let Some(run) = IndexedRun::of_line(&line?.1) {
            return Ok(Some(run));
        }
    }
    Ok(None)
}

/// Returns the run with this id; `None` if the ledger has no such run.
///
/// # Errors
/// When the ledger cannot be read.
pub fn run_of_ledger(store: &Store, project: &ProjectId, run_id: &RunId) -> Result<Option<IndexedRun>, ProjectError> {
    let ledger = LedgerLookup::open(store, project)?;
    Ok(run_with_number(store, &ledger, project, run_id.number())?.filter(|run| run.run_id == *run_id))
}

/// Returns what the ledger says of a run that the index has; `None` if it has no such run. The line is looked for where the row says.
///
/// # Errors
/// When the ledger cannot be read.
pub(crate) fn run_of_row(store: &Store, project: &ProjectId, row: &IndexedRun) -> Result<Option<IndexedRun>, ProjectError> {
    let line = LedgerLookup::open(store, project)?.find(row.sequence)?;
    match line.as_ref().and_then(IndexedRun::of_line).filter(|run| run.run_id == row.run_id) {
        Some(run) => Ok(Some(run)),
        None => run_of_ledger(store, project, &row.run_id),
    }
}

/// Returns whether a row of the index says of a run what this line of the ledger says.
pub fn is_told_by(line: &LedgerLine, row: &IndexedRun) -> bool {
    let of_line = IndexedRun::of_line(line).map(|run| IndexedRun { checks: None, ..run });
    of_line.as_ref() == Some(&IndexedRun { checks: None, ..row.clone() })
}

/// Returns the newest run of a task in which a check was executed on inputs with this digest and had a result that may be reused.
/// The index tells where the run's line is. `None` if the index does not know such a run, or says something that the ledger does
/// not say.
///
/// # Errors
/// When the ledger or the index cannot be read, or a line is not as proctor wrote it.
pub fn run_on_inputs(
    store: &Store,
    index: &store::StoreIndex,
    project: &ProjectId,
    task: &TaskId,
    check: &str,
    inputs: Digest,
) -> Result<Option<IndexedRun>, ProjectError> {
    let Some(row) = index.run_on_inputs(project, task, check, inputs)? else { return Ok(None) };
    let ledger = LedgerLookup::open(store, project)?;
    let found = ledger.find_with_end(row.sequence)?;
    let has_inputs = |line: &LedgerLine| has_inputs(line, task, check, inputs);
    let Some((end, line)) = found.filter(|(_, line)| has_inputs(line)) else { return Ok(None) };
    // Another program may have changed the row so that it names an earlier run on the same inputs, which had another result.
    // These lines are bound to the newest one by the chain, and the newest one was checked when the index was updated.
    for later in evidence::read_lines(store, project, end)? {
        let (_, later) = later?;
        if has_inputs(&later) {
            return Ok(None);
        }
    }
    Ok(IndexedRun::of_line(&line))
}

fn has_inputs(line: &LedgerLine, task: &TaskId, check: &str, inputs: Digest) -> bool {
    let is_executed = |record: &RunRecord| record.task == *task && record.inputs.get(check) == Some(&inputs);
    match line.body.about_runs() {
        Some(RunLine::Sealed(record)) => is_executed(record),
        Some(RunLine::Superseded(_) | RunLine::Pruned(_)) | None => false,
    }
}

/// Returns why a run was pruned, from the ledger's lines after the run's own; `None` if no line says that it was.
///
/// # Errors
/// When the ledger cannot be read, or a line is not as proctor wrote it.
pub(crate) fn pruned_since(store: &Store, project: &ProjectId, run: &RunId) -> Result<Option<PruneReason>, ProjectError> {
    let ledger = LedgerLookup::open(store, project)?;
    let mut runs = LedgerRuns::newest(&ledger);
    while let Some(found) = runs.next().transpose()? {
        if found.run_id == *run {
            break;
        }
    }
    Ok(runs.pruned(run))
}

/// Reads a report and verifies it against the ledger.
///
/// # Errors
///
/// When the report cannot be read, or its hash is not the one in the ledger.
pub fn sealed_report(
    store: &Store,
    project: &ProjectId,
    task: &TaskId,
    run_id: &RunId,
) -> Result<ExecutionReportV2, ProjectError> {
    let wrong = |problem: String| ProjectError::Report { run_id: run_id.clone(), problem };
    let bytes = evidence::read_report(store, project, task, run_id);
    let bytes = bytes.map_err(|error| unread_run(store, project, task, run_id, error))?;
    // The hash is checked before the report is parsed: if the file was changed, errors in it do not matter.
    let value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    let known = run_of_ledger(store, project, run_id)?.and_then(|run| run.sealed);
    if known.map(|hashes| hashes.report) != Some(report_hash(value)) {
        return Err(wrong("it is not the one the ledger knows".to_owned()));
    }
    parse(&bytes).map_err(|error| wrong(error.to_string()))
}

/// Returns the error to report where files of a sealed run cannot be read.
pub(crate) fn unread_run(
    store: &Store,
    project: &ProjectId,
    task: &TaskId,
    run_id: &RunId,
    source: EvidenceError,
) -> ProjectError {
    let is_gone = matches!(store.run_directory(project, task, run_id).try_exists(), Ok(false));
    ProjectError::RunEvidence { run_id: run_id.clone(), is_gone, source }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests change a ledger as another program may")]
mod tests;
