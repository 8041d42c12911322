//! How a command ended: what it printed, its exit status, and what it left in the store.

use std::path::PathBuf;

use serde_json::Value;

use crate::common::redact::{Redactions, redact};
use crate::common::store::Store;

/// The end of a command.
#[derive(Debug)]
pub(crate) struct Output {
    /// Everything on standard output.
    pub(crate) stdout: String,
    /// Everything on standard error.
    pub(crate) stderr: String,
    /// The exit status; 128 plus the number for a signal.
    pub(crate) status: i32,
    pub(super) store: Store,
    pub(crate) redactions: Redactions,
}

impl Output {
    /// Returns status, stdout and stderr as one text without what differs from run to run (house style T7).
    pub(crate) fn snapshot(&self) -> String {
        let mut text = format!("exit status: {}\n", self.status);
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !stream.is_empty() {
                text.push_str(&format!("--- {name}\n{stream}"));
                if !stream.ends_with('\n') {
                    text.push_str("\n(no newline at the end)\n");
                }
            }
        }
        redact(&text, &self.redactions)
    }

    /// Returns standard output as the one JSON document `--json` prints.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not one JSON document: {error}\n{}", self.stdout))
    }

    /// Returns the latest committed report of the task `default`.
    #[track_caller]
    pub(crate) fn report(&self) -> Value {
        self.store.report("default")
    }

    /// Returns the run directory that report lies in.
    #[track_caller]
    pub(crate) fn run_directory(&self) -> PathBuf {
        self.store.run_directory("default")
    }

    /// Returns the lines of the project's ledger.
    #[track_caller]
    pub(crate) fn ledger(&self) -> Vec<Value> {
        self.store.ledger()
    }
}
