//! A shell script taken apart into its commands, as far as it can be read: nothing is expanded and nothing is run.
//!
//! What is more than a row of commands (a group, a loop, a condition, a text behind `<<`) or is not closed is not taken apart: whoever
//! asks is told so, and never a guess.

use std::iter::Peekable;
use std::str::Chars;

/// How a command is joined to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::spec) enum Joint {
    /// `;`, `&`, the end of a line or that of the script: the next one follows whatever becomes of it.
    Then,
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `|`.
    Pipe,
}

/// A command of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::spec) struct ScriptCommand {
    /// Its words without quotes and redirections, variables before it among them; `$NAME` and `$(…)` as they are written.
    pub(in crate::spec) words: Vec<String>,
    /// What stands behind it.
    pub(in crate::spec) joint: Joint,
}

/// Words that make more of a script than a row of commands, where a command would begin.
const KEYWORDS: &[&str] = &[
    "!", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "select", "then",
    "until", "while",
];

/// Returns the commands of a script; none where it is more than a row of commands, or is not closed.
pub(in crate::spec) fn commands_of(script: &str) -> Option<Vec<ScriptCommand>> {
    let mut reader =
        Reader { rest: script.chars().peekable(), word: None, is_target: false, words: Vec::new(), commands: Vec::new() };
    while let Some(character) = reader.rest.next() {
        reader.take(character)?;
    }
    reader.end_command(Joint::Then)?;
    Some(reader.commands)
}

/// Returns whether a word sets a variable: `NAME=value`.
pub(in crate::spec) fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        !name.starts_with(|first: char| first.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && is_name(name))
}

/// What was read so far.
struct Reader<'s> {
    rest: Peekable<Chars<'s>>,
    word: Option<String>,
    /// Whether the next word is where something is redirected to, which is no word of the command.
    is_target: bool,
    words: Vec<String>,
    commands: Vec<ScriptCommand>,
}

