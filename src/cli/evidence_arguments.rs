//! The arguments of the commands about evidence itself. The doc comments are the help texts (house style H1).

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use crate::cli::history_arguments::read_count;
use crate::cli::project_place::ProjectPlace;
use proctor_model::ExportFormat;

/// Hash all evidence again and name every fault
///
/// Without WHAT the project is verified: its ledger, every run, the keys, the index. WHAT is a run (id or number), a task, or a
/// directory or a `.tar.zst` that `proctor export` made. Nothing is changed.
///
/// With `--anchor` the ledger must also go on from a checkpoint kept elsewhere (`proctor key anchor`): only that shows a store that
/// was written anew with its own key.
///
/// Exit codes: 0 if nothing is wrong, 6 if something is.
///
/// Examples:
///   proctor verify
///   proctor verify 42
///   proctor verify --all --json
///   proctor verify ./run-42 --key proctor.pub
///   proctor verify --anchor /mnt/backup/quotes.checkpoint
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct VerifyOptions {
    /// A run, a task, a directory, or a `.tar.zst`
    #[arg(value_name = "WHAT", conflicts_with = "all")]
    pub(crate) what: Option<String>,
    /// Every project of the store
    #[arg(long)]
    pub(crate) all: bool,
    /// The public key that signed a directory or anchor (PEM, OpenSSH or allowed_signers); your own keys otherwise
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// A file with a checkpoint that the ledger must go on from; can be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) anchor: Vec<PathBuf>,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// Print the faults as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a run out, to be verified by somebody else
///
/// A new directory or `.tar.zst` gets the run's files, its line of the ledger with a proof, the public key, and a README.md with the
/// commands that check it. Nothing in it is secret but what the checks printed.
///
/// With `--format` the run is printed in a form that another tool reads. Such a text is no evidence. If it is about an older tree or
/// plan, standard error says so.
///
/// Examples:
///   proctor export 42
///   proctor export 42 --format junit --to junit.xml
///   proctor export --format sarif --to proctor.sarif
///   proctor export --format html --to run.html
///   proctor export 42 --to /tmp/run-42
///   proctor export 42 --output /tmp/run-42.tar.zst
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExportOptions {
    /// The run, by id or number; the newest sealed one otherwise
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// A file with the checkpoint that whoever verifies it has
    #[arg(long, value_name = "FILE")]
    pub(crate) anchor: Option<PathBuf>,
    /// Write the run in this form instead
    #[arg(long, value_parser = export_format(), value_name = "FORMAT", conflicts_with = "anchor")]
    pub(crate) format: Option<ExportFormat>,
    /// Write nothing and end with 5 unless the run is about the present tree and plan
    #[arg(long)]
    pub(crate) fresh: bool,
    /// The directory to make, or the file if it ends in `.tar.zst`; otherwise the run's id here, or beside the project
    #[arg(long, visible_alias = "output", value_name = "PATH")]
    pub(crate) to: Option<PathBuf>,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
}

/// Returns what reads the word of a form in which a run can be written. The form belongs to another crate, so clap's own trait
/// cannot be implemented for it.
fn export_format() -> impl TypedValueParser<Value = ExportFormat> {
    let values = ExportFormat::WORDS.into_iter().map(|(word, format)| {
        PossibleValue::new(word).help(match format {
            ExportFormat::Junit => "JUnit XML: one suite for each check",
            ExportFormat::Ctrf => "CTRF, the Common Test Report Format: every test in one JSON document",
            ExportFormat::Sarif => "SARIF 2.1.0: findings of linters and type checkers, and the tests that failed",
            ExportFormat::Github => "Workflow commands of GitHub Actions, which become annotations",
            ExportFormat::Markdown => "A summary in Markdown",
            ExportFormat::Html => "One HTML file that opens without a network",
        })
    });
    PossibleValuesParser::new(values).try_map(|given| {
        let found = ExportFormat::WORDS.into_iter().find(|(word, _)| *word == given);
        found.map(|(_, format)| format).ok_or_else(|| format!("`{given}` is no form of a run"))
    })
}

/// Show, replace or hand out the signing key, and keep the ledger's head, signed with it, elsewhere
///
/// The key is made on first use. It lies in the store, readable by you alone and hidden from every command that proctor starts.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct KeyOptions {
    #[command(subcommand)]
    pub(crate) verb: KeyVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyVerb {
    /// List every key there was: its number, id, when it was made, and which lines of each ledger it signed
    Show,
    Checkpoint(CheckpointOptions),
    Anchor(AnchorOptions),
    /// Make a new key, which signs from now on; the private half of the one before is destroyed, and what it signed goes on verifying
    ///
    /// Waits for processes that write evidence, at most 15 minutes.
    Rotate {
        /// The key before is lost, as a person confirms: it cannot sign the handing-over, and `proctor verify` says so from then on
        #[arg(long)]
        lost: bool,
    },
    /// Print all public keys with the lines of the ledgers they signed, for somebody who verifies (`verify --key FILE`)
    Export {
        /// As lines of OpenSSH's allowed_signers instead of PEM
        #[arg(long)]
        ssh: bool,
        /// The key of this number alone, without the history
        #[arg(long, value_name = "NUMBER", value_parser = read_count)]
        number: Option<u32>,
    },
    /// Print a signature of a file that is no evidence, such as a list of checksums, for `ssh-keygen -Y verify`
    ///
    /// Its namespace is `proctor-file@v1`: nothing that is signed so counts as evidence.
    Sign {
        /// The file, of at most 16 MiB
        file: PathBuf,
    },
}

/// Remove the runs that are over the limits of `[evidence]`
///
/// The ledger says first which runs are removed, and keeps every verdict. The last run of each task, its last green one and what waits for
/// a person always stay; failed runs go last. The same happens after every 16th run. Copies for checks that nothing needs go too.
///
/// Examples:
///   proctor prune --dry-run
///   proctor prune
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PruneOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// Only list what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also remove the copies of all projects that their checks run on; the next run makes them again
    #[arg(long)]
    pub(crate) snapshots: bool,
}

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
