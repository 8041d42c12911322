//! Lists the plain commands of a script, for callers that ask what a script runs. How the script ends does not matter
//! here.

use crate::shell::lexer::{Token, is_redirection, lex};
use crate::shell::parser::parse;
use crate::shell::tree::{Lead, PartKind, ScriptPart, Simple};
use crate::shell::word::ScriptWord;
use proctor_model::is_assignment;

/// Words that may stand before a command without being part of it.
const KEYWORDS: &[&str] = &["!", "{", "do", "elif", "else", "exec", "command", "if", "then", "time", "until", "while"];

/// The most levels of scripts inside words, such as `$(…)`, that are examined. Deeper scripts are ignored.
const DEEPEST: usize = 8;

/// A launcher: a program that runs the command in its arguments and exits with the command's status.
struct StartingProgram {
    program: &'static str,
    /// Options whose value is the next word.
    valued: &'static [&'static str],
    /// The number of the launcher's own arguments, besides options, before the command.
    operands: usize,
}

const fn launcher(program: &'static str, valued: &'static [&'static str], operands: usize) -> StartingProgram {
    StartingProgram { program, valued, operands }
}

const LAUNCHERS: &[StartingProgram] = &[
    launcher("builtin", &[], 0),
    launcher("command", &[], 0),
    launcher("env", &["-u", "-C", "--unset", "--chdir"], 0),
    launcher("exec", &["-a"], 0),
    launcher("ionice", &["-c", "-n"], 0),
    launcher("nice", &["-n"], 0),
    launcher("nohup", &[], 0),
    launcher("setsid", &[], 0),
    launcher("stdbuf", &["-i", "-o", "-e"], 0),
    launcher("sudo", &["-u", "-g"], 0),
    launcher("time", &["-f", "-o"], 0),
    launcher("timeout", &["-k", "-s"], 1),
];

/// How a command is joined to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// `;`, `&`, the end of a line or of the script: the next command runs in any case.
    Then,
    /// `&&`: the next command runs if this one succeeds.
    And,
    /// `||`: the next command runs if this one fails.
    Or,
    /// `|`: the next command reads the output of this one.
    Pipe,
}

/// A command of a script, with the operator after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptCommand {
    /// The words without quotes and redirections, including variable assignments before the command. `$NAME` and `$(…)` stay as
    /// written.
    pub words: Vec<String>,
    /// How the command is joined to the next one.
    pub joint: Joint,
}

/// Returns the commands of a script that is a simple sequence of commands. Returns `None` if the script cannot be
/// parsed, or has a group, a loop, a condition or a text after `<<`. The result is never a guess.
pub fn command_row(script: &str) -> Option<Vec<ScriptCommand>> {
    let mut commands = Vec::new();
    parse(script).ok()?.iter().try_for_each(|part| append_row(part, Joint::Then, &mut commands))?;
    Some(commands)
}

fn append_row(node: &ScriptPart, behind: Joint, commands: &mut Vec<ScriptCommand>) -> Option<()> {
    match &node.kind {
        PartKind::Simple(simple) => {
            let words = row_words(simple)?;
            commands.push(ScriptCommand { words, joint: behind });
            Some(())
        }
        PartKind::Background(inner) => append_row(inner, Joint::Then, commands),
        PartKind::AndOr(parts) | PartKind::Pipeline { is_negated: false, parts } => {
            parts.iter().enumerate().try_for_each(|(index, part)| {
                let joint = match parts.get(index + 1).map(|next| next.lead) {
                    Some(Lead::And) => Joint::And,
                    Some(Lead::Or) => Joint::Or,
                    Some(Lead::Nothing | Lead::Pipe | Lead::Semicolon | Lead::Line) => Joint::Pipe,
                    None => behind,
                };
                append_row(part, joint, commands)
            })
        }
        PartKind::Pipeline { is_negated: true, .. } => None,
    }
}

fn row_words(simple: &Simple) -> Option<Vec<String>> {
    let words: Vec<String> =
        simple.assignments.iter().cloned().chain(simple.words.iter().map(|word| word.text.clone())).collect();
    (simple.is_plain && !words.is_empty()).then_some(words)
}

/// Returns the simple commands of a script as word lists, without leading keywords, variable assignments and redirections.
///
/// A script that cannot be parsed is split as far as possible. Commands inside of `$(…)` are listed separately.
pub fn simple_commands(script: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    append_simple(script, 0, &mut commands);
    let is_prefix = |word: &String| KEYWORDS.contains(&word.as_str()) || is_assignment(word);
    let own = commands.into_iter().map(|command| command.into_iter().skip_while(is_prefix).collect::<Vec<_>>());
    own.filter(|command| !command.is_empty()).collect()
}

/// Returns the simple commands of a script as word lists, without redirections and without commands inside of `$(…)`.
/// Returns `None` if a quote, a bracket or a text after `<<` is not closed.
pub fn commands_outside(script: &str) -> Option<Vec<Vec<String>>> {
    let lexed = lex(script);
    if lexed.is_open {
        return None;
    }
    let commands = split(&lexed.tokens).into_iter().map(|words| words.into_iter().map(|word| word.text.clone()).collect());
    Some(commands.collect())
}

fn append_simple(script: &str, depth: usize, commands: &mut Vec<Vec<String>>) {
    let tokens = lex(script).tokens;
    for words in split(&tokens) {
        for inner in words.iter().flat_map(|word| &word.scripts).filter(|_| depth < DEEPEST) {
            append_simple(inner, depth + 1, commands);
        }
        commands.push(words.into_iter().map(|word| word.text.clone()).collect());
    }
}

/// Splits tokens into commands at the operators between them. The target of a redirection is not a word of a command.
fn split(tokens: &[Token]) -> Vec<Vec<&ScriptWord>> {
    let (mut commands, mut is_target) = (vec![Vec::new()], false);
    for token in tokens {
        match token {
            Token::Operator { text, .. } if is_redirection(text) => is_target = true,
            Token::Operator { .. } => {
                is_target = false;
                commands.push(Vec::new());
            }
            Token::Word(_) if is_target => is_target = false,
            Token::Word(word) => commands.last_mut().into_iter().for_each(|command| command.push(word)),
        }
    }
    commands
}

/// Returns the words of a command without the launchers before it, such as `env A=1` or `nice`.
pub(super) fn without_launchers(words: &[ScriptWord]) -> &[ScriptWord] {
    let mut own = words;
    while let Some(rest) = own.split_first().and_then(|(first, rest)| launched(&first.text, rest)) {
        own = rest;
    }
    own
}

/// Returns the words of the command that a launcher starts; `None` if `program` is no launcher or starts no command.
fn launched<'w>(program: &str, words: &'w [ScriptWord]) -> Option<&'w [ScriptWord]> {
    let name = program.rsplit('/').next()?;
    let launcher = LAUNCHERS.iter().find(|launcher| launcher.program == name)?;
    let mut at = 0;
    while let Some(word) = words.get(at).map(|word| word.text.as_str()) {
        if name == "command" && (word == "-v" || word == "-V") {
            return None;
        }
        let is_variable = name == "env" && is_assignment(word);
        if !is_variable && !word.starts_with('-') {
            break;
        }
        at += if launcher.valued.contains(&word) { 2 } else { 1 };
    }
    words.get(at + launcher.operands..).filter(|rest| !rest.is_empty())
}
