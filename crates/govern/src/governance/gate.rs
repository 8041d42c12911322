//! The gates (questions that only a person can answer), and the choices at each gate. No choice is a default, and no
//! other word is an answer.

use proctor_wire::wire;

/// A point of the workflow at which only a person can decide how it continues.
#[wire(Copy, Hash, screaming)]
pub enum WorkflowGate {
    /// N0: the slug is taken. The person resumes the workflow that has it, types another slug, or aborts.
    Collision,
    /// N3: the person sends the draft to the reviewer, or back to the drafter.
    Draft,
    /// N5: the person approves the reviewed draft, so that it is filed, or sends it back to the drafter.
    Verdict,
    /// N5: the person confirms, or not, that the draft is filed although the review blocks (B19).
    Override,
    /// N6: the issue could not be filed. The person tries again, edits the draft, or aborts.
    Failure,
    /// N3 or N5: the person wants another draft, but the limit of iterations is reached (B9).
    Loops,
    /// N6: the person wants another attempt to file the issue, but the limit of attempts is reached (B9).
    Attempts,
}

/// A person's decision at a gate.
#[wire(Copy, Hash, screaming)]
pub enum GateChoice {
    /// Resume the workflow that has the slug.
    Resume,
    /// Begin with another slug.
    NewName,
    /// Stop; nothing is filed.
    Abort,
    /// Send the draft to the reviewer.
    Send,
    /// File the draft.
    Approve,
    /// Give the drafter feedback.
    Revise,
    /// Pause the workflow; the person may go on without it and resume it later.
    Manual,
    /// Try again to file the issue.
    Retry,
    /// Edit the draft before filing it again.
    Edit,
    /// Allow further drafts or filing attempts beyond the reached limit.
    Continue,
    /// File the draft although the review blocks.
    Override,
    /// Do not file a draft whose review blocks. The question of N5 is asked again.
    Decline,
}

/// A choice at a gate, and the letter and the word by which a person types it.
pub(super) struct GateOption {
    pub(super) letter: char,
    pub(super) word: &'static str,
    pub(super) choice: GateChoice,
}

const fn option(letter: char, word: &'static str, choice: GateChoice) -> GateOption {
    GateOption { letter, word, choice }
}

const COLLISION: &[GateOption] = &[
    option('r', "resume", GateChoice::Resume),
    option('n', "new", GateChoice::NewName),
    option('a', "abort", GateChoice::Abort),
];
const DRAFT: &[GateOption] = &[
    option('s', "send", GateChoice::Send),
    option('r', "revise", GateChoice::Revise),
    option('m', "manual", GateChoice::Manual),
];
const VERDICT: &[GateOption] = &[
    option('a', "approve", GateChoice::Approve),
    option('r', "revise", GateChoice::Revise),
    option('m', "manual", GateChoice::Manual),
];
const OVERRIDE: &[GateOption] = &[option('y', "yes", GateChoice::Override), option('n', "no", GateChoice::Decline)];
const FAILURE: &[GateOption] =
    &[option('r', "retry", GateChoice::Retry), option('e', "edit", GateChoice::Edit), option('a', "abort", GateChoice::Abort)];
const LOOPS: &[GateOption] = &[option('c', "continue", GateChoice::Continue), option('m', "manual", GateChoice::Manual)];
const ATTEMPTS: &[GateOption] = &[option('c', "continue", GateChoice::Continue), option('a', "abort", GateChoice::Abort)];

impl WorkflowGate {
    /// Returns the choices at this gate. The letters come from seed document 002. No two choices of a gate have the
    /// same letter.
    pub(super) fn options(self) -> &'static [GateOption] {
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

/// Reads a typed line. Only the letter or the word of one of the gate's choices is an answer, in upper or lower case;
/// `None` for any other line.
pub fn parse_choice(gate: WorkflowGate, line: &str) -> Option<GateChoice> {
    let typed = line.trim();
    let is_typed = |option: &&GateOption| {
        let mut letters = typed.chars();
        let is_letter = letters.next().is_some_and(|one| one.eq_ignore_ascii_case(&option.letter)) && letters.next().is_none();
        is_letter || typed.eq_ignore_ascii_case(option.word)
    };
    gate.options().iter().find(is_typed).map(|option| option.choice)
}
