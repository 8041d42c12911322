//! In how many ways a tool lets its users spell one option.
//!
//! A table names each option once. A tool may also accept it with one dash in place of two, shortened, or joined with other letters.

/// How a tool reads the words that begin with a dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionSpelling {
    /// An option has one spelling.
    Exact,
    /// Upper and lower case are the same, and so are one and two dashes: `--noCheck`, `-nocheck`.
    AnyCaseAndDashes,
    /// Single letters may be joined: `-es` is `-e -s`. The rest of the word behind a letter in `valued` is that letter's value.
    Joined { valued: &'static str },
    /// As `Joined`, and the end of a long option may be left out: `--vers` is `--version`. Such a tool refuses a shortened option
    /// that could be two of its options.
    JoinedAndShortened { valued: &'static str },
}

impl OptionSpelling {
    /// Returns whether a word, without a value behind `=`, is a spelling of `option`.
    pub(super) fn is_named(self, word: &str, option: &str) -> bool {
        match self {
            Self::Exact => word == option,
            Self::AnyCaseAndDashes => is_same_option(word, option),
            Self::Joined { valued } => word == option || has_letter(word, option, valued),
            Self::JoinedAndShortened { valued } => {
                let is_shortened = word.len() > 2 && word.starts_with("--") && option.starts_with(word);
                word == option || is_shortened || has_letter(word, option, valued)
            }
        }
    }
}

/// Returns whether two words are the same option for a tool that distinguishes neither case nor one and two dashes.
pub(super) fn is_same_option(word: &str, option: &str) -> bool {
    let name = |word: &str| word.strip_prefix('-').map(|rest| rest.strip_prefix('-').unwrap_or(rest).to_ascii_lowercase());
    name(word).filter(|name| !name.is_empty()).is_some_and(|word| name(option).is_some_and(|option| word == option))
}

// Returns whether the letters of a word such as `-es` contain that of `option`, such as `-s`.
fn has_letter(word: &str, option: &str, valued: &str) -> bool {
    let letters = |word: &str| word.strip_prefix('-').filter(|letters| !letters.starts_with('-')).map(str::to_owned);
    let (Some(letters), Some(wanted)) = (letters(word), letters(option)) else { return false };
    let mut wanted = wanted.chars();
    let (Some(wanted), None) = (wanted.next(), wanted.next()) else { return false };
    let end = letters.find(|letter| valued.contains(letter)).map_or(letters.len(), |at| at + 1);
    letters[..end].contains(wanted)
}

// Reads a command's options and subcommand. Some of them, such as `--version`, make a tool do something other than checking.

/// Returns whether any of these options is among the arguments.
pub(super) fn has_any(arguments: &[String], options: &[&str]) -> bool {
    arguments.iter().any(|argument| options.contains(&argument.as_str()))
}

/// Returns whether any of these options is among the arguments before `--`, with or without a value: `--name`, `--name=value`,
/// `-nvalue`.
pub(super) fn has_option(arguments: &[String], options: &[&str]) -> bool {
    let is = |word: &str, option: &str| {
        word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || !option.starts_with("--"))
    };
    let words = arguments.iter().take_while(|word| *word != "--");
    words.into_iter().any(|word| options.iter().any(|option| is(word, option)))
}

/// Returns the subcommand: the first word that is neither an option nor a toolchain such as `+nightly` in `cargo +nightly`.
pub(super) fn subcommand(arguments: &[String]) -> Option<&str> {
    arguments.iter().map(String::as_str).find(|argument| !argument.starts_with(['-', '+']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_of_spelling_knows_its_own_words() {
        const LETTERS: OptionSpelling = OptionSpelling::Joined { valued: "o" };
        const SHORTENED: OptionSpelling = OptionSpelling::JoinedAndShortened { valued: "c" };
        for (spelling, word, option, expected) in [
            (OptionSpelling::Exact, "--list", "--list", true),
            (OptionSpelling::Exact, "-list", "--list", false),
            (OptionSpelling::AnyCaseAndDashes, "-nocheck", "--noCheck", true),
            (OptionSpelling::AnyCaseAndDashes, "--P", "-p", true),
            (OptionSpelling::AnyCaseAndDashes, "nocheck", "--noCheck", false),
            (OptionSpelling::AnyCaseAndDashes, "--", "-", false),
            (LETTERS, "-es", "-s", true),
            (LETTERS, "-es", "-e", true),
            (LETTERS, "-os", "-s", false),
            (LETTERS, "-so", "-o", true),
            (LETTERS, "--version", "-s", false),
            (LETTERS, "--vers", "--version", false),
            (LETTERS, "-", "-", true),
            (LETTERS, "-s", "-", false),
            (SHORTENED, "--vers", "--version", true),
            (SHORTENED, "--", "--version", false),
            (SHORTENED, "-vc", "-c", true),
            (SHORTENED, "-cV", "-V", false),
        ] {
            assert_eq!(spelling.is_named(word, option), expected, "{word} {option}");
        }
    }
}
