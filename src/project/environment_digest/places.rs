//! Finds the directories of installed packages that the checks of a project use.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::ignore::{IgnoredClass, class_of};
use crate::model::TreePath;
use crate::tree::{NameSearch, NameTopic, TreeIndex};

/// Files beside which tools install packages. Directories of installed packages are searched beside these files and in
/// the root.
const MANIFESTS: &[&str] = &["package.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "Gemfile"];

const MANIFEST_SEARCH: NameSearch =
    NameSearch { topic: NameTopic::Manifests, is_wanted: |name| MANIFESTS.iter().any(|manifest| manifest.as_bytes() == name) };

/// The file in the top directory of every virtual environment.
const VIRTUAL_ENVIRONMENT: &str = "pyvenv.cfg";

/// The directory below HOME into which `pip install --user` installs packages.
const USER_PACKAGES: &str = ".local";

/// The places in which the environments of a project are searched. They stay the same during a run.
#[derive(Debug, Clone)]
pub(crate) struct EnvironmentSearch {
    index: TreeIndex,
    /// The directories of the tree that contain a package manifest (a file of `MANIFESTS`), and the root.
    beside: Vec<TreePath>,
    /// Environments that the plan's programs belong to, by their absolute paths.
    of_programs: Vec<PathBuf>,
    home: Option<PathBuf>,
}

/// One environment: a directory of installed programs and packages, or a file that describes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EnvironmentPlace {
    pub(crate) path: PathBuf,
    pub(crate) parts: EnvironmentParts,
}

/// Which parts of an environment the digest covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnvironmentParts {
    All,
    /// Only Python's packages, because the directory contains programs that have nothing to do with the project.
    PythonPackages,
}

/// An ignored entry that lies beside a package manifest (such as `pyproject.toml`) and has the name of an environment of packages
/// (such as `.venv`).
#[derive(Debug)]
pub(crate) struct EnvironmentEntry {
    pub(crate) path: TreePath,
    pub(crate) kind: io::Result<FileType>,
}

impl EnvironmentSearch {
    /// Prepares a search. `programs` are the absolute paths of the plan's programs, with their links not yet resolved.
    pub(super) fn new(index: TreeIndex, programs: &[PathBuf], home: Option<PathBuf>) -> Self {
        let of_programs = programs.iter().filter_map(|program| environment_of(program)).collect();
        Self { beside: directories_of_manifests(&index), index, of_programs, home }
    }

    /// Finds the environments, by their names: the path relative to the project, or the absolute path of an environment
    /// outside of the project.
    pub(super) fn find(&self) -> BTreeMap<OsString, EnvironmentPlace> {
        let root = self.index.root();
        let mut found = BTreeMap::new();
        for entry in entries_in(&self.index, &self.beside) {
            let name = OsStr::from_bytes(entry.path.as_bytes()).to_owned();
            found.insert(name, EnvironmentPlace { path: root.join(entry.path.as_path()), parts: EnvironmentParts::All });
        }
        for path in &self.of_programs {
            let name = name_of_environment(root, path);
            // Everything in the tree has a digest already.
            let is_in_tree = TreePath::below(root, path).is_ok_and(|path| self.index.lookup(&path).is_some());
            if !is_in_tree {
                let place = || EnvironmentPlace { path: path.clone(), parts: EnvironmentParts::All };
                found.entry(name).or_insert_with(place);
            }
        }
        if let Some(home) = &self.home {
            let path = home.join(USER_PACKAGES);
            let place = EnvironmentPlace { path: path.clone(), parts: EnvironmentParts::PythonPackages };
            found.entry(path.into_os_string()).or_insert(place);
        }
        found
    }

    /// Returns the name of the environment that a program belongs to; `None` if it belongs to none.
    pub(super) fn name_for_program(&self, program: &Path) -> Option<OsString> {
        environment_of(program).map(|path| name_of_environment(self.index.root(), &path))
    }
}

/// Finds the environments in the root and beside the tree's package manifests (files of `MANIFESTS`).
pub(crate) fn environment_entries(index: &TreeIndex) -> Vec<EnvironmentEntry> {
    entries_in(index, &directories_of_manifests(index))
}

fn directories_of_manifests(index: &TreeIndex) -> Vec<TreePath> {
    let mut directories = vec![TreePath::root()];
    let manifests = index.named(MANIFEST_SEARCH);
    directories.extend(manifests.iter().filter_map(|(path, _)| path.parent()));
    directories.sort();
    directories.dedup();
    directories
}

fn entries_in(index: &TreeIndex, directories: &[TreePath]) -> Vec<EnvironmentEntry> {
    let mut found = Vec::new();
    for directory in directories {
        let Ok(entries) = fs::read_dir(index.root().join(directory.as_path())) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let path = directory.join(name.as_bytes());
            if class_of(name.as_bytes()) == IgnoredClass::Environment && index.lookup(&path).is_none() {
                found.push(EnvironmentEntry { path, kind: entry.file_type() });
            }
        }
    }
    found
}

/// Returns the virtual environment or `node_modules` directory that a program is installed in, with the links in its path
/// resolved. The program's own link is not followed, because the interpreter of a virtual environment is a link to the
/// outside.
fn environment_of(program: &Path) -> Option<PathBuf> {
    let directory = program.parent()?;
    let environment = directory.parent()?;
    let is_node = directory.file_name()? == ".bin" && environment.file_name()? == "node_modules";
    let is_environment = is_node || environment.join(VIRTUAL_ENVIRONMENT).is_file();
    is_environment.then(|| environment.canonicalize().ok()).flatten()
}

fn name_of_environment(root: &Path, path: &Path) -> OsString {
    path.strip_prefix(root).unwrap_or(path).as_os_str().to_owned()
}
