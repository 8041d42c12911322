//! Reading a command text as a shell would, as far as needed to say that it needs one, or that it hides a failure (E9).
//!
//! It never runs or expands anything. What it refuses as masking are the known patterns; a shell script can hide its status in
//! ways no list holds, which is why commands are argument vectors unless `shell = true`.

/// Something of a command text that only a shell understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Construct {
    /// What it is, for people: "a pipe".
    pub what: &'static str,
    /// As it is written.
    pub text: String,
    /// Another way than a shell, if there is one.
    pub instead: Option<&'static str>,
}

/// A piece of a shell text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Operator(&'static str),
}

struct Operator {
    text: &'static str,
    what: &'static str,
}

/// The operators of a shell, longer ones before their beginnings.
const OPERATORS: &[Operator] = &[
    Operator { text: "&>>", what: "a redirection" },
    Operator { text: "<<<", what: "a redirection" },
    Operator { text: "&&", what: "a list of commands" },
    Operator { text: "||", what: "a list of commands" },
    Operator { text: "|&", what: "a pipe" },
    Operator { text: "&>", what: "a redirection" },
    Operator { text: ">&", what: "a redirection" },
    Operator { text: ">>", what: "a redirection" },
    Operator { text: ">|", what: "a redirection" },
    Operator { text: "<&", what: "a redirection" },
    Operator { text: "<<", what: "a redirection" },
    Operator { text: ";", what: "a list of commands" },
    Operator { text: "\n", what: "a second line" },
    Operator { text: "|", what: "a pipe" },
    Operator { text: "&", what: "a background command" },
    Operator { text: ">", what: "a redirection" },
    Operator { text: "<", what: "a redirection" },
    Operator { text: "(", what: "a group" },
    Operator { text: ")", what: "a group" },
];

struct Builtin {
    word: &'static str,
    instead: Option<&'static str>,
}

const DIRECTORY: Option<&str> = Some("name the directory with `directory = \"…\"`");
const VARIABLES: Option<&str> = Some("set variables with `environment = { NAME = \"…\" }`");

/// Words that are commands of the shell itself when they stand first.
const BUILTINS: &[Builtin] = &[
    Builtin { word: "cd", instead: DIRECTORY },
    Builtin { word: "pushd", instead: DIRECTORY },
    Builtin { word: "export", instead: VARIABLES },
    Builtin { word: "source", instead: None },
    Builtin { word: ".", instead: None },
    Builtin { word: "eval", instead: None },
    Builtin { word: "exec", instead: None },
    Builtin { word: "set", instead: None },
    Builtin { word: "ulimit", instead: None },
    Builtin { word: "umask", instead: None },
    Builtin { word: "alias", instead: None },
    Builtin { word: "if", instead: None },
    Builtin { word: "for", instead: None },
    Builtin { word: "while", instead: None },
    Builtin { word: "!", instead: None },
    Builtin { word: "{", instead: None },
];

/// Where the words of a mask stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Anywhere,
    AtTheEnd,
}

struct Mask {
    /// What stands before; `^` is the beginning of the text.
    after: &'static [&'static str],
    words: &'static [&'static str],
    extent: Extent,
    why: &'static str,
}

const OR: &[&str] = &["||"];
const THEN: &[&str] = &[";", "\n", "&"];
const PIPE: &[&str] = &["|", "|&"];
const START: &[&str] = &["^", ";", "\n", "&&", "||", "(", "&"];
const TURNS: &str = "turns every failure into success";
const LAST: &str = "ends with the status of the last command, whatever the ones before it did";
const CUTS: &str = "cuts the output short and may stop the command before its end";
const UNDOES: &str = "undoes the protection against hidden failures";

