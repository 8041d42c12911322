//! Reads a program's options and subcommands, because a program may have subcommands and options that check nothing.

/// Returns whether any of these options is among the arguments.
pub(super) fn has_any(arguments: &[String], options: &[&str]) -> bool {
    arguments.iter().any(|argument| options.contains(&argument.as_str()))
}

/// Returns the subcommand: the first word that is neither an option nor a toolchain such as `+nightly` in `cargo +nightly`.
pub(super) fn subcommand(arguments: &[String]) -> Option<&str> {
    arguments.iter().map(String::as_str).find(|argument| !argument.starts_with(['-', '+']))
}
