//! The arguments of `generate`, below which stand the commands that print or write what proctor knows of itself and of the tree.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::project_place::ProjectPlace;

/// Print the tree's digest, JSON Schemas, the socket's page, completions and manual pages
#[derive(Debug, Args)]
pub(crate) struct GenerateOptions {
    #[command(subcommand)]
    pub(crate) verb: GenerateVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GenerateVerb {
    Tree(TreeOptions),
    Schema(SchemaOptions),
    /// Describe the control socket of the service, with examples
    Api,
    Completions(CompletionsOptions),
    Man(ManOptions),
}

/// Print the digest of the tree as it is now
///
/// Every file of the tree is read. `docs/reference/tree-digest.md` leads to a script that computes the same digest without proctor.
///
/// Examples:
///   proctor generate tree
///   proctor generate tree --list
///   proctor generate tree fixtures/projects/quotes --list --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TreeOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// Print every entry first: f, x (executable), l (link), d (directory) or u (unreadable), its digest, its path
    #[arg(long)]
    pub(crate) list: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the JSON Schema of test specifications, or of what proctor writes
///
/// Specifications have schema version 2.0.0 with proctor's own keys under `proctor`. All schemas are in draft 7.
///
/// Examples:
///   proctor generate schema > schema-2.0.0.json
///   proctor generate schema report > execution-report.schema.json
///   proctor generate schema configuration > .proctor-schema.json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SchemaOptions {
    /// Of what: test specifications, `proctor.toml`, `execution-report.json`, `technical-debt-data.json`, a line of a ledger, `verify --json`, `status --json`
    #[arg(value_enum, default_value = "specification")]
    pub(crate) what: SchemaSubject,
}

/// A format that has a JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaSubject {
    Specification,
    Configuration,
    Report,
    Debt,
    Ledger,
    Verify,
    Status,
}

/// Print what makes a shell complete proctor's commands and options
///
/// A package of proctor has it installed already; otherwise write it to where the shell looks for it.
///
/// Examples:
///   proctor generate completions bash > ~/.local/share/bash-completion/completions/proctor
///   proctor generate completions zsh > ~/.zfunc/_proctor
///   proctor generate completions fish > ~/.config/fish/completions/proctor.fish
///   proctor generate completions elvish >> ~/.config/elvish/rc.elv
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
    Elvish,
}

/// Write a manual page for every command into a directory
///
/// A package of proctor has them installed already. The directory is made if it is missing; pages of an older version are overwritten.
///
/// Examples:
///   proctor generate man ~/.local/share/man/man1
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ManOptions {
    /// Where the pages go
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
}
