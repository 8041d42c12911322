//! What is known of a tool's report apart from its content.

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
