//! Calls of a tool that check nothing and still end with exit code 0, such as `tsc --version` or `eslint --print-config a.js`.
//!
//! Such a call has no findings, so it would look like a clean result. The table of tools has a list of these options and
//! subcommands for each tool whose success is not proved by a report of its own.

use std::path::Path;

use crate::interpret::Exited;
use crate::jsonc::{handed_on, parse_jsonc, script_name};
use crate::launchers::{Located, locate, locate_in_script};
use crate::option_spelling::{OptionSpelling, subcommand};
use crate::table::row_of;
use proctor_model::{CategoryCode, Interpretation, join_words};

/// The words in a tool's arguments with which the tool does not do its checks.
#[derive(Debug)]
pub(super) struct NoWork {
    /// Options with which the tool prints something, or does something else, and then ends.
    pub(super) options: &'static [&'static str],
    /// Pairs of lists: an option of the first list has the same effect as `options`, but only together with an option of the second.
    pub(super) options_with: &'static [(&'static [&'static str], &'static [&'static str])],
    /// Pairs of lists: an option of the first list has the same effect as `options`, unless an option of the second is there.
    pub(super) options_without: &'static [(&'static [&'static str], &'static [&'static str])],
    /// Options with the same effect as `options`, but only for one subcommand.
    pub(super) options_of_subcommand: &'static [(&'static str, &'static [&'static str])],
    /// Options behind `--` with the same effect as `options`, for a tool that hands these on to the programs that it starts.
    pub(super) after_separator: &'static [&'static str],
    /// Subcommands that do something else than the checks.
    pub(super) subcommands: &'static [&'static str],
    /// Options with which the tool ends with exit code 0 if it has no file to check. The tool does its work if there are files, so
    /// these options matter only where nothing tells how many files there were.
    pub(super) allow_no_files: &'static [&'static str],
    /// Whether the tool reads further arguments from the file behind an `@`. They may be any of these.
    pub(super) has_response_files: bool,
    /// How the tool lets its options be spelled.
    pub(super) spelling: OptionSpelling,
    /// Whether a call with one of these words counts as a call of the tool, whatever the rest of its arguments is. `false` for a tool
    /// that shares its program with others: `node server.js --version` runs no tests.
    pub(super) names_the_tool: bool,
}

/// The row of a tool that always does its checks, or that proves its success by a report.
pub(super) const NONE: NoWork = NoWork {
    options: &[],
    options_with: &[],
    options_without: &[],
    options_of_subcommand: &[],
    after_separator: &[],
    subcommands: &[],
    allow_no_files: &[],
    has_response_files: false,
    spelling: OptionSpelling::Exact,
    names_the_tool: true,
};

impl NoWork {
    /// Returns the option or subcommand by which the tool does not do its checks.
    pub(super) fn find(&self, arguments: &[String]) -> Option<String> {
        let find_with = |(options, with): &(&[&str], &[&str])| {
            let is_with = self.find_option(with, arguments).is_some();
            self.find_option(options, arguments).filter(|_| is_with)
        };
        let find_without = |(options, without): &(&[&str], &[&str])| {
            let is_with = self.find_option(without, arguments).is_some();
            self.find_option(options, arguments).filter(|_| !is_with)
        };
        let find_of_subcommand = |(name, options): &(&str, &[&str])| {
            let is_called = subcommand(arguments) == Some(*name);
            self.find_option(options, arguments).filter(|_| is_called)
        };
        let option = self.find_option(self.options, arguments);
        let option = option.or_else(|| self.options_with.iter().find_map(find_with));
        let option = option.or_else(|| self.options_without.iter().find_map(find_without));
        let option = option.or_else(|| self.options_of_subcommand.iter().find_map(find_of_subcommand));
        let behind = arguments.iter().skip_while(|word| *word != "--").find(|word| self.after_separator.contains(&word.as_str()));
        let option = option.or_else(|| behind.cloned());
        let idle_subcommand = || {
            let word = arguments.iter().find(|word| !word.starts_with('-'))?;
            self.subcommands.contains(&word.as_str()).then(|| word.clone())
        };
        option.or_else(idle_subcommand)
    }

