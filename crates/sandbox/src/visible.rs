//! Finds the files that a command consists of: its program, the environment of the program, and the directories in
//! `PATH` and similar variables. They stay visible inside of private or hidden places. This file looks up paths and
//! decides nothing about access.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use proctor_git::find_git_location;
use proctor_model::{VisibleKind, World};

use crate::SandboxRequest;
use crate::closed_world::Writers;
use crate::find_places::paths_in;
use crate::interpreter_of;
use crate::path_cache::PathCache;
use crate::rules::{RUN_TIME_VISIBLE, VISIBLE_VARIABLES};
use crate::toolchains::Shown;
use crate::used_toolchains::{FoundToolchain, UsedToolchains};

/// The most bytes of a `pyvenv.cfg` that are read; what follows them is ignored. The file usually has a few lines.
const ENVIRONMENT_FILE_CAP: u64 = 8 * 1024;

/// The most links of one directory of `PATH` that are followed to what they lead to.
const MOST_LINKS: usize = 200;

/// The directories of a project in which packages are usually installed.
const OWN_ENVIRONMENTS: &[&str] = &[".venv", "venv", "env", "node_modules"];

/// The places in which an action sees no file of the disk.
pub(super) struct EmptyPlaces {
    /// Places that a closed world hides. They may be made visible themselves.
    pub(super) closed: Vec<PathBuf>,
    /// Places that are private, hidden for another reason, or in memory.
    pub(super) other: Vec<PathBuf>,
}

/// What a visible directory must not contain.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'s> {
    pub(super) project: &'s Path,
    pub(super) home: Option<&'s Path>,
    pub(super) world: World,
}

impl Surroundings<'_> {
    /// Returns whether a directory is too wide to be taken for an installation: it holds the project, or HOME, or the
    /// programs and data of every tool of the user.
    fn are_in(&self, path: &Path) -> bool {
        let holds_home = self.home.is_some_and(|home| home.starts_with(path) || path == home.join(".local"));
        self.world == World::Closed && (holds_home || self.project.starts_with(path))
    }
}

/// The paths that must stay visible, each with the kind under which a verdict names its content; `None` if only root can
/// write it, or if its content decides nothing.
pub(super) type VisiblePaths = BTreeMap<PathBuf, Option<VisibleKind>>;

/// Returns the paths that must stay visible for the action to work. Links in them are not resolved.
pub(super) fn visible_paths(
    request: &SandboxRequest<'_>,
    around: &Surroundings<'_>,
    empty: &EmptyPlaces,
    path_cache: &mut PathCache,
) -> VisiblePaths {
    let interpreter = interpreter_of(request.program).map(PathBuf::from);
    let used = UsedToolchains::of(request, interpreter.as_deref(), path_cache);
    let interpreter = interpreter.filter(|path| path.is_absolute());
    let programs: Vec<PathBuf> = [Some(request.program.to_owned()), path_cache.real(request.program), interpreter.clone()]
        .into_iter()
        .flatten()
        .chain(interpreter.and_then(|path| path_cache.real(&path)))
        .collect();
    let toolchains = used.find(request, around.home, &programs, path_cache);
    let mut looking =
        VisiblePathFinder { request, around: *around, empty, path_cache, used, toolchains, paths: VisiblePaths::new() };
    for path in RUN_TIME_VISIBLE {
        looking.add(PathBuf::from(path), None);
    }
    looking.add(request.directory.to_owned(), None);
    looking.program(request.program);
    for name in VISIBLE_VARIABLES.split(' ') {
        for path in looking.named_paths(name) {
            looking.add(path, Some(VisibleKind::Environment));
        }
    }
    for directory in looking.named_paths("PATH") {
        looking.directory_of_programs(&directory);
    }
    match around.world {
        World::Closed => looking.own_environments(),
        World::Open => looking.open_world(),
    }
    looking.toolchains();
    looking.paths
}

/// Returns the directories of installed packages that lie in directories of the system, if others than root may write them,
/// or if everything runs as root.
pub(super) fn directories_of_packages(request: &SandboxRequest<'_>, path_cache: &mut PathCache) -> Vec<PathBuf> {
    const OF_PYTHON: [&str; 2] = ["dist-packages", "site-packages"];
    if request.settings.world == World::Open {
        return Vec::new();
    }
    let writers = Writers::own();
    let program = path_cache.real(request.program);
    let prefix = program.as_deref().and_then(|program| program.parent()?.parent());
    let prefixes: BTreeSet<&Path> = prefix.into_iter().chain([Path::new("/usr"), Path::new("/usr/local")]).collect();
    let mut found = Vec::new();
    for library in prefixes.into_iter().map(|prefix| prefix.join("lib")) {
        let versions = ["python3".to_owned()].into_iter().chain((6..20).map(|minor| format!("python3.{minor}")));
        let installed = versions.map(|version| library.join(version)).filter(|version| version.is_dir());
        let of_python = installed.flat_map(|version| OF_PYTHON.map(|name| version.join(name)));
        let named = of_python.chain([library.join("node_modules")]);
        found.extend(named.filter(|path| path.metadata().is_ok_and(|found| writers.are_root() || writers.may_write(&found))));
    }
    found.into_iter().filter_map(|path| path.canonicalize().ok()).collect()
}

