//! The arguments of `proctor gate`. The doc comments are the help texts (house style H1).

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

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
