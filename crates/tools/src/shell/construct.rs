//! Decides whether the text of a command needs a shell (E9).

use crate::shell::lexer::{Construct, Token, lex};
use proctor_model::is_assignment;

const DIRECTORY: Option<&str> = Some("name the directory with `directory = \"…\"`");
const VARIABLES: Option<&str> = Some("set variables with `environment = { NAME = \"…\" }`");

/// Commands of the shell itself: a text that begins with one needs a shell. Each comes with an alternative, if there is
/// one.
const BUILTINS: &[(&str, Option<&str>)] = &[
    ("cd", DIRECTORY),
    ("pushd", DIRECTORY),
    ("export", VARIABLES),
    ("source", None),
    (".", None),
    ("eval", None),
    ("exec", None),
    ("set", None),
    ("ulimit", None),
    ("umask", None),
    ("alias", None),
    ("if", None),
    ("for", None),
    ("while", None),
    ("!", None),
    ("{", None),
];

/// Returns the first part of a command's text that needs a shell.
pub fn shell_construct(text: &str) -> Option<Construct> {
    let lexed = lex(text.trim());
    if let Some(construct) = lexed.construct {
        let instead = if text.trim_start().starts_with("cd ") { DIRECTORY } else { construct.instead };
        return Some(Construct { instead, ..construct });
    }
    let Some(Token::Word(first)) = lexed.tokens.into_iter().next() else { return None };
    if let Some((_, instead)) = BUILTINS.iter().find(|(word, _)| *word == first.text) {
        return Some(Construct { what: "a command of the shell", text: first.text, instead: *instead });
    }
    is_assignment(&first.text).then_some(Construct {
        what: "a variable before the command",
        text: first.text,
        instead: VARIABLES,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_shell_is_named() {
        for (text, what, written) in [
            ("a | b", "a pipe", "|"),
            ("a && b", "a list of commands", "&&"),
            ("a; b", "a list of commands", ";"),
            ("a > out", "a redirection", ">"),
            ("a 2>&1", "a redirection", ">&"),
            ("pytest tests/*.py", "a glob", "tests/*.py"),
            ("pytest t.py::x[1]", "a glob", "t.py::x[1]"),
            ("pytest $HOME/x", "a variable", "$HOME/x"),
            ("pytest \"$HOME\"", "a variable", "$HOME\""),
            ("echo `date`", "a command substitution", "`date`"),
            ("ls ~/x", "a path below HOME", "~/x"),
            ("ls a{b,c}", "a brace expansion", "a{b,c}"),
            ("ls {a}{b,c}", "a brace expansion", "{a}{b,c}"),
            ("ls {{a,b}", "a brace expansion", "{{a,b}"),
            ("ls a[[0]", "a glob", "a[[0]"),
            ("ls $A | b", "a variable", "$A"),
            ("pytest # all", "a comment", "# all"),
            ("a\nb", "a second line", "\n"),
            ("cd web", "a command of the shell", "cd"),
            ("A=1 pytest", "a variable before the command", "A=1"),
            ("sleep 1 &", "a background command", "&"),
        ] {
            let found = shell_construct(text).map(|construct| (construct.what, construct.text));
            assert_eq!(found, Some((what, written.to_owned())), "{text}");
        }
        let instead = |text| shell_construct(text).and_then(|construct| construct.instead);
        assert_eq!((instead("cd web && npm test"), instead("npm ci && npm test")), (DIRECTORY, None));
    }

    #[test]
    fn a_plain_command_needs_no_shell() {
        for text in [
            "pytest -q",
            "pytest -k 'a and not b'",
            "pytest \"tests/test_a.py::test_x[1]\"",
            "grep 'a|b' 'x*'",
            "pytest a\\ b",
            "npx eslint --rule '{\"semi\": 2}'",
            "env A=1 pytest",
            "make x#y",
            "tool {}",
            "tool {a b,c}",
            "tool {a}b,c}",
            "tool [[a b]",
        ] {
            assert_eq!(shell_construct(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_of_many_constructs_is_not_copied_for_each() {
        let count = 1 << 18;
        let found = shell_construct(&"$".repeat(count)).map(|construct| construct.text.len());
        assert_eq!(found, Some(count));
        for text in ["[", "{", "a[{"] {
            assert_eq!(shell_construct(&text.repeat(count)), None);
        }
    }
}
