//! The arguments of `proctor attest`. The doc comments are the help texts (house style H1).

use std::path::PathBuf;

use clap::Args;

/// Tell others, signed, what proves a commit: a git note that they verify without running anything
///
/// If `proctor gate` says that the commit is proved, the runs on which that rests are written as signed in-toto statements into a note of the
/// commit's tree object, under `refs/notes/proctor-attest`. So the note stays when the commit is amended, squashed or rebased. It has the
/// names of checks and tests, the level of isolation, the platform and the time, and no host, user, absolute path or output. git is not
/// run: the lines that push and fetch the notes are printed. Others judge it with `proctor gate --from-notes`, by their own policy.
///
/// Notes that were fetched are united with the own ones, so that two people who attest at once lose nothing.
///
/// A commit that asks for less than the trusted one, by other settings or fewer checks, is not accepted until somebody whose key the trusted
/// commit's file of `signers` names has accepted that: `--accept-changes` names the changes, asks at the terminal, and writes a signed
/// statement into the same note. It holds for this content beside this trusted commit. Then it attests what there is.
///
/// Exit codes: 0 attested; otherwise those of `proctor gate`, with its answer: 1 red, 5 not tested, 3 not accepted.
///
/// Examples:
///   proctor attest --dry-run
///   proctor attest && git push origin refs/notes/proctor-attest
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AttestOptions {
    /// The commit, as for `proctor gate`; a commit that is named is named in the statements too [default: HEAD]
    #[arg(value_name = "REV")]
    pub(crate) revision: Option<String>,
    /// Print the statements, and sign and write nothing
    #[arg(long, conflicts_with = "bundle")]
    pub(crate) dry_run: bool,
    /// Write the signed statements to this new file too, as one JSON document
    #[arg(long, value_name = "FILE")]
    pub(crate) bundle: Option<PathBuf>,
    /// Accept, as a person whose key the trusted commit names, that the commit asks for less than the trusted one
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) accept_changes: bool,
    /// Take the policy from this commit, or from a file like `proctor.toml`
    #[arg(long, value_name = "REV|FILE")]
    pub(crate) policy_from: Option<String>,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
}
