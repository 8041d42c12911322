//! Parses words and operators into the structure of a script.

use crate::shell::lexer::{Lexed, Token, is_redirection, lex};
use crate::shell::tree::{Assignment, Lead, OutsideScripts, PartKind, ScriptPart, Simple};
use crate::shell::word::ScriptWord;
use proctor_model::is_variable_name;

/// The part of a script that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) String);

pub(super) type ParseResult<T> = Result<T, Unreadable>;

/// The deepest nesting of parts of a script, including scripts in words.
const DEEPEST: usize = 40;

/// Words that end a list of commands.
const ENDS: &[&str] = &["}", "then", "do", "done", "elif", "else", "esac", "fi"];

/// Parses the text of a whole script. Its commands are numbered from 1.
pub(super) fn parse(text: &str) -> ParseResult<ScriptPart> {
    let mut next_id = 0;
    parse_inside(text, &mut next_id, 0)
}

/// Parses a script inside of another script. The number of its first command is the one after `next_id`, which is
/// raised with each command.
pub(super) fn parse_inside(text: &str, next_id: &mut usize, depth: usize) -> ParseResult<ScriptPart> {
    let Lexed { tokens, documents, is_open, .. } = lex(text);
    if is_open {
        return Err(Unreadable(text.trim().to_owned()));
    }
    let mut parser = ScriptParser { text, tokens, documents, at: 0, next_id, depth };
    let node = parser.list(Lead::Nothing)?;
    if parser.at < parser.tokens.len() { Err(parser.unreadable()) } else { Ok(node) }
}

pub(super) struct ScriptParser<'p> {
    text: &'p str,
    tokens: Vec<Token>,
    documents: Vec<ScriptWord>,
    at: usize,
    pub(super) next_id: &'p mut usize,
    pub(super) depth: usize,
}

