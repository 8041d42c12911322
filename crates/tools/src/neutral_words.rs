//! Decides whether two commands of one tool differ only in words that make no verdict easier: how much the tool prints,
//! and further paths where the tool then still checks every path that it checked before (S7).
//!
//! The row of each tool in the table of tools names its neutral words. A person is asked about every word that the row
//! does not name: `-qq`, formatters, reporters and eslint's `--quiet` are missing on purpose, because they can hide what proctor
//! reads.

use crate::launchers::locate;
use crate::linter::readable_formats;
use crate::recognise::CommandForm;
use crate::table::row_of;
use proctor_model::Tool;

/// The neutral words of one tool.
pub(super) struct NeutralWords {
    /// Words that stand alone.
    pub(super) flags: &'static [&'static str],
    /// Options with a value, written `--name=value` or `--name value`.
    pub(super) valued: &'static [(&'static str, NeutralValues)],
    /// Whether `-v`, `-vv` and `--verbose` make the tool print more, and nothing else.
    pub(super) has_verbosity: bool,
    /// Whether `-q` and `--quiet` take back one `-v`, and nothing else.
    pub(super) has_quiet: bool,
    /// Whether the letters after `-r` say which results the tool lists at its end.
    pub(super) lists_by_letters: bool,
    /// The words with which the tool ends after the first failing test.
    pub(super) end_early: &'static [&'static str],
    /// Whether the words in `flags` may have a value, which is not neutral.
    pub(super) flags_may_have_values: bool,
    /// Whether the tool, if it is called with further paths, still checks the same files below the paths that it had
    /// before. That is so where the tool looks for its configuration in the working directory, or beside each file. It
    /// is not so for pytest (paths move the rootdir, and with it the configuration), for mypy and Pylint (paths decide
    /// what is imported), for tsc (files declare types for each other), and for Jest and Vitest (the words are
    /// filters).
    pub(super) takes_more_paths: bool,
    /// Whether a word that is neither an option nor perhaps the value of one is a path, so that `src`, `src/` and `./src` mean the same.
    pub(super) names_paths: bool,
    /// Options with which such words are no paths.
    pub(super) no_paths_with: &'static [&'static str],
    /// The words before the first path, for example `check` of `ruff check`.
    pub(super) subcommands: &'static [&'static str],
    /// Words that are not neutral and never have a value after them.
    pub(super) without_value: &'static [&'static str],
}

/// The values with which an option is neutral.
#[derive(Clone, Copy)]
pub(super) enum NeutralValues {
    /// Only the listed values.
    Of(&'static [&'static str]),
    /// A number.
    Number,
    /// The output formats that proctor reads.
    ReadFormats,
}

pub(super) const COLOURS: NeutralValues = NeutralValues::Of(&["yes", "no", "auto"]);

impl NeutralWords {
    /// No neutral words.
    pub(super) const NONE: Self = Self {
        flags: &[],
        valued: &[],
        has_verbosity: false,
        has_quiet: false,
        lists_by_letters: false,
        end_early: &[],
        flags_may_have_values: false,
        takes_more_paths: false,
        names_paths: false,
        no_paths_with: &[],
        subcommands: &[],
        without_value: &[],
    };
}

/// The letters with which pytest lists what did not pass: one that stands for all kinds of results, or failures and errors, as it does
/// without any letter. Without these, letters can take a kind of result out of the list.
const LISTS_ALL: &[char] = &['a', 'A'];
const LISTS_FAILURES: &[char] = &['f', 'E'];

/// Returns whether a command differs from the command before it only in neutral words. `may_fail` says whether a test
/// is expected to fail: then a run that ends after the first failure does not show the later failures.
pub fn differs_in_neutral_words_only(before: &[String], now: &[String], may_fail: bool) -> bool {
    let (Some(before), Some(now)) = (ToolCall::read(before, may_fail), ToolCall::read(now, may_fail)) else { return false };
    let has_all_paths = if before.neutral.takes_more_paths && !before.paths.is_empty() {
        before.paths.iter().all(|path| now.paths.contains(path))
    } else {
        before.paths == now.paths
    };
    let prints_enough = now.verbosity >= before.verbosity.min(0);
    (before.tool, before.start, &before.rest) == (now.tool, now.start, &now.rest) && has_all_paths && prints_enough
}

