//! Reads a command's options and subcommand. Some of them, such as `--version`, make a tool do something other than
//! checking.

/// Returns whether any of these options is among the arguments.
pub(super) fn has_any(arguments: &[String], options: &[&str]) -> bool {
    arguments.iter().any(|argument| options.contains(&argument.as_str()))
}

/// Returns the subcommand: the first word that is neither an option nor a toolchain such as `+nightly` in `cargo +nightly`.
pub(super) fn subcommand(arguments: &[String]) -> Option<&str> {
    arguments.iter().map(String::as_str).find(|argument| !argument.starts_with(['-', '+']))
}
