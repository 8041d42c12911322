//! Sample actions and outputs for the tests of the interpreters.

use std::path::Path;
use std::time::Duration;

use crate::model::testing;
use crate::model::{Action, ActionEnd, ActionPhase, CommandLine, Interpretation, StreamExcerpt, Tool, ToolReport};
use crate::shell::split_words;
use crate::tools::interpret::{Input, interpret};

/// Returns an action that runs `command` in `/project`.
pub(super) fn action(tool: Tool, command: &str) -> Action {
    let argv = split_words(command).expect("a sample command is made of valid words");
    let command = CommandLine { argv, display: command.to_owned(), shell: false };
    Action { name: "sample".to_owned(), command, timeout: Duration::from_secs(60), ..testing::action(tool, ActionPhase::Step) }
}

/// Returns the excerpt of a stream that held `bytes` and was not cut.
pub(super) fn stream(bytes: impl AsRef<[u8]>) -> StreamExcerpt {
    let bytes = bytes.as_ref();
    StreamExcerpt { total: bytes.len() as u64, head: bytes.to_vec(), tail: Vec::new() }
}

/// The sample result of an action: exit code, output and report. Everything that a test does not set is empty.
#[derive(Debug, Clone)]
pub(super) struct Returned {
    pub(super) action: Action,
    pub(super) end: ActionEnd,
    pub(super) stdout: StreamExcerpt,
    pub(super) stderr: StreamExcerpt,
    pub(super) report: ToolReport,
    pub(super) coverage: ToolReport,
    pub(super) channel: Option<&'static str>,
    pub(super) survivors: usize,
    /// The names in the directories of the project.
    pub(super) names_in: fn(&Path) -> Vec<String>,
}

impl Returned {
    /// Returns the result of a `command` that exited with `code` and printed nothing.
    pub(super) fn exited(tool: Tool, command: &str, code: i32) -> Self {
        Self {
            action: action(tool, command),
            end: ActionEnd::Exited { code },
            stdout: stream(""),
            stderr: stream(""),
            report: ToolReport::NotRequested,
            coverage: ToolReport::NotRequested,
            channel: None,
            survivors: 0,
            names_in: |_| Vec::new(),
        }
    }

    /// Returns the result of a pytest run that exited with `code` and wrote `report`.
    pub(super) fn pytest(code: i32, report: &str) -> Self {
        let report = ToolReport::Fresh(report.as_bytes().to_vec());
        Self { report, channel: Some("argument"), ..Self::exited(Tool::Pytest, "pytest", code) }
    }

    /// Returns this sample result with other texts as standard output and standard error.
    pub(super) fn saying(mut self, stdout: &str, stderr: &str) -> Self {
        self.stdout = stream(stdout);
        self.stderr = stream(stderr);
        self
    }

    /// Judges the sample result as a real action's result is judged.
    pub(super) fn interpret(&self) -> Interpretation {
        self.with_input(interpret)
    }

    /// Calls a function with the sample result as its [`Input`].
    pub(super) fn with_input(&self, interpret: impl FnOnce(&Input<'_>) -> Interpretation) -> Interpretation {
        interpret(&Input {
            action: &self.action,
            end: &self.end,
            stdout: &self.stdout,
            stderr: &self.stderr,
            report: &self.report,
            coverage: &self.coverage,
            report_channel: self.channel,
            project_root: Path::new("/project"),
            names_in: self.names_in,
            survivors: self.survivors,
        })
    }
}
