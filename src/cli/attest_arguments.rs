//! The arguments of `proctor attest`. The doc comments are the help texts (house style H1).

use std::path::PathBuf;

use clap::Args;

/// Tell others, signed, what proves a commit: a git note that they verify without running anything
///
/// If `proctor gate` says that the commit is proved, the runs on which that rests are written as signed in-toto statements into a note of
/// the commit's tree object (`refs/notes/proctor-attest`), which outlives an amend or a rebase. They name checks, tests, isolation,
/// platform and time, and no host, user, absolute path or output. Others judge them with `proctor gate --from-notes`.
///
/// `--accept-changes` is for a commit that asks for less than the trusted one: somebody whose key the trusted commit's `signers` name
/// accepts the listed changes at a terminal, for this content beside this trusted commit. Where nothing trusted is known, the commit is
/// accepted in this store.
///
/// Exit codes: 0 attested; otherwise those of `proctor gate`, with its answer: 1 red, 5 not tested, 3 not accepted.
///
/// Examples:
///   proctor attest --dry-run
///   proctor attest --push
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
    /// Write what `actions/attest` takes into this new directory: `commit.txt` as the subject, and `predicate.json`
    #[arg(long, value_name = "DIR", conflicts_with = "dry_run")]
    pub(crate) in_toto: Option<PathBuf>,
    /// Push the notes to the remote repository that `git` of `[share]` names, which a person approved
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) push: bool,
    /// Fetch the notes of others from there, and do nothing else
    #[arg(long, conflicts_with_all = ["dry_run", "push", "bundle", "in_toto", "accept_changes", "revision"])]
    pub(crate) fetch: bool,
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
