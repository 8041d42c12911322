//! What was observed about a run's actions, in the form to which conditions refer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::condition::{ConditionContext, Field, FieldValue, OutputText};
use proctor_model::{
    ActionId, ActionPhase, ActionType, Blocking, ClientFacts, ConditionValue, DiagnosticSummary, DurationMs, ResultType,
    StreamExcerpt, TestResults, ToolClass,
};

/// What was observed about one action. If something was not observed, its field is `None`, and a condition on that
/// field is unknown.
#[derive(Debug, Clone)]
pub struct SeenAction<'a> {
    pub id: &'a ActionId,
    pub action_type: ActionType,
    pub phase: ActionPhase,
    pub class: ToolClass,
    /// The result; SUCCESS for an unchanged prerequisite; `None` if the action was not carried out.
    pub status: Option<ResultType>,
    /// The reason of the result, in words for people.
    pub reason: Option<&'a str>,
    pub blocking: Blocking,
    /// Whether the action failed as declared (C06).
    pub is_expected_failure: bool,
    /// The exit code of a process that exited by itself.
    pub exit_code: Option<i32>,
    pub duration: Option<DurationMs>,
    /// The standard output of the action's process.
    pub stdout: Option<&'a StreamExcerpt>,
    /// The standard error of the action's process.
    pub stderr: Option<&'a StreamExcerpt>,
    /// The findings of the action's tool, after the policy was applied.
    pub findings: Option<&'a DiagnosticSummary>,
    /// The results in the action's test report.
    pub tests: Option<&'a TestResults>,
    /// What was observed about the file that the action checks.
    pub file: Option<SeenFile>,
    /// The answer to the HTTP request that the action sends.
    pub answer: Option<SeenAnswer>,
    /// What a client of a database or a browser showed.
    pub client: Option<ClientFacts>,
}

/// What was observed about a file that an action checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenFile {
    pub exists: bool,
    /// The size in bytes, if the file exists.
    pub size: Option<u64>,
    /// Whether the content is JSON, if that was checked.
    pub is_valid_json: Option<bool>,
    /// Whether the content matches the expected pattern, if that was checked.
    pub pattern_matches: Option<bool>,
}

/// The answer to a request, as conditions refer to it.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenAnswer {
    /// The status code of the HTTP answer.
    pub status: u16,
    /// The headers by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body as JSON, otherwise as text; `None` if it was not stored completely.
    pub parsed_body: Option<Value>,
}

/// What was observed about all actions of a run. Conditions take their values from here.
pub(super) struct SeenRun<'a>(pub(super) &'a [SeenAction<'a>]);

impl SeenRun<'_> {
    pub(super) fn action(&self, id: &ActionId) -> Option<&SeenAction<'_>> {
        self.0.iter().find(|action| action.id == id)
    }
}

impl ConditionContext for SeenRun<'_> {
    fn field(&self, action: &ActionId, field: Field) -> Option<FieldValue<'_>> {
        self.action(action)?.field(field)
    }
}

