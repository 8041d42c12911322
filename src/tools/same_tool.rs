//! Whether two commands call one tool in the same way, whatever the tool's own arguments are (S7).

use crate::model::Tool;
use crate::tools::launchers::locate;
use crate::tools::recognise::CommandForm;

/// Returns whether two commands call the same known tool with the same words up to the tool's own arguments: by the same
/// path and the same launcher. A shell, or a script of the project, shows no tool, so it never counts as the same.
pub fn calls_tool_the_same_way(before: &[String], now: &[String]) -> bool {
    let (old, new) = (locate(before), locate(now));
    let is_direct = |form: CommandForm| form == CommandForm::Direct;
    let start = |argv: &[String], end: usize| argv.get(..end).map(<[String]>::to_vec);
    old.recognition.tool != Tool::Generic
        && old.recognition.tool == new.recognition.tool
        && is_direct(old.recognition.form)
        && is_direct(new.recognition.form)
        && start(before, old.arguments_from).is_some()
        && start(before, old.arguments_from) == start(now, new.arguments_from)
}

#[cfg(test)]
mod tests {
    use super::*;

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
