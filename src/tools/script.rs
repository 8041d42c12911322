//! Takes a shell script apart far enough to see which programs it names. Nothing is expanded, nothing is run.

/// Words that may stand before a command without being one.
const KEYWORDS: &[&str] = &["!", "{", "do", "elif", "else", "exec", "command", "if", "then", "time", "until", "while"];

/// Returns the simple commands of a script as word lists, without leading keywords and variable assignments.
///
/// Quotes are respected; redirections stay as words; the insides of `$(…)` count as commands of their own.
pub(super) fn simple_commands(script: &str) -> Vec<Vec<String>> {
    let mut lexer = Lexer::default();
    let mut characters = script.chars().peekable();
    while let Some(character) = characters.next() {
        match (lexer.quote, character) {
            (Some('"'), '\\') | (None, '\\') => lexer.escape(characters.next()),
            (Some(open), close) if open == close => lexer.quote = None,
            (Some(_), other) => lexer.push(other),
            (None, '\'' | '"') => lexer.open_quote(character),
            (None, '#') if lexer.word.is_none() => while characters.next_if(|next| *next != '\n').is_some() {},
            // `2>&1` and `&>log` are redirections, not the end of a command.
            (None, '>' | '<') => {
                lexer.push(character);
                if let Some(next) = characters.next_if(|next| matches!(next, '&' | '>' | '|')) {
                    lexer.push(next);
                }
            }
            (None, '&') if characters.peek() == Some(&'>') => lexer.push(character),
            (None, '\n' | ';' | '&' | '|' | '(' | ')' | '`') => lexer.end_command(),
            (None, blank) if blank.is_whitespace() => lexer.end_word(),
            (None, other) => lexer.push(other),
        }
    }
    lexer.end_command();
    lexer.commands.into_iter().map(without_prefix).filter(|command| !command.is_empty()).collect()
}

/// Returns whether a word is a variable assignment, `NAME=value`.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.chars().next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    })
}

fn without_prefix(command: Vec<String>) -> Vec<String> {
    command.into_iter().skip_while(|word| KEYWORDS.contains(&word.as_str()) || is_assignment(word)).collect()
}

#[derive(Default)]
struct Lexer {
    quote: Option<char>,
    word: Option<String>,
    command: Vec<String>,
    commands: Vec<Vec<String>>,
}

impl Lexer {
    fn push(&mut self, character: char) {
        self.word.get_or_insert_default().push(character);
    }

    fn escape(&mut self, next: Option<char>) {
        match next {
            // A backslash before a line end joins the lines.
            Some('\n') | None => {}
            Some(character) => self.push(character),
        }
    }

    fn open_quote(&mut self, quote: char) {
        self.quote = Some(quote);
        self.word.get_or_insert_default();
    }

    fn end_word(&mut self) {
        self.command.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        self.commands.push(std::mem::take(&mut self.command));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_falls_apart_at_operators_outside_quotes() {
        let commands =
            simple_commands("cd web && CI=1 npx tsc --noEmit 2>&1 | tee 'a;b' ; # pytest\nif ! eslint \"src & lib\"; then x; fi");
        let words: Vec<Vec<&str>> = commands.iter().map(|command| command.iter().map(String::as_str).collect()).collect();
        assert_eq!(
            words,
            [
                vec!["cd", "web"],
                vec!["npx", "tsc", "--noEmit", "2>&1"],
                vec!["tee", "a;b"],
                vec!["eslint", "src & lib"],
                vec!["x"],
                vec!["fi"]
            ]
        );
        assert_eq!(simple_commands("a \\\n  b"), [["a", "b"]]);
        assert_eq!(simple_commands("echo \"pytest"), [["echo", "pytest"]], "an open quote is not a crash");
    }
}
