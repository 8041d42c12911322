//! What is known of a tool's report apart from its content.

use proctor_wire::wire;

use crate::Timestamp;

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
