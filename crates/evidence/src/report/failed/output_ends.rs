//! The beginning and the end of what a failed command printed.

use crate::report::ActionResultV2;
use crate::report::failed::frames::without_outside_frames;
use proctor_model::{CategoryCode, Tool};

/// Of a failed command's output, at most this many of the first and of the last lines are shown, each with at most
/// [`SHOWN_OUTPUT_WIDTH`] characters. Many tools name the cause first and end with advice.
const FIRST_LINES: usize = 4;
const LAST_LINES: usize = 6;
const SHOWN_OUTPUT_WIDTH: usize = 160;

/// Returns the first and last lines of a command's standard error, or of its standard output if standard error has no text, with a line
/// that says that some are left out between them. After a time-out, the stream with the tool's progress comes first: the second stream may
/// have only an old warning.
pub fn output_ends(result: &ActionResultV2) -> Vec<String> {
    let Some(outcome) = &result.result else { return Vec::new() };
    let said = |stream: &Option<String>| stream.clone().filter(|text| !text.trim().is_empty());
    let is_time_out = result.classification.as_ref().is_some_and(|one| one.code == CategoryCode::TimedOut);
    let tool = Tool::ALL.into_iter().find(|tool| tool.report_name() == result.tool);
    let text = if is_time_out && tool.is_some_and(Tool::shows_progress_on_stdout) {
        said(&outcome.stdout).or_else(|| said(&outcome.stderr))
    } else {
        said(&outcome.stderr).or_else(|| said(&outcome.stdout))
    };
    let Some(text) = text else { return Vec::new() };
    let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let lines = without_outside_frames(&lines);
    let mut shown: Vec<String> = lines.iter().map(|line| line.chars().take(SHOWN_OUTPUT_WIDTH).collect()).collect();
    // A line about one line that is left out would take its place.
    if shown.len() > FIRST_LINES + LAST_LINES + 1 {
        let left_out = shown.len() - FIRST_LINES - LAST_LINES;
        shown.splice(FIRST_LINES..FIRST_LINES + left_out, ["… lines are left out".to_owned()]);
    }
    shown
}
