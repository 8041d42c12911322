//! Reads commands. A command that is written as one text is split into words here. A text that needs a shell is
//! refused, unless the action has `shell = true` (E9).

use toml::Spanned;
use toml::de::DeValue;

use crate::config::values::{WrongValue, filled_text, list, text};
use proctor_model::{CommandLine, join_words, split_words};
use proctor_tools::shell::{hidden_failure_of_words, shell_construct};

const EXAMPLE: &str = "[\"pytest\", \"-q\"]";

/// The shell that executes a command, as the action's `shell` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shell {
    /// The command is executed directly, without a shell.
    None,
    /// With `shell = true`, bash executes the command with the option `pipefail`.
    Bash,
}

/// Reads a command that is written as a list of words or as one text.
pub(super) fn command(shell: Shell) -> impl Fn(&Spanned<DeValue<'_>>) -> Result<CommandLine, WrongValue> {
    move |value| {
        let read = value.get_ref();
        let command = match (read.is_array(), read.is_str(), shell) {
            (true, _, Shell::None) => from_list(list(text(EXAMPLE), EXAMPLE)(value)?),
            (true, _, Shell::Bash) => {
                let wrong = WrongValue::new("with `shell = true` the command is a script, written as one string");
                return Err(wrong.hint("write the script as one string, or leave `shell` out"));
            }
            (false, true, Shell::None) => from_text(&filled_text(EXAMPLE)(value)?),
            (false, true, Shell::Bash) => Ok(from_script(&filled_text(EXAMPLE)(value)?)),
            (false, false, _) => Err(WrongValue::kind("a list of words or a string", read).example(EXAMPLE)),
        }?;
        refuse_masks(&command)?;
        Ok(command)
    }
}

fn from_list(argv: Vec<String>) -> Result<CommandLine, WrongValue> {
    if argv.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(WrongValue::new("the command is empty").example(EXAMPLE));
    }
    let display = join_words(argv.iter().map(String::as_str)).expect("the reader of texts refuses NUL");
    Ok(CommandLine { argv, display, shell: false })
}

fn from_text(text: &str) -> Result<CommandLine, WrongValue> {
    if let Some(construct) = shell_construct(text) {
        // If a shell would be refused this text too, that error comes first: it says how to mend the text.
        refuse_masks(&from_script(text))?;
        let written = construct.text.escape_debug();
        let wrong = WrongValue::new(format!("`{written}` is {} and needs a shell, but commands run without one", construct.what));
        return Err(wrong.hint(match construct.instead {
            Some(instead) => format!("{instead}, or add `shell = true`"),
            None => "add `shell = true`, or write the command as a list of words".to_owned(),
        }));
    }
    let split = split_words(text).ok_or_else(|| WrongValue::new("a quote is not closed").hint("close it"))?;
    Ok(CommandLine { display: text.trim().to_owned(), ..from_list(split)? })
}

fn from_script(script: &str) -> CommandLine {
    let argv = ["bash", "-o", "pipefail", "-c", script].map(str::to_owned).to_vec();
    CommandLine { argv, display: script.trim().to_owned(), shell: true }
}

fn refuse_masks(command: &CommandLine) -> Result<(), WrongValue> {
    let Some(hidden) = hidden_failure_of_words(&command.argv) else { return Ok(()) };
    let hint = format!("{}; what may fail is said with `policy` or `expected_exit_codes`", hidden.instead);
    Err(WrongValue::new(format!("`{}` {}", hidden.part, hidden.why)).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_text_is_split_into_words_and_kept_for_people() {
        let command = from_text("pytest -k 'a b' \"tests/x y\"").expect("a plain command");
        assert_eq!(command.argv, words(&["pytest", "-k", "a b", "tests/x y"]));
        assert_eq!((command.display.as_str(), command.shell), ("pytest -k 'a b' \"tests/x y\"", false));
    }

    #[test]
    fn a_negated_command_is_told_at_once_what_replaces_it() {
        let wrong = from_text("! grep -rn debugger src").expect_err("no shell makes it a check");
        assert!(format!("{wrong:?}").contains("expected_exit_codes = [1]"), "{wrong:?}");
    }

    #[test]
    fn a_list_is_taken_word_for_word() {
        let command = from_list(words(&["echo", "$HOME", "a b"])).expect("a list");
        assert_eq!(command.argv, words(&["echo", "$HOME", "a b"]));
        assert_eq!(command.display, "echo '$HOME' 'a b'");
    }

    #[test]
    fn a_script_runs_in_bash_with_pipefail() {
        assert_eq!(from_script("a | b").argv, words(&["bash", "-o", "pipefail", "-c", "a | b"]));
    }

    #[test]
    fn a_mask_inside_a_shell_of_the_users_own_is_refused_too() {
        let masked = from_list(words(&["/bin/sh", "-ec", "pytest || true"])).expect("a list");
        assert!(refuse_masks(&masked).is_err());
        let harmless = from_list(words(&["echo", "-c", "pytest || true"])).expect("a list");
        assert!(refuse_masks(&harmless).is_ok());
    }
}