    // Returns the argument that names a file with further arguments.
    fn reads_words_from<'a>(&self, arguments: &'a [String]) -> Option<&'a String> {
        arguments.iter().take_while(|word| *word != "--").find(|word| self.has_response_files && word.starts_with('@'))
    }

    // Returns the first of the options that is in the arguments. `--option=value` counts, `--option=false` and
    // `--option false` do not, and words after `--` are no options.
    fn find_option(&self, options: &[&str], arguments: &[String]) -> Option<String> {
        let mut words = arguments.iter().take_while(|word| *word != "--").peekable();
        while let Some(word) = words.next() {
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            let is_off = value == Some("false") || words.peek().is_some_and(|next| *next == "false");
            if options.iter().any(|option| self.spelling.is_named(name, option)) && !is_off {
                return Some(name.to_owned());
            }
        }
        None
    }
}

/// Returns the call of a tool in the script of `package.json` that a command runs, with the words that reach the script.
fn in_npm_script(exited: &Exited<'_>, source: &dyn Fn(&Path) -> Option<String>) -> Option<Located> {
    let argv = &exited.action.command.argv;
    let package = parse_jsonc(&source(&exited.action.directory.join("package.json"))?)?;
    let text = package.get("scripts")?.get(script_name(argv)?)?.as_str()?;
    let more = join_words(handed_on(argv).iter().map(String::as_str))?;
    Some(locate_in_script(&format!("{text} {more}")))
}

