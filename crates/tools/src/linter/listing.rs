//! How many files a linter had to check, where it does not say so itself: a second call lists them.
//!
//! Ruff warns if it has no file at all, but its own configuration file counts as one. So `ruff check .` is clean where the
//! configuration leaves out every source. The list is asked for only where a configuration of Ruff in the tree, or the command itself,
//! leaves files out: the call costs as much as a small check. `lint.exclude` is not seen, because Ruff lists these files all the same.
//!
//! Prettier says that all files are formatted where it ignores every one. With the log level `debug` it prints a line for each file that
//! it reads. It is asked for that only where there is a file of ignored paths.

use crate::launchers::{Located, locate};
use crate::option_spelling::subcommand;
use crate::prepare::{insert_options, option_value};
use crate::recognise::CommandForm;
use proctor_model::{Action, ActionEnd, CategoryCode, Examined, ExaminedUnit, Interpretation, StreamExcerpt, Tool};

/// The configuration files of Ruff. It checks them too, so they are in its list and are no sources.
const CONFIGURATIONS: &[&str] = &["ruff.toml", ".ruff.toml", "pyproject.toml"];

/// The words in the names of the keys and options that say which files are checked: `extend-exclude`, `include`, or `extend`, which
/// names another configuration.
const NARROWING: &[&str] = &["exclude", "include", "extend"];

/// The table of Ruff in `pyproject.toml`.
const TABLE: &str = "[tool.ruff";

/// The options of a command that leave files out, or may do so.
const NARROWING_OPTIONS: &[&str] = &["--exclude", "--extend-exclude", "--config"];

/// Options with which Ruff does not list its files. They do not say which files it checks.
const NOT_WITH_LIST: &[&str] = &["--statistics", "--ignore-noqa"];

/// Options that write the list to a file.
const OUTPUT_FILE: &[&str] = &["-o", "--output-file"];

/// Whether a configuration in the tree says which files are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfiguredFiles {
    All,
    Narrowed,
}

/// The file with the paths that Prettier ignores, and the option that names another one.
const PRETTIER_IGNORE: &str = ".prettierignore";
const PRETTIER_IGNORE_OPTION: &[&str] = &["--ignore-path"];

/// What Prettier is asked with, the line by which it shows that it took the option, and the line that it prints for each file. Its
/// version 2 refuses the option, and the number of files stays unknown.
const PRETTIER_DEBUG: &str = "--log-level=debug";
const PRETTIER_BEGIN: &str = "[debug] normalized argv";
const PRETTIER_FILE: &str = "[debug] applied config-precedence";

/// Returns whether a file's name is that of a configuration which may say which files are checked.
pub fn may_narrow_files(name: &[u8]) -> bool {
    name == PRETTIER_IGNORE.as_bytes() || is_configuration_of_ruff(name)
}

fn is_configuration_of_ruff(name: &[u8]) -> bool {
    CONFIGURATIONS.iter().any(|known| known.as_bytes() == name)
}

/// Returns whether a configuration may say which files are checked. A word in another place costs no more than a call.
pub fn narrows_files(name: &[u8], text: &str) -> bool {
    if name == PRETTIER_IGNORE.as_bytes() {
        return text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#'));
    }
    let is_of_ruff = name != b"pyproject.toml" || text.contains(TABLE);
    is_of_ruff && NARROWING.iter().any(|word| text.contains(word))
}

/// Returns whether a second call may list the files of an action.
pub fn may_list_files(action: &Action) -> bool {
    is_listed(action, &locate(&action.command.argv))
}

fn is_listed(action: &Action, located: &Located) -> bool {
    let is_direct = located.recognition.tool == action.tool && located.recognition.form == CommandForm::Direct;
    let is_ruff_check =
        || subcommand(&located.arguments) == Some("check") && option_value(&located.arguments, OUTPUT_FILE).is_none();
    is_direct && (action.tool == Tool::Prettier || action.tool == Tool::Ruff && is_ruff_check())
}

