//! Reads the verdict out of one output of a reviewer.

use crate::review::grammar::{FIELD, RejectionValue, SplitEmphasis, count_mentions, is_approval, parse_rejection};
use crate::review::quoting::{lines, says_not_to_merge};
use proctor_model::words;

/// The most bytes that a review may have. A longer review has no verdict.
pub const OUTPUT_CAP: usize = 1024 * 1024;

/// Characters that are invisible but are not white space. A text that has only such characters and white space counts
/// as empty.
const INVISIBLE: &[char] = &['\0', '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}'];

/// The output of a reviewer, and what went wrong with its command.
#[derive(Debug, Clone, Copy)]
pub struct ReviewerOutput<'o> {
    /// The standard output, or its beginning if it is longer than [`OUTPUT_CAP`].
    pub bytes: &'o [u8],
    /// The length of the whole standard output in bytes.
    pub total: u64,
    /// What went wrong with the command; `None` if it ended by itself with exit code 0.
    pub fault: Option<ReviewerFault>,
}

/// Why a reviewer's output may be incomplete. Such an output has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewerFault {
    /// The command ended with this exit code, which is not 0.
    ExitCode(i32),
    /// This signal ended the command.
    Signal(i32),
    /// The command was stopped because it took too long or printed too much.
    Limit,
    /// How the command ended is not known, or other processes could still write to its output.
    Unknown,
}

/// The verdict that is read out of one output of the reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParsedReview {
    /// The output has exactly one approval line, outside of quotations, no HTML, no rejection, and nothing that says not to
    /// merge.
    Approved,
    /// The output has at least one rejection line.
    Rejected(Rejection),
    /// The output has no verdict that counts; `kind` says why.
    Malformed {
        kind: Malformation,
        /// Whether the output has a rejection line nevertheless. If it has, an approval by the retry does not count.
        holds_rejection: bool,
    },
}

/// The severity of a rejection, the milder one first. The severest rejection line of an output counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rejection {
    /// The code may be merged once it is fixed.
    WithFixes,
    No,
}

/// Why a reviewer's output has no verdict that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformation {
    /// The output may be incomplete, because the reviewer's command failed or was stopped.
    Transport(ReviewerFault),
    /// The output is longer than [`OUTPUT_CAP`].
    TooLong,
    /// The output is not UTF-8.
    NotText,
    /// The output is empty or has only white space and invisible characters.
    NoOutput,
    /// The label "Ready to merge" is missing.
    MissingField,
    /// The label "Ready to merge" is there, but with an unknown value or with other words on its line.
    UnknownValue,
    /// The only approval lines are in quotations.
    Quoted,
    /// There is more than one approval line outside of quotations.
    SeveralVerdicts,
    /// There is one approval line, but the label also stands somewhere else in the output.
    MentionedElsewhere,
    /// There is one approval line, but the output has HTML, such as `<details>`, which can hide from a person what it holds.
    InHtml,
    /// There is one approval line, but the output also says not to merge, outside of quotations.
    SaysNotToMerge,
}

/// Reads the verdict of an output. This never fails: an output that neither approves nor rejects is malformed.
pub fn parse_review(output: ReviewerOutput<'_>, split: SplitEmphasis) -> ParsedReview {
    let spoilt = match output.fault {
        Some(fault) => Some(Malformation::Transport(fault)),
        None if output.total > OUTPUT_CAP as u64 || output.bytes.len() > OUTPUT_CAP => Some(Malformation::TooLong),
        None => None,
    };
    match (spoilt, decode(output.bytes)) {
        (Some(kind), _) => malformed(kind, output.bytes),
        (None, None) => malformed(Malformation::NotText, output.bytes),
        (None, Some(text)) => parse_text(&text, split),
    }
}

fn malformed(kind: Malformation, bytes: &[u8]) -> ParsedReview {
    ParsedReview::Malformed { kind, holds_rejection: find_rejection(&decode_lossily(bytes)).is_some() }
}

fn parse_text(text: &str, split: SplitEmphasis) -> ParsedReview {
    if let Some(value) = find_rejection(text) {
        return ParsedReview::Rejected(value);
    }
    match why_not_approved(text, split) {
        None => ParsedReview::Approved,
        Some(kind) => ParsedReview::Malformed { kind, holds_rejection: false },
    }
}

