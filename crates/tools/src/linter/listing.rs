//! How many files a linter had to check, where it does not say so itself: a second call lists them.
//!
//! Ruff warns if it has no file at all, but its own configuration file counts as one. So `ruff check .` is clean where the
//! configuration leaves out every source. The list is asked for only where a configuration of Ruff in the tree, or the command itself,
//! leaves files out: the call costs as much as a small check. `lint.exclude` is not seen, because Ruff lists these files all the same.

use crate::launchers::{Located, locate};
use crate::prepare::{insert_options, option_value};
use crate::recognise::CommandForm;
use crate::subcommands::subcommand;
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

/// Returns whether a file's name is that of a configuration which may say which files are checked.
pub fn may_narrow_files(name: &[u8]) -> bool {
    CONFIGURATIONS.iter().any(|known| known.as_bytes() == name)
}

/// Returns whether a configuration may say which files are checked. A word in another place costs no more than a call.
pub fn narrows_files(name: &[u8], text: &str) -> bool {
    let is_of_ruff = name != b"pyproject.toml" || text.contains(TABLE);
    is_of_ruff && NARROWING.iter().any(|word| text.contains(word))
}

/// Returns whether a second call may list the files of an action.
pub fn may_list_files(action: &Action) -> bool {
    is_listed(action, &locate(&action.command.argv))
}

fn is_listed(action: &Action, located: &Located) -> bool {
    action.tool == Tool::Ruff
        && located.recognition.tool == Tool::Ruff
        && located.recognition.form == CommandForm::Direct
        && subcommand(&located.arguments) == Some("check")
        && option_value(&located.arguments, OUTPUT_FILE).is_none()
}

/// Returns the command that lists the files which an action checks, if something may leave files out.
pub fn prepare_listing(action: &Action, configured: ConfiguredFiles) -> Option<Vec<String>> {
    let located = locate(&action.command.argv);
    let is_narrowed = configured == ConfiguredFiles::Narrowed || option_value(&located.arguments, NARROWING_OPTIONS).is_some();
    if !is_listed(action, &located) || !is_narrowed {
        return None;
    }
    let mut argv = action.command.argv.clone();
    argv.retain(|word| !NOT_WITH_LIST.contains(&word.as_str()));
    insert_options(&mut argv, located.arguments_from, ["--show-files".to_owned()]);
    Some(argv)
}

/// Returns how many sources are in a list; `None` if the call that listed them failed, or the list was cut.
pub fn count_listed(end: &ActionEnd, stdout: &StreamExcerpt) -> Option<u64> {
    if !matches!(end, ActionEnd::Exited { code: 0 }) || !stdout.is_complete() {
        return None;
    }
    let text = String::from_utf8_lossy(&stdout.head).into_owned() + &String::from_utf8_lossy(&stdout.tail);
    let is_source = |line: &&str| !line.is_empty() && !may_narrow_files(line.rsplit('/').next().unwrap_or_default().as_bytes());
    Some(text.lines().map(str::trim).filter(is_source).count() as u64)
}

/// Returns an action's result in the light of the list of its files: without any source a clean result proves nothing.
pub fn apply_listing(interpretation: Interpretation, listed: Option<u64>) -> Interpretation {
    let Some(count) = listed.filter(|_| interpretation.category == CategoryCode::Clean) else { return interpretation };
    let examined = Some(Examined { what: ExaminedUnit::Files, count: Some(count) });
    if count > 0 {
        return Interpretation { examined, ..interpretation };
    }
    let reason = "Ruff had no source to check: `ruff check --show-files` lists none besides its configuration; correct the paths or what \
                  the configuration leaves out";
    Interpretation { category: CategoryCode::NothingChecked, reason: reason.to_owned(), examined, ..interpretation }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{action, stream};

    #[test]
    fn files_are_listed_only_where_something_may_leave_them_out() {
        let listed =
            |command: &str, configured| prepare_listing(&action(Tool::Ruff, command), configured).map(|argv| argv.join(" "));
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
        ] {
            assert_eq!(narrows_files(name.as_bytes(), text), expected, "{name} {text}");
        }
    }

    #[test]
    fn a_list_without_a_source_makes_a_clean_result_prove_nothing() {
        let count = |text: &str, code| count_listed(&ActionEnd::Exited { code }, &stream(text));
        assert_eq!(count("/p/pyproject.toml\n/p/a/ruff.toml\n", 0), Some(0));
        assert_eq!(count("", 0), Some(0));
        assert_eq!(count("/p/a.py\n/p/pyproject.toml\n/p/b.ipynb\n", 0), Some(2));
        assert_eq!(count("/p/a.py\n", 2), None);
        let cut = StreamExcerpt { total: 100, ..stream("/p/a.py\n") };
        assert_eq!(count_listed(&ActionEnd::Exited { code: 0 }, &cut), None);
        let seen = |category, listed| apply_listing(Interpretation::plain(category, "it"), listed);
        assert_eq!(seen(CategoryCode::Clean, Some(0)).category, CategoryCode::NothingChecked);
        assert_eq!(seen(CategoryCode::Clean, Some(2)).examined.and_then(|examined| examined.count), Some(2));
        assert_eq!(seen(CategoryCode::Clean, None), Interpretation::plain(CategoryCode::Clean, "it"));
        assert_eq!(seen(CategoryCode::Findings, Some(0)).category, CategoryCode::Findings, "what was found is a file");
    }
}
