//! Finds the files that a command consists of: its program, the environment of the program, and the directories in
//! `PATH` and similar variables. They stay visible inside of private or hidden places. This file looks up paths and
//! decides nothing about access.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use crate::SandboxRequest;
use crate::find_places::paths_in;
use crate::interpreter_of;
use crate::path_cache::PathCache;
use crate::rules::{RUN_TIME_VISIBLE, VISIBLE_VARIABLES};

/// The most bytes of a `pyvenv.cfg` that are read; what follows them is ignored. The file usually has a few lines.
const ENVIRONMENT_FILE_CAP: u64 = 8 * 1024;

/// The places in which an action sees no file of the disk, because they are private, hidden or in memory.
pub(super) struct EmptyPlaces(pub(super) Vec<PathBuf>);

/// Returns the paths that must stay visible for the action to work. Links in them are not resolved.
pub(super) fn visible_paths(
    request: &SandboxRequest<'_>,
    project: &Path,
    empty: &EmptyPlaces,
    path_cache: &mut PathCache,
) -> BTreeSet<PathBuf> {
    let mut looking = VisiblePathFinder { empty, path_cache };
    let mut paths: Vec<PathBuf> = RUN_TIME_VISIBLE.iter().map(PathBuf::from).collect();
    paths.push(request.directory.to_owned());
    looking.program(request.program, &mut paths);
    let interpreter = interpreter_of(request.program).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(interpreter) = interpreter {
        looking.program(&interpreter, &mut paths);
    }
    for name in VISIBLE_VARIABLES {
        paths.extend(looking.named_paths(request, project, name));
    }
    for directory in looking.named_paths(request, project, "PATH") {
        paths.push(looking.prefix_of(&directory));
    }
    // Node searches for packages in every parent directory.
    if empty.hide(project) {
        paths.extend(project.ancestors().skip(1).map(|directory| directory.join("node_modules")));
    }
    paths.into_iter().collect()
}

impl EmptyPlaces {
    /// Returns whether a path lies inside of one of the empty places. The path must contain no links.
    pub(super) fn hide(&self, path: &Path) -> bool {
        self.0.iter().any(|empty| path.starts_with(empty)) && self.0.iter().all(|empty| path != empty)
    }

    /// Returns the first link on the way to a path that lies inside of one of the empty places. If this link is not
    /// visible, the action cannot reach the path.
    pub(super) fn link_on_the_way(&self, path: &Path) -> Option<PathBuf> {
        let mut real = PathBuf::new();
        for component in path.components() {
            // After a link was followed, `..` means the parent directory of the link's target.
            if component == Component::ParentDir {
                real.pop();
                continue;
            }
            real.push(component);
            if real.symlink_metadata().ok()?.is_symlink() {
                if self.hide(&real) {
                    return Some(real);
                }
                real = real.canonicalize().ok()?;
            }
        }
        None
    }
}

struct VisiblePathFinder<'e> {
    empty: &'e EmptyPlaces,
    path_cache: &'e mut PathCache,
}

impl VisiblePathFinder<'_> {
    /// Returns the paths in a variable that it also has where proctor runs, and those in the project. The value can come from
    /// the project's files, which show nothing that is hidden or private otherwise.
    fn named_paths(&mut self, request: &SandboxRequest<'_>, project: &Path, name: &str) -> Vec<PathBuf> {
        let of_user = paths_in(request.ambient, name, Some(request.directory));
        let mut named = paths_in(request.environment, name, Some(request.directory));
        named.retain(|path| of_user.contains(path) || self.path_cache.real(path).is_some_and(|real| real.starts_with(project)));
        named
    }

    /// Adds the files of a program: the program itself, and the installations that contain it before and after links
    /// are resolved.
    fn program(&mut self, program: &Path, paths: &mut Vec<PathBuf>) {
        let real = self.path_cache.real(program).unwrap_or_else(|| program.to_owned());
        for path in [program, &real] {
            let Some(directory) = path.parent() else { continue };
            paths.push(self.prefix_of(directory));
            paths.extend(base_of_environment(directory).map(|base| self.prefix_of(&base)));
            paths.extend(path.ancestors().filter(|ancestor| ancestor.ends_with("node_modules")).last().map(Path::to_owned));
        }
        paths.push(real);
    }

    /// Returns the installation that a directory of programs belongs to, otherwise the directory itself. The programs
    /// in the `bin` of a virtual environment, or in a `bin` beside a `lib`, do not work without the directories beside
    /// it.
    fn prefix_of(&mut self, directory: &Path) -> PathBuf {
        let mut prefix = || {
            let real = self.path_cache.real(directory)?;
            let prefix = real.parent().filter(|prefix| self.empty.hide(prefix))?;
            let is_one = prefix.join("pyvenv.cfg").exists() || prefix.join("lib").is_dir();
            is_one.then(|| prefix.to_owned())
        };
        prefix().unwrap_or_else(|| directory.to_owned())
    }
}

/// Returns the directory of the interpreter on which a virtual environment is based (`home =` in its `pyvenv.cfg`).
fn base_of_environment(directory: &Path) -> Option<PathBuf> {
    let file = File::open(directory.parent()?.join("pyvenv.cfg")).ok()?;
    let mut text = String::new();
    file.take(ENVIRONMENT_FILE_CAP).read_to_string(&mut text).ok()?;
    let values = text.lines().filter_map(|line| line.split_once('='));
    let home = values.filter(|(key, _)| key.trim() == "home").map(|(_, value)| PathBuf::from(value.trim())).next()?;
    Some(home).filter(|home| home.is_absolute())
}
