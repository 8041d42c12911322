//! Sample actions and outputs for the tests of the interpreters.

use std::path::Path;
use std::time::Duration;

use crate::interpret::{Input, interpret};
use proctor_model::testing;
use proctor_model::{
    Action, ActionEnd, ActionPhase, CommandLine, Interpretation, ReportFileHistory, StreamExcerpt, Timestamp, Tool, ToolReport,
    split_words,
};

/// Returns an action that runs `command` in `/project`.
pub fn action(tool: Tool, command: &str) -> Action {
    let argv = split_words(command).expect("a sample command is made of valid words");
    let command = CommandLine { argv, display: command.to_owned(), shell: false };
    Action { name: "sample".to_owned(), command, timeout: Duration::from_secs(60), ..testing::action(tool, ActionPhase::Step) }
}

/// Returns the excerpt of a stream that held `bytes` and was not cut.
pub fn stream(bytes: impl AsRef<[u8]>) -> StreamExcerpt {
    let bytes = bytes.as_ref();
    StreamExcerpt { total: bytes.len() as u64, head: bytes.to_vec(), tail: Vec::new() }
}

/// The sample result of an action: exit code, output and report. Everything that a test does not set is empty.
#[derive(Debug, Clone)]
pub struct Returned {
    pub action: Action,
    pub end: ActionEnd,
    pub stdout: StreamExcerpt,
    pub stderr: StreamExcerpt,
    pub report: ToolReport,
    pub coverage: ToolReport,
    pub channel: Option<&'static str>,
    pub report_file: ReportFileHistory,
    pub last_output: Option<Timestamp>,
    pub survivors: usize,
    pub is_asked_behind: bool,
    /// The names in the directories of the project.
    pub names_in: fn(&Path) -> Vec<String>,
    /// The texts of the project's files.
    pub source: fn(&Path, &Path) -> Option<String>,
}

impl Returned {
    /// Returns the result of a `command` that exited with `code` and printed nothing.
    pub fn exited(tool: Tool, command: &str, code: i32) -> Self {
        Self {
            action: action(tool, command),
            end: ActionEnd::Exited { code },
            stdout: stream(""),
            stderr: stream(""),
            report: ToolReport::NotRequested,
            coverage: ToolReport::NotRequested,
            channel: None,
            report_file: ReportFileHistory::default(),
            last_output: None,
            survivors: 0,
            is_asked_behind: false,
            names_in: |_| Vec::new(),
            source: |_, _| None,
        }
    }

    /// Returns the result of a quiet pytest run (`-q -q`) that exited with `code` and wrote `report`.
    pub fn pytest(code: i32, report: &str) -> Self {
        let report = ToolReport::Fresh(report.as_bytes().to_vec());
        Self { report, channel: Some("argument"), ..Self::exited(Tool::Pytest, "pytest", code) }.saying("..\n", "")
    }

    /// Returns this sample result with other texts as standard output and standard error.
    pub fn saying(mut self, stdout: &str, stderr: &str) -> Self {
        self.stdout = stream(stdout);
        self.stderr = stream(stderr);
        self
    }

    /// Judges the sample result as a real action's result is judged.
    pub fn interpret(&self) -> Interpretation {
        self.with_input(interpret)
    }

    /// Calls a function with the sample result as its [`Input`].
    pub fn with_input<T>(&self, interpret: impl FnOnce(&Input<'_>) -> T) -> T {
        interpret(&Input {
            action: &self.action,
            end: &self.end,
            stdout: &self.stdout,
            stderr: &self.stderr,
            report: &self.report,
            coverage: &self.coverage,
            report_channel: self.channel,
            report_file: self.report_file,
            last_output: self.last_output,
            project_root: Path::new("/project"),
            names_in: self.names_in,
            source: self.source,
            survivors: self.survivors,
            processes: Some(512),
            is_asked_behind: self.is_asked_behind,
        })
    }
}
