//! Reads how a project's own scripts call eslint (C30).
//!
//! Makes ESLint print its findings as JSON.

use crate::eslint::FORMAT_OPTIONS;
use crate::jsonc::{LAUNCHERS, scripts};
use crate::launchers::{Located, locate};
use crate::prepare::{Preparation, ReportTask, insert_options, option_value};
use crate::project_files::{ProjectFiles, within};
use crate::recognise::CommandForm;
use crate::shell::commands_outside;
use proctor_model::{Action, Tool};

/// A call of eslint in a project's own script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EslintCall {
    /// Where the script is, for example `package.json scripts.lint`.
    pub(super) place: String,
    /// The options that influence which findings eslint reports.
    pub(super) options: Vec<String>,
    /// The files, directories and globs that eslint checks.
    pub(super) paths: Vec<String>,
    /// The value of `--max-warnings`; `None`, which means no limit, if it is missing, negative or not a number.
    pub(super) max_warnings: Option<u32>,
}

/// What happens to an eslint option when a command is made from a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Dropped,
}

struct EslintOption {
    name: &'static str,
    takes_value: bool,
    fate: Fate,
}

const fn option(name: &'static str, takes_value: bool, fate: Fate) -> EslintOption {
    EslintOption { name, takes_value, fate }
}

/// The options that take a value or influence which findings eslint reports. Every other option, such as `--fix`, is dropped. The
/// word after a dropped option is kept as a path, because an unlisted option takes no value.
const OPTIONS: &[EslintOption] = &[
    option("--ext", true, Fate::Kept),
    option("--config", true, Fate::Kept),
    option("-c", true, Fate::Kept),
    option("--ignore-pattern", true, Fate::Kept),
    option("--ignore-path", true, Fate::Kept),
    option("--rule", true, Fate::Kept),
    option("--rulesdir", true, Fate::Kept),
    option("--plugin", true, Fate::Kept),
    option("--parser", true, Fate::Kept),
    option("--parser-options", true, Fate::Kept),
    option("--env", true, Fate::Kept),
    option("--global", true, Fate::Kept),
    option("--resolve-plugins-relative-to", true, Fate::Kept),
    option("--flag", true, Fate::Kept),
    option("--no-eslintrc", false, Fate::Kept),
    option("--no-config-lookup", false, Fate::Kept),
    option("--no-inline-config", false, Fate::Kept),
    option("--no-error-on-unmatched-pattern", false, Fate::Kept),
    option("--report-unused-disable-directives", false, Fate::Kept),
    option("--report-unused-disable-directives-severity", true, Fate::Kept),
    option("--max-warnings", true, Fate::Dropped),
    option("--format", true, Fate::Dropped),
    option("-f", true, Fate::Dropped),
    option("--output-file", true, Fate::Dropped),
    option("-o", true, Fate::Dropped),
    option("--cache-location", true, Fate::Dropped),
    option("--cache-file", true, Fate::Dropped),
    option("--cache-strategy", true, Fate::Dropped),
    option("--fix-type", true, Fate::Dropped),
    option("--concurrency", true, Fate::Dropped),
];

/// Returns the call of eslint in a package's scripts; `None` if no script calls eslint. The script named `lint` is
/// tried first.
pub(super) fn eslint_call(files: &dyn ProjectFiles, directory: &str) -> Option<EslintCall> {
    let mut scripts: Vec<(String, String)> = scripts(files, directory).into_iter().collect();
    scripts.sort_by_key(|(name, _)| (name != "lint", !name.contains("lint")));
    scripts.into_iter().find_map(|(name, text)| {
        let words = eslint_arguments(&text)?;
        let place = format!("{} scripts.{name}", within(directory, "package.json"));
        let (options, paths) = kept_arguments(&words);
        Some(EslintCall { place, options, paths, max_warnings: max_warnings(&words) })
    })
}

fn eslint_arguments(script: &str) -> Option<Vec<String>> {
    commands_outside(script)?.iter().find_map(|command| {
        let start = command.iter().position(|word| word.rsplit('/').next() == Some("eslint"))?;
        // `yarn add eslint` installs eslint and does not call it. So only variables, launchers and their options may come before
        // the name.
        let launches =
            command[..start].iter().all(|word| word.contains('=') || word.starts_with('-') || LAUNCHERS.contains(&word.as_str()));
        launches.then(|| command[start + 1..].to_vec())
    })
}

