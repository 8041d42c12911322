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
