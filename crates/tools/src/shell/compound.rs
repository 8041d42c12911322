//! Parses compound commands (groups, conditions, loops, functions), and the scripts in the words of plain commands.

use crate::shell::commands::without_launchers;
use crate::shell::parser::{ParseResult, ScriptParser};
use crate::shell::script::script_position;
use crate::shell::tree::{CaseClause, InnerScript, Lead, PartKind, ScriptPart, Simple};
use crate::shell::word::ScriptWord;

impl ScriptParser<'_> {
    pub(super) fn command(&mut self, lead: Lead) -> ParseResult<ScriptPart> {
        let start = self.start();
        let kind = match (self.operator(), self.keyword()) {
            (Some("("), _) => match self.arithmetic_end() {
                Some(end) => self.arithmetic(end)?,
                None => self.subshell()?,
            },
            (None, Some("{")) => self.group()?,
            (None, Some("if")) => self.condition()?,
            (None, Some(word @ ("while" | "until"))) => {
                let is_until = word == "until";
                self.repeated(is_until)?
            }
            (None, Some("for" | "select")) => self.for_each()?,
            (None, Some("case")) => self.case()?,
            (None, Some("function")) => self.function_by_keyword()?,
            (None, Some("coproc")) => {
                self.take_keyword("coproc");
                PartKind::Background(Box::new(self.command(Lead::Inside)?))
            }
            (None, Some("[[")) => self.double_bracket()?,
            (_, _) => match self.function_by_brackets()? {
                Some(function) => function,
                None => return self.simple(lead),
            },
        };
        let mut node = self.node(kind, start, lead);
        pass_lead_on(&mut node);
        Ok(node)
    }

    fn subshell(&mut self) -> ParseResult<PartKind> {
        self.take_operator("(");
        let inner = self.commands()?;
        if !self.take_operator(")") {
            return Err(self.unreadable());
        }
        Ok(PartKind::Subshell(Box::new(inner), self.redirections()?))
    }

    fn group(&mut self) -> ParseResult<PartKind> {
        self.take_keyword("{");
        let inner = self.commands()?;
        self.expect_keyword("}")?;
        Ok(PartKind::Group(Box::new(inner), self.redirections()?))
    }

    fn condition(&mut self) -> ParseResult<PartKind> {
        let (mut branches, mut otherwise) = (Vec::new(), None);
        self.take_keyword("if");
        loop {
            let condition = self.commands()?;
            self.expect_keyword("then")?;
            branches.push((condition, self.commands()?));
            if self.take_keyword("elif") {
                continue;
            }
            if self.take_keyword("else") {
                otherwise = Some(Box::new(self.commands()?));
            }
            self.expect_keyword("fi")?;
            return Ok(PartKind::If { branches, otherwise, outside: self.redirections()? });
        }
    }

    fn repeated(&mut self, is_until: bool) -> ParseResult<PartKind> {
        self.take_word();
        let condition = Box::new(self.commands()?);
        let body = Box::new(self.body()?);
        Ok(PartKind::Loop { is_until, condition, body, outside: self.redirections()? })
    }

    /// Parses the body of a loop, `do … done`.
    fn body(&mut self) -> ParseResult<ScriptPart> {
        self.expect_keyword("do")?;
        let body = self.commands()?;
        self.expect_keyword("done")?;
        Ok(body)
    }

    fn for_each(&mut self) -> ParseResult<PartKind> {
        self.take_word();
        let mut words = None;
        let name = match self.operator().and_then(|_| self.arithmetic_end()) {
            Some(end) => {
                self.text_up_to(end + 2);
                String::new()
            }
            None => self.take_word().ok_or_else(|| self.unreadable())?.text,
        };
        self.skip_lines();
        if self.take_keyword("in") {
            let mut listed = Vec::new();
            while let Some(word) = self.take_word() {
                listed.push(word);
            }
            words = Some(listed);
        }
        while self.take_operator(";") || self.take_operator("\n") {}
        let body = Box::new(if self.keyword() == Some("{") { self.command(Lead::Inside)? } else { self.body()? });
        let mut outside = self.scripts_of(words.as_deref().unwrap_or_default())?;
        outside.extend(self.redirections()?);
        Ok(PartKind::For { name, words, body, outside })
    }

    fn case(&mut self) -> ParseResult<PartKind> {
        self.take_word();
        let word = self.take_word().ok_or_else(|| self.unreadable())?;
        self.skip_lines();
        self.expect_keyword("in")?;
        let mut clauses = Vec::new();
        loop {
            self.skip_lines();
            if self.take_keyword("esac") {
                break;
            }
            self.take_operator("(");
            let mut patterns = Vec::new();
            loop {
                patterns.push(self.take_word().ok_or_else(|| self.unreadable())?);
                if !self.take_operator("|") {
                    break;
                }
            }
            if !self.take_operator(")") {
                return Err(self.unreadable());
            }
            let body = self.list(Lead::Inside)?;
            let goes_on = self.take_operator(";&") || self.take_operator(";;&");
            clauses.push(CaseClause { patterns, body, goes_on });
            if !goes_on && !self.take_operator(";;") {
                self.expect_keyword("esac")?;
                break;
            }
        }
        let mut outside = self.scripts_of(std::slice::from_ref(&word))?;
        outside.extend(self.redirections()?);
        Ok(PartKind::Case { word, clauses, outside })
    }

    fn function_by_keyword(&mut self) -> ParseResult<PartKind> {
        self.take_keyword("function");
        let name = self.take_word().ok_or_else(|| self.unreadable())?.text;
        if self.take_operator("(") && !self.take_operator(")") {
            return Err(self.unreadable());
        }
        self.function_body(name)
    }

    /// Parses a function written as `NAME() …`; `None` if the next tokens are something else.
    fn function_by_brackets(&mut self) -> ParseResult<Option<PartKind>> {
        if !self.is_function() {
            return Ok(None);
        }
        let name = self.take_word().ok_or_else(|| self.unreadable())?.text;
        self.take_operator("(");
        if !self.take_operator(")") {
            return Err(self.unreadable());
        }
        self.function_body(name).map(Some)
    }

    fn function_body(&mut self, name: String) -> ParseResult<PartKind> {
        self.skip_lines();
        let body = Box::new(self.command(Lead::Inside)?);
        Ok(PartKind::Function { name, body })
    }

    fn double_bracket(&mut self) -> ParseResult<PartKind> {
        let mut words = Vec::new();
        loop {
            match self.take_word() {
                Some(word) => {
                    let is_end = word.text == "]]" && !word.is_quoted;
                    words.push(word);
                    if is_end {
                        break;
                    }
                }
                None => match self.operator() {
                    Some(operator) => {
                        self.take_operator(operator);
                        words.push(ScriptWord { text: operator.to_owned(), expands: true, ..ScriptWord::default() });
                    }
                    None => return Err(self.unreadable()),
                },
            }
        }
        self.built_in(words)
    }

    /// Parses `(( … ))`; `end` is the position of the `))`.
    fn arithmetic(&mut self, end: usize) -> ParseResult<PartKind> {
        let text = self.text_up_to(end);
        let text = text.strip_prefix("((").unwrap_or(text).to_owned();
        self.text_up_to(end + 2);
        let word = |text: &str| ScriptWord { text: text.to_owned(), ..ScriptWord::default() };
        let mut value = ScriptWord::document(&text);
        value.expands = true;
        self.built_in(vec![word("(("), value])
    }

    fn built_in(&mut self, words: Vec<ScriptWord>) -> ParseResult<PartKind> {
        let simple =
            Simple { id: self.new_id(), assignments: Vec::new(), words, scripts: Vec::new(), inner: None, is_plain: false };
        let outside = self.redirections()?;
        let mut simple = self.with_scripts(simple, &[])?;
        simple.scripts.extend(outside);
        Ok(PartKind::Simple(Box::new(simple)))
    }

    /// Adds the parsed scripts of a command: the command substitutions in `others` and in its own words, and the script that is
    /// one of its arguments (`sh -c '…'`).
    pub(super) fn with_scripts(&mut self, mut simple: Simple, others: &[ScriptWord]) -> ParseResult<Simple> {
        simple.scripts = self.scripts_of(others)?;
        let scripts = self.scripts_of(&simple.words)?;
        simple.scripts.extend(scripts);
        let own = without_launchers(&simple.words);
        let texts: Vec<&str> = own.iter().map(|word| word.text.as_str()).collect();
        simple.inner = match texts.first() {
            Some(&"eval") if !own.iter().skip(1).all(is_opaque) => Some(InnerScript::Eval(self.script(&texts[1..].join(" "))?)),
            Some(&"trap") => self.trap(own)?,
            Some(_) => match script_position(&texts) {
                Some((at, options)) if !is_opaque(&own[at]) => Some(InnerScript::Shell(self.script(texts[at])?, options)),
                Some(_) | None => None,
            },
            None => None,
        };
        Ok(simple)
    }

    fn trap(&mut self, words: &[ScriptWord]) -> ParseResult<Option<InnerScript>> {
        let operands: Vec<&ScriptWord> = words.iter().skip(1).filter(|word| word.text != "--").collect();
        let Some((action, events)) = operands.split_first().filter(|(_, events)| !events.is_empty()) else { return Ok(None) };
        let text = if action.text == "-" { "" } else { action.text.as_str() };
        let body = self.script(text)?;
        let events = events.iter().map(|event| event.text.to_uppercase().trim_start_matches("SIG").to_owned()).collect();
        Ok(Some(InnerScript::Trap { body, expands: action.expands, events }))
    }
}

/// Returns whether a word is completely unknown before the script runs.
pub(super) fn is_opaque(word: &ScriptWord) -> bool {
    word.expands && word.text.starts_with(['$', '`']) && !word.text.contains([' ', ';', '\n'])
        || (word.text.starts_with("$(") && word.text.ends_with(')'))
}

/// Gives a command that is alone in brackets the text of the whole group and the operator before it, because messages
/// show both.
fn pass_lead_on(node: &mut ScriptPart) {
    let (PartKind::Group(inner, _) | PartKind::Subshell(inner, _)) = &mut node.kind else { return };
    let PartKind::List(commands) = &mut inner.kind else { return };
    if let [only] = commands.as_mut_slice() {
        only.text.clone_from(&node.text);
        only.lead = node.lead;
    }
}
