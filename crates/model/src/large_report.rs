//! A report of a tool that is too large to be held in memory.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

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
