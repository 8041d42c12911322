//! The steps that bring a run safely to disk, in their order.

/// A step in making a run durable. It is reported when it is done.
///
/// A process may die between any two steps. Before [`DurableStep::LedgerCommitted`] the run becomes INTERRUPTED. After it the run
/// is valid, and recovery only repeats the later steps: index, link and publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DurableStep {
    /// `run.json` is written; no process of the run has been started. Reported by the caller.
    RunRecordWritten,
    /// `run.json` is on disk. Its sync was started before the first process of the run.
    RunRecordSynced,
    /// Every other file that was written during the run is on disk.
    FilesSynced,
    /// `execution-report.json` is written, not yet synced.
    ReportWritten,
    /// The signatures of the report are written, not yet synced.
    SignaturesWritten,
    /// `SHA256SUMS` is written, not yet synced.
    ManifestWritten,
    /// Report, signatures, manifest and the directory's entries are on disk.
    DirectorySynced,
    /// The run's ledger line is on disk. This is the commit.
    LedgerCommitted,
    /// The SQLite index has the line. Reported by the caller.
    IndexUpdated,
    /// `latest` points to the run. Reported by the caller.
    LatestLinked,
    /// Everyone who waits for the run has been notified. Reported by the caller.
    Published,
}

/// Called after each step; a test may end the process in it.
pub type DurableStepObserver<'a> = &'a dyn Fn(DurableStep);

impl DurableStep {
    /// All steps, in their order.
    pub const ALL: [Self; 11] = [
        Self::RunRecordWritten,
        Self::RunRecordSynced,
        Self::FilesSynced,
        Self::ReportWritten,
        Self::SignaturesWritten,
        Self::ManifestWritten,
        Self::DirectorySynced,
        Self::LedgerCommitted,
        Self::IndexUpdated,
        Self::LatestLinked,
        Self::Published,
    ];

    /// Returns the name by which tests select the step.
    pub fn name(self) -> &'static str {
        match self {
            Self::RunRecordWritten => "run-record-written",
            Self::RunRecordSynced => "run-record-synced",
            Self::FilesSynced => "files-synced",
            Self::ReportWritten => "report-written",
            Self::SignaturesWritten => "signatures-written",
            Self::ManifestWritten => "manifest-written",
            Self::DirectorySynced => "directory-synced",
            Self::LedgerCommitted => "ledger-committed",
            Self::IndexUpdated => "index-updated",
            Self::LatestLinked => "latest-linked",
            Self::Published => "published",
        }
    }
}