/// The patterns that hide a failure.
const MASKS: &[Mask] = &[
    Mask { after: OR, words: &["true"], extent: Extent::Anywhere, why: TURNS },
    Mask { after: OR, words: &["/bin/true"], extent: Extent::Anywhere, why: TURNS },
    Mask { after: OR, words: &[":"], extent: Extent::Anywhere, why: TURNS },
    Mask { after: OR, words: &["exit", "0"], extent: Extent::Anywhere, why: TURNS },
    Mask { after: OR, words: &["echo"], extent: Extent::Anywhere, why: TURNS },
    Mask { after: OR, words: &["printf"], extent: Extent::Anywhere, why: TURNS },
    Mask { after: THEN, words: &["exit", "0"], extent: Extent::AtTheEnd, why: LAST },
    Mask { after: THEN, words: &["true"], extent: Extent::AtTheEnd, why: LAST },
    Mask { after: THEN, words: &[":"], extent: Extent::AtTheEnd, why: LAST },
    Mask { after: THEN, words: &["echo"], extent: Extent::Anywhere, why: LAST },
    Mask { after: PIPE, words: &["tail"], extent: Extent::Anywhere, why: CUTS },
    Mask { after: PIPE, words: &["head"], extent: Extent::Anywhere, why: CUTS },
    Mask { after: START, words: &["!"], extent: Extent::Anywhere, why: "turns success into failure and failure into success" },
    Mask { after: START, words: &["set", "+e"], extent: Extent::Anywhere, why: UNDOES },
    Mask { after: START, words: &["set", "+o", "pipefail"], extent: Extent::Anywhere, why: UNDOES },
];

/// Returns the first thing of a command text that needs a shell.
pub fn shell_construct(text: &str) -> Option<Construct> {
    let (tokens, construct) = scan(text.trim());
    if construct.is_some() {
        return construct;
    }
    let Some(Token::Word(first)) = tokens.first() else { return None };
    if let Some(builtin) = BUILTINS.iter().find(|builtin| builtin.word == first) {
        return Some(Construct { what: "a command of the shell", text: first.clone(), instead: builtin.instead });
    }
    let is_assignment = first.split_once('=').is_some_and(|(name, _)| crate::config::values::variable_name(name).is_ok());
    is_assignment.then(|| Construct { what: "a variable before the command", text: first.clone(), instead: VARIABLES })
}

/// Returns the first pattern of a script that hides a failure, as it would be written, and what it does.
pub fn masking_pattern(script: &str) -> Option<(String, &'static str)> {
    let (tokens, _) = scan(script.trim());
    if tokens.last() == Some(&Token::Operator("&")) {
        return Some(("&".to_owned(), "leaves the command running and reports success at once"));
    }
    for start in 0..=tokens.len() {
        let before = match start.checked_sub(1).and_then(|index| tokens.get(index)) {
            None if start == 0 => "^",
            Some(Token::Operator(operator)) => operator,
            None | Some(Token::Word(_)) => continue,
        };
        let rest = tokens.get(start..).unwrap_or_default();
        if let Some(mask) = MASKS.iter().find(|mask| mask.after.contains(&before) && mask.matches(rest)) {
            let operator = if before == "^" || before == "\n" { String::new() } else { format!("{before} ") };
            return Some((format!("{operator}{}", mask.words.join(" ")), mask.why));
        }
    }
    None
}

impl Mask {
    fn matches(&self, tokens: &[Token]) -> bool {
        let mut words = self.words.iter().enumerate();
        let all = words.all(|(index, want)| matches!(tokens.get(index), Some(Token::Word(word)) if word == want));
        let behind = tokens.get(self.words.len());
        all && match self.extent {
            Extent::Anywhere => true,
            Extent::AtTheEnd => behind.is_none_or(|token| *token == Token::Operator(")")),
        }
    }
}

/// Splits a text into words and operators, quotes removed, and returns with them the first thing that needs a shell.
fn scan(text: &str) -> (Vec<Token>, Option<Construct>) {
    let (mut tokens, mut construct) = (Vec::new(), None);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '#' {
            note(&mut construct, "a comment", || rest.lines().next().unwrap_or_default());
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(operator.text)) {
            note(&mut construct, operator.what, || operator.text);
            tokens.push(Token::Operator(operator.text));
            rest = &rest[operator.text.len()..];
        } else if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
        } else {
            let (word, length) = scan_word(rest, &mut construct);
            tokens.push(Token::Word(word));
            rest = &rest[length..];
        }
    }
    (tokens, construct)
}

