//! The gate of a review: one output decides, or the one retry does. There is no third attempt: the types have none.

use crate::model::Digest;
use crate::review::reading::{Malformation, Reading, Rejection};

/// A review that waits for an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gate {
    /// For the first one.
    #[default]
    First,
    /// For that of the retry, which is the last.
    Retry(Malformed),
}

/// The output that had no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    kind: Malformation,
    holds_rejection: bool,
    digest: Digest,
}

/// What is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The reviewer is asked once more, with the same arguments and the same prompt.
    Retry {
        /// Why.
        why: Malformation,
        /// What waits for its output.
        gate: Gate,
    },
    /// Nothing more: it is decided.
    Decided(Decision),
}

/// What a review decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Go on. The only one that lets anything after the review start.
    Approved(Attempt),
    /// Mend what the review names, then ask for a new review. It is never asked again by itself.
    Rejected(Rejection, Attempt),
    /// A person must look. Nothing is mended on the strength of such a text.
    Indeterminate(Indeterminate),
}

/// Which attempt decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The first.
    First,
    /// The retry.
    Retry,
}

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indeterminate {
    /// Neither output has one.
    MalformedTwice {
        /// Why the first has none.
        first: Malformation,
        /// Why that of the retry has none.
        second: Malformation,
        /// How both outputs compare.
        outputs: Outputs,
    },
    /// The retry approves, and a rejection is in what the first attempt printed before it failed.
    RejectedBefore {
        /// Why the first has no verdict.
        first: Malformation,
    },
}

/// How the outputs of both attempts compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outputs {
    /// They differ.
    Different,
    /// They are the same bytes: a reviewer that answers from a cache cannot be asked again.
    Identical,
}

impl Gate {
    /// Takes an output, and says what is done next.
    pub fn note(self, reading: Reading, digest: Digest) -> Step {
        let attempt = match self {
            Self::First => Attempt::First,
            Self::Retry(_) => Attempt::Retry,
        };
        match (reading, self) {
            (Reading::Approved, Self::Retry(Malformed { kind, holds_rejection: true, .. })) => {
                Step::Decided(Decision::Indeterminate(Indeterminate::RejectedBefore { first: kind }))
            }
            (Reading::Approved, Self::First | Self::Retry(_)) => Step::Decided(Decision::Approved(attempt)),
            (Reading::Rejected(rejection), _) => Step::Decided(Decision::Rejected(rejection, attempt)),
            (Reading::Malformed { kind, holds_rejection }, Self::First) => {
                Step::Retry { why: kind, gate: Self::Retry(Malformed { kind, holds_rejection, digest }) }
            }
            (Reading::Malformed { kind, .. }, Self::Retry(first)) => {
                let outputs = if first.digest == digest { Outputs::Identical } else { Outputs::Different };
                let why = Indeterminate::MalformedTwice { first: first.kind, second: kind, outputs };
                Step::Decided(Decision::Indeterminate(why))
            }
        }
    }
}