/// Returns the limit on warnings in a script's call of eslint.
pub(crate) fn script_max_warnings(script: &str) -> Option<u32> {
    eslint_arguments(script).and_then(|arguments| max_warnings(&arguments))
}

/// Returns the limit on warnings in eslint's arguments.
pub(crate) fn max_warnings(arguments: &[String]) -> Option<u32> {
    let position = arguments.iter().position(|word| word == "--max-warnings");
    let value = match position {
        Some(position) => arguments.get(position + 1).map(String::as_str),
        None => arguments.iter().find_map(|word| word.strip_prefix("--max-warnings=")),
    };
    value.and_then(|value| value.parse().ok())
}

/// Returns the paths in eslint's arguments. The value of an option that is not known here counts as a path.
pub(super) fn paths(arguments: &[String]) -> Vec<String> {
    kept_arguments(arguments).1
}

fn kept_arguments(arguments: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut options, mut paths) = (Vec::new(), Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            paths.push(word.clone());
            continue;
        }
        let (name, joined) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let Some(option) = OPTIONS.iter().find(|option| option.name == name) else { continue };
        let value = if option.takes_value && joined.is_none() { words.next() } else { None };
        if option.fate == Fate::Kept {
            options.push(word.clone());
            options.extend(value.cloned());
        }
    }
    (options, paths)
}

/// Returns whether [`ask`] adds the option for JSON. It does so only for commands that proctor made itself and that choose no
/// format (E6).
pub(super) fn asks_for_json(action: &Action) -> bool {
    is_asked(action, &locate(&action.command.argv))
}

fn is_asked(action: &Action, located: &Located) -> bool {
    let is_ours =
        action.command_is_ours && located.recognition.tool == Tool::Eslint && located.recognition.form == CommandForm::Direct;
    is_ours && option_value(&located.arguments, FORMAT_OPTIONS).is_none()
}

/// Adds the option that makes ESLint print JSON on standard output.
pub(crate) fn ask(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let ReportTask { action, located, .. } = *task;
    if is_asked(action, located) {
        insert_options(&mut preparation.argv, located.arguments_from, ["-f".to_owned(), "json".to_owned()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeFiles;
    use proctor_model::split_words;

    fn words(text: &str) -> Vec<String> {
        split_words(text).expect("words")
    }

    #[test]
    fn a_call_of_eslint_is_read_from_the_projects_scripts() {
        let package = r#"{"scripts": {"build": "tsc && vite", "lint": "tsc --noEmit && NODE_ENV=x npx eslint src --ext .ts,.tsx --fix --cache -f stylish --max-warnings=5; echo", "a": "eslint ."}}"#;
        let call = eslint_call(&FakeFiles::of(&[("web/package.json", package)]), "web").expect("a call");
        assert_eq!(call.place, "web/package.json scripts.lint");
        assert_eq!((call.paths, call.options), (words("src"), words("--ext .ts,.tsx")));
        assert_eq!(call.max_warnings, Some(5));
        let named_otherwise = r#"{"scripts": {"check": "eslint one", "web:lint": "eslint two"}}"#;
        let call = eslint_call(&FakeFiles::of(&[("web/package.json", named_otherwise)]), "web").expect("a call");
        assert_eq!(call.place, "web/package.json scripts.web:lint");
    }

    #[test]
    fn only_an_option_that_takes_a_value_has_the_next_word() {
        let (options, paths) = kept_arguments(&words("--no-eslintrc src --rule=eqeqeq:2 lib --ext .ts --fix a"));
        assert_eq!((options, paths), (words("--no-eslintrc --rule=eqeqeq:2 --ext .ts"), words("src lib a")));
    }

    #[test]
    fn what_only_names_eslint_is_no_call_of_it() {
        for script in ["yarn add eslint", "echo eslint", "prettier .", "node eslint-runner.js", "eslint 'open"] {
            assert_eq!(eslint_arguments(script), None, "{script}");
        }
        for limit in ["--max-warnings=-1", "--max-warnings", "--max-warnings x", ""] {
            assert_eq!(max_warnings(&words(limit)), None, "{limit}");
        }
    }
}
