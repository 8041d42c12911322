//! An action's view of the file system and of the environment: which places are not simply read-only, and why.
//!
//! This folder has the rules (`rules`: tables with one row each) and applies them to an action. `find_places` finds out what exists and
//! creates the few directories that tools need; `arrange` is pure and decides which rule applies where. Nothing is mounted or started here:
//! the list goes to `process/`.

mod arrange;
mod denied_write;
mod environment;
mod error;
mod find_places;
mod hints;
mod interpreter;
pub(crate) mod isolation;
mod path_cache;
mod rules;
#[cfg(test)]
mod tests;
mod visible;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use crate::config::SandboxSettings;
use crate::model::{Action, Sandbox};

pub(crate) use environment::search_path;
pub use environment::{ChildEnvironment, EnvironmentAdditions, passed_on};
pub use error::SandboxError;
pub(crate) use hints::FailedAction;
pub(crate) use interpreter::interpreter_of;
pub(crate) use isolation::home;

/// The input for computing an action's view of the file system.
pub(crate) struct SandboxRequest<'a> {
    pub(crate) project_root: &'a Path,
    /// The home directory of the user who runs proctor; `None` if there is none. Rules that need it then do not apply.
    pub(crate) home: Option<&'a Path>,
    /// The state root, with evidence, ledger and keys.
    pub(crate) store: &'a Path,
    /// A directory of the run for private and copied places. It need not exist yet, and is best on the same disk as the store.
    pub(crate) scratch: &'a Path,
    pub(crate) action: &'a Action,
    pub(crate) directory: &'a Path,
    /// The program that the action starts, as found by `resolve_program`.
    pub(crate) program: &'a Path,
    /// The environment variables of the command.
    pub(crate) environment: &'a BTreeMap<OsString, OsString>,
    /// The environment variables of proctor.
    pub(crate) ambient: &'a BTreeMap<OsString, OsString>,
    pub(crate) settings: &'a SandboxSettings,
}

/// Computes an action's view of the file system. Missing directories of the settings, and missing caches that tools expect, are
/// created.
///
/// It checks only the paths in the rules and lists no directory trees, so it is fast enough to run before each action.
///
/// # Errors
///
/// When a setting names a place that does not exist or must not be opened, or the project or the store cannot be read.
pub(crate) fn prepare_sandbox(request: &SandboxRequest<'_>) -> Result<Sandbox, SandboxError> {
    let survey = find_places::find_places(request)?;
    Ok(Sandbox { places: arrange::arrange(&survey), store: survey.store })
}