/// Returns a usage error in place of `interpretation` if the command ended with exit code 0 and its options keep the
/// tool from its checks, or may have left the tool without any file to check. `source` returns the text of a file of the project.
pub(super) fn or_usage_error(
    exited: &Exited<'_>,
    interpretation: Interpretation,
    source: &dyn Fn(&Path) -> Option<String>,
) -> Interpretation {
    let tool = exited.action.tool;
    let located = locate(&exited.action.command.argv);
    let located = if located.recognition.tool == tool { located } else { in_npm_script(exited, source).unwrap_or(located) };
    if exited.code != 0 || located.recognition.tool != tool {
        return interpretation;
    }
    let (no_work, name) = (&row_of(tool).no_work, tool.word());
    if let Some(word) = no_work.find(&located.arguments) {
        let reason = format!("{name} checks nothing with `{word}`; remove it from the check's command");
        return Interpretation::plain(CategoryCode::UsageError, reason);
    }
    if let Some(word) = no_work.reads_words_from(&located.arguments) {
        let reason = format!("what {name} does with the options in `{word}` is not known; write them into the check's command");
        return Interpretation::plain(CategoryCode::UsageError, reason);
    }
    let allowed = no_work.find_option(no_work.allow_no_files, &located.arguments);
    let is_clean = interpretation.category == CategoryCode::Clean;
    match allowed.filter(|_| is_clean && interpretation.examined.and_then(|examined| examined.count).is_none()) {
        Some(word) => {
            let reason = format!(
                "{name} found nothing, but with `{word}` it does not say whether there was any file to check; remove it from the \
                 check's command"
            );
            Interpretation::plain(CategoryCode::UsageError, reason)
        }
        None => interpretation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recognise::recognise;
    use crate::samples::Returned;
    use proctor_model::{Tool, split_words};

    /// Commands that end with exit code 0 and check nothing, with something that the tool prints.
    const IDLE: &[(Tool, &str, &str)] = &[
        (Tool::Eslint, "npx eslint --version", "v9.39.5\n"),
        (Tool::Eslint, "eslint -v", "v9.39.5\n"),
        (Tool::Eslint, "eslint --print-config a.js", "{\n  \"rules\": {}\n}\n"),
        (Tool::Eslint, "eslint --print-config=a.js", "{}\n"),
        (Tool::Eslint, "eslint --env-info", "Environment Info:\n"),
        (Tool::Eslint, "eslint --suppress-all src", ""),
        (Tool::Eslint, "eslint --suppress-rule no-undef src", ""),
        (Tool::Eslint, "eslint --stdin --stdin-filename a.js", ""),
        (Tool::Eslint, "eslint --mcp", ""),
        (Tool::Eslint, "eslint --pass-on-no-patterns", ""),
        (Tool::Eslint, "eslint --no-error-on-unmatched-pattern nope", ""),
        (Tool::Eslint, "eslint --no-warn-ignored ignored.js", ""),
        (Tool::Tsc, "tsc --version", "Version 5.9.3\n"),
        (Tool::Tsc, "tsc --showconfig", "{}\n"),
        (Tool::Tsc, "npx tsc -p app --listFilesOnly", "a.ts\n"),
        (Tool::Tsc, "tsc -b --dry", "A non-dry build would build project '/p/tsconfig.json'\n"),
        (Tool::Tsc, "tsc --build -d", ""),
        (Tool::Tsc, "tsc -p . --nocheck", ""),
        (Tool::Ruff, "ruff check --add-noqa .", "Added 2 noqa directives.\n"),
        (Tool::Tsc, "bash -c 'tsc -b --clean'", ""),
        (Tool::Tsc, "tsc --noCheck --outDir out", ""),
        (Tool::Tsc, "tsc -p web --nocheck true --noEmit", ""),
        (Tool::Ruff, "ruff check --show-files", "/p/a.py\n"),
        (Tool::Ruff, "ruff rule F401", "# unused-import (F401)\n"),
        (Tool::Ruff, "ruff --version", "ruff 0.17.6\n"),
        (Tool::Ruff, "ruff check -", "All checks passed!\n"),
        (Tool::Ruff, "ruff check --stdin-filename a.py -", "All checks passed!\n"),
        (Tool::Ruff, "ruff check --statistics --exit-zero .", "1\tF401\t[*] unused-import\n"),
        (Tool::Ruff, "ruff check -s -e .", ""),
        (Tool::Tsc, "tsc -noCheck", ""),
        (Tool::Tsc, "tsc -showConfig", "{}\n"),
        (Tool::Tsc, "tsc -listfilesonly", "a.ts\n"),
        (Tool::Tsc, "tsc -version", "Version 5.9.3\n"),
        (Tool::Tsc, "tsc --v", "Version 5.9.3\n"),
        (Tool::Tsc, "tsc -v", "Version 5.9.3\n"),
        (Tool::Tsc, "tsc -b -dry", ""),
        (Tool::Tsc, "tsc -build -clean", ""),
        (Tool::Tsc, "tsc --b -noCheck", ""),
        (Tool::Eslint, "eslint --fix-dry-run .", ""),
        (Tool::Eslint, "eslint -hc x.js", ""),
        (Tool::Ruff, "ruff check --diff .", ""),
        (Tool::Ruff, "ruff -q check --diff", ""),
        (Tool::Ruff, "ruff check -es .", ""),
        (Tool::Ruff, "ruff check --exit-zero -qs .", ""),
        (Tool::Ruff, "ruff check -nh", ""),
        (Tool::Mypy, "mypy -vV", "mypy 2.4.1\n"),
        (Tool::Mypy, "mypy -vc pass", "Success: no issues found in 1 source file\n"),
        (Tool::Mypy, "mypy --versi", "mypy 2.4.1\n"),
        (Tool::Flake8, "flake8 --vers", "7.5.0\n"),
        (Tool::Flake8, "flake8 --exit-zero -qq .", ""),
        (Tool::Flake8, "flake8 --exit-z -q .", "./a.py\n"),
        (Tool::Flake8, "flake8 -vqj4 --exit-zero .", "./a.py\n"),
        (Tool::Pylint, "pylint --list-ext", "pylint.extensions.bad_builtin\n"),
        (Tool::Pylint, "pylint -vh", ""),
        (Tool::Mypy, "mypy -c pass", "Success: no issues found in 1 source file\n"),
        (Tool::Tsc, "tsc @arguments", ""),
        (Tool::Ruff, "ruff check . --show-settings", "Resolved settings for: a.py\n"),
        (Tool::Mypy, "python -m mypy --version", "mypy 2.4.1\n"),
        (Tool::Flake8, "flake8 --bug-report", "{}\n"),
        (Tool::Pylint, "pylint --list-msgs", ":x (E1): y\n"),
        (Tool::Prettier, "prettier --version", "3.10.1\n"),
        (Tool::NodeTest, "node --test --version", "v20.20.2\n"),
        (Tool::CargoTest, "cargo test --no-run", ""),
        (Tool::CargoTest, "cargo +nightly test --help", "Usage: cargo test\n"),
        (Tool::CargoTest, "cargo test -- --list", "tests::adds: test\n"),
        (Tool::CargoTest, "cargo nextest run --no-run", ""),
        (Tool::GoTest, "go test -list . ./...", "TestAdds\n"),
        (Tool::GoTest, "go test -c ./stock", ""),
        (Tool::Prettier, "prettier --check --no-error-on-unmatched-pattern nope", "All matched files use Prettier code style!\n"),
    ];

    #[test]
    fn v4_v22_options_that_keep_a_tool_from_its_work_are_usage_errors() {
        for (tool, command, stdout) in IDLE {
            let argv = split_words(command).expect("the table holds valid words");
            assert_eq!(recognise(&argv).tool, *tool, "{command}");
            let interpretation = Returned::exited(*tool, command, 0).saying(stdout, "").interpret();
            assert_eq!(interpretation.category, CategoryCode::UsageError, "{command}: {}", interpretation.reason);
        }
    }

    #[test]
    fn the_same_words_in_another_place_keep_no_tool_from_its_work() {
        for (tool, command) in [
            (Tool::Tsc, "tsc -d --outDir out"),
            (Tool::Tsc, "tsc --listFilesOnly false"),
            (Tool::Tsc, "tsc --noEmit --noCheck false"),
            (Tool::Tsc, "tsc -b -v"),
            (Tool::Tsc, "tsc -build -verbose"),
            (Tool::Tsc, "tsc -noCheck false"),
            (Tool::Eslint, "eslint -- -v"),
            (Tool::Eslint, "eslint -cvh.js ."),
            (Tool::Ruff, "ruff format --diff ."),
            (Tool::Ruff, "ruff check -e ."),
            (Tool::Flake8, "flake8 -q ."),
            (Tool::Flake8, "flake8 -jh ."),
            (Tool::Mypy, "mypy -mVc"),
            (Tool::Mypy, "mypy --verb ."),
            (Tool::Pylint, "pylint -dh a.py"),
            (Tool::Ruff, "ruff check rule"),
            (Tool::Tsc, "bash -c 'tsc --version && tsc -p .'"),
            (Tool::Ruff, "bash -c 'ruff --version; ruff check .'"),
            (Tool::Compile, "cargo build --list"),
            (Tool::Compile, "go build -n"),
        ] {
            let argv = split_words(command).expect("the table holds valid words");
            assert_eq!(recognise(&argv).tool, tool, "{command}");
            assert_eq!(Returned::exited(tool, command, 0).interpret().category, CategoryCode::Clean, "{command}");
        }
    }

    #[test]
    fn a_known_number_of_files_makes_an_option_that_allows_none_harmless() {
        let json = r#"[{"filePath":"/project/a.js","messages":[],"suppressedMessages":[]}]"#;
        let command = "eslint -f json --no-error-on-unmatched-pattern .";
        let interpretation = Returned::exited(Tool::Eslint, command, 0).saying(json, "").interpret();
        assert_eq!(interpretation.category, CategoryCode::Clean);
    }
    #[test]
    fn options_in_a_script_of_npm_count_as_those_of_the_command() {
        const PACKAGE: &str = r#"{"scripts": {
            "lint": "eslint --no-error-on-unmatched-pattern src", "plain": "eslint src", "check": "tsc", "formatted": "prettier --check ."
        }}"#;
        for (tool, command, expected) in [
            (Tool::Eslint, "npm run lint", CategoryCode::UsageError),
            (Tool::Eslint, "npm run plain", CategoryCode::Clean),
            (Tool::Eslint, "npm run plain -- --version", CategoryCode::UsageError),
            (Tool::Tsc, "pnpm check --noCheck", CategoryCode::UsageError),
            (Tool::Prettier, "yarn formatted", CategoryCode::Clean),
            (Tool::Eslint, "npm run missing", CategoryCode::Clean),
            (Tool::Eslint, "make lint", CategoryCode::Clean),
        ] {
            let mut returned = Returned::exited(tool, command, 0);
            returned.source = |_, path| (path == Path::new("package.json")).then(|| PACKAGE.to_owned());
            let read = returned.interpret();
            assert_eq!(read.category, expected, "{command}: {}", read.reason);
        }
    }
}
