//! Parses words and operators into the commands of a script.

use crate::shell::lexer::{Lexed, Token, is_redirection, lex};
use crate::shell::tree::{Lead, PartKind, ScriptPart, Simple};
use crate::shell::word::ScriptWord;
use proctor_model::is_variable_name;

/// The part of a script that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) String);

pub(super) type ParseResult<T> = Result<T, Unreadable>;

/// Words of the shell that begin, divide or end more than a list of commands.
const COMPOUND: &[&str] = &[
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select", "then", "until",
    "while", "[[", "{", "}",
];

/// Parses the text of a whole script. Returns its commands, in their order.
pub(super) fn parse(text: &str) -> ParseResult<Vec<ScriptPart>> {
    let Lexed { tokens, documents, is_open, .. } = lex(text);
    if is_open {
        return Err(Unreadable(text.trim().to_owned()));
    }
    ScriptParser { text, tokens, documents, at: 0 }.list()
}

struct ScriptParser<'p> {
    text: &'p str,
    tokens: Vec<Token>,
    documents: Vec<ScriptWord>,
    at: usize,
}

impl ScriptParser<'_> {
    /// Returns the next token if it is an operator.
    fn operator(&self) -> Option<&'static str> {
        match self.tokens.get(self.at) {
            Some(Token::Operator { text, .. }) => Some(text),
            Some(Token::Word(_)) | None => None,
        }
    }

    fn take_operator(&mut self, operator: &str) -> bool {
        let is_next = self.operator() == Some(operator);
        self.at += usize::from(is_next);
        is_next
    }

    /// Returns the next token if it is an unquoted word. Only such a word can be a keyword.
    fn keyword(&self) -> Option<&str> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) if !word.is_quoted => Some(&word.text),
            Some(Token::Word(_) | Token::Operator { .. }) | None => None,
        }
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        let is_next = self.keyword() == Some(keyword);
        self.at += usize::from(is_next);
        is_next
    }

    fn take_word(&mut self) -> Option<ScriptWord> {
        let Some(Token::Word(word)) = self.tokens.get(self.at) else { return None };
        let word = word.clone();
        self.at += 1;
        Some(word)
    }

    fn skip_lines(&mut self) {
        while self.take_operator("\n") {}
    }

    /// Returns an error with the text from the next token to the end, or with the whole text if no token is left.
    fn unreadable(&self) -> Unreadable {
        let start = self.start();
        let rest = if start < self.text.len() { &self.text[start..] } else { self.text };
        Unreadable(rest.trim().to_owned())
    }

    fn start(&self) -> usize {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) => word.start,
            Some(Token::Operator { start, .. }) => *start,
            None => self.text.len(),
        }
    }

    /// Returns the end position of the previous token.
    fn end(&self) -> usize {
        match self.at.checked_sub(1).and_then(|before| self.tokens.get(before)) {
            Some(Token::Word(word)) => word.end,
            Some(Token::Operator { text, start }) => start + text.len(),
            None => 0,
        }
    }

    fn node(&self, kind: PartKind, start: usize, lead: Lead) -> ScriptPart {
        let text = self.text.get(start..self.end()).unwrap_or_default();
        ScriptPart { kind, text: text.to_owned(), lead }
    }

    fn list(&mut self) -> ParseResult<Vec<ScriptPart>> {
        let (mut commands, mut lead) = (Vec::new(), Lead::Nothing);
        loop {
            self.skip_lines();
            if self.at >= self.tokens.len() {
                return Ok(commands);
            }
            let start = self.start();
            let command = self.and_or(lead)?;
            lead = if self.operator() == Some("\n") { Lead::Line } else { Lead::Semicolon };
            if self.take_operator("&") {
                commands.push(self.node(PartKind::Background(Box::new(command)), start, Lead::Semicolon));
                continue;
            }
            commands.push(command);
            if !self.take_operator(";") && !self.take_operator("\n") && self.at < self.tokens.len() {
                return Err(self.unreadable());
            }
        }
    }

    fn and_or(&mut self, lead: Lead) -> ParseResult<ScriptPart> {
        let start = self.start();
        let mut parts = vec![self.pipeline(lead)?];
        loop {
            let lead = match self.operator() {
                Some("&&") => Lead::And,
                Some("||") => Lead::Or,
                Some(_) | None => break,
            };
            self.at += 1;
            self.skip_lines();
            parts.push(self.pipeline(lead)?);
        }
        match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => Ok(self.node(PartKind::AndOr(parts), start, lead)),
        }
    }

    fn pipeline(&mut self, lead: Lead) -> ParseResult<ScriptPart> {
        let start = self.start();
        let mut is_negated = false;
        let mut has_sign = false;
        while self.take_keyword("!") {
            (is_negated, has_sign) = (!is_negated, true);
        }
        let mut parts = vec![self.simple(lead)?];
        while self.take_operator("|") || self.take_operator("|&") {
            self.skip_lines();
            parts.push(self.simple(Lead::Pipe)?);
        }
        if parts.len() == 1 && !has_sign {
            return Ok(parts.remove(0));
        }
        Ok(self.node(PartKind::Pipeline { is_negated, parts }, start, lead))
    }

    /// Parses one redirection and returns its target; `None` if no redirection comes next.
    fn redirection(&mut self) -> ParseResult<Option<ScriptWord>> {
        let Some(operator) = self.operator().filter(|operator| is_redirection(operator)) else { return Ok(None) };
        self.at += 1;
        let target = self.take_word().ok_or_else(|| self.unreadable())?;
        if !operator.starts_with("<<") || operator == "<<<" {
            return Ok(Some(target));
        }
        if self.documents.is_empty() {
            return Err(self.unreadable());
        }
        Ok(Some(self.documents.remove(0)))
    }

    fn simple(&mut self, lead: Lead) -> ParseResult<ScriptPart> {
        let start = self.start();
        let is_function = matches!(self.tokens.get(self.at + 1), Some(Token::Operator { text: "(", .. }));
        if self.keyword().is_some_and(|word| COMPOUND.contains(&word) || (is_function && !word.contains('='))) {
            return Err(self.unreadable());
        }
        let (mut assignments, mut words, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_plain = true;
        loop {
            is_plain &= !matches!(self.operator(), Some("<<" | "<<-"));
            if let Some(target) = self.redirection()? {
                others.push(target);
                continue;
            }
            let Some(word) = self.take_word() else { break };
            if !words.is_empty() || !assigns(&word) {
                words.push(word);
                continue;
            }
            if word.text.ends_with('=') && self.operator() == Some("(") && self.start() == word.end {
                is_plain = false;
                self.values(&mut others)?;
            }
            assignments.push(word.text.clone());
            others.push(word);
        }
        if words.is_empty() && others.is_empty() {
            return Err(self.unreadable());
        }
        let has_special = |word: &ScriptWord| word.has_escapes || word.text.starts_with("<(") || word.text.starts_with(">(");
        is_plain &= !words.iter().chain(&others).any(has_special);
        let has_scripts = words.iter().chain(&others).any(|word| !word.scripts.is_empty());
        Ok(self.node(PartKind::Simple(Simple { assignments, words, has_scripts, is_plain }), start, lead))
    }

    /// Parses the list of values in `NAME=(…)`. The words of the list are added to `others`.
    fn values(&mut self, others: &mut Vec<ScriptWord>) -> ParseResult<()> {
        self.at += 1;
        loop {
            self.skip_lines();
            match self.take_word() {
                Some(word) => others.push(word),
                None if self.take_operator(")") => return Ok(()),
                None => return Err(self.unreadable()),
            }
        }
    }
}

/// Returns whether a word before a command assigns a variable, as `a=b`, `a+=b` and `a[0]=b` do.
fn assigns(word: &ScriptWord) -> bool {
    let Some((name, _)) = word.text.split_once('=') else { return false };
    let plain = name.strip_suffix('+').unwrap_or(name);
    let base = plain.split_once('[').filter(|(_, index)| index.ends_with(']')).map_or(plain, |(base, _)| base);
    // For a shell, a word with a quote in the name is a command. The text has no quotes any more, so such a word counts
    // as an assignment here.
    is_variable_name(base)
}
