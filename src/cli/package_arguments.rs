//! The arguments of `completions` and `man`, which packages of proctor are made with.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Print what makes a shell complete proctor's commands and options
///
/// A package of proctor has it installed already. Otherwise:
///
/// Examples:
///   proctor completions bash > ~/.local/share/bash-completion/completions/proctor
///   proctor completions zsh > ~/.zfunc/_proctor
///   proctor completions fish > ~/.config/fish/completions/proctor.fish
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompletionsOptions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: ShellName,
}

/// A shell that proctor knows to complete in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellName {
    Bash,
    Zsh,
    Fish,
}

/// Write a manual page for every command into a directory
///
/// A package of proctor has them installed already. The directory is made if it is missing; pages of an older version are overwritten.
///
/// Examples:
///   proctor man ~/.local/share/man/man1
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ManOptions {
    /// Where the pages go
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
}
