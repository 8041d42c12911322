//! Parses JSON with comments and trailing commas, the format of `tsconfig.json`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::project_files::{ProjectFiles, within};

/// Parses a text; `None` if it is not JSON even without comments and trailing commas.
pub fn parse_jsonc(text: &str) -> Option<Value> {
    serde_json::from_str(&plain_json(text.trim_start_matches('\u{feff}'))).ok()
}

fn plain_json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' {
            let length = string_length(rest);
            plain.push_str(&rest[..length]);
            length
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            if matches!(first, ']' | '}') {
                let kept = plain.trim_end();
                let kept = kept.strip_suffix(',').unwrap_or(kept).len();
                plain.truncate(kept);
            }
            plain.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    plain
}

/// Returns the length of the string at the beginning of a text, including its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (offset, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return offset + 1,
            _ => {}
        }
    }
    text.len()
}

// Reads `package.json`: its scripts, and which script a command runs.

/// Programs that run a script of `package.json` with `run NAME`.
pub(super) const RUNNERS: &[&str] = &["npm", "pnpm", "yarn", "bun"];

/// Subcommands of npm, pnpm, yarn and bun that are followed by a script's name.
const RUN_VERBS: &[&str] = &["run", "run-script"];

/// Subcommands of npm that run the script with the name of the subcommand: `npm test` runs the script `test`.
const SCRIPT_VERBS: &[&str] = &["test", "start", "stop", "restart"];

/// Returns the scripts in a directory's `package.json`; empty if it cannot be read.
pub fn scripts(files: &dyn ProjectFiles, directory: &str) -> BTreeMap<String, String> {
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

/// Returns the name of the script that a command runs, for example of `npm run lint`, `pnpm lint` or `npm test`.
pub fn script_name(argv: &[String]) -> Option<&str> {
    let mut words = argv.iter().map(String::as_str);
    let program = words.next()?.rsplit('/').next()?;
    if !RUNNERS.contains(&program) {
        return None;
    }
    let verb = words.next()?;
    let name = if RUN_VERBS.contains(&verb) { words.next()? } else { verb };
    // Without `run`, npm runs only the scripts in `SCRIPT_VERBS`; pnpm, yarn and bun run any script.
    let is_script = RUN_VERBS.contains(&verb) || SCRIPT_VERBS.contains(&verb) || program != "npm";
    (is_script && !name.starts_with('-')).then_some(name)
}

/// Returns the words that a command passes on to its script. npm passes on all words after `--`, and of the words
/// before `--` only those that are no options. pnpm, yarn and bun pass on all words after the script's name.
pub(super) fn handed_on(argv: &[String]) -> Vec<String> {
    let from = if argv.get(1).is_some_and(|verb| RUN_VERBS.contains(&verb.as_str())) { 3 } else { 2 };
    let behind = argv.get(from..).unwrap_or_default();
    let split = behind.iter().position(|word| word == "--").unwrap_or(behind.len());
    let (before, after) = (&behind[..split], behind.get(split + 1..).unwrap_or_default());
    let is_npm = argv.first().is_some_and(|program| program.rsplit('/').next() == Some("npm"));
    let kept = before.iter().filter(|word| !is_npm || !word.starts_with('-'));
    kept.chain(after).cloned().collect()
}

/// Words that may come before a program's name in a script.
pub(super) const LAUNCHERS: &[&str] =
    &["npx", "yarn", "pnpm", "npm", "bunx", "bun", "exec", "run", "dlx", "x", "cross-env", "env", "dotenv", "time"];

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_do_not_matter() {
        let text = "\u{feff}{ // one\n \"a\": [1, 2, /* two */ ], \"b\": \"// no \\\" comment, ]\", }";
        assert_eq!(parse_jsonc(text), Some(json!({"a": [1, 2], "b": "// no \" comment, ]"})));
        assert_eq!(parse_jsonc("{"), None);
        assert_eq!(parse_jsonc(""), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".*", comment in "[/*\"\\\\,}\\]a]{0,20}") {
            let _ = (parse_jsonc(&text), parse_jsonc(&comment));
        }
    }
}

#[cfg(test)]
mod package_json_tests {
    use super::*;
    use proctor_model::split_words;

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
}
