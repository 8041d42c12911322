//! Shares attestations: notes with a remote repository, by git, and bundles in a directory (`[share]`).

use std::path::Path;

use proctor_app::project::opening;
use proctor_app::share::{Share, approved_share};
use proctor_app::{CommandError, Environment, RunControl};
use proctor_evidence::{ATTESTATIONS, EvidenceError, FETCHED_ATTESTATIONS};
use proctor_model::CommandExit;
use proctor_sandbox::process::{resolve_program, run_at_terminal};
use proctor_sandbox::search_path;

/// How often a push is tried: others may push at the same time, and what they pushed is united with the own notes then.
const MOST_PUSHES: u32 = 5;
/// Keeps a repository from having git start a program of its own, and git from doing what a push or fetch of notes does not need.
const PLAIN: &[&str] =
    &["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never", "-c", "gc.auto=0"];

/// Returns what a project shares, as far as it was approved, and says what was not.
pub(super) fn approved(environment: &Environment, root: &Path) -> Result<Share, CommandError> {
    let share = approved_share(environment, &mut opening::open_archive(environment)?, root)?;
    for setting in &share.unapproved {
        environment.note(&format!("note: `{setting}` is not used, because nobody approved it: `proctor approve`"));
    }
    Ok(share)
}

/// Returns the name of the remote repository.
pub(super) fn remote(share: &Share) -> Result<&str, CommandError> {
    share.git.as_deref().ok_or_else(|| {
        let (exit, hint) = match share.unapproved[..] {
            [] => (CommandExit::Usage, "name it in proctor.toml: `[share]` with `git = \"origin\"`"),
            _ => (CommandExit::PersonNeeded, "`proctor approve` shows what it asks for"),
        };
        CommandError::new(exit, "no remote repository is approved with which attestations are shared").hint(hint)
    })
}

/// Fetches what others attested.
pub(super) fn fetch(environment: &Environment, root: &Path) -> Result<(), CommandError> {
    let share = approved(environment, root)?;
    fetch_from(environment, root, remote(&share)?)
}

fn fetch_from(environment: &Environment, root: &Path, remote: &str) -> Result<(), CommandError> {
    let notes = format!("+{ATTESTATIONS}*:{FETCHED_ATTESTATIONS}*");
    let only = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance"];
    // A pattern matches nothing as long as nobody has attested, where a name would be an error.
    run_git(environment, root, &[&only[..], &[remote, &notes]].concat())?
        .then_some(())
        .ok_or_else(|| failed(&format!("git did not fetch {ATTESTATIONS} from `{remote}`")))
}

/// Pushes the notes. `unite` adds the own attestations to what was fetched, where somebody else pushed in between.
pub(super) fn push(
    environment: &Environment,
    root: &Path,
    remote: &str,
    unite: &mut dyn FnMut() -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let notes = format!("{ATTESTATIONS}:{ATTESTATIONS}");
    for _ in 0..MOST_PUSHES {
        if run_git(environment, root, &["push", "--quiet", "--no-recurse-submodules", remote, &notes])? {
            return Ok(());
        }
        fetch_from(environment, root, remote)?;
        unite()?;
    }
    Err(failed(&format!("git did not push {ATTESTATIONS} to `{remote}`")))
}

fn failed(message: &str) -> CommandError {
    CommandError::new(CommandExit::OwnFault, message).hint("git says why above; the notes are in this repository")
}

/// Runs git, which may ask at the terminal. Returns whether it succeeded.
fn run_git(environment: &Environment, root: &Path, arguments: &[&str]) -> Result<bool, CommandError> {
    let missing =
        || CommandError::new(CommandExit::OwnFault, "git could not be started").hint("install git, or put it into PATH");
    let program = resolve_program("git", root, &search_path(environment.variables())).map_err(|_| missing())?;
    let arguments: Vec<String> = PLAIN.iter().chain(arguments).map(|argument| (*argument).to_owned()).collect();
    let RunControl { control, .. } = &RunControl::begin(environment.caller())?;
    let ended = run_at_terminal(&program, &arguments, root, control);
    ended.map(|status| status.success()).map_err(|_| missing())
}

/// Converts an error about the shared directory.
pub(super) fn from_directory_error(error: &EvidenceError) -> CommandError {
    CommandError::from(error)
        .hint("the notes in git have what was attested; attest again when the shared directory of `[share]` can be written")
}
