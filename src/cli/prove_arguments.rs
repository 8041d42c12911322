//! The arguments of `proctor prove`. The doc comments are the help texts (house style H1).

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::service_arguments::read_timeout;

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
