//! The arguments of `proctor review` and of `proctor-govern`. The doc comments are the help texts.

use std::path::PathBuf;

use clap::{Args, Parser};

/// The name under which the program runs the issue workflow.
pub(crate) const GOVERN: &str = "proctor-govern";

/// Ask a reviewer for a verdict, and go on only with an explicit Yes
///
/// The reviewer reads the prompt on standard input and prints a review. A line `Ready to merge? Yes` approves; `Ready to merge? No` and
/// `Ready to merge? With fixes` reject. Without a verdict it is asked once more, and never again. It is isolated and kept as evidence.
///
/// Exit codes: 0 APPROVED, 1 REJECTED, 3 INDETERMINATE (a person must look), 5 the project changed meanwhile.
///
/// `proctor-govern` asks models for the draft and the review of an issue.
///
/// Examples:
///   proctor review --prompt review.md --command ./reviewer
///   git diff main | proctor review --json --prompt - --command ./reviewer
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ReviewOptions {
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// What the reviewer reads on its standard input: a file, or `-` for what this command reads; nothing without it
    #[arg(long, value_name = "FILE")]
    pub(crate) prompt: Option<PathBuf>,
    /// Do not take `**Ready to merge?** Yes`, emphasis around the label alone, for an approval
    #[arg(long)]
    pub(crate) refuse_split_emphasis: bool,
    /// Print one JSON document: the verdict and every attempt
    #[arg(long)]
    pub(crate) json: bool,
    /// The reviewer: a program and its arguments, up to the end of the line
    #[arg(long, required = true, num_args = 1.., allow_hyphen_values = true, value_names = ["PROGRAM", "ARG"])]
    pub(crate) command: Vec<String>,
}

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
///   proctor-govern --brief ideas/saved-searches.md
///   proctor-govern --brief ideas/saved-searches.md --repo owner/name
///   proctor-govern --resume saved-searches
///   proctor-govern --list
#[derive(Debug, Parser)]
#[command(name = GOVERN, version, max_term_width = 120, verbatim_doc_comment)]
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
