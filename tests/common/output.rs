//! The end of a command: its output, its exit status, and the files that it has written to the store.

use std::path::PathBuf;

use serde_json::Value;

use crate::common::redact::{Redactions, redact};
use crate::common::store::Store;

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The exit code, or 128 plus the number of the signal that ended the command.
    pub(crate) status: i32,
    pub(super) store: Store,
    pub(crate) redactions: Redactions,
}

/// The beginnings of lines that depend on the machine: about actions that were not over yet, and about toolchains that are not hashed
/// yet.
const OF_THE_MACHINE: [&str; 2] = ["  … ", "  note: toolchain: not hashed yet"];

/// Returns a text without the lines that depend on the machine.
fn without_lines_of_the_machine(stream: &str) -> String {
    let is_of_machine = |line: &&str| OF_THE_MACHINE.iter().any(|beginning| line.starts_with(beginning));
    stream.split_inclusive('\n').filter(|line| !is_of_machine(line)).collect()
}

impl Output {
    /// Returns exit status, stdout and stderr as one text in which everything that differs from run to run is redacted (house style T7).
    pub(crate) fn snapshot(&self) -> String {
        let mut text = format!("exit status: {}\n", self.status);
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !stream.is_empty() {
                text.push_str(&format!("--- {name}\n{}", without_lines_of_the_machine(stream)));
                if !stream.ends_with('\n') {
                    text.push_str("\n(no newline at the end)\n");
                }
            }
        }
        redact(&text, &self.redactions)
    }

    /// Returns standard output as JSON. It must be the one document that `--json` prints.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not one JSON document: {error}\n{}", self.stdout))
    }

    /// Returns the latest sealed report of the task `default`.
    #[track_caller]
    pub(crate) fn report(&self) -> Value {
        self.store.report("default")
    }

    /// Returns the directory of the latest committed run of the task `default`.
    #[track_caller]
    pub(crate) fn run_directory(&self) -> PathBuf {
        self.store.run_directory("default")
    }

    /// Returns the lines of the project's ledger as JSON.
    #[track_caller]
    pub(crate) fn ledger(&self) -> Vec<Value> {
        self.store.ledger()
    }
}
