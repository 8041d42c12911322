//! The gates: what can be answered at each. No answer is a default, and nothing but one of these words is an answer.

use serde::{Deserialize, Serialize};

/// A place where a person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Gate {
    /// N0: a trail of this name is there already.
    Collision,
    /// N3: a draft goes to the reviewer, or back.
    Draft,
    /// N5: a reviewed draft is filed, or goes back.
    Verdict,
    /// N5: it is to be filed although the review blocks (B19).
    Override,
    /// N6: the tracker refused.
    Failure,
    /// N3 or N5: another loop, although there were as many as are allowed (B9).
    Loops,
    /// N6: another attempt, likewise.
    Attempts,
}

/// What a person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Choice {
    /// Go on with what is there.
    Resume,
    /// Begin under another name.
    NewName,
    /// End.
    Abort,
    /// Send the draft to the reviewer.
    Send,
    /// File the draft.
    Approve,
    /// Give the drafter feedback.
    Revise,
    /// Pause, and go on by hand.
    Manual,
    /// Try once more.
    Retry,
    /// Back to the editor.
    Edit,
    /// Go on beyond the limit.
    Continue,
    /// File it although the review blocks.
    Override,
    /// Do not.
    Decline,
}

/// A way to say a choice.
pub(super) struct Offer {
    pub(super) letter: char,
    pub(super) word: &'static str,
    pub(super) choice: Choice,
}

const fn offer(letter: char, word: &'static str, choice: Choice) -> Offer {
    Offer { letter, word, choice }
}

const COLLISION: &[Offer] =
    &[offer('r', "resume", Choice::Resume), offer('n', "new", Choice::NewName), offer('a', "abort", Choice::Abort)];
const DRAFT: &[Offer] =
    &[offer('s', "send", Choice::Send), offer('r', "revise", Choice::Revise), offer('m', "manual", Choice::Manual)];
const VERDICT: &[Offer] =
    &[offer('a', "approve", Choice::Approve), offer('r', "revise", Choice::Revise), offer('m', "manual", Choice::Manual)];
const OVERRIDE: &[Offer] = &[offer('y', "yes", Choice::Override), offer('n', "no", Choice::Decline)];
const FAILURE: &[Offer] =
    &[offer('r', "retry", Choice::Retry), offer('e', "edit", Choice::Edit), offer('a', "abort", Choice::Abort)];
const LOOPS: &[Offer] = &[offer('c', "continue", Choice::Continue), offer('m', "manual", Choice::Manual)];
const ATTEMPTS: &[Offer] = &[offer('c', "continue", Choice::Continue), offer('a', "abort", Choice::Abort)];

impl Gate {
    /// Returns what can be answered here. The letters are seed 002's; a letter never means two things at one gate.
    pub(super) fn offers(self) -> &'static [Offer] {
        match self {
            Self::Collision => COLLISION,
            Self::Draft => DRAFT,
            Self::Verdict => VERDICT,
            Self::Override => OVERRIDE,
            Self::Failure => FAILURE,
            Self::Loops => LOOPS,
            Self::Attempts => ATTEMPTS,
        }
    }
}

/// Reads an answer: a letter or its word, in any case, and nothing else. None: it is no answer here.
pub fn parse_choice(gate: Gate, line: &str) -> Option<Choice> {
    let typed = line.trim();
    let is_said = |offer: &&Offer| {
        let mut letters = typed.chars();
        let is_letter = letters.next().is_some_and(|one| one.eq_ignore_ascii_case(&offer.letter)) && letters.next().is_none();
        is_letter || typed.eq_ignore_ascii_case(offer.word)
    };
    gate.offers().iter().find(is_said).map(|offer| offer.choice)
}
