//! The steps that bring a run safely to disk, in their order.

use proctor_model::words;

/// A step in making a run durable. The step is reported to a `DurableStepObserver` when it is done.
///
/// A process may die between any two steps. Before [`DurableStep::LedgerCommitted`] the run becomes INTERRUPTED. After
/// it the run is valid, and recovery only repeats the later steps: index, link and publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DurableStep {
    /// `run.json` is written; no process of the run has been started. The `run` folder reports this step.
    RunRecordWritten,
    /// `execution-report.json` is written, not yet synced.
    ReportWritten,
    /// The signatures of the report are written, not yet synced.
    SignaturesWritten,
    /// `SHA256SUMS` is written, not yet synced.
    ManifestWritten,
    /// `run.json` is on disk. Its sync was started before the first process of the run.
    RunRecordSynced,
    /// The files that were complete while the run went on are on disk; their syncs were begun then.
    FilesSynced,
    /// All files of the run and the directory's entries are on disk.
    DirectorySynced,
    /// The run's ledger line is on disk, so the run counts: no failure after this step can undo it.
    LedgerCommitted,
    /// The SQLite index has the run's ledger line. The `run` folder reports this step.
    IndexUpdated,
    /// The link `latest` points to the run. The `run` folder reports this step.
    LatestLinked,
    /// Everyone who waits for the run has been notified. The `run` folder reports this step.
    Published,
}

/// A function that is called after each step. A test may end the process in it, to see what recovery does.
pub type DurableStepObserver<'a> = &'a dyn Fn(DurableStep);

words! {
    /// Returns the name by which tests select the step.
    pub fn DurableStep::name, ALL: RunRecordWritten "run-record-written", ReportWritten "report-written",
        SignaturesWritten "signatures-written", ManifestWritten "manifest-written", RunRecordSynced "run-record-synced",
        FilesSynced "files-synced", DirectorySynced "directory-synced", LedgerCommitted "ledger-committed",
        IndexUpdated "index-updated", LatestLinked "latest-linked", Published "published"
}
