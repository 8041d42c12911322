//! The structure of a script that is a list of commands. A script with anything else, such as a group, a condition, a loop or a
//! function, has no structure here: [`parse`](crate::shell::parser::parse) refuses it.

use crate::shell::word::ScriptWord;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptPart {
    pub(super) kind: PartKind,
    /// The part's text as it stands in the script. Messages show it.
    pub(super) text: String,
    /// The operator that joins this part to the previous one.
    pub(super) lead: Lead,
}

/// The operator before a part of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// There is no operator, because the part is the first one of the script.
    Nothing,
    Or,
    And,
    Pipe,
    /// `;` or `&` stands between this part and the previous one.
    Semicolon,
    Line,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PartKind {
    Simple(Simple),
    /// Commands joined by pipes (`a | b`), or a negated command (`! a`).
    Pipeline {
        is_negated: bool,
        parts: Vec<ScriptPart>,
    },
    /// Commands joined by `&&` and `||`.
    AndOr(Vec<ScriptPart>),
    Background(Box<ScriptPart>),
}

/// A command that contains no other command as a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Simple {
    /// The variable assignments before the command, without quotes, such as `NAME=value`.
    pub(super) assignments: Vec<String>,
    pub(super) words: Vec<ScriptWord>,
    /// Whether a word, an assignment or a redirection has a script inside of it, as in `$(…)`.
    pub(super) has_scripts: bool,
    /// Whether the command has no text after `<<`, no `<(…)`, no list of values and no `$'…'`. In a simple sequence of
    /// commands ([`command_row`](crate::shell::command_row)), every command is plain.
    pub(super) is_plain: bool,
}

/// The options of a shell when its script begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShellOptions {
    /// `-e`: a failure ends the script.
    pub errexit: bool,
    /// `-o pipefail`: a pipeline fails if any of its commands fails.
    pub pipefail: bool,
}
