//! What an action sees of the file system and of the environment: which places differ from "there and read-only", and why.
//!
//! Owns the rules (`rules`: tables, one row each) and what they amount to for one action. `look` asks the file system what is
//! there and makes the few directories that tools need; `arrange` is pure and decides which rule wins where. May mount nothing and
//! start nothing: the list is carried out by `process/`.

mod arrange;
mod denied_write;
mod environment;
mod error;
mod hints;
mod interpreter;
pub(crate) mod isolation;
mod look;
mod rules;
mod sight;
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

/// What the file system of an action is computed from.
pub(crate) struct SandboxRequest<'a> {
    /// The project's root.
    pub(crate) project_root: &'a Path,
    /// HOME of whoever runs proctor; none: there is none, and no rule that needs it applies.
    pub(crate) home: Option<&'a Path>,
    /// The state root: evidence, ledger, keys.
    pub(crate) store: &'a Path,
    /// A directory of the run for private and copied places; it need not exist yet, and is best on the disk of the store.
    pub(crate) scratch: &'a Path,
    /// The action.
    pub(crate) action: &'a Action,
    /// The action's working directory.
    pub(crate) directory: &'a Path,
    /// The program it starts, as `resolve_program` found it.
    pub(crate) program: &'a Path,
    /// The variables the command gets.
    pub(crate) environment: &'a BTreeMap<OsString, OsString>,
    /// The variables proctor was started with.
    pub(crate) ambient: &'a BTreeMap<OsString, OsString>,
    /// `[sandbox]`.
    pub(crate) settings: &'a SandboxSettings,
}

/// Computes what an action sees. Directories of the settings and the caches that tools count on are made where they are missing.
///
/// It looks at what the rules name and walks no directory: it is cheap enough to be asked before each action.
///
/// # Errors
/// When a setting names a place that cannot be had or must not be opened, or the project or the store cannot be looked at.
pub(crate) fn prepare_sandbox(request: &SandboxRequest<'_>) -> Result<Sandbox, SandboxError> {
    let survey = look::survey(request)?;
    Ok(Sandbox { places: arrange::arrange(&survey), store: survey.store })
}
