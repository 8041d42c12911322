//! An action's view of the file system, and its environment variables: which paths are not plain read-only, and why.
//!
//! The rules are tables with one row each (`rules`). `find_places` finds out which paths of the rules exist and creates
//! the few directories that tools need. `arrange` is pure and decides which rule applies to which path. Nothing is
//! mounted or started here: `process/` gets the list of places and does that.

mod arrange;
mod bound_sockets;
mod closed_world;
mod credentials;
mod denied_write;
mod environment;
mod error;
mod find_places;
mod git_places;
mod hide_second_paths;
mod hints;
mod interpreter;
pub mod isolation;
mod path_cache;
pub mod process;
mod rules;
mod secrets;
pub mod snapshot;
#[cfg(test)]
mod tests;
mod toolchains;
mod used_toolchains;
mod visible;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use proctor_model::{Access, Action, Place, Sandbox, SandboxSettings, VisibleDirectory};

use crate::arrange::PlaceRule;

pub use closed_world::SystemPlaces;
pub use credentials::hidden_files_table;
pub use denied_write::list_for_settings;
pub use environment::{ChildEnvironment, EnvironmentAdditions, passed_on, search_path, variables_of_checks};
pub use error::SandboxError;
pub use find_places::real_path;
pub use git_places::KnownReferences;
pub use hints::{FailedAction, ForeignOwner};
pub use interpreter::interpreter_of;
pub use isolation::home;
pub use secrets::Secrets;
pub use toolchains::usual_places;
pub use used_toolchains::{is_python_source, matches_name, selects_toolchain};

/// What is needed to compute an action's view of the file system.
pub struct SandboxRequest<'a> {
    pub project_root: &'a Path,
    /// The home directory of the user who runs proctor; `None` if HOME is not set. Rules about HOME then do not apply.
    pub home: Option<&'a Path>,
    /// The directory with proctor's own files: evidence, ledger and keys.
    pub store: &'a Path,
    /// The run's directory for private temporary files and overlays. It need not exist yet, and is best on the same
    /// disk as the store.
    pub scratch: &'a Path,
    pub action: &'a Action,
    pub directory: &'a Path,
    /// The program that the action starts, as an absolute path found by `resolve_program`.
    pub program: &'a Path,
    /// The environment variables that the action's command gets.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// The environment variables of proctor itself.
    pub ambient: &'a BTreeMap<OsString, OsString>,
    pub settings: &'a SandboxSettings,
    pub system: &'a SystemPlaces,
    /// The names of the tree's files that select toolchains ([`selects_toolchain`]), and of one of its modules of Python
    /// ([`is_python_source`]). What lies in the action's directory and above it, up to the repository's root, is looked up beside them.
    pub manifests: &'a BTreeSet<String>,
    /// The references of git that were looked at, also for other actions of the run.
    pub references: &'a KnownReferences,
    /// The project's own caches, which the action may write also where no variable names the directory itself; `None` for an
    /// action without such caches.
    pub own_caches: Option<&'a Path>,
    /// Files and directories of the project that the action may only read, as absolute paths.
    pub guarded: &'a [PathBuf],
    /// Files and directories outside of the project that belong to what is tested (`[project] inputs`), as absolute paths
    /// without links. The action may only read them.
    pub inputs: &'a [PathBuf],
    pub missing: MissingDirectories,
}

/// What becomes of directories that the settings name and that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingDirectories {
    Create,
    /// Nobody may have approved the settings, so nothing is created.
    Leave,
}

/// Computes an action's view of the file system. It creates directories that the settings name and that are missing, if the request
/// says so.
///
/// The function looks up the paths in the rules and lists no directory trees, so it is fast enough to run before each
/// action.
///
/// # Errors
///
/// When a setting names a path that does not exist or must not be opened, or when the project or the store cannot be
/// read.
pub fn prepare_sandbox(request: &SandboxRequest<'_>) -> Result<Sandbox, SandboxError> {
    let survey = find_places::find_places(request)?;
    let places = arrange::arrange(&survey);
    let caches = arrange::writable_caches(&survey, &places);
    let closed = survey.candidates.iter().filter(|candidate| candidate.rule == PlaceRule::Closed);
    Ok(Sandbox {
        closed: closed.map(|candidate| candidate.place.path.clone()).collect(),
        visible: outermost(survey.visible),
        places,
        store: survey.store,
        hidden: survey.hidden,
        second_paths: survey.second_paths,
        caches,
    })
}

/// Returns the directories that lie in no other one of them.
fn outermost(mut directories: Vec<VisibleDirectory>) -> Vec<VisibleDirectory> {
    directories.sort();
    let mut kept: Vec<VisibleDirectory> = Vec::with_capacity(directories.len());
    for directory in directories {
        if kept.last().is_none_or(|around| !directory.path.starts_with(&around.path)) {
            kept.push(directory);
        }
    }
    kept
}

/// Returns a view of the file system that is read-only and hides the store alone.
///
/// # Errors
/// When the store or the kernel's list of mounts cannot be read.
pub fn hide_store_alone(store: &Path) -> io::Result<Sandbox> {
    let store = store.canonicalize()?;
    let second_paths = second_paths_of(&store)?;
    let hidden = |path: &PathBuf| Place { path: path.clone(), access: Access::Hidden, identity: (0, 0) };
    let places = second_paths.iter().map(hidden).collect();
    Ok(Sandbox { places, hidden: vec![store.clone()], store, second_paths, ..Sandbox::default() })
}

/// Returns the other paths at which a mount shows a file or directory, or something in it. The path must contain no links.
///
/// # Errors
/// When the kernel's list of mounts cannot be read.
pub fn second_paths_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mounts = process::read_mounts()?;
    let objects = [path].into_iter().chain(mounts.points_below(path));
    let found = objects.flat_map(|object| process::find_second_paths(&mounts, object));
    Ok(found.map(|second| second.path).collect::<BTreeSet<_>>().into_iter().collect())
}
