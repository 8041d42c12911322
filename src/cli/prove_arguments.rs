//! The arguments of `proctor prove`. The doc comments are the help texts (house style H1).

use std::path::PathBuf;

use clap::Args;

/// Say whether the tests of a change fail without the change
///
/// The tests that the change adds or changes are run twice: with the change, and with its source taken back and its tests left in place.
/// Those of pytest, Jest, Vitest, `node --test`, Playwright, Cargo and Go get a word each; those of other tools are not tried, moved,
/// renamed or reformatted ones not run. Lock files, settings and installed packages are those of the change on both sides.
///
/// Without RANGE, the working tree is compared with the commit where the branch left its upstream, or with HEAD if it follows none. No
/// verdict is given or changed, and nothing is sealed.
///
/// With `--base`, what fails with the change is run on the base too: it `was red before`, or is `yours`.
///
/// Exit codes: 0 proved, or the change has no source; 1 not proved; 3 the tests need the change and assert nothing that was seen to fail;
/// 5 the tests could not be run. With `--base`: 1 if a failure is yours, 3 if one cannot be told.
///
/// Examples:
///   proctor prove
///   proctor prove main..HEAD
///   proctor prove HEAD~1 --json
///   proctor prove --base
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ProveOptions {
    /// The change: `BASE..REV`, or `BASE` for the working tree; both begin where they part
    #[arg(value_name = "RANGE")]
    pub(crate) range: Option<String>,
    /// Say of what fails now whether it failed on the base too
    #[arg(long)]
    pub(crate) base: bool,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// Print the answer as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