impl EmptyPlaces {
    /// Returns whether a path lies inside of one of the empty places. The path must contain no links.
    pub(super) fn hide(&self, path: &Path) -> bool {
        (self.is_closed(path) || self.other.iter().any(|empty| path.starts_with(empty)))
            && self.other.iter().all(|empty| path != empty)
    }

    pub(super) fn is_closed(&self, path: &Path) -> bool {
        self.closed.iter().any(|closed| path.starts_with(closed))
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

struct VisiblePathFinder<'e, 'a> {
    request: &'e SandboxRequest<'a>,
    around: Surroundings<'e>,
    empty: &'e EmptyPlaces,
    path_cache: &'e mut PathCache,
    used: UsedToolchains,
    toolchains: Vec<FoundToolchain>,
    paths: VisiblePaths,
}

impl VisiblePathFinder<'_, '_> {
    fn add(&mut self, path: PathBuf, kind: Option<VisibleKind>) {
        self.paths.entry(path).or_insert(kind);
    }

    /// Returns the paths in a variable that it also has where proctor runs, and those in the project. The value can come from
    /// the project's files, which show nothing that is hidden or private otherwise.
    fn named_paths(&mut self, name: &str) -> Vec<PathBuf> {
        let (request, project) = (self.request, self.around.project);
        let of_user = paths_in(request.ambient, name, Some(request.directory));
        let mut named = paths_in(request.environment, name, Some(request.directory));
        named.retain(|path| of_user.contains(path) || self.path_cache.real(path).is_some_and(|real| real.starts_with(project)));
        named
    }

    /// Adds a program and its interpreter, with what they consist of.
    fn program(&mut self, program: &Path) {
        self.files_of_program(program);
        let interpreter = interpreter_of(program).map(PathBuf::from).filter(|path| path.is_absolute());
        if let Some(interpreter) = interpreter {
            self.files_of_program(&interpreter);
        }
    }

    /// Adds the files of a program: the program itself, and the installations that contain it before and after links
    /// are resolved.
    fn files_of_program(&mut self, program: &Path) {
        let real = self.path_cache.real(program).unwrap_or_else(|| program.to_owned());
        for path in [program, &real] {
            let Some(directory) = path.parent() else { continue };
            self.installation_of(directory);
            if let Some(base) = base_of_environment(directory) {
                self.installation_of(&base);
            }
            self.packages_around(path);
        }
        self.add(program.to_owned(), Some(VisibleKind::Toolchain));
        self.add(real, Some(VisibleKind::Toolchain));
    }

    /// Adds the outermost `node_modules` that a path lies in.
    fn packages_around(&mut self, path: &Path) {
        let packages = path.ancestors().filter(|ancestor| ancestor.ends_with("node_modules")).last();
        if let Some(packages) = packages {
            self.add(packages.to_owned(), Some(VisibleKind::Environment));
        }
    }

    /// Adds the installation that a directory of programs belongs to, otherwise the directory itself. The programs in the
    /// `bin` of a virtual environment, in a `bin` beside a `lib`, or in the `shims` of pyenv and its like, do not work without the
    /// directories beside it.
    fn installation_of(&mut self, directory: &Path) {
        let prefix = self.path_cache.real(directory).and_then(|real| Some(real.parent()?.to_owned()));
        // The table of toolchains says what is shown of their directories.
        let is_partly_shown = |prefix: &Path| {
            let rows = self.toolchains.iter().filter(|one| one.real == prefix);
            rows.map(|one| one.row.shown).any(|shown| matches!(shown, Shown::Parts(_) | Shown::Versions { .. }))
        };
        let prefix = prefix.filter(|prefix| self.empty.hide(prefix) && !is_partly_shown(prefix));
        let is_environment = prefix.as_ref().is_some_and(|prefix| prefix.join("pyvenv.cfg").exists());
        let library = prefix.as_ref().map(|prefix| prefix.join("lib")).filter(|library| library.is_dir());
        let has_more = |prefix: &Path| library.is_some() || directory.ends_with("shims") || prefix.join("libexec").is_dir();
        let kind = if is_environment { VisibleKind::Environment } else { VisibleKind::Toolchain };
        match prefix {
            Some(prefix) if (is_environment || has_more(&prefix)) && !self.around.are_in(&prefix) => self.add(prefix, Some(kind)),
            _ => {
                self.add(directory.to_owned(), Some(kind));
                library.into_iter().for_each(|library| self.add(library, Some(VisibleKind::Environment)));
            }
        }
    }

    /// Returns whether a path lies in a toolchain that the action cannot use.
    fn is_unused(&self, real: &Path) -> bool {
        let mut around = self.toolchains.iter().filter(|one| real.starts_with(&one.real)).peekable();
        around.peek().is_some() && around.all(|one| !one.is_used)
    }

    /// Adds a directory of `PATH`, and what the links in it lead to, unless it is of a toolchain that the action cannot use.
    fn directory_of_programs(&mut self, directory: &Path) {
        let Some(real) = self.path_cache.real(directory).filter(|real| !self.is_unused(real)) else { return };
        self.installation_of(directory);
        if !self.empty.is_closed(&real) {
            return;
        }
        let entries = std::fs::read_dir(&real).into_iter().flatten().flatten();
        let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink())).take(MOST_LINKS);
        for link in links.map(|entry| entry.path()) {
            let Some(target) = self.path_cache.real(&link).filter(|target| self.empty.hide(target)) else { continue };
            let is_known = self.paths.keys().any(|known| target.starts_with(known) && known.is_dir());
            let is_wanted = link.file_name().is_some_and(|name| self.used.has_word(name)) || !self.is_unused(&target);
            if is_wanted && !is_known && target.is_file() {
                self.files_of_link(&target);
            }
        }
    }