/// Returns the command that lists the files which an action checks, if something may leave files out.
pub fn prepare_listing(action: &Action, configured: ConfiguredFiles) -> Option<Vec<String>> {
    let located = locate(&action.command.argv);
    let is_prettier = action.tool == Tool::Prettier;
    let (narrowing, list) =
        if is_prettier { (PRETTIER_IGNORE_OPTION, PRETTIER_DEBUG) } else { (NARROWING_OPTIONS, "--show-files") };
    let is_narrowed = configured == ConfiguredFiles::Narrowed || option_value(&located.arguments, narrowing).is_some();
    if !is_listed(action, &located) || !is_narrowed {
        return None;
    }
    let mut argv = action.command.argv.clone();
    argv.retain(|word| action.tool != Tool::Ruff || !NOT_WITH_LIST.contains(&word.as_str()));
    insert_options(&mut argv, located.arguments_from, [list.to_owned()]);
    Some(argv)
}

/// Returns how many sources a call listed; `None` if it failed, or if its output was cut.
pub fn count_listed(tool: Tool, end: &ActionEnd, stdout: &StreamExcerpt, stderr: &StreamExcerpt) -> Option<u64> {
    let list = if tool == Tool::Prettier { stderr } else { stdout };
    if !matches!(end, ActionEnd::Exited { code: 0 }) || !list.is_complete() {
        return None;
    }
    let text = String::from_utf8_lossy(&list.head).into_owned() + &String::from_utf8_lossy(&list.tail);
    let is_source =
        |line: &&str| !line.is_empty() && !is_configuration_of_ruff(line.rsplit('/').next().unwrap_or_default().as_bytes());
    let lines = text.lines().map(str::trim);
    if tool == Tool::Prettier {
        let is_asked = lines.clone().any(|line| line.starts_with(PRETTIER_BEGIN));
        return is_asked.then(|| lines.filter(|line| line.starts_with(PRETTIER_FILE)).count() as u64);
    }
    Some(lines.filter(is_source).count() as u64)
}

