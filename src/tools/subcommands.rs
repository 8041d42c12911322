//! Reading a program's arguments: many programs have subcommands and options that check nothing.

/// Returns whether one of some options is given.
pub(super) fn has_any(arguments: &[String], options: &[&str]) -> bool {
    arguments.iter().any(|argument| options.contains(&argument.as_str()))
}

/// Returns the subcommand: the first word that is neither an option nor, as of `cargo +nightly`, a toolchain.
pub(super) fn subcommand(arguments: &[String]) -> Option<&str> {
    arguments.iter().map(String::as_str).find(|argument| !argument.starts_with(['-', '+']))
}