impl Reader<'_> {
    fn take(&mut self, character: char) -> Option<()> {
        match character {
            '\\' => self.escaped(),
            '\'' => self.until('\'')?,
            '"' => self.quoted()?,
            // `$'…'` has escapes of its own.
            '$' if self.rest.peek() == Some(&'\'') => return None,
            '$' => self.expansion()?,
            '`' => self.substitution()?,
            '#' if self.word.is_none() => while self.rest.next_if(|next| *next != '\n').is_some() {},
            '<' | '>' => self.redirection(character)?,
            '&' if self.rest.next_if_eq(&'>').is_some() => self.redirection('>')?,
            '&' if self.rest.next_if_eq(&'&').is_some() => self.end_command(Joint::And)?,
            '|' if self.rest.next_if_eq(&'|').is_some() => self.end_command(Joint::Or)?,
            '|' => {
                let _ = self.rest.next_if_eq(&'&');
                self.end_command(Joint::Pipe)?;
            }
            ';' | '&' | '\n' => self.end_command(Joint::Then)?,
            '(' | ')' => return None,
            blank if blank.is_whitespace() => self.end_word(),
            other => self.push(other),
        }
        Some(())
    }

    fn push(&mut self, character: char) {
        self.word.get_or_insert_default().push(character);
    }

    /// Takes what stands behind a backslash. At the end of a line the backslash only joins it to the next.
    fn escaped(&mut self) {
        if let Some(character) = self.rest.next().filter(|character| *character != '\n') {
            self.push(character);
        }
    }

    fn until(&mut self, close: char) -> Option<()> {
        self.word.get_or_insert_default();
        loop {
            match self.rest.next()? {
                character if character == close => return Some(()),
                character => self.push(character),
            }
        }
    }

    fn quoted(&mut self) -> Option<()> {
        self.word.get_or_insert_default();
        loop {
            match self.rest.next()? {
                '"' => return Some(()),
                '\\' => match self.rest.next()? {
                    '\n' => {}
                    character @ ('$' | '`' | '"' | '\\') => self.push(character),
                    character => {
                        self.push('\\');
                        self.push(character);
                    }
                },
                '$' => self.expansion()?,
                '`' => self.substitution()?,
                character => self.push(character),
            }
        }
    }

    /// Takes `$NAME`, `${…}` or `$(…)` as it is written.
    fn expansion(&mut self) -> Option<()> {
        self.push('$');
        match self.rest.peek() {
            Some('(') => self.enclosed('(', ')'),
            Some('{') => self.enclosed('{', '}'),
            Some(_) | None => Some(()),
        }
    }

    /// Takes everything up to the bracket that closes the one which is next.
    fn enclosed(&mut self, open: char, close: char) -> Option<()> {
        let (mut depth, mut quote) = (0_usize, None);
        loop {
            let character = self.rest.next()?;
            self.push(character);
            match (quote, character) {
                (None | Some('"'), '\\') => {
                    let escaped = self.rest.next()?;
                    self.push(escaped);
                }
                (Some(begun), _) if begun == character => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(character),
                (None, _) if character == open => depth += 1,
                (None, _) if character == close => depth -= 1,
                (None, _) => {}
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Takes what stands between backticks, and the backticks.
    fn substitution(&mut self) -> Option<()> {
        self.push('`');
        self.until('`')?;
        self.push('`');
        Some(())
    }

    /// Takes the rest of a redirection's operator; the word behind it is where to.
    fn redirection(&mut self, first: char) -> Option<()> {
        // In `2>log` the digits are no word but what is redirected.
        if self.word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        let operator: String = std::iter::from_fn(|| self.rest.next_if(|next| matches!(next, '<' | '>' | '&' | '|'))).collect();
        // What follows `<<` is a text on lines of its own, and what follows `<(` is a script.
        let is_text = first == '<' && operator.starts_with('<') && operator != "<<";
        if is_text || self.rest.peek() == Some(&'(') || self.is_target {
            return None;
        }
        self.is_target = true;
        Some(())
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if self.is_target {
            self.is_target = false;
        } else {
            self.words.push(word);
        }
    }

    fn end_command(&mut self, joint: Joint) -> Option<()> {
        self.end_word();
        if self.is_target {
            return None;
        }
        let words = std::mem::take(&mut self.words);
        // Behind `&&` the next line goes on.
        let Some(first) = words.first() else { return Some(()) };
        if KEYWORDS.contains(&first.as_str()) {
            return None;
        }
        self.commands.push(ScriptCommand { words, joint });
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::*;

    /// Returns the commands as `word|word` and what stands behind each.
    fn read(script: &str) -> Option<Vec<(String, Joint)>> {
        commands_of(script).map(|commands| commands.into_iter().map(|one| (one.words.join("|"), one.joint)).collect())
    }

    #[test]
    fn a_script_falls_apart_at_its_operators_and_nowhere_else() {
        use Joint::{And, Or, Pipe, Then};
        for (script, expected) in [
            ("cd web && npx tsc", vec![("cd|web", And), ("npx|tsc", Then)]),
            ("a;b\nc&d", vec![("a", Then), ("b", Then), ("c", Then), ("d", Then)]),
            ("a || b | c |& d", vec![("a", Or), ("b", Pipe), ("c", Pipe), ("d", Then)]),
            ("a &&\n\n  b \\\n  c", vec![("a", And), ("b|c", Then)]),
            ("A=1 a 2>&1 >'a log' <in &>> out b", vec![("A=1|a|b", Then)]),
            ("a 'b; c' \"d && \\\"e\\\"\" f\\ g", vec![("a|b; c|d && \"e\"|f g", Then)]),
            ("a $(b; c (d)) ${e:-f g} `h | i` \"$(j \")\")\"", vec![("a|$(b; c (d))|${e:-f g}|`h | i`|$(j \")\")", Then)]),
            ("a # b; c\nd#e", vec![("a", Then), ("d#e", Then)]),
            ("a '' <<< b", vec![("a|", Then)]),
            ("  ", vec![]),
        ] {
            let expected = expected.into_iter().map(|(words, joint)| (words.to_owned(), joint)).collect();
            assert_eq!(read(script), Some(expected), "{script}");
        }
    }

    #[test]
    fn what_is_more_than_a_row_of_commands_is_not_taken_apart() {
        for script in [
            "(cd web; tsc)",
            "{ tsc; }",
            "if a; then tsc; fi",
            "for p in a b; do tsc -p $p; done",
            "f() { tsc; }; f",
            "a 'b",
            "a \"b",
            "a $(b",
            "a `b",
            "a $'b'",
            "cat <<E\na\nE",
            "diff <(a) b",
            "a >",
            "a > >b",
            "! a",
        ] {
            assert_eq!(read(script), None, "{script}");
        }
    }

    #[test]
    fn a_variable_has_a_name() {
        assert!(is_assignment("A_1=") && is_assignment("_a=b=c"));
        assert!(!is_assignment("1A=b") && !is_assignment("=b") && !is_assignment("--a=b") && !is_assignment("a"));
    }

    proptest! {
        #[test]
        fn no_script_is_too_strange(script in "[a\\\\'\"$(){}<>&|;#`\\n ]{0,12}", text in ".*") {
            let _ = (read(&script), read(&text));
        }
    }
}
