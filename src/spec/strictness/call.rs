//! The arguments a command hands to a type checker: itself, or by a script of a shell or of `package.json`.

use crate::model::CommandLine;
use crate::spec::files::ProjectFiles;
use crate::spec::package::{arguments_of, script_name, scripts};

/// The arguments of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call(pub(super) Vec<String>);

/// Returns the calls of a program that a command makes; none where it is not to be seen what it calls.
pub(super) fn calls_of(command: &CommandLine, files: &dyn ProjectFiles, directory: &str, program: &str) -> Vec<Call> {
    if let Some(name) = script_name(&command.argv) {
        let text = scripts(files, directory).remove(name);
        let mut call = text.and_then(|text| arguments_of(&text, program));
        // What follows `--` is handed to the script's command.
        let more = command.argv.iter().skip_while(|word| *word != "--").skip(1).cloned();
        call.iter_mut().for_each(|call| call.extend(more.clone()));
        return call.map(Call).into_iter().collect();
    }
    if command.shell {
        let script = command.argv.last().map(String::as_str).unwrap_or_default();
        return arguments_of(script, program).map(Call).into_iter().collect();
    }
    let is_it = |word: &String| word.rsplit('/').next() == Some(program);
    let position = command.argv.iter().position(is_it);
    position.map(|at| Call(command.argv[at + 1..].to_vec())).into_iter().collect()
}

impl Call {
    /// Returns the value of an option that takes one, whatever its case; the last one holds.
    pub(super) fn value(&self, names: &[&str]) -> Option<&str> {
        let joined = |word: &str| names.iter().find_map(|name| word.strip_prefix(name)?.strip_prefix('=').map(str::len));
        let mut found = None;
        for (index, word) in self.0.iter().enumerate() {
            if names.iter().any(|name| word.eq_ignore_ascii_case(name)) {
                found = self.0.get(index + 1).map(String::as_str);
            } else if let Some(length) = joined(word) {
                found = Some(&word[word.len() - length..]);
            }
        }
        found
    }

    /// Returns what an option is set to that may stand alone, for true, or before `true` or `false`; the last one holds.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        let position = self.0.iter().rposition(|word| word.eq_ignore_ascii_case(name))?;
        Some(self.0.get(position + 1).is_none_or(|value| value != "false"))
    }

    /// Returns whether a word is among the arguments.
    pub(super) fn has(&self, word: &str) -> bool {
        self.0.iter().any(|other| other == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::files::fake::FakeFiles;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_call_is_what_stands_behind_the_program() {
        let package = r#"{"scripts": {"types": "tsc -p app"}}"#;
        let files = FakeFiles::of(&[("web/package.json", package)]);
        for (line, expected) in [
            ("npx --no-install tsc --noEmit --strict", Some("--noEmit --strict")),
            ("node_modules/.bin/tsc", Some("")),
            ("npm run types -- --strict", Some("-p app --strict")),
            ("npm run types", Some("-p app")),
            ("make types", None),
        ] {
            let command = CommandLine { argv: words(line), display: line.to_owned(), shell: false };
            let calls = calls_of(&command, &files, "web", "tsc");
            assert_eq!(calls, expected.map(|call| Call(words(call))).into_iter().collect::<Vec<_>>(), "{line}");
        }
    }

    #[test]
    fn an_option_has_the_last_value_it_is_given_joined_or_apart() {
        let value = |call: &str| Call(words(call)).value(&["-p", "--project"]).map(str::to_owned);
        assert_eq!(value("--project=web -x"), Some("web".to_owned()));
        assert_eq!(value("-p one --project two"), Some("two".to_owned()));
        assert_eq!(value("--PROJECT one"), Some("one".to_owned()));
        assert_eq!(value("--projects=web"), None);
        assert_eq!(value("-p"), None);
        assert_eq!(
            (Call(words("--strict false")).flag("--strict"), Call(words("--strict -x")).flag("--strict")),
            (Some(false), Some(true))
        );
    }
}
