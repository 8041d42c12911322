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
///   proctor key checkpoint --proof 42 >run-42.tlog-proof
///   proctor key checkpoint --since colleague.checkpoint >progress
///   proctor key checkpoint --log public/proctor
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CheckpointOptions {
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// Print the proof that the line of this run is in the ledger instead (C2SP tlog-proof)
    #[arg(long, value_name = "RUN", group = "what")]
    pub(crate) proof: Option<String>,
    /// Print the proof that the ledger goes on from the checkpoint in this file instead (C2SP tlog-witness, add-checkpoint)
    #[arg(long, value_name = "FILE", group = "what")]
    pub(crate) since: Option<PathBuf>,
    /// Write the ledger's hashes to this directory as a log that a web server can hand out (C2SP tlog-tiles); it only ever grows
    #[arg(long, value_name = "DIR", group = "what")]
    pub(crate) log: Option<PathBuf>,
    /// Print the public key as programs take it that verify checkpoints (C2SP signed-note) instead
    #[arg(long, group = "what")]
    pub(crate) verifier_key: bool,
}

/// Keep the head of the ledger elsewhere, so that a later rewrite of everything shows
///
/// A checkpoint is written to a file, or as a git note of the commit that is checked out (`refs/notes/proctor/PROJECT-ID`). It replaces an
/// earlier one only if the ledger goes on from that. It protects from whoever cannot write there: use another machine, or push the notes.
///
/// Exit codes: 0 if it is anchored, 6 if the ledger does not go on from what was anchored there.
///
/// Examples:
///   proctor anchor --git && git push origin 'refs/notes/proctor/*'
///   proctor anchor --file /mnt/backup/quotes.checkpoint
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AnchorOptions {
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// Write it to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Make it a git note of the commit that is checked out
    #[arg(long)]
    pub(crate) git: bool,
}
