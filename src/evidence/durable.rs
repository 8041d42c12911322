//! The steps by which a run becomes durable, in their order.

/// A step of the durable order; when it is reported, it is done.
///
/// A process may die between any two of them: before [`DurableStep::LedgerCommitted`] the run becomes INTERRUPTED, after it
/// the run stands and only index, link and publication are caught up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DurableStep {
    /// `run.json` is written; nothing has been started yet. Reported by the caller.
    RunRecordWritten,
    /// `run.json`, whose sync was started before the first spawn, is on disk.
    RunRecordSynced,
    /// Every other file that was written while the run went on is on disk.
    FilesSynced,
    /// `execution-report.json` is written and not yet synced.
    ReportWritten,
    /// The signatures of the report are written and not yet synced.
    SignaturesWritten,
    /// `SHA256SUMS` is written and not yet synced.
    ManifestWritten,
    /// Report, signatures, manifest and the directory's entries are on disk.
    DirectorySynced,
    /// The ledger line is on disk: the commit.
    LedgerCommitted,
    /// The SQLite index knows the line. Reported by the caller.
    IndexUpdated,
    /// `latest` points to the run. Reported by the caller.
    LatestLinked,
    /// Everybody who waits has been told. Reported by the caller.
    Published,
}

/// Is told of every step after it is done; a test can die in it.
pub type Observer<'a> = &'a dyn Fn(DurableStep);

impl DurableStep {
    /// All steps in their order.
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

    /// Returns the step's name, as tests select it.
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

    /// Returns the step with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }
}
