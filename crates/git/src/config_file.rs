//! Parses git's configuration (git-config(1), "Syntax"), as far as its values are needed. Pure. Files that it includes are not read.

/// The values of a configuration file, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct GitConfig {
    values: Vec<ConfigValue>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ConfigValue {
    /// The name of the section in lower case.
    section: String,
    /// The name in quotes after the section's name, such as a branch.
    subsection: Option<String>,
    /// The key in lower case.
    key: String,
    value: String,
}

impl GitConfig {
    /// Parses the text of a configuration file. A line that is not in git's syntax is skipped.
    pub(super) fn parse(text: &str) -> Self {
        let mut values = Vec::new();
        let (mut section, mut subsection) = (String::new(), None);
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut line = line.trim().to_owned();
            if line.starts_with('[') {
                let Some((header, rest)) = parse_header(&line) else { continue };
                (section, subsection) = header;
                line = rest;
            }
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            let (key, written) = match line.split_once('=') {
                Some((key, value)) => (key.trim().to_owned(), value.trim_start().to_owned()),
                // A key without a value means `true`.
                None => (line, "true".to_owned()),
            };
            let value = parse_value(written, &mut lines);
            values.push(ConfigValue {
                section: section.clone(),
                subsection: subsection.clone(),
                key: key.to_ascii_lowercase(),
                value,
            });
        }
        Self { values }
    }

    /// Returns the last value of a key, which is the one that counts where a key has only one value.
    pub(super) fn value<'a>(&'a self, section: &str, subsection: Option<&str>, key: &str) -> Option<&'a str> {
        self.all(section, subsection, key).next_back()
    }

    /// Returns all values of a key, in the order of the file.
    pub(super) fn all<'a, 'key>(
        &'a self,
        section: &'key str,
        subsection: Option<&'key str>,
        key: &'key str,
    ) -> impl DoubleEndedIterator<Item = &'a str> + use<'a, 'key> {
        let is_wanted =
            move |value: &&ConfigValue| value.section == section && value.subsection.as_deref() == subsection && value.key == key;
        self.values.iter().filter(is_wanted).map(|value| value.value.as_str())
    }

    /// Returns the subsections of a section that have a key, each with the key's value, in the order of the file.
    pub(super) fn subsections_with<'a>(&'a self, section: &str, key: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let found = self.values.iter().filter(move |value| value.section == section && value.key == key);
        found.filter_map(|value| Some((value.subsection.as_deref()?, value.value.as_str())))
    }

    /// Returns whether a remote repository keeps objects that this one lacks (git-clone(1), `--filter`).
    pub(super) fn has_promisor(&self) -> bool {
        self.values.iter().any(|value| value.section == "remote" && value.key == "promisor")
    }

    /// Returns the names of all remote repositories, each once.
    pub(super) fn remotes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for value in self.values.iter().filter(|value| value.section == "remote") {
            if let Some(name) = value.subsection.as_deref().filter(|name| !names.contains(name)) {
                names.push(name);
            }
        }
        names
    }

    /// Returns these values with those of another file after them.
    pub(super) fn followed_by(mut self, later: Self) -> Self {
        self.values.extend(later.values);
        self
    }

    /// Returns whether a key is set to a true value.
    pub(super) fn is_true(&self, section: &str, key: &str) -> bool {
        let value = self.value(section, None, key).unwrap_or_default().to_ascii_lowercase();
        matches!(value.as_str(), "true" | "yes" | "on" | "1")
    }

    pub(super) fn has_value(&self, section: &str, subsection: Option<&str>, key: &str) -> bool {
        self.value(section, subsection, key).is_some()
    }
}

/// Parses `[section]`, `[section "subsection"]` or the old form `[section.subsection]`, and returns the rest of the line too.
fn parse_header(line: &str) -> Option<((String, Option<String>), String)> {
    let mut characters = line[1..].chars();
    let (mut name, mut subsection) = (String::new(), None);
    loop {
        match characters.next()? {
            ']' => break,
            '"' => {
                let mut quoted = String::new();
                loop {
                    match characters.next()? {
                        '"' => break,
                        '\\' => quoted.push(characters.next()?),
                        character => quoted.push(character),
                    }
                }
                subsection = Some(quoted);
            }
            character => name.push(character),
        }
    }
    let name = name.trim().to_ascii_lowercase();
    let header = match (name.split_once('.'), subsection) {
        (Some((section, old)), None) => (section.to_owned(), Some(old.to_owned())),
        (_, subsection) => (name, subsection),
    };
    Some((header, characters.as_str().trim().to_owned()))
}

/// Removes quotes, escapes and comments of a value. A line that ends with a backslash goes on in the next line.
fn parse_value<'a>(mut written: String, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let (mut value, mut kept, mut is_quoted) = (String::new(), 0, false);
    loop {
        let mut characters = written.chars();
        let mut goes_on = false;
        while let Some(character) = characters.next() {
            match character {
                '"' => is_quoted = !is_quoted,
                '#' | ';' if !is_quoted => break,
                '\\' => match characters.next() {
                    None => goes_on = true,
                    Some('n') => value.push('\n'),
                    Some('t') => value.push('\t'),
                    Some(other) => value.push(other),
                },
                character => value.push(character),
            }
            if is_quoted || !character.is_whitespace() {
                kept = value.len();
            }
        }
        match if goes_on { lines.next() } else { None } {
            Some(next) => written = next.to_owned(),
            None => break,
        }
    }
    // Blanks at the end count only within quotes.
    value.truncate(kept);
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "[core]\n\tautocrlf = input ; not true\n[remote \"a\\\"b\"]\n  fetch = +refs/heads/*:refs/remotes/a/*\n\
        fetch=second\n[Branch \"x\"] Remote = \"quoted # \"  \n merge = one\\\ntwo\n[branch.old]\n  bare\n broken] = [\n";

    #[test]
    fn sections_quotes_comments_and_continued_lines_are_read_as_git_reads_them() {
        let config = GitConfig::parse(TEXT);
        assert_eq!(config.value("core", None, "autocrlf"), Some("input"));
        let fetch: Vec<_> = config.all("remote", Some("a\"b"), "fetch").collect();
        assert_eq!(fetch, ["+refs/heads/*:refs/remotes/a/*", "second"]);
        assert_eq!(config.value("branch", Some("x"), "remote"), Some("quoted # "));
        assert_eq!(config.value("branch", Some("x"), "merge"), Some("onetwo"));
        assert_eq!(config.value("branch", Some("old"), "bare"), Some("true"));
        assert!(!config.has_value("branch", Some("y"), "remote"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]\"\\\\#;=a.\\n\\t é]{0,60}") {
            GitConfig::parse(&text);
        }
    }
}
