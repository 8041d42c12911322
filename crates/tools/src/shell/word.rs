//! A word of a script: quotes, expansions, and the scripts inside of it.

use crate::shell::lexer::{ScriptLexer, is_process_substitution, joined_lines, operator_at};

/// A word before the shell expands it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ScriptWord {
    /// The text without quotes. `$NAME` and `$(…)` stay as written.
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether a part of the word is quoted. A quoted word is no keyword.
    pub(super) is_quoted: bool,
    /// Whether the shell may replace the word by another text or by several words.
    pub(super) expands: bool,
    /// Whether the word has a `$'…'`. Its escapes are not interpreted here.
    pub(super) has_escapes: bool,
    /// The scripts in the word's `$(…)`, backticks and `<(…)`.
    pub(super) scripts: Vec<String>,
    /// Whether a quote or a bracket in the word is not closed.
    pub(super) is_open: bool,
}

/// A construct that is open while its closing `}`, `)` or quote is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Enclosure {
    Round,
    Curly,
    /// `${…}` inside of double quotes, where `'` is an ordinary character.
    CurlyInQuotes,
    Double,
}

impl ScriptWord {
    pub(super) fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), is_quoted: true, ..Self::default() }
    }

    /// Reads a text after `<<`. In such a text only expansions have a meaning.
    pub(super) fn document(text: &str) -> Self {
        let mut word = Self { is_quoted: true, ..Self::default() };
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            match character {
                '\\' => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
                '$' | '`' => at += word.expansion(&text[at..], true),
                other => at += other.len_utf8(),
            }
        }
        text.clone_into(&mut word.text);
        word
    }

    /// Reads `$NAME`, `${…}`, `$(…)` or a text in backticks, and returns its length.
    fn expansion(&mut self, text: &str, is_in_quotes: bool) -> usize {
        let length = self.read_expansion(text, is_in_quotes, 0);
        self.text.push_str(&text[..length]);
        length
    }

    fn read_expansion(&mut self, text: &str, is_in_quotes: bool, depth: usize) -> usize {
        self.expands = true;
        let curly = if is_in_quotes { Enclosure::CurlyInQuotes } else { Enclosure::Curly };
        let length = if let Some(rest) = text.strip_prefix('`') {
            let end = end_of_backticks(rest);
            let inner = &rest[..end.unwrap_or(rest.len())];
            self.scripts.push(inner.replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\"));
            end.map(|end| end + 2)
        } else if let Some(end) = end_of_arithmetic(text) {
            self.nested(&text[3..end - 2], depth);
            Some(end)
        } else if text.starts_with("$(") || is_process_substitution(text) {
            let end = end_of(&text[2..], Enclosure::Round);
            self.scripts.push(text[2..end.map_or(text.len(), |end| end + 2)].to_owned());
            end.map(|end| end + 3)
        } else if let Some(rest) = text.strip_prefix("${") {
            let end = end_of(rest, curly);
            if let Some(end) = end {
                self.nested(&rest[..end], depth);
            }
            end.map(|end| end + 3)
        } else {
            Some(1)
        };
        self.is_open |= length.is_none();
        length.unwrap_or(text.len())
    }

    /// Collects the scripts inside of `${NAME:-$(…)}` and of arithmetic.
    fn nested(&mut self, inner: &str, depth: usize) {
        if depth == MOST_NESTED {
            self.is_open = true;
            return;
        }
        let mut at = 0;
        while let Some(found) = inner[at..].find(['$', '`']) {
            at += found;
            at += self.read_expansion(&inner[at..], true, depth + 1);
        }
    }
}

/// The deepest nesting of expansions that is read. A word with a deeper nesting counts as not closed.
const MOST_NESTED: usize = 8;

/// Returns the length of the `$((…))` at the beginning of the text; `None` if the text does not begin with one.
fn end_of_arithmetic(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("$((")?;
    let end = end_of(inner, Enclosure::Round)?;
    inner[end + 1..].starts_with(')').then_some(end + 5)
}

impl<'t> ScriptLexer<'t> {
    /// Reads the word at the current position, which is not white space.
    pub(super) fn word(&mut self) -> ScriptWord {
        let mut word = ScriptWord { start: self.at, ..ScriptWord::default() };
        // Before these positions, an opening bracket or brace is known to have no closing partner, so the text is not
        // searched again for a partner.
        let (mut plain_bracket, mut plain_brace) = (0, 0);
        while let Some(character) = self.rest().chars().next() {
            let rest = self.rest();
            match character {
                '\\' if joined_lines(rest).is_some() => self.at += 2,
                '\\' => {
                    word.is_quoted = true;
                    let escaped = rest[1..].chars().next();
                    word.text.extend(escaped);
                    word.is_open |= escaped.is_none();
                    self.at += 1 + escaped.map_or(0, char::len_utf8);
                }
                '\'' => self.single(&mut word),
                '"' => self.double(&mut word),
                '<' | '>' if is_process_substitution(rest) => {
                    self.note("a redirection", || &rest[..1]);
                    self.at += word.expansion(rest, false);
                }
                _ if character.is_whitespace() || operator_at(rest).is_some() => break,
                '$' if rest.starts_with("$'") => self.escapes(&mut word),
                '$' | '`' => {
                    self.note(kind_of(character), || first_word(rest));
                    self.at += word.expansion(rest, false);
                }
                _ => {
                    self.pattern(character, &mut word, &mut plain_bracket, &mut plain_brace);
                    word.text.push(character);
                    self.at += character.len_utf8();
                }
            }
        }
        word.end = self.at;
        word
    }

