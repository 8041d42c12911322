//! The structure of a script: its commands, and the conditions under which each command runs.

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
    /// A keyword or a bracket: `then`, `do`, `(`.
    Inside,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PartKind {
    Simple(Box<Simple>),
    /// Commands joined by pipes (`a | b`), or a negated command (`! a`).
    Pipeline {
        is_negated: bool,
        parts: Vec<ScriptPart>,
    },
    /// Commands joined by `&&` and `||`.
    AndOr(Vec<ScriptPart>),
    /// Commands that run one after another.
    List(Vec<ScriptPart>),
    Background(Box<ScriptPart>),
    /// Commands in braces, `{ … }`, which run in the same shell.
    Group(Box<ScriptPart>, OutsideScripts),
    /// Commands in brackets, `( … )`, which run in a subshell.
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

/// The scripts in the words and redirections of a compound command.
pub(super) type OutsideScripts = Vec<ScriptPart>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CaseClause {
    pub(super) patterns: Vec<ScriptWord>,
    pub(super) body: ScriptPart,
    /// Whether the clause ends with `;&` or `;;&`, so that the next clause may run too.
    pub(super) goes_on: bool,
}

/// A command that contains no other command as a part. `[[ … ]]` counts as such a command, and so does `(( … ))`, whose
/// inner text is the second word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Simple {
    /// The command's number, unique in the script.
    pub(super) id: usize,
    pub(super) assignments: Vec<Assignment>,
    pub(super) words: Vec<ScriptWord>,
    /// The scripts in the command's words and redirections, as in `$(…)`.
    pub(super) scripts: Vec<ScriptPart>,
    /// The script that is an argument of the command, as in `sh -c '…'`.
    pub(super) inner: Option<InnerScript>,
    /// Whether the command has no text after `<<`, no `<(…)`, no list of values and no `$'…'`. In a simple sequence of
    /// commands ([`command_row`](crate::shell::command_row)), every command is plain.
    pub(super) is_plain: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) name: String,
    /// The value; `None` if it is unknown, as in `a+=b`, `a[0]=b`, `a=(b c)`.
    pub(super) value: Option<ScriptWord>,
    /// The whole assignment without quotes, such as `NAME=value`.
    pub(super) text: String,
}

/// A script that is an argument of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InnerScript {
    /// The script of a shell command, `sh -c '…'`, with the options of that shell.
    Shell(ScriptPart, ShellOptions),
    Eval(ScriptPart),
    /// `trap '…' EXIT`. If the body is in double quotes, it `expands`: `$NAME` has the value from the time when the
    /// trap is set.
    Trap {
        body: ScriptPart,
        expands: bool,
        events: Vec<String>,
    },
}

/// The options of a shell when its script begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShellOptions {
    /// `-e`: a failure ends the script.
    pub errexit: bool,
    /// `-o pipefail`: a pipeline fails if any of its commands fails.
    pub pipefail: bool,
    /// Whether the shell is bash outside of its POSIX mode. In such a bash, `-e` has no effect inside of `$(…)`.
    pub is_bash: bool,
}

/// Calls a function with each part of a script, including the scripts in words.
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