    /// Adds what a link of a directory of programs leads to: the program, and its installation if it is one.
    fn files_of_link(&mut self, target: &Path) {
        let prefix = target.parent().and_then(Path::parent);
        let is_installation = |prefix: &Path| prefix.join("pyvenv.cfg").exists() || prefix.join("lib").is_dir();
        if let (Some(directory), true) = (target.parent(), prefix.is_some_and(is_installation)) {
            self.installation_of(directory);
            if let Some(base) = base_of_environment(directory) {
                self.installation_of(&base);
            }
        }
        self.packages_around(target);
        self.add(target.to_owned(), Some(VisibleKind::Toolchain));
    }

    /// Adds what the project's own environments lead to: the interpreter's installation, and a directory elsewhere that a
    /// link stands for.
    fn own_environments(&mut self) {
        let directories: BTreeSet<&Path> = [self.around.project, self.request.directory].into_iter().collect();
        for path in directories.into_iter().flat_map(|directory| OWN_ENVIRONMENTS.iter().map(|name| directory.join(name))) {
            let Some(real) = self.path_cache.real(&path) else { continue };
            self.add(real.clone(), Some(VisibleKind::Environment));
            let Some(base) = base_of_environment(&real.join("bin")) else { continue };
            self.installation_of(&base);
            self.files_of_program(&real.join("bin/python"));
        }
        // Node searches for packages in every parent directory. Those of the same repository are seen.
        let repository = find_git_location(self.around.project).map(|location| location.work_tree);
        for directory in self.around.project.ancestors().skip(1) {
            if repository.as_ref().is_some_and(|repository| directory.starts_with(repository)) {
                self.add(directory.join("node_modules"), Some(VisibleKind::Environment));
            }
        }
    }

    /// Adds what the action can use of the directories of the table of toolchains.
    fn toolchains(&mut self) {
        for toolchain in std::mem::take(&mut self.toolchains) {
            let packages = toolchain.row.used_by.iter().flat_map(|used| used.packages);
            if !toolchain.is_used && !packages.into_iter().any(|package| self.is_installed(package)) {
                continue;
            }
            let kind = if toolchain.is_pinned { VisibleKind::PinnedPackages } else { toolchain.row.kind };
            let parts = match toolchain.row.shown {
                Shown::Whole => &[""][..],
                Shown::Parts(parts) | Shown::Versions { parts, .. } => parts,
                Shown::Programs => &[],
            };
            let parts = parts
                .iter()
                .map(|part| if part.is_empty() { toolchain.directory.clone() } else { toolchain.directory.join(part) });
            parts.for_each(|part| self.add(part, Some(kind)));
            let seen = |version: &Path| self.paths.keys().any(|path| path.starts_with(version));
            let versions = self.used.versions(&toolchain, seen);
            versions.into_iter().for_each(|version| self.add(version, Some(kind)));
        }
    }

    /// Returns whether a package is installed where the action's programs search for packages.
    fn is_installed(&self, package: &str) -> bool {
        let of_python = |environment: &PathBuf| {
            let versions = std::fs::read_dir(environment.join("lib")).into_iter().flatten().flatten().map(|entry| entry.path());
            let mut versions =
                versions.filter(|path| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"python3")));
            versions.any(|version| version.join("site-packages").join(package).exists())
        };
        self.paths.keys().any(|path| path.join(package).exists() && path.ends_with("node_modules") || of_python(path))
    }

    /// Adds what an open world shows: HOME, and the packages of every directory around the project.
    fn open_world(&mut self) {
        if let Some(home) = self.request.home {
            self.add(home.to_owned(), None);
        }
        if self.empty.hide(self.around.project) {
            for directory in self.around.project.ancestors().skip(1) {
                self.add(directory.join("node_modules"), None);
            }
        }
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
