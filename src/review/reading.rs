//! What one output of a reviewer amounts to.

use crate::review::grammar::{FIELD, RejectionValue, SplitEmphasis, is_approval, mentions, rejection};
use crate::review::quoting::lines;
use crate::review::text::{OUTPUT_CAP, decode, decode_lossily, is_blank};

/// What a reviewer printed, and how its command ended.
#[derive(Debug, Clone, Copy)]
pub struct Output<'o> {
    /// Its standard output; the beginning of it where it is longer than [`OUTPUT_CAP`].
    pub bytes: &'o [u8],
    /// How long all of it is.
    pub total: u64,
    /// What went wrong beside the text; none: it ended by itself with exit code 0.
    pub fault: Option<Fault>,
}

/// Why what was printed is not the whole review, whatever it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The command ended with another code than 0.
    ExitCode(i32),
    /// A signal ended it.
    Signal(i32),
    /// It was stopped at a limit: time, or bytes of output.
    Limit,
    /// How it ended is not known.
    Unknown,
}

/// What an output amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// One explicit Yes, and nothing that speaks against it.
    Approved,
    /// An explicit rejection.
    Rejected(Rejection),
    /// No verdict.
    Malformed {
        /// Why there is none.
        kind: Malformation,
        /// Whether a rejection is in it all the same: an approval by the retry does not count then.
        holds_rejection: bool,
    },
}

/// What a rejection says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rejection {
    /// With fixes it may be merged.
    WithFixes,
    /// No.
    No,
}

/// Why an output has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformation {
    /// The command did not end as it should.
    Transport(Fault),
    /// It is longer than what is read.
    TooLong,
    /// It is not UTF-8.
    NotText,
    /// There is nothing in it.
    NoOutput,
    /// The field is not in it.
    MissingField,
    /// The field is in it, with no value that is known, or not as a line of its own.
    UnknownValue,
    /// The approval is in a quotation.
    Quoted,
    /// The approval is there more than once.
    SeveralVerdicts,
    /// The field is mentioned beside the approval.
    MentionedElsewhere,
}

/// Reads what a reviewer printed. Total: every input is one of three things.
pub fn read_review(output: Output<'_>, split: SplitEmphasis) -> Reading {
    let spoilt = match output.fault {
        Some(fault) => Some(Malformation::Transport(fault)),
        None if output.total > OUTPUT_CAP as u64 || output.bytes.len() > OUTPUT_CAP => Some(Malformation::TooLong),
        None => None,
    };
    match (spoilt, decode(output.bytes)) {
        (Some(kind), _) => malformed(kind, output.bytes),
        (None, None) => malformed(Malformation::NotText, output.bytes),
        (None, Some(text)) => read_text(&text, split),
    }
}

fn malformed(kind: Malformation, bytes: &[u8]) -> Reading {
    Reading::Malformed { kind, holds_rejection: find_rejection(&decode_lossily(bytes)).is_some() }
}

fn read_text(text: &str, split: SplitEmphasis) -> Reading {
    if let Some(value) = find_rejection(text) {
        return Reading::Rejected(value);
    }
    match without_approval(text, split) {
        None => Reading::Approved,
        Some(kind) => Reading::Malformed { kind, holds_rejection: false },
    }
}

/// Rejections count wherever they stand, in quotations too: quoting can lower a verdict and never raise it.
fn find_rejection(text: &str) -> Option<Rejection> {
    let values = text.split('\n').filter_map(rejection).map(|value| match value {
        RejectionValue::WithFixes => Rejection::WithFixes,
        RejectionValue::No => Rejection::No,
    });
    values.max()
}

/// Returns why a text without a rejection is no approval; none where it is one.
fn without_approval(text: &str, split: SplitEmphasis) -> Option<Malformation> {
    if is_blank(text) {
        return Some(Malformation::NoOutput);
    }
    let mentions = mentions(text);
    let approvals: Vec<_> = lines(text).into_iter().filter(|line| is_approval(line.text, split)).collect();
    let unquoted = approvals.iter().filter(|line| !line.is_quoted).count();
    match (mentions, approvals.len(), unquoted) {
        (1, 1, 1) => None,
        (0, ..) => Some(Malformation::MissingField),
        (_, 0, _) => Some(Malformation::UnknownValue),
        (_, _, 0) => Some(Malformation::Quoted),
        (_, _, 1) => Some(Malformation::MentionedElsewhere),
        (..) => Some(Malformation::SeveralVerdicts),
    }
}

impl Malformation {
    /// Returns what is said of it to people, after "the review".
    pub fn describe(self) -> String {
        match self {
            Self::Transport(Fault::ExitCode(code)) => format!("ended with exit code {code}: what it printed does not count"),
            Self::Transport(Fault::Signal(signal)) => format!("was ended by signal {signal}: what it printed does not count"),
            Self::Transport(Fault::Limit) => "was stopped at a limit: what it printed does not count".to_owned(),
            Self::Transport(Fault::Unknown) => "ended nobody knows how: what it printed does not count".to_owned(),
            Self::TooLong => format!("is longer than the {OUTPUT_CAP} bytes that are read"),
            Self::NotText => "is not UTF-8 text".to_owned(),
            Self::NoOutput => "returned no output".to_owned(),
            Self::MissingField => format!("is missing the '{FIELD}?' field"),
            Self::UnknownValue => format!("has no line that is '{FIELD}? Yes', 'No' or 'With fixes' and nothing else"),
            Self::Quoted => format!("has its '{FIELD}? Yes' in a quotation only"),
            Self::SeveralVerdicts => format!("has several lines '{FIELD}? Yes'"),
            Self::MentionedElsewhere => format!("mentions '{FIELD}' beside its verdict, so that it is not clear which counts"),
        }
    }

    /// Returns the word reports have for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Transport(_) => "TRANSPORT",
            Self::TooLong => "TOO_LONG",
            Self::NotText => "NOT_TEXT",
            Self::NoOutput => "NO_OUTPUT",
            Self::MissingField => "MISSING_FIELD",
            Self::UnknownValue => "UNKNOWN_VALUE",
            Self::Quoted => "QUOTED",
            Self::SeveralVerdicts => "SEVERAL_VERDICTS",
            Self::MentionedElsewhere => "MENTIONED_ELSEWHERE",
        }
    }
}
