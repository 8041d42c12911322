//! The arguments of the commands that keep a ledger's head elsewhere. The doc comments are the help texts (house style H1).

use std::path::PathBuf;

use clap::Args;

/// Print the head of the ledger, signed: how many lines it has, and a hash over all of them
///
/// Three lines and a signature (C2SP tlog-checkpoint). Whoever keeps one can tell later that the ledger was cut or written anew, even with
/// your own key.
///
/// Examples:
///   proctor key checkpoint
///   proctor key checkpoint --verifier-key
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CheckpointOptions {
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// Print the public key as programs take it that verify checkpoints (C2SP signed-note) instead
    #[arg(long)]
    pub(crate) verifier_key: bool,
}

/// Keep the head of the ledger elsewhere, so that a later rewrite of everything shows
///
/// A checkpoint is written to a file. It replaces an earlier one only if the ledger goes on from that. It protects from whoever cannot write
/// there: use another machine. In git it is a note: `proctor key checkpoint | git notes --ref=proctor add -f -F -`, then push the notes.
///
/// Exit codes: 0 if it is anchored, 6 if the ledger does not go on from what was anchored there.
///
/// Examples:
///   proctor key anchor --file /mnt/backup/quotes.checkpoint
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AnchorOptions {
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// Write it to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}
