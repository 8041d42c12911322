//! The directory of caches that belongs to one project.
//!
//! The caches of the home (`~/.cache`, `~/.npm`) are read-only for actions, because several projects read them: what
//! one project's tests write there would be installed by the next project. Each project has a directory of its own
//! instead, to which variables such as `XDG_CACHE_HOME` point (`sandbox::OWN_CACHE_VARIABLES`). So that tools still
//! find what the user has in the home's caches, as far as an action sees it, the directory gets links to it. A tool that writes through such a link
//! is refused, since the target is read-only; a tool that replaces the entry itself replaces only the link.
//!
//! Tools that keep their packages elsewhere in the home, such as cargo and Go, are a table: `tool_caches`.

mod cargo_home;
mod seeds;
mod tool_caches;
mod write_below;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::own_caches::tool_caches::CacheVariable;
use crate::own_caches::write_below::WritableDirectory;
use proctor_model::ActionPhase;

/// What is needed to prepare a project's caches for an action.
#[derive(Debug)]
pub struct OwnCachesRequest<'a> {
    /// The project's cache directory, which need not exist yet.
    pub path: PathBuf,
    /// The home whose caches are linked; `None` if HOME is not set. Without a home there is no place for caches, and
    /// tools choose their own.
    pub home: Option<&'a Path>,
    /// The home of the user's own cargo, if it is not the usual one.
    pub cargo_home: Option<&'a Path>,
    /// The root of the project.
    pub root: &'a Path,
    /// The working directory of the action, where a lock file may name the packages to install.
    pub directory: &'a Path,
    pub phase: ActionPhase,
    pub place: ActionPlace,
    pub seen: SeenHome<'a>,
}

/// The paths below the home that an action sees. `None` if it sees all that these caches may be linked to.
#[derive(Debug, Clone, Copy)]
pub struct SeenHome<'a>(pub Option<&'a [PathBuf]>);

impl SeenHome<'_> {
    /// Returns whether an action sees something at a path or below it.
    fn has(self, path: &Path) -> bool {
        self.0.is_none_or(|seen| seen.iter().any(|seen| path.starts_with(seen) || seen.starts_with(path)))
    }
}

/// Whether an action shares its outputs in the project with the user's own tools for as long as it is a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionPlace {
    /// A check that works in the project itself.
    CheckInProject,
    /// A check on a snapshot, or an action that prepares or cleans up the project.
    Elsewhere,
}

/// The caches of a project, ready for an action.
#[derive(Debug)]
pub struct OwnCaches {
    pub directory: PathBuf,
    /// The variables of the tools that the project uses, in addition to the variables that every action gets.
    pub variables: Vec<CacheVariable>,
}

/// Creates the project's cache directory if it is missing, links it to the caches of the home, and returns how tools find it.
/// `None` if there is no absolute path of a home, or if the directory cannot be created; tools then have at most the
/// read-only caches of the home.
pub fn prepare_own_caches(request: OwnCachesRequest<'_>) -> Option<OwnCaches> {
    let home = request.home.filter(|home| home.is_absolute())?;
    let own = open_or_create(&request.path).ok()?;
    // A link that cannot be made costs a download, so it is no reason to stop.
    let _incomplete = seeds::link_home_cache(&own, &home.join(".cache"), request.phase, request.seen);
    if request.phase == ActionPhase::Prerequisite {
        let _incomplete = write_below::link_locked_packages(&own, &home.join(".npm/_cacache"), request.directory);
    }
    let variables = tool_caches::lead_tools(&own, home, &request);
    Some(OwnCaches { directory: request.path, variables })
}

fn open_or_create(path: &Path) -> io::Result<WritableDirectory> {
    if let Ok(opened) = WritableDirectory::open(path) {
        return Ok(opened);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    WritableDirectory::open(path)
}

#[cfg(test)]
mod tests;
