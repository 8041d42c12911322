//! Splits the text of a script into words and operators. Splitting never fails: a quote or bracket without an end
//! extends to the end of the text and is marked as open.

use crate::shell::word::ScriptWord;

/// A part of a command's text that only a shell understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Construct {
    /// The kind of the part in words for people, such as "a pipe".
    pub what: &'static str,
    /// The part as it is written in the command.
    pub text: String,
    /// An alternative that needs no shell, if there is one.
    pub instead: Option<&'static str>,
}

/// A token of a script. `start` is the byte offset of an operator in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(ScriptWord),
    Operator { text: &'static str, start: usize },
}

/// The operators of a shell with their names for people. A longer operator comes before a shorter operator with the
/// same beginning.
const OPERATORS: &[(&str, &str)] = &[
    ("&>>", "a redirection"),
    ("<<<", "a redirection"),
    ("<<-", "a redirection"),
    (";;&", "a list of commands"),
    ("&&", "a list of commands"),
    ("||", "a list of commands"),
    (";;", "a list of commands"),
    (";&", "a list of commands"),
    ("|&", "a pipe"),
    ("&>", "a redirection"),
    (">&", "a redirection"),
    (">>", "a redirection"),
    (">|", "a redirection"),
    ("<&", "a redirection"),
    ("<>", "a redirection"),
    ("<<", "a redirection"),
    (";", "a list of commands"),
    ("\n", "a second line"),
    ("|", "a pipe"),
    ("&", "a background command"),
    (">", "a redirection"),
    ("<", "a redirection"),
    ("(", "a group"),
    (")", "a group"),
];

/// The operators after which a file, a descriptor or a text is named.
const REDIRECTIONS: &[&str] = &["&>>", "<<<", "<<-", "<<", "&>", ">&", ">>", ">|", "<&", "<>", ">", "<"];

/// A script that was split into tokens.
#[derive(Debug, Default)]
pub(super) struct Lexed {
    pub(super) tokens: Vec<Token>,
    /// The texts after `<<` operators (here-documents), in the order of the operators.
    pub(super) documents: Vec<ScriptWord>,
    /// The first part of the text that needs a shell.
    pub(super) construct: Option<Construct>,
    /// Whether a quote, a bracket or a text after `<<` is not closed.
    pub(super) is_open: bool,
}

/// A text after `<<` that has been announced and begins on one of the next lines.
struct Awaited {
    delimiter: ScriptWord,
    strips_tabs: bool,
}

pub(super) fn is_redirection(operator: &str) -> bool {
    REDIRECTIONS.contains(&operator)
}

/// Splits a script into words and operators, without expanding anything.
pub(super) fn lex(text: &str) -> Lexed {
    let mut lexer = ScriptLexer { text, at: 0, lexed: Lexed::default(), awaited: Vec::new() };
    while lexer.at < text.len() {
        lexer.step();
    }
    lexer.lexed.is_open |= !lexer.awaited.is_empty();
    lexer.lexed
}

pub(super) struct ScriptLexer<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) lexed: Lexed,
    awaited: Vec<Awaited>,
}

impl<'t> ScriptLexer<'t> {
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn step(&mut self) {
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or_default();
        if first == '#' {
            self.note("a comment", || rest.lines().next().unwrap_or_default());
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(length) = joined_lines(rest) {
            self.at += length;
        } else if let Some((operator, what)) = operator_at(rest).filter(|_| !is_process_substitution(rest)) {
            self.note(what, || operator);
            self.operator(operator);
        } else if first.is_whitespace() {
            self.at += first.len_utf8();
        } else {
            let word = self.word();
            self.push_word(word);
        }
    }

    fn operator(&mut self, text: &'static str) {
        let start = self.at;
        // In `2>log` the digit is the number of the redirected descriptor, so it is no word.
        let is_descriptor =
            |word: &ScriptWord| word.end == start && !word.is_quoted && word.text.bytes().all(|byte| byte.is_ascii_digit());
        if is_redirection(text) && matches!(self.lexed.tokens.last(), Some(Token::Word(word)) if is_descriptor(word)) {
            self.lexed.tokens.pop();
        }
        self.lexed.tokens.push(Token::Operator { text, start });
        self.at += text.len();
        if text == "\n" {
            for awaited in std::mem::take(&mut self.awaited) {
                self.document(&awaited);
            }
        }
    }

    fn push_word(&mut self, word: ScriptWord) {
        if let Some(Token::Operator { text: operator @ ("<<" | "<<-"), .. }) = self.lexed.tokens.last() {
            self.awaited.push(Awaited { delimiter: word.clone(), strips_tabs: *operator == "<<-" });
        }
        self.lexed.is_open |= word.is_open;
        self.lexed.tokens.push(Token::Word(word));
    }

    /// Reads the lines of a text after `<<` up to its delimiter.
    fn document(&mut self, awaited: &Awaited) {
        let start = self.at;
        loop {
            let rest = self.rest();
            let line = rest.split('\n').next().unwrap_or_default();
            let begin = self.at;
            self.at = (self.at + line.len() + 1).min(self.text.len());
            let own = if awaited.strips_tabs { line.trim_start_matches('\t') } else { line };
            if own == awaited.delimiter.text {
                let body = &self.text[start..begin];
                let word = if awaited.delimiter.is_quoted { ScriptWord::literal(body) } else { ScriptWord::document(body) };
                self.lexed.documents.push(word);
                return;
            }
            if rest.is_empty() {
                self.lexed.is_open = true;
                return;
            }
        }
    }

    /// Records a part that needs a shell, if it is the first one. The text is computed by a function, because copying
    /// the text of every such part would be slow.
    pub(super) fn note(&mut self, what: &'static str, text: impl FnOnce() -> &'t str) {
        self.lexed.construct.get_or_insert_with(|| Construct { what, text: text().to_owned(), instead: None });
    }
}

/// Returns the length of a backslash and a line break, which join two lines, if the text begins with them.
pub(super) fn joined_lines(text: &str) -> Option<usize> {
    text.starts_with("\\\n").then_some(2)
}

pub(super) fn operator_at(text: &str) -> Option<(&'static str, &'static str)> {
    OPERATORS.iter().find(|(operator, _)| text.starts_with(operator)).copied()
}

/// Returns whether a text begins with `<(` or `>(`. Unlike other brackets, these belong to a word.
pub(super) fn is_process_substitution(text: &str) -> bool {
    text.starts_with("<(") || text.starts_with(">(")
}
