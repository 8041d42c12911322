//! The arguments of `gate`, `attest` and `prove`, which are about commits. The doc comments are the help texts (house style H1).

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};

use crate::cli::service_arguments::read_timeout;

/// Say whether a commit is proved: whether its checks passed on exactly its content
///
/// The tree digest of the commit's content is looked up among the sealed runs. So a verdict counts that was given before the commit was
/// made, amended or rebased, if the content is the same. Without `--run`, nothing is run or recorded.
///
/// The policy is `[gate]` in the `proctor.toml` of a trusted commit: the branch's upstream or the remote's default branch, or what
/// `--policy-from` names. A commit that asks for less than the trusted one is not accepted.
///
/// Exit codes: 0 proved; 1 a check failed on this content; 5 not tested; 3 tested, but not as the policy asks, or the commit cannot be
/// judged; each with what is missing and the command that mends it.
///
/// Examples:
///   proctor gate
///   proctor gate HEAD~1 --json
///   proctor gate my-branch --policy-from refs/remotes/origin/main
///   proctor gate --run
///   proctor gate --from-notes
///   proctor gate --from-bundle attested.json --signers ~/who-attests
///   proctor gate --install pre-push
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, group(ArgGroup::new("attested").args(["from_notes", "from_bundle"]).multiple(true)))]
pub(crate) struct GateOptions {
    /// The commit: a branch, a tag, a name of a commit or its beginning, with `~N`, `^N` or `@{upstream}`
    #[arg(value_name = "REV", default_value = "HEAD")]
    pub(crate) revision: String,
    /// Take the policy from this commit, or from a file like `proctor.toml`
    #[arg(long, value_name = "REV|FILE")]
    pub(crate) policy_from: Option<String>,
    /// Run what is missing on a checkout of the commit that proctor makes for itself
    #[arg(long)]
    pub(crate) run: bool,
    /// Write a hook of git that gates what is pushed; asks before it replaces one
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "pre-push", value_name = "HOOK", conflicts_with_all = ["revision", "run", "json", "policy_from"])]
    pub(crate) install: Option<GateHook>,
    /// Remove the hook that `--install` wrote, and put back the one that it replaced
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "pre-push", value_name = "HOOK", conflicts_with_all = ["revision", "run", "json", "policy_from", "install"])]
    pub(crate) uninstall: Option<GateHook>,
    /// Gate everything that a pre-push hook of git is told on standard input
    #[arg(long, conflicts_with_all = ["revision", "json", "install", "uninstall"])]
    pub(crate) pushed: bool,
    /// Count what others attested in git notes too (`proctor attest`)
    #[arg(long, conflicts_with_all = ["install", "uninstall", "pushed"])]
    pub(crate) from_notes: bool,
    /// Count what others attested in this file too (`proctor attest --bundle FILE`); repeatable
    #[arg(long, value_name = "FILE", conflicts_with_all = ["install", "uninstall", "pushed"])]
    pub(crate) from_bundle: Vec<PathBuf>,
    /// Trust the keys of this file outside of the working tree, and not those that the policy names
    #[arg(long, value_name = "FILE", requires = "attested")]
    pub(crate) signers: Option<PathBuf>,
    /// With `--pushed`: the remote that is pushed to, the first argument of the hook
    #[arg(long, value_name = "NAME", requires = "pushed")]
    pub(crate) remote: Option<String>,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// In GitHub Actions: annotate each failure, and what keeps the commit from being proved
    #[arg(long, conflicts_with_all = ["install", "uninstall", "pushed", "json"])]
    pub(crate) github: bool,
    /// Print the answer as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// A hook of git that `proctor gate --install` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GateHook {
    /// Before commits are pushed
    PrePush,
}

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

/// Say whether the tests of a change fail without the change
///
/// The tests that the change adds or changes are run twice: with the change, and with its source taken back and its tests left in place.
/// Those of pytest, Jest, Vitest, `node --test`, Playwright, Cargo and Go get a word each; those of other tools are not tried.
///
/// Without RANGE, the working tree is compared with the commit where the branch left its upstream, or with HEAD if it follows none. No
/// verdict is given. The answer is stored as evidence if the working tree is what it is about: `[gate] prove` asks for it.
///
/// Exit codes: 0 proved, or the change has no source; 1 not proved; 3 the tests need the change and assert nothing that was seen to fail;
/// 5 the tests could not be run. With `--base`: 1 if a failure is yours, 3 if one cannot be told.
///
/// Examples:
///   proctor prove
///   proctor prove main..HEAD
///   proctor prove --base
///   proctor prove --hunks --budget 10m
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ProveOptions {
    /// The change: `BASE..REV`, or `BASE` for the working tree; both begin where they part
    #[arg(value_name = "RANGE")]
    pub(crate) range: Option<String>,
    /// Say of what fails now: `was red before` on the base too, or `yours`
    #[arg(long)]
    pub(crate) base: bool,
    /// Take each changed function back alone: which test notices it?
    #[arg(long, conflicts_with = "base")]
    pub(crate) hunks: bool,
    /// The longest time for that; the rest is not tried
    #[arg(long, default_value = "2m", value_name = "DURATION", value_parser = read_timeout, requires = "hunks")]
    pub(crate) budget: Duration,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// Print the answer as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
