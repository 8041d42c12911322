//! Reads a command's options and subcommand. Some of them, such as `--version`, make a tool do something other than
//! checking.

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
