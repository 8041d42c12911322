//! The arguments of `govern`. The doc comments are the help texts.

use std::path::PathBuf;

use clap::Args;

/// Make a filed issue of a brief, with your word at every gate
///
/// A drafter writes the issue, you edit it, a reviewer reviews it, you edit that, and what you approve is filed by the tracker's command
/// line. Nothing that a model wrote goes on without your answer: no flag, variable or default gives one. The commands are set in `[govern]`
/// of proctor.toml (`proctor init --print`). What happens is kept in `docs/audit/`. Go on with `--resume`, also after a crash.
///
/// Exit codes: 0 filed, listed, or ended by you at the first question; 1 it cannot begin, or you gave up filing; 3 it waits; 4 no drafter or
/// reviewer is configured; 130, 143 it waits because of a signal.
///
/// Examples:
///   proctor govern --brief ideas/saved-searches.md
///   proctor govern --brief ideas/saved-searches.md --repo owner/name
///   proctor govern --resume saved-searches
///   proctor govern --list
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct GovernOptions {
    /// The brief: what you want, in your words
    #[arg(long, value_name = "FILE", required_unless_present_any = ["resume", "list"])]
    pub(crate) brief: Option<PathBuf>,
    /// Go on with this workflow: its name, or its brief
    #[arg(long, value_name = "SLUG", conflicts_with = "brief")]
    pub(crate) resume: Option<String>,
    /// List the workflows that are not over: where each stands, since when, and the command that goes on
    #[arg(long, conflicts_with_all = ["brief", "resume", "repo"])]
    pub(crate) list: bool,
    /// With `--list`: print one JSON document
    #[arg(long, conflicts_with_all = ["brief", "resume", "repo"])]
    pub(crate) json: bool,
    /// Where the issue is filed, remembered until it is; without it `repo` of `[govern]`, or what the tracker's command line finds
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<String>,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
}