/// Reads one word and returns it without quotes, and its length as written. The text does not begin with white space.
fn scan_word(text: &str, construct: &mut Option<Construct>) -> (String, usize) {
    let mut word = String::new();
    let mut quote = None;
    let mut escaped = false;
    let mut end = text.len();
    // Up to these offsets a bracket, or a brace, is known to open nothing: no text is looked through twice for its other end.
    let (mut plain_bracket, mut plain_brace) = (0, 0);
    for (offset, character) in text.char_indices() {
        if escaped {
            escaped = false;
            word.push(character);
            continue;
        }
        match (quote, character) {
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, _) if character.is_whitespace() || starts_operator(&text[offset..]) => {
                end = offset;
                break;
            }
            (None | Some('"'), '$' | '`') => {
                let what = if character == '$' { "a variable" } else { "a command substitution" };
                note(construct, what, || first_word(&text[offset..]));
                word.push(character);
            }
            (None, '*' | '?') => {
                note(construct, "a glob", || first_word(text));
                word.push(character);
            }
            (None, '[') if construct.is_none() && offset >= plain_bracket => {
                let rest = first_word(&text[offset..]);
                if rest.contains(']') {
                    note(construct, "a glob", || first_word(text));
                }
                plain_bracket = offset + rest.len();
                word.push(character);
            }
            (None, '{') if construct.is_none() && offset >= plain_brace => {
                let rest = first_word(&text[offset..]);
                let inner = rest.find('}').map_or(rest, |end| &rest[..end]);
                if inner.len() < rest.len() && (inner.contains(',') || inner.contains("..")) {
                    note(construct, "a brace expansion", || first_word(text));
                }
                plain_brace = offset + inner.len();
                word.push(character);
            }
            (None, '~') if offset == 0 => {
                note(construct, "a home directory", || first_word(text));
                word.push(character);
            }
            _ => word.push(character),
        }
    }
    (word, end)
}

/// Keeps what needs a shell if it is the first such thing: a text of many of them must not be copied for each.
fn note<'t>(construct: &mut Option<Construct>, what: &'static str, text: impl FnOnce() -> &'t str) {
    construct.get_or_insert_with(|| Construct { what, text: text().to_owned(), instead: None });
}

fn starts_operator(text: &str) -> bool {
    OPERATORS.iter().any(|operator| text.starts_with(operator.text))
}

fn first_word(text: &str) -> &str {
    text.split(char::is_whitespace).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

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
            ("ls ~/x", "a home directory", "~/x"),
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
    fn a_pattern_that_hides_a_failure_is_found() {
        for (script, pattern) in [
            ("pytest || true", "|| true"),
            ("pytest ||true", "|| true"),
            ("pytest || :", "|| :"),
            ("pytest; exit 0", "; exit 0"),
            ("pytest\nexit 0", "exit 0"),
            ("(pytest; true)", "; true"),
            ("pytest | tail -5", "| tail"),
            ("pytest 2>&1 | head", "| head"),
            ("pytest; echo done", "; echo"),
            ("pytest &", "&"),
            ("! pytest", "!"),
            ("set +o pipefail; pytest | cat", "set +o pipefail"),
            ("pytest || 'true'", "|| true"),
        ] {
            assert_eq!(masking_pattern(script).map(|(pattern, _)| pattern), Some(pattern.to_owned()), "{script}");
        }
    }

    #[test]
    fn a_script_that_passes_failures_on_is_left_alone() {
        for script in
            ["pytest && tsc", "pytest | tee log", "a || exit 1", "echo '|| true'; pytest", "true && pytest", "cd x; pytest"]
        {
            assert_eq!(masking_pattern(script), None, "{script}");
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

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".*") {
            let _ = (shell_construct(&text), masking_pattern(&text));
        }
    }
}
