//! Checks that a report of pytest alone has an interpretation under each exit code that can come with a report.

use proctor_model::Tool;

use super::interpretation;

/// The line before the report in a captured output.
const REPORT: &[u8] = b"<<< report >>>\n";

/// Checks the rules of `interpretation.rs` for one report under each exit code. The input is the report, or a captured
/// output that contains a report.
///
/// # Panics
///
/// When a rule does not hold.
pub(crate) fn hold(bytes: &[u8]) {
    let start = bytes.windows(REPORT.len()).position(|window| window == REPORT).map_or(0, |start| start + REPORT.len());
    for code in 0..7 {
        let mut input = format!("command pytest\nexit {code}\n").into_bytes();
        input.extend_from_slice(REPORT);
        input.extend_from_slice(&bytes[start..]);
        interpretation::hold(Some(Tool::Pytest), &input);
    }
}