impl SeenAction<'_> {
    fn field(&self, field: Field) -> Option<FieldValue<'_>> {
        let count = |count: u64| Some(FieldValue::from(as_number(count)));
        match field {
            Field::ExitCode => self.exit_code().map(|code| FieldValue::from(f64::from(code))),
            Field::Success => self.status.map(|status| FieldValue::from(status == ResultType::Success)),
            Field::Result if self.action_type == ActionType::HttpRequest => None,
            Field::Result => self.status.map(|status| FieldValue::Scalar(ConditionValue::Text(status.word().to_owned()))),
            Field::Duration => count(self.duration?.0),
            Field::Stdout => self.stdout.map(|stream| FieldValue::Output(text_of(stream))),
            Field::Stderr => self.stderr.map(|stream| FieldValue::Output(text_of(stream))),
            Field::ErrorCount => count(self.findings?.errors),
            Field::WarningCount => count(self.findings?.warnings),
            Field::TestsPassed => count(self.tests?.counts.passed),
            Field::TestsFailed => count(self.tests?.counts.failed),
            Field::TestsSkipped => count(self.tests?.counts.skipped),
            Field::TestsTotal => count(self.tests?.total),
            Field::StatusCode => self.answer.as_ref().map(|answer| FieldValue::from(f64::from(answer.status))),
            Field::Body => self.answer.as_ref()?.parsed_body.as_ref().map(FieldValue::Json),
            Field::Headers => self.answer.as_ref().map(|answer| FieldValue::Texts(&answer.headers)),
            Field::Exists => self.file.map(|file| FieldValue::from(file.exists)),
            Field::Size => count(self.file?.size?),
            Field::IsValidJson => self.file?.is_valid_json.map(FieldValue::from),
            Field::PatternMatches => self.file?.pattern_matches.map(FieldValue::from),
            Field::Count => count(self.client?.rows?),
            Field::Initialized => self.client?.initialized.map(FieldValue::from),
        }
    }

    /// Returns the exit code. For an action without a process, a query and an action of a browser it is 0 for SUCCESS and 1
    /// otherwise (C66).
    pub(super) fn exit_code(&self) -> Option<i32> {
        match self.action_type {
            ActionType::FileValidation | ActionType::HttpRequest | ActionType::DatabaseQuery | ActionType::McpBrowserCommand => {
                self.status.map(|status| i32::from(status != ResultType::Success))
            }
            ActionType::TerminalCommand | ActionType::CustomScript | ActionType::Review | ActionType::DockerCommand => {
                self.exit_code
            }
        }
    }
}

/// Returns a stream as text. If the cut between head and tail splits a character, the character's bytes are dropped
/// from both parts.
pub(super) fn text_of(stream: &StreamExcerpt) -> OutputText<'_> {
    if stream.tail.is_empty() && stream.is_complete() {
        return OutputText { parts: vec![String::from_utf8_lossy(&stream.head)], complete: true };
    }
    if stream.is_complete() {
        let whole = [stream.head.as_slice(), &stream.tail].concat();
        return OutputText { parts: vec![Cow::Owned(String::from_utf8_lossy(&whole).into_owned())], complete: true };
    }
    let continues = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let head = &stream.head[..stream.head.len() - divided_at_end(&stream.head)];
    let skipped = stream.tail.iter().take(3).take_while(|byte| continues(byte)).count();
    let parts = vec![String::from_utf8_lossy(head), String::from_utf8_lossy(&stream.tail[skipped..])];
    OutputText { parts, complete: false }
}

/// Returns how many bytes at the end belong to an incomplete UTF-8 character.
fn divided_at_end(bytes: &[u8]) -> usize {
    let Some(back) = bytes.iter().rev().take(3).position(|byte| *byte >= 0b1100_0000) else { return 0 };
    let lead = bytes[bytes.len() - 1 - back];
    let needed = match lead {
        0b1111_0000.. => 4,
        0b1110_0000.. => 3,
        _ => 2,
    };
    if back + 1 < needed { back + 1 } else { 0 }
}

#[expect(clippy::cast_precision_loss, reason = "counts, sizes and milliseconds stay far below the integers a float cannot hold")]
fn as_number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::divided_at_end;

    #[test]
    fn a_character_that_does_not_end_is_left_out_whole_and_one_that_does_is_kept() {
        for (text, bytes) in [("a", 1), ("é", 2), ("✓", 3), ("😀", 4)] {
            for end in 1..=bytes {
                let expected = if end == bytes { 0 } else { end };
                assert_eq!(divided_at_end(&text.as_bytes()[..end]), expected, "{end} bytes of {text}");
                assert_eq!(divided_at_end(&[b"before ", &text.as_bytes()[..end]].concat()), expected, "{end} bytes of {text}");
            }
        }
        assert_eq!(divided_at_end(b""), 0);
        assert_eq!(divided_at_end(&[0x80, 0x80, 0x80, 0x80]), 0, "what begins nowhere is no part of a character");
    }
}
