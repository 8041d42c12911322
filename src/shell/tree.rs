//! The structure of a script: which commands there are, and what decides whether each of them runs.

use crate::shell::word::ScriptWord;

/// A part of a script, with where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptPart {
    pub(super) kind: PartKind,
    /// As it is written, for people.
    pub(super) text: String,
    /// What it is joined to the part before it by.
    pub(super) lead: Lead,
}

/// What stands before a part of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// Nothing: it is the first of the script.
    Nothing,
    Or,
    And,
    Pipe,
    /// `;` or `&`.
    Semicolon,
    Line,
    /// A keyword or a bracket: `then`, `do`, `(`.
    Inside,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PartKind {
    Simple(Box<Simple>),
    /// `a | b`, or `! a`.
    Pipeline {
        is_negated: bool,
        parts: Vec<ScriptPart>,
    },
    /// `a && b || c`.
    AndOr(Vec<ScriptPart>),
    /// Commands one after the other.
    List(Vec<ScriptPart>),
    Background(Box<ScriptPart>),
    /// `{ … }`.
    Group(Box<ScriptPart>, OutsideScripts),
    /// `( … )`.
    Subshell(Box<ScriptPart>, OutsideScripts),
    If {
        branches: Vec<(ScriptPart, ScriptPart)>,
        otherwise: Option<Box<ScriptPart>>,
        outside: OutsideScripts,
    },
    Loop {
        is_until: bool,
        condition: Box<ScriptPart>,
        body: Box<ScriptPart>,
        outside: OutsideScripts,
    },
    For {
        name: String,
        words: Option<Vec<ScriptWord>>,
        body: Box<ScriptPart>,
        outside: OutsideScripts,
    },
    Case {
        word: ScriptWord,
        clauses: Vec<CaseClause>,
        outside: OutsideScripts,
    },
    Function {
        name: String,
        body: Box<ScriptPart>,
    },
}

/// The scripts in the words of a compound command and of its redirections.
pub(super) type OutsideScripts = Vec<ScriptPart>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CaseClause {
    pub(super) patterns: Vec<ScriptWord>,
    pub(super) body: ScriptPart,
    /// Whether it ends with `;&` or `;;&`: what follows may run as well.
    pub(super) goes_on: bool,
}

/// A command without structure of its own. `[[ … ]]` is one, and so is `(( … ))`, whose text is its second word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Simple {
    /// A number of its own in the script.
    pub(super) id: usize,
    pub(super) assignments: Vec<Assignment>,
    pub(super) words: Vec<ScriptWord>,
    /// The scripts in its words and redirections.
    pub(super) scripts: Vec<ScriptPart>,
    /// The script that is handed to it as a word.
    pub(super) inner: Option<InnerScript>,
    /// What a row of commands cannot have: a text behind `<<`, `<(…)`, a list of values, `$'…'`.
    pub(super) is_plain: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) name: String,
    /// None where the value cannot be told: `a+=b`, `a[0]=b`, `a=(b c)`.
    pub(super) value: Option<ScriptWord>,
    /// As it is written, without quotes.
    pub(super) text: String,
}

/// A script that stands in a word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InnerScript {
    /// `sh -c '…'`.
    Shell(ScriptPart, ShellOptions),
    /// `eval '…'`.
    Eval(ScriptPart),
    /// `trap '…' EXIT`. With `$NAME` between double quotes the values of when it is set hold.
    Trap { body: ScriptPart, expands: bool, events: Vec<String> },
}

/// What a shell is told before its script begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShellOptions {
    /// `-e`: a failure ends the script.
    pub errexit: bool,
    /// `-o pipefail`: a pipe fails with any of its commands.
    pub pipefail: bool,
    /// It is bash, not in its POSIX mode: in `$(…)` a failure does not end the script.
    pub is_bash: bool,
}

/// Calls a function with each part of a script, the scripts in words among them.
pub(super) fn each_part(node: &ScriptPart, visit: &mut dyn FnMut(&ScriptPart)) {
    visit(node);
    let mut all = |nodes: &[ScriptPart]| nodes.iter().for_each(|node| each_part(node, visit));
    match &node.kind {
        PartKind::Simple(simple) => {
            all(&simple.scripts);
            match &simple.inner {
                Some(InnerScript::Shell(script, _) | InnerScript::Eval(script) | InnerScript::Trap { body: script, .. }) => {
                    each_part(script, visit)
                }
                None => {}
            }
        }
        PartKind::Pipeline { parts, .. } | PartKind::AndOr(parts) | PartKind::List(parts) => all(parts),
        PartKind::Background(inner) | PartKind::Function { body: inner, .. } => each_part(inner, visit),
        PartKind::Group(inner, outside) | PartKind::Subshell(inner, outside) => {
            all(outside);
            each_part(inner, visit);
        }
        PartKind::If { branches, otherwise, outside } => {
            all(outside);
            for (condition, body) in branches {
                each_part(condition, visit);
                each_part(body, visit);
            }
            otherwise.iter().for_each(|otherwise| each_part(otherwise, visit));
        }
        PartKind::Loop { condition, body, outside, .. } => {
            all(outside);
            each_part(condition, visit);
            each_part(body, visit);
        }
        PartKind::For { body, outside, .. } => {
            all(outside);
            each_part(body, visit);
        }
        PartKind::Case { clauses, outside, .. } => {
            all(outside);
            clauses.iter().for_each(|clause| each_part(&clause.body, visit));
        }
    }
}
