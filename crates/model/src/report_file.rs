//! What is known of a tool's report apart from its content.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::Timestamp;
use proctor_wire::wire;

/// How the file of a tool's report came to be. It is observed from outside of the action, so the tested code can change the file
/// again, but cannot hide that it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportFileHistory {
    /// How many times the file was opened for writing and closed again, or was put in its place by a rename. `None` if that is not
    /// known.
    pub writes: Option<u32>,
    /// When the file was last changed, by the clock of the file system. `None` if the file does not exist, or if that clock differs
    /// from the one by which the action's output is timed.
    pub changed: Option<Timestamp>,
}

/// The report that a check's command writes, and by which the check is judged.
#[wire(open, written, schema)]
pub struct ReportFile {
    /// The path relative to the project, or a glob for several files below one directory. A path that begins with
    /// [`OUT`](Self::OUT) lies in the check's own directory for reports.
    pub file: String,
    pub format: ReportFormat,
}

impl ReportFile {
    /// What a path begins with that lies in the directory that the variable `PROCTOR_OUT` names.
    pub const OUT: &'static str = "$PROCTOR_OUT/";

    /// Returns the path inside of the check's own directory for reports; `None` if the file lies in the project.
    pub fn in_own_directory(&self) -> Option<&str> {
        self.file.strip_prefix(Self::OUT)
    }

    /// Returns the directory below which the files of a glob lie, relative to the project; `None` if the path is no glob.
    pub fn directory_of_glob(&self) -> Option<&str> {
        let first = self.file.find(Self::IS_OF_GLOB)?;
        Some(self.file[..first].rsplit_once('/').map_or("", |(directory, _)| directory))
    }

    /// The characters that make a path a glob.
    const IS_OF_GLOB: [char; 4] = ['*', '?', '[', '{'];
}

/// The formats of reports that any check may write.
#[wire(Copy, lower, written, schema)]
pub enum ReportFormat {
    /// A format of tests, which the content shows.
    Tests,
    /// The XML that JUnit's Ant task wrote first, and most test runners write.
    Junit,
    /// The Test Anything Protocol.
    Tap,
    /// The Common Test Report Format: JSON.
    Ctrf,
    /// The XML of Visual Studio's test results.
    Trx,
    /// The Static Analysis Results Interchange Format: JSON.
    Sarif,
    /// The XML of Checkstyle.
    Checkstyle,
}

impl ReportFormat {
    /// Returns whether the report has findings, which a policy judges, and no tests.
    pub const fn has_findings(self) -> bool {
        matches!(self, Self::Sarif | Self::Checkstyle)
    }
}

words! {
    /// Returns the word for the format in `proctor.toml`; empty if the content shows it.
    pub fn ReportFormat::word: Tests "", Junit "junit", Tap "tap", Ctrf "ctrf", Trx "trx", Sarif "sarif",
        Checkstyle "checkstyle"
}

// A report of a tool that is too large to be held in memory.

/// An open file with a tool's report. The file has no name, so nothing but this program can read or change it.
#[derive(Debug, Clone)]
pub struct LargeReport {
    file: Arc<File>,
    bytes: u64,
}

/// Reads a [`LargeReport`] from its beginning. Several readers do not disturb each other.
#[derive(Debug)]
pub struct LargeReportReader<'r> {
    report: &'r LargeReport,
    at: u64,
}

impl LargeReport {
    /// Takes an open file without a name, and its length.
    pub fn new(file: File, bytes: u64) -> Self {
        Self { file: Arc::new(file), bytes }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn reader(&self) -> LargeReportReader<'_> {
        LargeReportReader { report: self, at: 0 }
    }
}

impl Read for LargeReportReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.report.bytes.saturating_sub(self.at);
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.report.file.read_at(&mut buffer[..most], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Two reports are the same if they are the same file.
impl PartialEq for LargeReport {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file, &other.file)
    }
}

impl Eq for LargeReport {}
