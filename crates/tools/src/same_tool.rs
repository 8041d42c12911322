//! Whether two commands call one tool in the same way, whatever the tool's own arguments are (S7).

use crate::launchers::locate;
use crate::package_json::script_name;
use crate::recognise::CommandForm;

/// Returns whether two commands call the same known tool with the same words up to the tool's own arguments: by the same
/// path and the same launcher. A shell, or a script of the project, shows no tool, so it never counts as the same.
pub fn calls_tool_the_same_way(before: &[String], now: &[String]) -> bool {
    let (old, new) = (locate(before), locate(now));
    let is_direct = |form: CommandForm| form == CommandForm::Direct;
    let start = |argv: &[String], end: usize| argv.get(..end).map(<[String]>::to_vec);
    old.recognition.tool.is_known()
        && old.recognition.tool == new.recognition.tool
        && is_direct(old.recognition.form)
        && is_direct(new.recognition.form)
        && start(before, old.arguments_from).is_some()
        && start(before, old.arguments_from) == start(now, new.arguments_from)
}

/// Returns the only word in which two commands differ, before and now, where it names what a launcher starts: the second command calls a
/// known tool by it, or both call a script of a package manager. `None` for any other pair of commands, and where the first one
/// calls a known tool.
pub fn replaced_name<'a>(before: &'a [String], now: &'a [String]) -> Option<(&'a str, &'a str)> {
    let mut differing = before.iter().zip(now).filter(|(old, new)| old != new);
    let (old, new) = differing.next()?;
    if before.len() != now.len() || before.first() != now.first() || differing.next().is_some() {
        return None;
    }
    let (was, is) = (locate(before).recognition, locate(now).recognition);
    let is_now_known = !was.tool.is_known() && is.tool.is_known() && is.form == CommandForm::Direct;
    let are_scripts = || script_name(before) == Some(old.as_str()) && script_name(now) == Some(new.as_str());
    (is_now_known || are_scripts()).then_some((old.as_str(), new.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_that_names_what_is_started_may_be_another_one() {
        let rows = [
            ("python -m pytets", "python -m pytest", Some(("pytets", "pytest"))),
            ("python -m pytets -q tests", "python -m pytest -q tests", Some(("pytets", "pytest"))),
            ("ruff chekc .", "ruff check .", Some(("chekc", "check"))),
            ("cargo tets", "cargo test", Some(("tets", "test"))),
            ("npm run tset", "npm run test", Some(("tset", "test"))),
            ("npm run tset -- -q", "npm run test -- -q", Some(("tset", "test"))),
            ("npm run test", "npm run test -- -q", None),
            ("npm run test x", "npm run test y", None),
            ("npm run tset", "pnpm run test", None),
            ("python -m pytets", "python -m json.tool", None),
            ("python -m pytets", "python -m pytest --co", None),
            ("python -m pytets -q", "python -m pytest --co", None),
            ("python -m pytest", "python -m mypy", None),
            ("python -m pytets", "python3 -m pytest", None),
            ("ruff chekc .", "ruff check src", None),
            ("ruff chekc .", "ruff clean .", None),
            ("pytets", "pytest", None),
            ("true", "true", None),
        ];
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (before, now, expected) in rows {
            assert_eq!(replaced_name(&words(before), &words(now)), expected, "{before} -> {now}");
        }
    }

    #[test]
    fn only_the_arguments_of_the_tool_may_differ() {
        let rows = [
            ("pytest --qq", "pytest -q", true),
            ("pytest --qq", "pytest", true),
            ("uv run pytest --qq", "uv run pytest tests", true),
            ("python -m pytest --qq", "python -m pytest", true),
            ("ruff check --nope src", "ruff check src", true),
            ("ruff chekc src", "ruff check src", false),
            ("pytest --qq", "./pytest -q", false),
            ("pytest --qq", "python -m pytest -q", false),
            ("pytest --qq", "uv run pytest -q", false),
            ("pytest --qq", "sh -c pytest", false),
            ("pytest --qq", "ruff check", false),
            ("pytest --qq", "true", false),
            ("true --qq", "true", false),
        ];
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (before, now, expected) in rows {
            assert_eq!(calls_tool_the_same_way(&words(before), &words(now)), expected, "{before} -> {now}");
        }
    }
}