/// A command, sorted by what its words mean for the verdict.
struct ToolCall<'a> {
    tool: Tool,
    neutral: &'static NeutralWords,
    /// The words up to the tool's own arguments.
    start: &'a [String],
    /// The arguments that are not neutral.
    rest: Vec<&'a str>,
    paths: Vec<&'a str>,
    /// How much more the tool prints than by default; negative if it prints less.
    verbosity: i32,
}

impl<'a> ToolCall<'a> {
    fn read(argv: &'a [String], may_fail: bool) -> Option<Self> {
        let located = locate(argv);
        if located.recognition.form != CommandForm::Direct {
            return None;
        }
        let tool = located.recognition.tool;
        let neutral = &row_of(tool).neutral;
        let (start, arguments) = argv.split_at_checked(located.arguments_from)?;
        let mut call = Self { tool, neutral, start, rest: Vec::new(), paths: Vec::new(), verbosity: 0 };
        let mut words = arguments.iter().map(String::as_str).peekable();
        let names_paths = neutral.names_paths && !arguments.iter().any(|word| neutral.no_paths_with.contains(&word.as_str()));
        // A word after an option that the table does not name may be the option's value, so such a word is never neutral:
        // in `-k -v`, the word `-v` selects tests.
        let mut may_be_value = false;
        while let Some(word) = words.next() {
            if word == "--" {
                call.rest.push(word);
                call.rest.extend(words.by_ref());
                break;
            }
            if may_be_value {
                call.rest.push(word);
                may_be_value = word.starts_with('-');
                continue;
            }
            match call.meaning(word, words.peek().copied(), may_fail) {
                WordMeaning::Neutral => {}
                WordMeaning::NeutralWithNext => drop(words.next()),
                WordMeaning::Path => call.paths.push(plain_spelling(word)),
                WordMeaning::Rest if names_paths && is_plain_path(word) => call.rest.push(plain_spelling(word)),
                WordMeaning::Verbosity(steps) => call.verbosity += steps,
                WordMeaning::Rest => {
                    call.rest.push(word);
                    may_be_value = word.starts_with('-') && !word.contains('=') && !neutral.without_value.contains(&word);
                }
            }
        }
        Some(call)
    }

    fn meaning(&self, word: &str, next: Option<&str>, may_fail: bool) -> WordMeaning {
        let neutral = self.neutral;
        if neutral.flags.contains(&word) {
            return if next.is_none_or(|next| next.starts_with('-')) || !neutral.flags_may_have_values {
                WordMeaning::Neutral
            } else {
                WordMeaning::Rest
            };
        }
        if neutral.has_verbosity
            && let Some(steps) = verbosity(neutral, word)
        {
            return WordMeaning::Verbosity(steps);
        }
        if neutral.lists_by_letters && lists_results(word) || !may_fail && neutral.end_early.contains(&word) {
            return WordMeaning::Neutral;
        }
        let is_value = |values: NeutralValues, value: &str| is_neutral_value(self.tool, values, value);
        for (name, values) in neutral.valued {
            if word == *name && next.is_some_and(|next| is_value(*values, next)) {
                return WordMeaning::NeutralWithNext;
            }
            let value = word.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
            if value.is_some_and(|value| is_value(*values, value)) {
                return WordMeaning::Neutral;
            }
        }
        let is_subcommand = self.rest.is_empty() && self.paths.is_empty() && neutral.subcommands.contains(&word);
        if neutral.takes_more_paths && is_plain_path(word) && !is_subcommand { WordMeaning::Path } else { WordMeaning::Rest }
    }
}

/// What one word means for the verdict.
enum WordMeaning {
    Neutral,
    /// The word and the word after it, its value, are neutral.
    NeutralWithNext,
    Path,
    Verbosity(i32),
    Rest,
}

/// Returns by how much a word changes what the tool prints; `None` if the word is about something else.
fn verbosity(neutral: &NeutralWords, word: &str) -> Option<i32> {
    if word == "--verbose" {
        return Some(1);
    }
    if word == "--quiet" && neutral.has_quiet {
        return Some(-1);
    }
    let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty())?;
    let steps = i32::try_from(letters.len()).ok()?;
    match (letters.bytes().all(|letter| letter == b'v'), letters.bytes().all(|letter| letter == b'q')) {
        (true, _) => Some(steps),
        (_, true) if neutral.has_quiet => Some(-steps),
        (_, _) => None,
    }
}

