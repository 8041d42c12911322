//! The arguments of the commands about what is checked: `check`, `plan`, `approve`. The doc comments are the help texts.

use std::path::PathBuf;

use crate::cli::project_place::{ProjectPlace, ValueOptions};
use clap::Args;

/// Read test specifications and proctor.toml, and say everything that is wrong with them; nothing is run
///
/// Without FILE every `*test-specification.json` of the tree is read, and `proctor.toml`. An error keeps a file from being run, a note does not.
///
/// Exit codes: 0 if there are notes at most, 2 if a FILE cannot be read, 4 if there is an error.
///
/// Examples:
///   proctor check
///   proctor check specs/T117-test-specification.json --json
///   proctor check specs/T117-test-specification.json --set PORT=3000
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CheckOptions {
    /// The files; `proctor.toml` by its name, anything else as a test specification
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    #[command(flatten)]
    pub(crate) values: ValueOptions,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print what a run would do, in the order it would do it; nothing is run
///
/// Examples:
///   proctor plan
///   proctor plan fixtures/projects/quotes --json
///   proctor plan --task T117
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PlanOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    #[command(flatten)]
    pub(crate) planned: PlannedTask,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

// The task whose plan is shown. This is no doc comment, because clap would use it as the command's help.
#[derive(Debug, Args)]
pub(crate) struct PlannedTask {
    /// The task of a test specification; the checks of the project (`default`) without it
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) values: ValueOptions,
}

/// Approve the rules of the checks, or of a task, as they are now; nothing is run
///
/// Registering a project approves its checks, the first run of a task its plan. Later rules are compared with the approved ones. What
/// opens more of the machine, or makes what later runs use, is not run until a person answers here, at a terminal. Other changes run at
/// once and prove nothing until then. Changed files that `protect` names are approved likewise. The answer is a line of the ledger.
///
/// An SSH signature by a key of `allowed_signers` approves without a terminal, once; with `require_signature` nothing else does.
///
/// Exit codes: 0 if it is approved, printed, listed, or nothing has to be, 3 if not, 4 if the specification is wrong.
///
/// Examples:
///   proctor approve
///   proctor approve --task T117
///   proctor approve --list
///   proctor approve --print > approval.json
///   ssh-keygen -Y sign -n proctor-approval -f ~/.ssh/id_ed25519 approval.json
///   proctor approve --signature approval.json.sig
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ApproveOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// The task of a test specification; the checks of the project (`default`) without it
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) values: ValueOptions,
    /// Print the bytes of which a signature approves it, and approve nothing
    #[arg(long, conflicts_with = "signature")]
    pub(crate) print: bool,
    /// Approve by this signature of them, which `ssh-keygen -Y sign` has written
    #[arg(long, value_name = "FILE")]
    pub(crate) signature: Option<PathBuf>,
    /// List what waits for approval in all registered projects, and approve nothing
    #[arg(long, conflicts_with_all = ["directory", "named_project", "task", "print", "signature"])]
    pub(crate) list: bool,
    /// Print the list as JSON
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
}
