//! Captured outputs of real tools, for the tests of this crate and of those that judge what it reads.

use std::fs;
use std::path::{Path, PathBuf};

use crate::samples::{Returned, stream};
use proctor_model::{ActionEnd, CoverageTarget, Interpretation, ReportFile, ReportFormat, Tool, ToolClass, ToolReport};

const NO_LINE_END: &str = "\n<<< no line end >>>\n";

/// A captured output: the command, how it ended, and what it wrote.
pub struct Fixture {
    pub tool: Tool,
    pub command: String,
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub report: Option<String>,
    /// Whether the head of the fixture says that no report was requested.
    pub has_no_request: bool,
    pub coverage: Option<String>,
}

/// Returns the directory of the captured outputs.
pub fn directory() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("fixtures/tools")
}

/// Returns a captured output, by its path in [`directory`].
pub fn read(path: &str) -> Fixture {
    let text = fs::read_to_string(directory().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut parts = text.split("<<< ");
    let head = parts.next().expect("a split has a first part");
    let section = |name: &str| {
        let start = format!("<<< {name} >>>\n");
        let rest = &text[text.find(&start)? + start.len()..];
        let end = ["stdout", "stderr", "report", "coverage"]
            .iter()
            .filter_map(|next| rest.find(&format!("<<< {next} >>>\n")))
            .min()
            .unwrap_or(rest.len());
        let section = &rest[..end];
        Some(section.strip_suffix(NO_LINE_END).unwrap_or(section).to_owned())
    };
    let line = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(|rest| rest.trim().to_owned());
    Fixture {
        tool: Tool::ALL.into_iter().find(|tool| path.starts_with(&format!("{}/", tool.word()))).expect("a folder for each tool"),
        command: line("command").expect("a fixture names its command"),
        code: line("exit").and_then(|code| code.parse().ok()).expect("a fixture names its exit code"),
        stdout: section("stdout").unwrap_or_default(),
        stderr: section("stderr").unwrap_or_default(),
        report: section("report"),
        has_no_request: head.lines().any(|line| line == "report not requested"),
        coverage: section("coverage"),
    }
}

/// Returns what is read from a captured output.
pub fn interpret(path: &str) -> Interpretation {
    let fixture = read(path);
    let fresh =
        |text: &Option<String>| text.as_ref().map_or(ToolReport::Missing, |text| ToolReport::Fresh(text.clone().into_bytes()));
    let mut returned = Returned::exited(fixture.tool, &fixture.command, fixture.code);
    returned.end = ActionEnd::Exited { code: fixture.code };
    returned.stdout = stream(&fixture.stdout);
    returned.stderr = stream(&fixture.stderr);
    if fixture.tool.class() == ToolClass::Test && !fixture.has_no_request {
        returned.report = fresh(&fixture.report);
        returned.channel = Some("argument");
    }
    if fixture.tool.is_of_report() {
        returned.action.report = Some(ReportFile { file: "junit.xml".to_owned(), format: ReportFormat::Tests });
    }
    if fixture.coverage.is_some() {
        returned.action.coverage = Some(CoverageTarget { minimum_basis_points: 9000, report: "coverage.json".to_owned() });
        returned.coverage = fresh(&fixture.coverage);
    }
    returned.interpret()
}

/// Returns the tool, the exit code and the result of a captured output, for tests in other modules.
pub fn captured(path: &str) -> (Tool, i32, Interpretation) {
    let fixture = read(path);
    (fixture.tool, fixture.code, interpret(path))
}