/// Returns whether a word of pytest lists all results that are no success, such as `-ra` and `-rfE`.
fn lists_results(word: &str) -> bool {
    let Some(letters) = word.strip_prefix("-r") else { return false };
    let lists_failures = letters.contains(LISTS_ALL) || LISTS_FAILURES.iter().all(|letter| letters.contains(*letter));
    lists_failures && letters.chars().all(|letter| "fEsxXpPaA".contains(letter))
}

fn is_neutral_value(tool: Tool, values: NeutralValues, value: &str) -> bool {
    match values {
        NeutralValues::Of(named) => named.contains(&value),
        NeutralValues::Number => !value.is_empty() && value.len() < 10 && value.bytes().all(|byte| byte.is_ascii_digit()),
        NeutralValues::ReadFormats => readable_formats(tool).contains(&value),
    }
}

/// Returns whether a word can be nothing but the path of a file or directory below the working directory. A pattern, a
/// negated pattern, a file with further arguments (`@file`), standard input (`-`) and a path that leads upwards are not
/// such paths.
fn is_plain_path(word: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._/-+".contains(character);
    !word.is_empty()
        && !word.starts_with(['-', '/', '+'])
        && word.chars().all(is_plain)
        && word.split('/').all(|part| part != "..")
}

/// Returns a plain path without `./` at its beginning and `/` at its end.
fn plain_spelling(path: &str) -> &str {
    match path.trim_end_matches('/').trim_start_matches("./") {
        "" => ".",
        spelling => spelling,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ROWS;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn is_neutral(before: &str, now: &str) -> bool {
        differs_in_neutral_words_only(&words(before), &words(now), false)
    }

    #[test]
    fn neutral_words_of_each_tool() {
        let rows = [
            ("pytest", "pytest -v"),
            ("pytest", "pytest -vv"),
            ("pytest -q", "pytest"),
            ("pytest -q", "pytest -q -v"),
            ("pytest -v", "pytest"),
            ("pytest tests", "pytest -ra tests"),
            ("pytest tests", "pytest tests -rA --verbose"),
            ("pytest", "pytest --tb=short"),
            ("pytest", "pytest --tb short --color=no"),
            ("pytest", "pytest --durations=10"),
            ("pytest", "pytest --durations 10"),
            ("pytest", "pytest -x"),
            ("pytest", "pytest --maxfail=1"),
            ("pytest", "pytest -rfE"),
            ("pytest -ra", "pytest -rfEs"),
            ("pytest", "pytest -l"),
            ("pytest --showlocals tests", "pytest tests"),
            ("pytest tests", "pytest tests/"),
            ("pytest tests/", "pytest ./tests"),
            ("pytest -x .", "pytest -x ./"),
            ("ruff check src", "ruff check ./src/"),
            ("ruff check src", "ruff check ./tests src/"),
            ("eslint ./src", "eslint src"),
            ("flake8 ./", "flake8 ."),
            ("prettier --check src/", "prettier --check src"),
            ("pytest -k slow", "pytest -k slow -v"),
            ("python -m pytest", "python -m pytest -v"),
            ("uv run pytest", "uv run pytest -ra"),
            ("ruff check src", "ruff check src tests"),
            ("ruff check src", "ruff check tests src"),
            ("ruff check .", "ruff check . --output-format=json"),
            ("ruff check .", "ruff check --output-format concise ."),
            ("ruff check --select E src tests", "ruff check --select E src tests -v"),
            ("ruff format --check src", "ruff format --check src"),
            ("flake8 src", "flake8 src tests"),
            ("pylint src", "pylint --output-format=json src"),
            ("mypy src", "mypy src -v"),
            ("npx eslint src", "npx eslint src test"),
            ("eslint src", "eslint --color src"),
            ("prettier --check src", "prettier --check src docs"),
            ("tsc --noEmit", "tsc --noEmit --pretty"),
        ];
        for (before, now) in rows {
            assert!(is_neutral(before, now), "{before} -> {now}");
        }
    }

    #[test]
    fn what_is_not_named_is_asked() {
        let rows = [
            // The second command prints less, or its `-v` is not pytest's own option: a cluster, a value, a word after `--`.
            ("pytest", "pytest -q"),
            ("pytest", "pytest -qq"),
            ("pytest -q", "pytest -qq"),
            ("pytest -q", "pytest -q -q -q -v"),
            ("pytest -v", "pytest -q"),
            ("pytest", "pytest -vk nothing"),
            ("pytest -k slow", "pytest -k -v slow"),
            ("pytest -k", "pytest -k -v"),
            ("pytest -p x -v", "pytest -p -v x"),
            ("pytest -- a", "pytest -- a -v"),
            ("pytest", "pytest -- -v"),
            ("pytest --lf", "pytest --lf -v"),
            // The second command may hide results in pytest's list, or gives an option an unknown value.
            ("pytest", "pytest -rN"),
            ("pytest", "pytest -raN"),
            ("pytest", "pytest -r"),
            ("pytest", "pytest -rp"),
            ("pytest", "pytest -rf"),
            ("pytest", "pytest -rE"),
            ("pytest", "pytest -rfEN"),
            // The path is another one, or the word is no path.
            ("pytest tests", "pytest tests/a"),
            ("pytest tests", "pytest /tests"),
            ("pytest tests", "pytest ../tests"),
            ("pytest tests", "pytest tests/../tests"),
            ("pytest -k slow", "pytest -k ./slow"),
            ("pytest --ignore src tests", "pytest --ignore src/ tests"),
            ("pytest --pyargs shop", "pytest --pyargs ./shop"),
            ("pytest -- tests", "pytest -- tests/"),
            ("mypy src", "mypy ./src"),
            ("pylint src", "pylint ./src"),
            ("tsc -p app", "tsc -p ./app"),
            ("npx jest src", "npx jest ./src"),
            ("npx vitest run src", "npx vitest run src/"),
            ("pytest", "pytest --tb=no"),
            ("pytest", "pytest --tb -k"),
            ("pytest", "pytest --tb="),
            ("pytest", "pytest --color=-k"),
            ("pytest", "pytest --durations=x"),
            ("pytest", "pytest --durations nothing.py"),
            ("pytest", "pytest --durations-min=5 --co"),
            // The second command runs fewer or other tests.
            ("pytest", "pytest -k fast"),
            ("pytest", "pytest --maxfail=5"),
            ("pytest", "pytest -x tests/good.py"),
            ("pytest", "pytest --co"),
            ("pytest", "pytest -p no:junitxml"),
            ("pytest tests", "pytest tests other"),
            ("pytest tests", "pytest other"),
            ("pytest", "pytest --ignore=tests"),
            ("pytest", "pytest --verbose=-1"),
            // The second command runs another program, another tool or a launcher with other words.
            ("pytest -v", "./pytest -v"),
            ("python -m pytest", "pytest"),
            ("pytest", "ruff check ."),
            ("pytest", "sh -c pytest"),
            ("true", "true -v"),
            ("npm test", "npm test -v"),
            ("uv run pytest", "uv run -v pytest"),
            ("env pytest", "env -v pytest"),
            ("env pytest", "env PYTEST_ADDOPTS=--co pytest"),
            // More paths, but the first command had none, a word is no plain path, or the tool does not take more paths.
            ("ruff check", "ruff check src"),
            ("ruff check .", "ruff check src tests"),
            ("ruff check src", "ruff check src @options"),
            ("ruff check src", "ruff check src -"),
            ("ruff check src", "ruff check - src"),
            ("ruff check src", "ruff check src --exit-zero"),
            ("ruff check src", "ruff check --exclude src tests src"),
            ("ruff check src", "ruff check src ../other"),
            ("ruff check src", "ruff format --check src"),
            ("ruff check src", "ruff check src --output-format=github"),
            ("ruff check src", "ruff check src --output-format=json --output-file=x"),
            ("ruff check --select E src", "ruff check --select src E"),
            ("ruff check src", "ruff check src -q"),
            ("eslint src", "eslint src !src/bad.js"),
            ("eslint src", "eslint src --quiet"),
            ("eslint src", "eslint src -f unix"),
            ("eslint src", "eslint src --ignore-pattern src"),
            ("eslint src", "eslint src **/*.js"),
            ("eslint .", "eslint src"),
            ("flake8 src", "flake8 src --exit-zero"),
            ("flake8 src", "flake8 src --format=quiet-nothing"),
            ("pylint src", "pylint src tests"),
            ("pylint src", "pylint src --exit-zero"),
            ("mypy src", "mypy src tests"),
            ("mypy src", "mypy --pretty src"),
            ("tsc --noEmit", "tsc --noEmit --pretty false"),
            ("tsc --noEmit", "tsc --noEmit src/good.ts"),
            ("tsc --noEmit", "tsc --noEmit --pretty src/good.ts"),
            ("tsc --noEmit src/a.ts", "tsc --noEmit src/a.ts src/b.ts"),
            ("npx jest src", "npx jest src other"),
            ("npx vitest run", "npx vitest run --reporter=dot"),
            ("prettier --check src", "prettier --check src !src/bad.js"),
        ];
        for (before, now) in rows {
            assert!(!is_neutral(before, now), "{before} -> {now}");
        }
    }

    /// One thing that the row of a tool makes free, as the tests name it.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
    enum Free {
        Flag(&'static str),
        Option(&'static str),
        Verbosity,
        Quiet,
        Letters,
        Spelling,
        EndsEarly(&'static str),
        MorePaths,
    }

    /// Returns everything that the row of a tool makes free.
    fn free_of(neutral: &NeutralWords) -> Vec<Free> {
        let NeutralWords { flags, valued, end_early, .. } = neutral;
        let switches = [
            (neutral.has_verbosity, Free::Verbosity),
            (neutral.has_quiet, Free::Quiet),
            (neutral.lists_by_letters, Free::Letters),
            (neutral.takes_more_paths, Free::MorePaths),
            (neutral.names_paths, Free::Spelling),
        ];
        let switches = switches.into_iter().filter_map(|(is_on, free)| is_on.then_some(free));
        let flags = flags.iter().map(|word| Free::Flag(word));
        let options = valued.iter().map(|(word, _)| Free::Option(word));
        let early = end_early.iter().map(|word| Free::EndsEarly(word));
        switches.chain(flags).chain(options).chain(early).collect()
    }

    /// An edit that uses what is free to hide failures, or to check less. The command that the edit needs a person for is the
    /// second one.
    type Cheat = (Tool, Free, &'static str, &'static str);

    /// For each thing that is free, the edits with which somebody would try to profit from it.
    const CHEATS: &[Cheat] = &[
        (Tool::Pytest, Free::Option("--tb"), "pytest", "pytest --tb=no"),
        (Tool::Pytest, Free::Option("--tb"), "pytest -k slow", "pytest -k --tb short"),
        (Tool::Pytest, Free::Option("--tb"), "pytest", "pytest --tb short good.py"),
        (Tool::Pytest, Free::Option("--color"), "pytest", "pytest --color=no --co"),
        (Tool::Pytest, Free::Option("--color"), "pytest", "pytest --color good.py"),
        (Tool::Pytest, Free::Option("--color"), "pytest -p a", "pytest -p --color=no a"),
        (Tool::Pytest, Free::Option("--durations"), "pytest", "pytest --durations good.py"),
        (Tool::Pytest, Free::Option("--durations"), "pytest", "pytest --durations=5 good.py"),
        (Tool::Pytest, Free::Option("--durations"), "pytest", "pytest --durations=-k"),
        (Tool::Pytest, Free::Verbosity, "pytest", "pytest -vk nothing"),
        (Tool::Pytest, Free::Verbosity, "pytest -k slow", "pytest -k -v"),
        (Tool::Pytest, Free::Verbosity, "pytest", "pytest -- -v"),
        (Tool::Pytest, Free::Verbosity, "pytest", "pytest --verbosity=-3"),
        (Tool::Pytest, Free::Quiet, "pytest", "pytest -q"),
        (Tool::Pytest, Free::Quiet, "pytest -q", "pytest -qq"),
        (Tool::Pytest, Free::Quiet, "pytest -q -v", "pytest -q"),
        (Tool::Pytest, Free::Letters, "pytest -ra", "pytest -rN"),
        (Tool::Pytest, Free::Letters, "pytest", "pytest -raN"),
        (Tool::Pytest, Free::Letters, "pytest", "pytest -rootdir=a"),
        (Tool::Pytest, Free::Letters, "pytest -rfE", "pytest -rf"),
        (Tool::Pytest, Free::Letters, "pytest", "pytest -rfEN"),
        (Tool::Pytest, Free::Flag("-l"), "pytest", "pytest -l good.py"),
        (Tool::Pytest, Free::Flag("-l"), "pytest -k slow", "pytest -k -l"),
        (Tool::Pytest, Free::Flag("-l"), "pytest", "pytest -lk nothing"),
        (Tool::Pytest, Free::Flag("--showlocals"), "pytest", "pytest --showlocals --co"),
        (Tool::Pytest, Free::Flag("--showlocals"), "pytest -p x", "pytest -p --showlocals x"),
        (Tool::Pytest, Free::Spelling, "pytest tests", "pytest tests/good.py"),
        (Tool::Pytest, Free::Spelling, "pytest -k tests", "pytest -k tests/"),
        (Tool::Pytest, Free::Spelling, "pytest --pyargs shop", "pytest ./shop --pyargs"),
        (Tool::Pytest, Free::Spelling, "pytest a b", "pytest ./a"),
        (Tool::Ruff, Free::Spelling, "ruff check src", "ruff check --exclude ./src src"),
        (Tool::Ruff, Free::Spelling, "ruff check src", "ruff check src/good.py"),
        (Tool::Ruff, Free::Spelling, "ruff check --exclude build src", "ruff check --exclude ./build src"),
        (Tool::Flake8, Free::Spelling, "flake8 src", "flake8 ./src/../docs"),
        (Tool::Eslint, Free::Spelling, "eslint src", "eslint ./src/good.js"),
        (Tool::Prettier, Free::Spelling, "prettier --check src", "prettier --check !./src"),
        (Tool::Pytest, Free::EndsEarly("--maxfail=1"), "pytest", "pytest --maxfail=1 --lf"),
        (Tool::Pytest, Free::EndsEarly("--maxfail=1"), "pytest -k slow", "pytest -k --maxfail=1"),
        (Tool::Pytest, Free::EndsEarly("-x"), "pytest", "pytest -x good.py"),
        (Tool::Pytest, Free::EndsEarly("-x"), "pytest -k slow", "pytest -k -x"),
        (Tool::Pytest, Free::EndsEarly("-x"), "pytest", "pytest -xk good"),
        (Tool::Pytest, Free::EndsEarly("--exitfirst"), "pytest", "pytest --exitfirst=good.py"),
        (Tool::Pytest, Free::EndsEarly("--exitfirst"), "pytest", "pytest --exitfirst --lf"),
        (Tool::Tsc, Free::Flag("--pretty"), "tsc --noEmit", "tsc --noEmit --pretty src/good.ts"),
        (Tool::Tsc, Free::Flag("--pretty"), "tsc -p app", "tsc -p --pretty app"),
        (Tool::Mypy, Free::Option("--output"), "mypy src", "mypy --output=none src"),
        (Tool::Mypy, Free::Option("--output"), "mypy src", "mypy --output src/good.py src"),
        (Tool::Mypy, Free::Verbosity, "mypy --exclude src", "mypy --exclude -v src"),
        (Tool::Mypy, Free::Verbosity, "mypy src", "mypy -v src/good.py"),
        (Tool::Eslint, Free::Flag("--color"), "eslint src", "eslint --color --quiet src"),
        (Tool::Eslint, Free::Flag("--color"), "eslint --ext .js src", "eslint --ext --color .js src"),
        (Tool::Eslint, Free::Flag("--no-color"), "eslint src", "eslint --no-color src/good.js"),
        (Tool::Eslint, Free::Flag("--no-color"), "eslint src", "eslint --no-color=x src"),
        (Tool::Eslint, Free::MorePaths, "eslint src", "eslint src !src/bad.js"),
        (Tool::Eslint, Free::MorePaths, "eslint src", "eslint test"),
        (Tool::Eslint, Free::MorePaths, "eslint src", "eslint --ignore-pattern src test src"),
        (Tool::Eslint, Free::MorePaths, "eslint", "eslint src"),
        (Tool::Ruff, Free::Option("--output-format"), "ruff check .", "ruff check . --output-format=github"),
        (Tool::Ruff, Free::Option("--output-format"), "ruff check .", "ruff check . --output-format=json -o x"),
        (Tool::Ruff, Free::Verbosity, "ruff check --exclude .", "ruff check --exclude -v ."),
        (Tool::Ruff, Free::Verbosity, "ruff check .", "ruff check . -v --exit-zero"),
        (Tool::Ruff, Free::MorePaths, "ruff check src", "ruff check --exclude src src"),
        (Tool::Ruff, Free::MorePaths, "ruff check src", "ruff format src"),
        (Tool::Ruff, Free::MorePaths, "ruff check src", "ruff check src @less"),
        (Tool::Ruff, Free::MorePaths, "ruff check src tests", "ruff check src"),
        (Tool::Flake8, Free::Option("--format"), "flake8 src", "flake8 --format=quiet-nothing src"),
        (Tool::Flake8, Free::Option("--format"), "flake8 src", "flake8 --format=pylint --exit-zero src"),
        (Tool::Flake8, Free::Verbosity, "flake8 --exclude src", "flake8 --exclude -v src"),
        (Tool::Flake8, Free::Verbosity, "flake8 src", "flake8 -v --isolated src"),
        (Tool::Flake8, Free::MorePaths, "flake8 src", "flake8 --exclude src src"),
        (Tool::Flake8, Free::MorePaths, "flake8 src", "flake8 src ../other"),
        (Tool::Pylint, Free::Option("--output-format"), "pylint src", "pylint --output-format=mine.Reporter src"),
        (Tool::Pylint, Free::Option("--output-format"), "pylint src", "pylint --output-format=json:x src"),
        (Tool::Pylint, Free::Option("--output-format"), "pylint src", "pylint --output-format=json src/good.py"),
        (Tool::Prettier, Free::Flag("--color"), "prettier --check src", "prettier --color src"),
        (Tool::Prettier, Free::Flag("--color"), "prettier --check src", "prettier --check --ignore-path --color src"),
        (Tool::Prettier, Free::Flag("--no-color"), "prettier --check src", "prettier --check --no-color src/good.js"),
        (Tool::Prettier, Free::MorePaths, "prettier --check src", "prettier --check src !src/bad.js"),
        (Tool::Prettier, Free::MorePaths, "prettier --check src", "prettier --check docs"),
        (Tool::Prettier, Free::MorePaths, "prettier --check src", "prettier --check --ignore-path src docs src"),
    ];

    #[test]
    fn whoever_cheats_with_a_free_word_is_asked_and_each_free_word_has_such_a_row() {
        for (tool, free, before, now) in CHEATS {
            assert_eq!(locate(&words(before)).recognition.tool, *tool, "{before}");
            assert!(!is_neutral(before, now), "{free:?}: {before} -> {now}");
        }
        let mut without = Vec::new();
        for row in &ROWS {
            for free in free_of(&row.neutral) {
                if !CHEATS.iter().any(|(tool, known, ..)| *tool == row.tool && *known == free) {
                    without.push((row.tool, free));
                }
            }
        }
        assert!(without.is_empty(), "nobody tries to cheat with these: {without:?}");
        let is_free = |(tool, free, ..): &&Cheat| free_of(&row_of(*tool).neutral).contains(free);
        let unknown: Vec<&Cheat> = CHEATS.iter().filter(|cheat| !is_free(cheat)).collect();
        assert!(unknown.is_empty(), "these are not free: {unknown:?}");
    }

    #[test]
    fn a_run_may_end_early_only_where_no_failure_is_expected() {
        let (before, now) = (words("pytest"), words("pytest -x"));
        assert!(differs_in_neutral_words_only(&before, &now, false));
        assert!(!differs_in_neutral_words_only(&before, &now, true));
        assert!(!differs_in_neutral_words_only(&before, &words("pytest --maxfail=1"), true));
        assert!(differs_in_neutral_words_only(&before, &words("pytest -v"), true));
    }
}