/// Returns the severest rejection in a text. Rejections in quotations count as well: a quotation may worsen a verdict,
/// but never improve it.
fn find_rejection(text: &str) -> Option<Rejection> {
    let values = text.split('\n').filter_map(parse_rejection).map(|value| match value {
        RejectionValue::WithFixes => Rejection::WithFixes,
        RejectionValue::No => Rejection::No,
    });
    values.max()
}

/// Returns why a text without a rejection does not approve either; `None` if it approves.
fn why_not_approved(text: &str, split: SplitEmphasis) -> Option<Malformation> {
    if is_blank(text) {
        return Some(Malformation::NoOutput);
    }
    let mentions = count_mentions(text);
    let lines = lines(text);
    let approvals: Vec<_> = lines.iter().filter(|line| is_approval(line.text, split)).collect();
    let unquoted = approvals.iter().filter(|line| !line.is_quoted).count();
    match (mentions, approvals.len(), unquoted) {
        (1, 1, 1) if lines.iter().any(|line| line.has_html) => Some(Malformation::InHtml),
        (1, 1, 1) => says_not_to_merge(&lines).then_some(Malformation::SaysNotToMerge),
        (0, ..) => Some(Malformation::MissingField),
        (_, 0, _) => Some(Malformation::UnknownValue),
        (_, _, 0) => Some(Malformation::Quoted),
        (_, _, 1) => Some(Malformation::MentionedElsewhere),
        (..) => Some(Malformation::SeveralVerdicts),
    }
}

/// Returns the text of a review, with LF line ends and without its byte order mark; `None` if the bytes are not UTF-8.
fn decode(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?;
    Some(normalise(text))
}

/// Returns the text of an output that can have no verdict: it is not UTF-8, is too long, or its command failed. Callers
/// search it only for rejections.
fn decode_lossily(bytes: &[u8]) -> String {
    normalise(&String::from_utf8_lossy(&bytes[..bytes.len().min(OUTPUT_CAP)]))
}

fn normalise(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}

/// Returns whether a person would see nothing of the text.
fn is_blank(text: &str) -> bool {
    text.chars().all(|one| one.is_whitespace() || INVISIBLE.contains(&one))
}

impl Malformation {
    /// Returns the reason in words for people. The words continue the sentence "the review …".
    pub fn describe(self) -> String {
        match self {
            Self::Transport(ReviewerFault::ExitCode(code)) => {
                format!("ended with exit code {code}: what it printed does not count")
            }
            Self::Transport(ReviewerFault::Signal(signal)) => {
                format!("was ended by signal {signal}: what it printed does not count")
            }
            Self::Transport(ReviewerFault::Limit) => "was stopped at a limit: what it printed does not count".to_owned(),
            Self::Transport(ReviewerFault::Unknown) => "ended in an unknown way: what it printed does not count".to_owned(),
            Self::TooLong => format!("is longer than the {OUTPUT_CAP} bytes that are read"),
            Self::NotText => "is not UTF-8 text".to_owned(),
            Self::NoOutput => "returned no output".to_owned(),
            Self::MissingField => format!("is missing the '{FIELD}?' field"),
            Self::UnknownValue => format!("has no line that is '{FIELD}? Yes', 'No' or 'With fixes' and nothing else"),
            Self::Quoted => format!("has its '{FIELD}? Yes' only in a quotation"),
            Self::SeveralVerdicts => format!("has several lines '{FIELD}? Yes'"),
            Self::InHtml => format!(
                "says '{FIELD}? Yes' and has HTML, such as `<details>` or a comment, where a person may not see it: write Markdown \
                 alone, and code between backticks"
            ),
            Self::SaysNotToMerge => format!("says '{FIELD}? Yes', and somewhere else not to merge, or only with fixes"),
            Self::MentionedElsewhere => format!("mentions '{FIELD}' beside its verdict, so that it is not clear which counts"),
        }
    }
}

words! {
    /// Returns the code by which reports name this malformation.
    pub fn Malformation::word: Transport "TRANSPORT", TooLong "TOO_LONG", NotText "NOT_TEXT", NoOutput "NO_OUTPUT",
        MissingField "MISSING_FIELD", UnknownValue "UNKNOWN_VALUE", Quoted "QUOTED", SeveralVerdicts "SEVERAL_VERDICTS",
        MentionedElsewhere "MENTIONED_ELSEWHERE", InHtml "IN_HTML", SaysNotToMerge "SAYS_NOT_TO_MERGE"
}