    /// Records that a character makes the shell expand the word to file names or to several words.
    fn pattern(&mut self, character: char, word: &mut ScriptWord, plain_bracket: &mut usize, plain_brace: &mut usize) {
        let (rest, begun) = (self.rest(), &self.text[word.start..]);
        match character {
            '*' | '?' => {
                word.expands = true;
                self.note("a glob", || first_word(begun));
            }
            '[' if self.at >= *plain_bracket => {
                let bracket = first_word(rest);
                if bracket.contains(']') {
                    word.expands = true;
                    self.note("a glob", || first_word(begun));
                }
                *plain_bracket = self.at + bracket.len();
            }
            '{' if self.at >= *plain_brace => {
                let brace = first_word(rest);
                let inner = brace.find('}').map_or(brace, |end| &brace[..end]);
                if inner.len() < brace.len() && (inner.contains(',') || inner.contains("..")) {
                    word.expands = true;
                    self.note("a brace expansion", || first_word(begun));
                }
                *plain_brace = self.at + inner.len();
            }
            '~' if self.at == word.start => {
                word.expands = true;
                self.note("a path below HOME", || first_word(begun));
            }
            _ => {}
        }
    }

    fn single(&mut self, word: &mut ScriptWord) {
        word.is_quoted = true;
        let inner = &self.rest()[1..];
        let end = inner.find('\'');
        word.is_open |= end.is_none();
        let end = end.unwrap_or(inner.len());
        word.text.push_str(&inner[..end]);
        self.at = (self.at + end + 2).min(self.text.len());
    }

    fn double(&mut self, word: &mut ScriptWord) {
        word.is_quoted = true;
        self.at += 1;
        while let Some(character) = self.rest().chars().next() {
            let rest = self.rest();
            match character {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' => {
                    let escaped = rest[1..].chars().next();
                    if !matches!(escaped, Some('$' | '`' | '"' | '\\' | '\n') | None) {
                        word.text.push('\\');
                    }
                    word.text.extend(escaped.filter(|escaped| *escaped != '\n'));
                    self.at += 1 + escaped.map_or(0, char::len_utf8);
                }
                '$' | '`' => {
                    self.note(kind_of(character), || first_word(rest));
                    self.at += word.expansion(rest, true);
                }
                other => {
                    word.text.push(other);
                    self.at += other.len_utf8();
                }
            }
        }
        word.is_open = true;
    }

    /// Reads `$'…'` without interpreting its escapes.
    fn escapes(&mut self, word: &mut ScriptWord) {
        let rest = self.rest();
        self.note(kind_of('$'), || first_word(rest));
        (word.is_quoted, word.expands, word.has_escapes) = (true, true, true);
        let mut characters = rest.char_indices().skip(2);
        while let Some((offset, character)) = characters.next() {
            match character {
                '\\' => drop(characters.next()),
                '\'' => {
                    word.text.push_str(&rest[..=offset]);
                    self.at += offset + 1;
                    return;
                }
                _ => {}
            }
        }
        word.text.push_str(rest);
        word.is_open = true;
        self.at = self.text.len();
    }
}

fn kind_of(character: char) -> &'static str {
    if character == '$' { "a variable" } else { "a command substitution" }
}

fn first_word(text: &str) -> &str {
    text.split(char::is_whitespace).next().unwrap_or_default()
}

fn end_of_backticks(text: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    while let Some((offset, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '`' => return Some(offset),
            _ => {}
        }
    }
    None
}

/// Returns the position of the bracket or quote that closes an enclosure which was opened before the text.
fn end_of(text: &str, opened: Enclosure) -> Option<usize> {
    let mut open = vec![opened];
    let mut at = 0;
    let mut before = ' ';
    while let Some(character) = text[at..].chars().next() {
        let (rest, top) = (&text[at..], *open.last()?);
        let mut length = character.len_utf8();
        match (top, character) {
            (_, '\\') => length += rest[1..].chars().next().map_or(0, char::len_utf8),
            (Enclosure::Double, '"') | (Enclosure::Round, ')') | (Enclosure::Curly | Enclosure::CurlyInQuotes, '}') => {
                open.pop();
                if open.is_empty() {
                    return Some(at);
                }
            }
            (_, '`') => length += end_of_backticks(&rest[1..])? + 1,
            (_, '$') if rest.starts_with("$(") => {
                open.push(Enclosure::Round);
                length = 2;
            }
            (_, '$') if rest.starts_with("${") => {
                let is_in_quotes = matches!(top, Enclosure::Double | Enclosure::CurlyInQuotes);
                open.push(if is_in_quotes { Enclosure::CurlyInQuotes } else { Enclosure::Curly });
                length = 2;
            }
            (Enclosure::Double, _) => {}
            (_, '"') => open.push(Enclosure::Double),
            (Enclosure::Round | Enclosure::Curly, '\'') => length += rest[1..].find('\'')? + 1,
            (Enclosure::Round, '(') => open.push(Enclosure::Round),
            (Enclosure::Round, '#') if before.is_whitespace() || before == ';' => length = rest.find('\n')?,
            (Enclosure::Round | Enclosure::Curly | Enclosure::CurlyInQuotes, _) => {}
        }
        before = character;
        at += length;
    }
    None
}
