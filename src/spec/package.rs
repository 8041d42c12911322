//! Reads `package.json`: its scripts, and how they call eslint (C30).

use std::collections::BTreeMap;

use crate::shell::commands_outside;
use crate::spec::files::{ProjectFiles, within};
use crate::spec::jsonc::parse_jsonc;

/// A call of eslint in a project's own script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EslintCall {
    /// Where the script is: `package.json scripts.lint`.
    pub(super) place: String,
    /// The options that decide which findings there are.
    pub(super) options: Vec<String>,
    /// The files, directories and globs that eslint checks.
    pub(super) paths: Vec<String>,
    /// The value of `--max-warnings`; `None` if it is missing or negative, which means no limit.
    pub(super) max_warnings: Option<u32>,
}

/// Programs that run a script of `package.json` by `run NAME`.
pub(super) const RUNNERS: &[&str] = &["npm", "pnpm", "yarn", "bun"];

/// Subcommands of these programs that are followed by a script's name.
const RUN_VERBS: &[&str] = &["run", "run-script"];

/// Subcommands that run the script with the same name.
const SCRIPT_VERBS: &[&str] = &["test", "start", "stop", "restart"];

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

/// The options that take a value or decide which findings there are. Every other option, such as `--fix`, is dropped; the word after it
/// is kept, because such an option has no value.
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

/// Returns the scripts in a directory's `package.json`; empty if it cannot be read.
pub(super) fn scripts(files: &dyn ProjectFiles, directory: &str) -> BTreeMap<String, String> {
    let package = files.read(&within(directory, "package.json")).and_then(|bytes| String::from_utf8(bytes).ok());
    let package = package.and_then(|text| parse_jsonc(&text)).unwrap_or_default();
    let scripts = package.get("scripts").and_then(|scripts| scripts.as_object()).cloned().unwrap_or_default();
    scripts.into_iter().filter_map(|(name, text)| Some((name, text.as_str()?.to_owned()))).collect()
}

/// Returns whether a directory's `package.json` has a key.
pub(super) fn package_has(files: &dyn ProjectFiles, directory: &str, key: &str) -> bool {
    let package = files.read(&within(directory, "package.json")).and_then(|bytes| String::from_utf8(bytes).ok());
    package.and_then(|text| parse_jsonc(&text)).is_some_and(|package| package.get(key).is_some())
}

/// Returns the name of the script that a command runs: `npm run lint`, `pnpm lint`, `npm test`.
pub(super) fn script_name(argv: &[String]) -> Option<&str> {
    let mut words = argv.iter().map(String::as_str);
    let program = words.next()?.rsplit('/').next()?;
    if !RUNNERS.contains(&program) {
        return None;
    }
    let verb = words.next()?;
    let name = if RUN_VERBS.contains(&verb) { words.next()? } else { verb };
    // npm runs only these scripts without `run`; the other programs run any script.
    let is_script = RUN_VERBS.contains(&verb) || SCRIPT_VERBS.contains(&verb) || program != "npm";
    (is_script && !name.starts_with('-')).then_some(name)
}

/// Returns the words that a command passes on to the script. For npm these are the words after `--` and any others that are not
/// options. For the other programs they are all words after the script's name.
pub(super) fn handed_on(argv: &[String]) -> Vec<String> {
    let from = if argv.get(1).is_some_and(|verb| RUN_VERBS.contains(&verb.as_str())) { 3 } else { 2 };
    let behind = argv.get(from..).unwrap_or_default();
    let split = behind.iter().position(|word| word == "--").unwrap_or(behind.len());
    let (before, after) = (&behind[..split], behind.get(split + 1..).unwrap_or_default());
    let is_npm = argv.first().is_some_and(|program| program.rsplit('/').next() == Some("npm"));
    let kept = before.iter().filter(|word| !is_npm || !word.starts_with('-'));
    kept.chain(after).cloned().collect()
}

/// Returns the call of eslint in a package's scripts. The script named `lint` comes first.
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

/// Returns the arguments of the first call of eslint in a script.
pub(super) fn eslint_arguments(script: &str) -> Option<Vec<String>> {
    commands_outside(script)?.iter().find_map(|command| {
        let start = command.iter().position(|word| word.rsplit('/').next() == Some("eslint"))?;
        // `yarn add eslint` is not a call of eslint. Before a call there may only be variables, launchers and their options.
        let launches =
            command[..start].iter().all(|word| word.contains('=') || word.starts_with('-') || LAUNCHERS.contains(&word.as_str()));
        launches.then(|| command[start + 1..].to_vec())
    })
}

/// Words that may come before a program in a call of it.
pub(super) const LAUNCHERS: &[&str] =
    &["npx", "yarn", "pnpm", "npm", "bunx", "bun", "exec", "run", "dlx", "x", "cross-env", "env", "dotenv", "time"];

/// Returns the limit on warnings in eslint's arguments.
pub(super) fn max_warnings(arguments: &[String]) -> Option<u32> {
    let position = arguments.iter().position(|word| word == "--max-warnings");
    let value = match position {
        Some(position) => arguments.get(position + 1).map(String::as_str),
        None => arguments.iter().find_map(|word| word.strip_prefix("--max-warnings=")),
    };
    value.and_then(|value| value.parse().ok())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::split_words;
    use crate::spec::files::fake::FakeFiles;

    fn words(text: &str) -> Vec<String> {
        split_words(text).expect("words")
    }

    #[test]
    fn the_script_a_command_runs_is_named() {
        for (command, script) in [
            ("npm run lint", Some("lint")),
            ("npm run-script lint -- --fix", Some("lint")),
            ("npm test", Some("test")),
            ("pnpm lint", Some("lint")),
            ("yarn run lint", Some("lint")),
            ("/usr/bin/npm run lint", Some("lint")),
            ("npm ci", None),
            ("npm run --workspace web lint", None),
            ("npx eslint", None),
            ("npm", None),
        ] {
            assert_eq!(script_name(&words(command)), script, "{command}");
        }
    }

    #[test]
    fn what_stands_behind_a_scripts_name_is_handed_on_as_its_runner_does() {
        for (command, handed) in [
            ("npm run lint", ""),
            ("npm run lint --silent src -- --fix -- x", "src --fix -- x"),
            ("npm test a", "a"),
            ("pnpm lint --fix src", "--fix src"),
            ("yarn run lint -- --fix", "--fix"),
            ("yarn", ""),
        ] {
            assert_eq!(handed_on(&words(command)), words(handed), "{command}");
        }
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
