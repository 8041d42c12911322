//! What a ledger says about each run of its project, by the kind of ledger line.

use std::collections::{BTreeMap, BTreeSet};

use crate::verification::FaultKind;
use crate::verification::check_ledger::ParsedLedger;
use proctor_model::{PackedRun, PrunedRun, RunId, RunLine, RunRecord, TaskId};

/// What the ledger says about each run, by the kind of ledger line.
#[derive(Default)]
pub(super) struct RunsInLedger<'a> {
    /// The sealed runs, each with the sequence number of its ledger line.
    pub(super) runs: BTreeMap<&'a RunId, (u64, &'a RunRecord)>,
    /// The runs that a newer save stopped, each with its task.
    pub(super) superseded: BTreeMap<&'a RunId, &'a TaskId>,
    pub(super) pruned: BTreeSet<&'a RunId>,
    pub(super) archived: BTreeMap<&'a RunId, &'a PackedRun>,
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
                Some(RunLine::Pruned(pruned)) => runs.pruned.extend(pruned.iter().map(|run| &run.run_id)),
                Some(RunLine::Archived(record)) => runs.archived.extend(record.runs.iter().map(|run| (&run.run_id, run))),
                None => {}
            }
        }
        runs
    }

    /// Returns the runs that are kept as archives, each with its entry in the archiving line and its own ledger record.
    pub(super) fn kept_as_archives(&self) -> Vec<(&'a PackedRun, (u64, &'a RunRecord))> {
        let kept = self.archived.iter().filter(|(run_id, _)| !self.pruned.contains(*run_id));
        kept.filter_map(|(run_id, packed)| Some((*packed, *self.runs.get(run_id)?))).collect()
    }

    /// Returns the fault if a run's archive should not exist, or should not be in this task's directory.
    /// `verify_archive` checks the archive's content.
    pub(super) fn misplaced_archive(&self, task: &TaskId, run_id: &RunId) -> Option<(FaultKind, &'static str)> {
        match self.archived.get(run_id) {
            Some(_) if self.pruned.contains(run_id) => Some((FaultKind::RunPruned, "its archive should be gone")),
            Some(packed) if packed.task == *task => None,
            Some(_) => Some((FaultKind::RunMisplaced, "the ledger lists it under another task")),
            None => Some((FaultKind::ArchiveUnnamed, "there is an archive, but no ledger line")),
        }
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
