//! Linters and formatters that change files, such as `ruff check --fix`, `prettier --write` and `cargo fmt`.
//!
//! A check works on a copy of the project's files. A tool that mends this copy ends with exit code 0, and the project still has
//! what was mended. So such a check fails. What decides is what the tool wrote, and not its options: a configuration file can
//! switch mending on too.

use std::collections::{BTreeMap, BTreeSet};

use crate::jsonc::script_name;
use crate::launchers::{only_starts_others, visit_programs};
use crate::shell::simple_commands;
use crate::table::{ROWS, ToolRow};
use proctor_model::{Action, CategoryCode, FindingKind, FindingLevel, Interpretation, TreePath, has_word};

/// How many changed files the reason names.
const NAMED: usize = 5;

/// Linters and formatters that proctor knows only by name, with `|` between two of them. Behind a program with subcommands stand those that
/// lint or format.
const OTHERS: &str = "\
    autoflake|autopep8|black|buf format lint|buildifier|cargo fix fmt sort|cargo-fmt|clang-format|clang-tidy|codespell|\
    dart fix format|deno fmt lint|djlint|docformatter|dotnet format|dprint fmt|flynt|gci|go fix fmt|gofmt|gofumpt|goimports|\
    golangci-lint|isort|ktlint|markdownlint|markdownlint-cli2|mdformat|mix format|nixfmt|php-cs-fixer|pyupgrade|rubocop|\
    rustfmt|shfmt|sqlfluff|standard|stylelint|stylua|swiftformat|swiftlint|taplo fmt format lint|terraform fmt|ts-standard|\
    usort|xo|yapf|zig fmt";

/// Words by which linters and formatters are told to change files.
const MENDING_WORDS: &[&str] = &["--fix", "--in-place", "--inplace", "--write", "-i", "-w", "fix", "fmt", "format"];
/// Formatters that change files where no word forbids it.
const MENDING_PROGRAMS: &str = "black cargo-fmt flynt isort mdformat nixfmt pre-commit prek pyupgrade rustfmt stylua usort";
/// Words by which linters and formatters are told to change no files.
const LOOKING_WORDS: &[&str] = &["--check", "--check-only", "--diff", "--dry-run", "--list-different", "-c", "-l"];

/// Files in which package managers note what they found. `uv run` and `cargo clippy` write them anew before the linter begins.
const LOCK_FILES: &str = "\
    Cargo.lock Gemfile.lock bun.lock bun.lockb composer.lock go.sum package-lock.json pdm.lock pnpm-lock.yaml poetry.lock \
    uv.lock yarn.lock";

/// The programs that a command calls, as far as its words and the scripts of `package.json` show them.
#[derive(Debug, Default)]
struct Calls {
    linters: Vec<Vec<String>>,
    /// Whether anything else is called, such as tests or a build, which may change files for reasons of its own.
    has_others: bool,
    /// The scripts that were looked into.
    scripts: BTreeSet<String>,
}

/// Returns whether a check runs a linter or a formatter. A command that runs something else too counts only if its words tell the
/// linter to change files. `scripts` has the scripts of the `package.json` in the check's directory.
pub fn runs_linter(action: &Action, scripts: &BTreeMap<String, String>) -> bool {
    is_linter(action.tool.findings().map(|facts| facts.kind)) || calls_linter(&action.command.argv, scripts)
}

fn is_linter(kind: Option<FindingKind>) -> bool {
    matches!(kind, Some(FindingKind::Lint | FindingKind::Formatting))
}

fn calls_linter(argv: &[String], scripts: &BTreeMap<String, String>) -> bool {
    let mut calls = Calls::default();
    calls.add(argv, scripts);
    if calls.has_others { calls.linters.iter().any(|call| is_told_to_mend(call)) } else { !calls.linters.is_empty() }
}

impl Calls {
    fn add(&mut self, argv: &[String], scripts: &BTreeMap<String, String>) {
        visit_programs(argv, &mut |call| {
            let named = script_name(call).filter(|name| scripts.contains_key(*name));
            if let Some(name) = named {
                // npm runs what stands before and behind a script with it.
                for name in [format!("pre{name}"), name.to_owned(), format!("post{name}")] {
                    if let Some(text) = scripts.get(&name)
                        && self.scripts.insert(name)
                    {
                        simple_commands(text).iter().for_each(|command| self.add(command, scripts));
                    }
                }
            } else if is_call_of_linter(call) {
                self.linters.push(call.to_vec());
            } else {
                self.has_others |= call.first().is_some_and(|program| !only_starts_others(program));
            }
        });
    }
}

fn is_told_to_mend(call: &[String]) -> bool {
    let Some((program, words)) = call.split_first() else { return false };
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.split('=').next().unwrap_or_default()));
    !has(LOOKING_WORDS) && (has(MENDING_WORDS) || has_word(MENDING_PROGRAMS, program))
}

/// Returns whether a file is one in which a package manager notes what it found.
pub fn is_lock_file(path: &TreePath) -> bool {
    LOCK_FILES.split(' ').any(|name| name.as_bytes() == path.name())
}