/// Returns an action's result in the light of the list of its files: without any source a clean result proves nothing.
pub fn apply_listing(tool: Tool, interpretation: Interpretation, listed: Option<u64>) -> Interpretation {
    let Some(count) = listed.filter(|_| interpretation.category == CategoryCode::Clean) else { return interpretation };
    let examined = Some(Examined { what: ExaminedUnit::Files, count: Some(count) });
    if count > 0 {
        return Interpretation { examined, ..interpretation };
    }
    let reason = if tool == Tool::Prettier {
        "Prettier had no file to check: with `--log-level=debug` it reads none; correct the paths or what is ignored"
    } else {
        "Ruff had no source to check: `ruff check --show-files` lists none besides its configuration; correct the paths or what the \
         configuration leaves out"
    };
    Interpretation { category: CategoryCode::NothingChecked, reason: reason.to_owned(), examined, ..interpretation }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{action, stream};

    #[test]
    fn files_are_listed_only_where_something_may_leave_them_out() {
        let listed = |command: &str, configured| {
            let tool = if command.starts_with("prettier") { Tool::Prettier } else { Tool::Ruff };
            prepare_listing(&action(tool, command), configured).map(|argv| argv.join(" "))
        };
        let (all, narrowed) = (ConfiguredFiles::All, ConfiguredFiles::Narrowed);
        for (command, configured, expected) in [
            ("ruff check .", all, None),
            ("ruff check .", narrowed, Some("ruff check . --show-files")),
            ("python -m ruff check src --fix", narrowed, Some("python -m ruff check src --fix --show-files")),
            ("ruff check --statistics -- src", narrowed, Some("ruff check --show-files -- src")),
            ("ruff check . --exclude src", all, Some("ruff check . --exclude src --show-files")),
            ("ruff check . --config=other.toml", all, Some("ruff check . --config=other.toml --show-files")),
            ("ruff format --check .", narrowed, None),
            ("ruff check . -o report", narrowed, None),
            ("sh -c 'ruff check .'", narrowed, None),
            ("prettier --check .", all, None),
            ("prettier --check .", narrowed, Some("prettier --check . --log-level=debug")),
            ("prettier -c --ignore-path x -- src", all, Some("prettier -c --ignore-path x --log-level=debug -- src")),
        ] {
            assert_eq!(listed(command, configured).as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn a_configuration_may_narrow_by_any_key_about_files() {
        for (name, text, expected) in [
            ("ruff.toml", "line-length = 100\n", false),
            ("ruff.toml", "extend-exclude = [\"a\"]\n", true),
            (".ruff.toml", "include = [\"b/*.py\"]\n", true),
            ("ruff.toml", "extend = \"../base.toml\"\n", true),
            ("pyproject.toml", "[tool.ruff]\nexclude = [\"a\"]\n", true),
            ("pyproject.toml", "[tool.ruff.lint]\nselect = [\"E\"]\n", false),
            ("pyproject.toml", "[tool.mypy]\nexclude = \"a\"\n", false),
            (".prettierignore", "# nothing\n\n", false),
            (".prettierignore", "dist\n", true),
        ] {
            assert_eq!(narrows_files(name.as_bytes(), text), expected, "{name} {text}");
        }
    }

    #[test]
    fn a_list_without_a_source_makes_a_clean_result_prove_nothing() {
        let count = |text: &str, code| count_listed(Tool::Ruff, &ActionEnd::Exited { code }, &stream(text), &stream(""));
        assert_eq!(count("/p/pyproject.toml\n/p/a/ruff.toml\n", 0), Some(0));
        assert_eq!(count("", 0), Some(0));
        assert_eq!(count("/p/a.py\n/p/pyproject.toml\n/p/b.ipynb\n", 0), Some(2));
        assert_eq!(count("/p/a.py\n", 2), None);
        let cut = StreamExcerpt { total: 100, ..stream("/p/a.py\n") };
        assert_eq!(count_listed(Tool::Ruff, &ActionEnd::Exited { code: 0 }, &cut, &stream("")), None);
        let seen = |category, listed| apply_listing(Tool::Ruff, Interpretation::plain(category, "it"), listed);
        assert_eq!(seen(CategoryCode::Clean, Some(0)).category, CategoryCode::NothingChecked);
        assert_eq!(seen(CategoryCode::Clean, Some(2)).examined.and_then(|examined| examined.count), Some(2));
        assert_eq!(seen(CategoryCode::Clean, None), Interpretation::plain(CategoryCode::Clean, "it"));
        assert_eq!(seen(CategoryCode::Findings, Some(0)).category, CategoryCode::Findings, "what was found is a file");
    }
    #[test]
    fn the_lines_of_prettier_about_its_files_are_counted() {
        // Printed by Prettier 3.10.1 with `--log-level=debug`; version 2.8.8 ends with `[warn] Ignored unknown option`.
        let begin = "[debug] normalized argv: {\"_\":[\".\"]}\n";
        let of_file = "[debug] resolve config from '/p/a.js'\n[debug] loaded options `null`\n[debug] applied config-precedence (cli-override): {}\n";
        let count = |stderr: &str| {
            count_listed(Tool::Prettier, &ActionEnd::Exited { code: 0 }, &stream("Checking formatting...\n"), &stream(stderr))
        };
        assert_eq!(count(begin), Some(0));
        assert_eq!(count(&format!("{begin}{of_file}{of_file}")), Some(2));
        assert_eq!(count("[warn] Ignored unknown option --log-level=debug.\n"), None);
        let seen = apply_listing(Tool::Prettier, Interpretation::plain(CategoryCode::Clean, "it"), Some(0));
        assert_eq!(seen.category, CategoryCode::NothingChecked);
        assert!(seen.reason.starts_with("Prettier had no file"), "{}", seen.reason);
    }
}