impl ScriptParser<'_> {
    /// Returns the next token if it is an operator.
    pub(super) fn operator(&self) -> Option<&'static str> {
        match self.tokens.get(self.at) {
            Some(Token::Operator { text, .. }) => Some(text),
            Some(Token::Word(_)) | None => None,
        }
    }

    pub(super) fn take_operator(&mut self, operator: &str) -> bool {
        let is_next = self.operator() == Some(operator);
        self.at += usize::from(is_next);
        is_next
    }

    /// Returns the next token if it is an unquoted word. Only such a word can be a keyword.
    pub(super) fn keyword(&self) -> Option<&str> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) if !word.is_quoted => Some(&word.text),
            Some(Token::Word(_) | Token::Operator { .. }) | None => None,
        }
    }

    pub(super) fn take_keyword(&mut self, keyword: &str) -> bool {
        let is_next = self.keyword() == Some(keyword);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expect_keyword(&mut self, keyword: &str) -> ParseResult<()> {
        if self.take_keyword(keyword) { Ok(()) } else { Err(self.unreadable()) }
    }

    pub(super) fn take_word(&mut self) -> Option<ScriptWord> {
        let Some(Token::Word(word)) = self.tokens.get(self.at) else { return None };
        let word = word.clone();
        self.at += 1;
        Some(word)
    }

    pub(super) fn skip_lines(&mut self) {
        while self.take_operator("\n") {}
    }

    /// Returns an error with the text from the next token to the end, or with the whole text if no token is left.
    pub(super) fn unreadable(&self) -> Unreadable {
        let start = self.start();
        let rest = if start < self.text.len() { &self.text[start..] } else { self.text };
        Unreadable(rest.trim().to_owned())
    }

    pub(super) fn start(&self) -> usize {
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

    pub(super) fn node(&self, kind: PartKind, start: usize, lead: Lead) -> ScriptPart {
        let text = self.text.get(start..self.end()).unwrap_or_default();
        ScriptPart { kind, text: text.to_owned(), lead }
    }

    /// Parses commands up to the end, a closing bracket, or a keyword that ends a list.
    pub(super) fn list(&mut self, first: Lead) -> ParseResult<ScriptPart> {
        if self.depth > DEEPEST {
            return Err(self.unreadable());
        }
        self.depth += 1;
        let begun = self.start();
        let (mut commands, mut lead) = (Vec::new(), first);
        loop {
            self.skip_lines();
            let ends = match (self.operator(), self.keyword()) {
                (Some(operator), _) => matches!(operator, ")" | ";;" | ";&" | ";;&"),
                (None, Some(word)) => ENDS.contains(&word),
                (None, None) => self.at >= self.tokens.len(),
            };
            if ends {
                break;
            }
            let start = self.start();
            let command = self.and_or(lead)?;
            lead = if self.operator() == Some("\n") { Lead::Line } else { Lead::Semicolon };
            if self.take_operator("&") {
                commands.push(self.node(PartKind::Background(Box::new(command)), start, Lead::Semicolon));
                continue;
            }
            commands.push(command);
            if !self.take_operator(";") && !self.take_operator("\n") {
                break;
            }
        }
        self.depth -= 1;
        Ok(self.node(PartKind::List(commands), begun, first))
    }

    /// Parses a list that must not be empty.
    pub(super) fn commands(&mut self) -> ParseResult<ScriptPart> {
        let list = self.list(Lead::Inside)?;
        if matches!(&list.kind, PartKind::List(commands) if commands.is_empty()) { Err(self.unreadable()) } else { Ok(list) }
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
        let mut parts = vec![self.command(if has_sign { Lead::Inside } else { lead })?];
        while self.take_operator("|") || self.take_operator("|&") {
            self.skip_lines();
            parts.push(self.command(Lead::Pipe)?);
        }
        if parts.len() == 1 && !has_sign {
            return Ok(parts.remove(0));
        }
        Ok(self.node(PartKind::Pipeline { is_negated, parts }, start, lead))
    }

    /// Parses the redirections after a compound command. Returns the scripts in them.
    pub(super) fn redirections(&mut self) -> ParseResult<OutsideScripts> {
        let mut words = Vec::new();
        while let Some(word) = self.redirection()? {
            words.push(word);
        }
        self.scripts_of(&words)
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

    /// Parses the scripts that are inside of words, as in `$(…)`.
    pub(super) fn scripts_of(&mut self, words: &[ScriptWord]) -> ParseResult<OutsideScripts> {
        let texts = words.iter().flat_map(|word| &word.scripts);
        let mut scripts = Vec::new();
        for text in texts {
            scripts.push(self.script(text)?);
        }
        Ok(scripts)
    }

    /// Parses the text of a script that is inside of a word.
    pub(super) fn script(&mut self, text: &str) -> ParseResult<ScriptPart> {
        if self.depth >= DEEPEST {
            return Err(Unreadable(text.to_owned()));
        }
        parse_inside(text, self.next_id, self.depth + 4)
    }

    pub(super) fn simple(&mut self, lead: Lead) -> ParseResult<ScriptPart> {
        let start = self.start();
        let (mut assignments, mut words, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_plain = true;
        loop {
            is_plain &= !matches!(self.operator(), Some("<<" | "<<-"));
            if let Some(target) = self.redirection()? {
                others.push(target);
                continue;
            }
            let Some(word) = self.take_word() else { break };
            let assigned = if words.is_empty() { assigned(&word) } else { None };
            let Some(mut assignment) = assigned else {
                words.push(word);
                continue;
            };
            if assignment.text.ends_with('=') && self.operator() == Some("(") && self.start() == word.end {
                (is_plain, assignment.value) = (false, None);
                self.values(&mut others)?;
            }
            others.push(word);
            assignments.push(assignment);
        }
        if words.is_empty() && assignments.is_empty() && others.is_empty() {
            return Err(self.unreadable());
        }
        let has_special = |word: &ScriptWord| word.has_escapes || word.text.starts_with("<(") || word.text.starts_with(">(");
        is_plain &= !words.iter().chain(&others).any(has_special);
        let simple = Simple { id: self.new_id(), assignments, words, scripts: Vec::new(), inner: None, is_plain };
        let simple = self.with_scripts(simple, &others)?;
        Ok(self.node(PartKind::Simple(Box::new(simple)), start, lead))
    }

    /// Returns whether a function begins here: a word and an opening bracket, as in `NAME()`.
    pub(super) fn is_function(&self) -> bool {
        self.keyword().is_some_and(|word| !word.contains('='))
            && matches!(self.tokens.get(self.at + 1), Some(Token::Operator { text: "(", .. }))
    }

    pub(super) fn new_id(&mut self) -> usize {
        *self.next_id += 1;
        *self.next_id
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

    /// Returns the text from the next token up to a position, and skips all tokens before that position.
    pub(super) fn text_up_to(&mut self, end: usize) -> &str {
        let start = self.start();
        while self.at < self.tokens.len() && self.start() < end {
            self.at += 1;
        }
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns the position of the `))` that closes the `((` at the current position; `None` if there is no such pair.
    pub(super) fn arithmetic_end(&self) -> Option<usize> {
        if !matches!(self.tokens.get(self.at + 1), Some(Token::Operator { text: "(", start }) if *start == self.start() + 1) {
            return None;
        }
        let mut depth = 0_usize;
        for token in self.tokens.get(self.at..)? {
            let Token::Operator { text, start } = token else { continue };
            match *text {
                "(" => depth += 1,
                ")" => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return self.text[..*start].ends_with(')').then_some(start - 1);
            }
        }
        None
    }
}

/// Returns the variable assignment that a word before a command makes; `None` if the word is no assignment.
fn assigned(word: &ScriptWord) -> Option<Assignment> {
    let (name, value) = word.text.split_once('=')?;
    let plain = name.strip_suffix('+').unwrap_or(name);
    let base = plain.split_once('[').filter(|(_, index)| index.ends_with(']')).map_or(plain, |(base, _)| base);
    let is_whole = base == name;
    // For a shell, a word with a quote in the name is a command. The text has no quotes any more, so such a word counts
    // as an assignment here.
    is_variable_name(base).then(|| Assignment {
        name: base.to_owned(),
        value: is_whole.then(|| ScriptWord { text: value.to_owned(), ..word.clone() }),
        text: word.text.clone(),
    })
}
