//! The arguments of `proctor gate`. The doc comments are the help texts (house style H1).

use std::path::PathBuf;

use clap::Args;

/// Say whether a commit is proved: whether its checks passed on exactly its content
///
/// The tree digest of the commit's content is computed from git's objects, without git and without a checkout, and looked up among the
/// sealed runs of the project. So a verdict counts that was given before the commit was made, amended, squashed or rebased, if the content
/// is the same. Nothing is run or recorded.
///
/// What counts is `[gate]` in the `proctor.toml` of a trusted commit: the upstream of the branch, or what `--policy-from` names; never that
/// of the commit itself. A commit that asks for less than the trusted one is not accepted.
///
/// Exit codes: 0 proved; 1 a check failed on this content; 5 not tested; 3 tested, but not as the policy asks, or the commit cannot be
/// judged; each with what is missing and the command that mends it.
///
/// Examples:
///   proctor gate
///   proctor gate HEAD~1 --json
///   proctor gate my-branch --policy-from origin/main
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct GateOptions {
    /// The commit: a branch, a tag, a name of a commit or its beginning, with `~N`, `^N` or `@{upstream}`
    #[arg(value_name = "REV", default_value = "HEAD")]
    pub(crate) revision: String,
    /// Take the policy from this commit, or from a file like `proctor.toml`
    #[arg(long, value_name = "REV|FILE")]
    pub(crate) policy_from: Option<String>,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// Print the answer as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