/// Returns whether a command, which begins with the program itself, is a call of a linter or formatter.
fn is_call_of_linter(call: &[String]) -> bool {
    let Some((program, arguments)) = call.split_first() else { return false };
    // `cargo +nightly fmt` names a toolchain first.
    let subcommand = arguments.iter().find(|word| !word.starts_with(['-', '+']));
    let is_named = |other: &str| match other.split_once(' ') {
        Some((name, words)) => name == program && subcommand.is_some_and(|word| has_word(words, word)),
        None => other == program,
    };
    // Cargo has subcommands of other kinds too.
    let is_of = |row: &&ToolRow| row.no_work.names_the_tool || (row.checks)(program, arguments);
    let of_table = ROWS.iter().filter(|row| row.programs.contains(&program.as_str())).filter(is_of);
    of_table.into_iter().any(|row| is_linter(row.tool.findings().map(|facts| facts.kind))) || OTHERS.split('|').any(is_named)
}

/// Returns a failure instead of a success if a linter or formatter changed files of the project's tree, which are `changed`. What
/// failed already keeps its own reason.
pub fn judge_mended(said: Interpretation, changed: &[TreePath]) -> Interpretation {
    let mut listed = said.diagnostics.iter().map(|found| found.severity);
    let mut unlisted = said.unlisted.by_rule.keys().map(|(level, _)| *level);
    let has_errors = listed.any(|level| level == FindingLevel::Error)
        || unlisted.any(|level| level == FindingLevel::Error)
        || said.counts_override.as_ref().is_some_and(|counts| counts.errors > 0);
    let is_success = matches!(said.category, CategoryCode::Clean | CategoryCode::ExpectedExit | CategoryCode::NothingChecked);
    let is_accepted = is_success || said.category == CategoryCode::Findings && !has_errors;
    if changed.is_empty() || !is_accepted {
        return said;
    }
    let named: Vec<String> = changed.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    let more = if changed.len() > NAMED { format!(" and {} more", changed.len() - NAMED) } else { String::new() };
    let files = if changed.len() == 1 { "1 file" } else { &format!("{} files", changed.len()) };
    let reason = format!(
        "It changed {files} of its own copy of the project ({}{more}), so the project's files are not as it wants them",
        named.join(", ")
    );
    Interpretation { category: CategoryCode::FilesChanged, reason, ..said }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{Diagnostic, split_words};

    fn is_seen(command: &str) -> bool {
        let scripts = [
            ("lint", "npm run lint:js && npm run lint:css"),
            ("lint:js", "cross-env CI=1 eslint --fix ."),
            ("lint:css", "true"),
            ("test", "node run.js"),
            ("loop", "npm run loop"),
            ("format", "prettier --write ."),
            ("preunit", "eslint --fix ."),
            ("unit", "mocha"),
            ("all", "eslint . && npm run build && mocha"),
            ("build", "webpack"),
        ];
        let scripts = scripts.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        calls_linter(&split_words(command).expect("words"), &scripts)
    }

    #[test]
    fn a_linter_or_formatter_is_found_wherever_a_command_calls_it() {
        for command in [
            "ruff check --fix",
            "ruff format",
            "eslint --fix .",
            "npx prettier --write src",
            "node_modules/.bin/prettier -w .",
            "black .",
            "python -m black .",
            "python3 -X dev -m isort .",
            "uv run black src",
            "uvx ruff@0.9 format",
            "pre-commit run --all-files",
            "cargo fmt",
            "cargo +nightly fmt --all",
            "cargo clippy --fix --allow-dirty",
            "gofmt -w .",
            "go fmt ./...",
            "bash -c 'set -e; eslint --fix . && prettier --write .'",
            "timeout 10 sh -ec 'black .'",
            "npm run lint",
            "npm run format",
            "yarn format",
            "npm exec -- biome check --write",
            "npm run unit",
            "sh -c 'ruff check --fix . && pytest'",
            "sh -c 'black . && pytest'",
        ] {
            assert!(is_seen(command), "{command}");
        }
        for command in [
            "pytest",
            "python gen.py --style black",
            "cargo test",
            "cargo build",
            "go generate ./...",
            "go test ./...",
            "make black",
            "echo ruff",
            "npm run test",
            "npm run loop",
            "npm run none",
            "python -m build",
            "bash -c 'echo eslint --fix'",
            // What the tests or the build beside a linter write is their own matter.
            "npm run all",
            "sh -c 'ruff check . && pytest'",
            "sh -c 'black --check . && pytest'",
        ] {
            assert!(!is_seen(command), "{command}");
        }
    }

    #[test]
    fn a_success_that_changed_files_is_none() {
        let paths: Vec<TreePath> = (0..7).map(|at| TreePath::try_from(format!("{at}.py").as_str()).expect("a path")).collect();
        let plain = |category| Interpretation::plain(category, "1 error fixed");
        let judged = |category, changed: usize| judge_mended(plain(category), &paths[..changed]);
        for accepted in [CategoryCode::Clean, CategoryCode::ExpectedExit, CategoryCode::Findings, CategoryCode::NothingChecked] {
            let failed = judged(accepted, 7);
            assert_eq!(failed.category, CategoryCode::FilesChanged);
            assert!(failed.reason.contains("7 files") && failed.reason.contains("`4.py` and 2 more"), "{}", failed.reason);
            assert!(judged(accepted, 1).reason.contains("1 file of"));
            assert_eq!(judged(accepted, 0), plain(accepted));
        }
        for failed in [CategoryCode::UsageError, CategoryCode::UnexpectedExit, CategoryCode::TimedOut] {
            assert_eq!(judged(failed, 3), plain(failed));
        }
        let error = Diagnostic { severity: FindingLevel::Error, ..Diagnostic::default() };
        let found = Interpretation { diagnostics: vec![error], ..plain(CategoryCode::Findings) };
        assert_eq!(judge_mended(found.clone(), &paths), found, "what the tool could not mend is the better reason");
    }
}
