//! The arguments of `review`. The doc comments are the help texts.

use std::path::PathBuf;

use clap::Args;

/// Ask a reviewer for a verdict, and go on only with an explicit Yes
///
/// The reviewer reads the prompt on standard input and prints a review. A line `Ready to merge? Yes` approves; `Ready to merge? No` and
/// `Ready to merge? With fixes` reject. Without a verdict it is asked once more, and never again. It is isolated and kept as evidence.
///
/// Exit codes: 0 APPROVED, 1 REJECTED, 3 INDETERMINATE (a person must look), 5 the project changed meanwhile.
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
