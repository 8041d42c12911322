//! Finds the script in an argument vector, and the options of the shell that reads it.

use crate::shell::tree::ShellOptions;

/// Programs that read a script from the argument after `-c`.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash"];

/// Long options whose value is the next word.
const VALUED: &[&str] = &["--rcfile", "--init-file"];

/// A script and the options of its shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShellScript<'t> {
    pub text: &'t str,
    pub options: ShellOptions,
}

impl<'t> ShellScript<'t> {
    /// Returns the script of an action with `shell = true`. Such scripts are run by bash with `pipefail`.
    pub fn with_pipefail(text: &'t str) -> Self {
        Self { text, options: ShellOptions { errexit: false, pipefail: true } }
    }
}

/// Returns the script that a command passes to a shell, as in `sh -c '…'`; `None` if the command has no such script.
pub fn script_of(argv: &[String]) -> Option<ShellScript<'_>> {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let (position, options) = script_position(&words)?;
    Some(ShellScript { text: words.get(position)?, options })
}

/// Returns the position of the script in the words of a shell's command, and the shell's options.
pub(super) fn script_position(words: &[&str]) -> Option<(usize, ShellOptions)> {
    let program = words.first()?.rsplit('/').next()?;
    if !SHELLS.contains(&program) {
        return None;
    }
    let mut options = ShellOptions::default();
    let (mut at, mut takes_script) = (1, false);
    while let Some(word) = words.get(at) {
        at += 1;
        if *word == "--" {
            break;
        }
        if word.starts_with("--") {
            at += usize::from(VALUED.contains(word));
            continue;
        }
        let Some(letters) = word.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty()) else {
            at -= 1;
            break;
        };
        let is_on = word.starts_with('-');
        takes_script |= is_on && letters.contains('c');
        if letters.contains('e') {
            options.errexit = is_on;
        }
        if letters.contains(['o', 'O']) {
            options.set(words.get(at).copied().unwrap_or_default(), is_on);
            at += 1;
        }
    }
    (takes_script && at < words.len()).then_some((at, options))
}

impl ShellOptions {
    /// Sets the option with this name, as `-o NAME` does.
    pub(super) fn set(&mut self, name: &str, is_on: bool) {
        match name {
            "errexit" => self.errexit = is_on,
            "pipefail" => self.pipefail = is_on,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_found_behind_the_options_of_its_shell() {
        let read = |line: &str| {
            let argv = shlex::split(line).expect("words");
            script_of(&argv).map(|script| {
                let options = script.options;
                (script.text.to_owned(), options.errexit, options.pipefail)
            })
        };
        for (line, expected) in [
            ("bash -o pipefail -c 'a b'", Some(("a b", false, true))),
            ("bash --posix -o pipefail -c a", Some(("a", false, true))),
            ("/bin/sh -ec a", Some(("a", true, false))),
            ("bash -euo pipefail -c a", Some(("a", true, true))),
            ("bash -c -e a b", Some(("a", true, false))),
            ("bash --rcfile x -ce a", Some(("a", true, false))),
            ("sh -c -- a", Some(("a", false, false))),
            ("bash -e a.sh -c b", None),
            ("sh -c", None),
            ("echo -c a", None),
        ] {
            let expected = expected.map(|(text, errexit, pipefail)| (text.to_owned(), errexit, pipefail));
            assert_eq!(read(line), expected, "{line}");
        }
    }
}
