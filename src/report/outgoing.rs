//! Redacts what names a machine or a person in texts that leave the store for other people: secrets, the home directory, absolute
//! paths, the names of the user and of the host.
//!
//! What is removed is replaced by a label such as `[redacted: path]`, as in reports. Relative paths stay: they belong to the project.

use crate::report::redact_text;

/// Names of users and hosts that identify nobody. Removing them would spoil names such as `tests/test_app.py`.
const COMMON_NAMES: &[&str] = &[
    "admin",
    "app",
    "build",
    "builder",
    "ci",
    "debian",
    "dev",
    "docker",
    "fedora",
    "git",
    "localhost",
    "node",
    "none",
    "nobody",
    "root",
    "runner",
    "test",
    "tests",
    "ubuntu",
    "user",
    "vagrant",
    "work",
];

/// The number of characters from which on a name is removed wherever it stands, also inside of a word. Shorter names are removed only as
/// whole words, because they occur in other words too.
const LONG_NAME: usize = 4;

/// The characters that may stand before the slash of a relative path. A slash behind any other character begins an absolute path.
const WITHIN_PATHS: &str = "._-~+@%)";

/// The characters that end a path inside of a text.
const AFTER_PATHS: &str = "\"'`<>|;,()[]{}:";

/// Redacts texts before they leave the store. Knows the names of this machine and of the person who works at it.
#[derive(Debug, Clone, Default)]
pub struct OutgoingRedactor {
    home: Option<String>,
    /// Names of the user and of the host, each with the word for its label.
    names: Vec<(&'static str, String)>,
}

impl OutgoingRedactor {
    /// Makes the redactor. `home` is the home directory, `users` the names of the user, and `host` the name of the machine, which may have
    /// a domain behind a dot.
    pub fn new(home: Option<&str>, users: &[&str], host: &str) -> Self {
        let short = host.split('.').next().unwrap_or_default();
        let users = users.iter().map(|name| ("user", *name));
        // The long name of the host contains the short one, so it is removed first.
        let named = [("host", host), ("host", short)].into_iter().chain(users);
        let is_telling = |name: &str| name.len() > 1 && !COMMON_NAMES.iter().any(|common| common.eq_ignore_ascii_case(name));
        let names = named.filter(|(_, name)| is_telling(name)).map(|(label, name)| (label, name.to_owned())).collect();
        let home = home.map(|home| home.trim_end_matches('/')).filter(|home| !home.is_empty());
        Self { home: home.map(str::to_owned), names }
    }

    /// Returns the text without secrets, absolute paths, and the names of this machine and its user.
    pub fn redact(&self, text: &str) -> String {
        let text = redact_text(text);
        let text = self.home.as_ref().map_or_else(|| text.to_string(), |home| text.replace(home.as_str(), "[redacted: home]"));
        let text = without_paths(&text);
        self.names.iter().fold(text, |text, (label, name)| without_name(&text, name, label))
    }
}

fn without_paths(text: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(slash) = rest.find('/') {
        let before = rest[..slash].chars().next_back().or(kept.chars().next_back().filter(|_| slash == 0));
        let is_relative = before.is_some_and(|before| before.is_alphanumeric() || WITHIN_PATHS.contains(before));
        let length = rest[slash..].find(|character: char| character.is_whitespace() || AFTER_PATHS.contains(character));
        let end = length.map_or(rest.len(), |length| slash + length);
        let is_path = !is_relative && rest[slash..end].contains(|character| character != '/');
        kept.push_str(&rest[..slash]);
        kept.push_str(if is_path { "[redacted: path]" } else { &rest[slash..end] });
        rest = &rest[end..];
    }
    kept + rest
}

fn without_name(text: &str, name: &str, label: &str) -> String {
    let (lower, wanted) = (text.to_ascii_lowercase(), name.to_ascii_lowercase());
    let is_part = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    let mut kept = String::with_capacity(text.len());
    let mut copied = 0;
    for (place, _) in lower.match_indices(&wanted) {
        let end = place + wanted.len();
        let is_in_a_word = is_part(text[..place].chars().next_back()) || is_part(text[end..].chars().next());
        if name.len() < LONG_NAME && is_in_a_word {
            continue;
        }
        kept.push_str(&text[copied..place]);
        kept.push_str(&format!("[redacted: {label}]"));
        copied = end;
    }
    kept + &text[copied..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_names_the_machine_or_the_person_is_left() {
        let redactor = OutgoingRedactor::new(Some("/srv/people/ada7/"), &["ada7", "al"], "forge12.example.org");
        for (text, expected) in [
            ("tests/test_a.py::test_b[x-1]", "tests/test_a.py::test_b[x-1]"),
            ("./run ~/x a/b 1 / 2 and//or", "./run ~/x a/b 1 / 2 and//or"),
            ("read[/etc/passwd]", "read[[redacted: path]]"),
            ("/opt/x/y", "[redacted: path]"),
            ("--out=/tmp/a,/tmp/b", "--out=[redacted: path],[redacted: path]"),
            ("file:///tmp/a", "file:[redacted: path]"),
            ("https://ci.example.org/job/7 failed", "https:[redacted: path] failed"),
            ("x/srv/people/ada7/y", "x[redacted: home][redacted: path]"),
            ("\"/srv/people/ada7\"", "\"[redacted: home]\""),
            ("%2Fhome%2FADA7%2Fx", "%2Fhome%2F[redacted: user]%2Fx"),
            ("al-x album metal (al)", "[redacted: user]-x album metal ([redacted: user])"),
            ("on forge12.example.org and FORGE12", "on [redacted: host] and [redacted: host]"),
            ("caf\u{e9}/x \u{e9}/tmp", "caf\u{e9}/x \u{e9}/tmp"),
            ("\u{2014}/tmp/\u{e9}\u{a0}x", "\u{2014}[redacted: path]\u{a0}x"),
            ("", ""),
            ("/", "/"),
        ] {
            assert_eq!(redactor.redact(text), expected, "{text}");
            assert_eq!(redactor.redact(expected), expected, "{text} twice");
        }
        let token = format!("ghp_{}", "a1".repeat(18));
        assert_eq!(redactor.redact(&token), "[redacted: github token]");
    }

    #[test]
    fn names_that_identify_nobody_stay() {
        let redactor = OutgoingRedactor::new(Some("/"), &["root", "Test", "x", ""], "localhost");
        for text in ["tests/test_root.py", "x", "localhost", "root"] {
            assert_eq!(redactor.redact(text), text);
        }
    }
}
