//! Finds the directories of installed packages that the checks of a project use.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::environment_digest::every_file::SurveyExtent;
use proctor_model::{Plan, TreePath};
use proctor_sandbox::process::resolve_program;
use proctor_tree::ignore::{IgnoredClass, VIRTUAL_ENVIRONMENT, class_of};
use proctor_tree::{NameSearch, NameTopic, TreeIndex};

/// Files beside which tools install packages.
const MANIFESTS: &[&str] = &["package.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "Gemfile"];

const MANIFEST_SEARCH: NameSearch =
    NameSearch { topic: NameTopic::Manifests, is_wanted: |name| MANIFESTS.iter().any(|manifest| manifest.as_bytes() == name) };

/// The directory below HOME into which `pip install --user` installs packages.
const USER_PACKAGES: &str = ".local";

/// The places in which the environments of a project are searched. They stay the same during a run.
#[derive(Debug, Clone)]
pub struct EnvironmentSearch {
    index: TreeIndex,
    in_project: SearchInProject,
    /// Environments that the plan's programs belong to, by their absolute paths.
    of_programs: Vec<PathBuf>,
    home: Option<PathBuf>,
}

/// Where environments inside of the project are found.
#[derive(Debug, Clone)]
enum SearchInProject {
    /// The checks run on a snapshot, which shows these environments and no others.
    Shown(Vec<TreePath>),
    /// The checks run in the project itself. Every directory of the tree was searched once. Later only these directories are
    /// searched again: those with a package manifest (a file of `MANIFESTS`), those in which something was found, and the root.
    Everywhere { beside: Vec<TreePath> },
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

impl EnvironmentSearch {
    /// Prepares a search. `shown` are the environments in the project that the checks' snapshot shows, as absolute paths; `None` if
    /// the checks run in the project. `programs` are the absolute paths of the plan's programs, with their links not yet resolved.
    pub(crate) fn new(index: TreeIndex, shown: Option<&[PathBuf]>, programs: &[PathBuf], home: Option<PathBuf>) -> Self {
        let of_programs = programs.iter().filter_map(|program| environment_of(program)).collect();
        let in_project = match shown {
            Some(shown) => {
                SearchInProject::Shown(shown.iter().filter_map(|path| TreePath::below(index.root(), path).ok()).collect())
            }
            None => {
                let found = entries_in(&index, &index.directories());
                let mut beside = directories_of_manifests(&index);
                beside.extend(found.iter().filter_map(TreePath::parent));
                beside.sort();
                beside.dedup();
                SearchInProject::Everywhere { beside }
            }
        };
        Self { in_project, index, of_programs, home }
    }

    /// Returns the environments that the snapshot of the checks shows, as absolute paths; `None` if the checks run in the project.
    pub fn shown(&self) -> Option<Vec<PathBuf>> {
        match &self.in_project {
            SearchInProject::Shown(shown) => Some(shown.iter().map(|path| self.index.root().join(path.as_path())).collect()),
            SearchInProject::Everywhere { .. } => None,
        }
    }

    /// Finds the environments, by their names: the path relative to the project, or the absolute path of an environment
    /// outside of the project.
    pub(super) fn find(&self) -> BTreeMap<OsString, EnvironmentPlace> {
        let root = self.index.root();
        let mut found = BTreeMap::new();
        let in_project = match &self.in_project {
            SearchInProject::Shown(shown) => shown.clone(),
            SearchInProject::Everywhere { beside } => entries_in(&self.index, beside),
        };
        for path in in_project {
            let name = OsStr::from_bytes(path.as_bytes()).to_owned();
            found.insert(name, EnvironmentPlace { path: root.join(path.as_path()), parts: EnvironmentParts::All });
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

    /// Returns the directories with installed programs and packages that the search finds, with links resolved.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let of_place = |place: EnvironmentPlace| match place.parts {
            EnvironmentParts::All => vec![place.path],
            EnvironmentParts::PythonPackages => {
                let versions = fs::read_dir(place.path.join("lib")).into_iter().flatten().flatten();
                versions.map(|version| version.path().join("site-packages")).collect()
            }
        };
        let paths = self.find().into_values().flat_map(of_place).filter_map(|path| path.canonicalize().ok());
        paths.filter(|path| path.is_dir()).collect()
    }

    /// Returns the name of the environment that a program belongs to; `None` if it belongs to none.
    pub(super) fn name_for_program(&self, program: &Path) -> Option<OsString> {
        environment_of(program).map(|path| name_of_environment(self.index.root(), &path))
    }
}

/// Returns the environments inside of the project that programs of a plan belong to. Only programs that are named by a path, or
/// found in a directory of the project, are looked for.
pub(crate) fn environments_of_programs(plan: &Plan, root: &Path, path_variable: &OsStr) -> BTreeSet<PathBuf> {
    let is_in_path = std::env::split_paths(path_variable).any(|directory| directory.starts_with(root));
    let commands: BTreeSet<(&str, &Path)> = plan
        .actions()
        .filter_map(|action| Some((action.command.argv.first()?.as_str(), action.directory.as_path())))
        .filter(|(program, _)| is_in_path || program.contains('/'))
        .collect();
    let programs = commands
        .into_iter()
        .filter_map(|(program, directory)| resolve_program(program, &root.join(directory), path_variable).ok());
    let environments = programs.filter_map(|program: PathBuf| environment_of(&program));
    environments.filter(|path| path.starts_with(root) && path != root).collect()
}

/// Returns the directories of installed packages in a project: those beside manifests, and those that programs of the plan belong to.
/// A link that leads to one is left out: what it leads to lies elsewhere.
pub fn environments_in_project(index: &TreeIndex, plan: &Plan, path_variable: &OsStr) -> BTreeSet<PathBuf> {
    let root = index.root();
    let named = entries_in(index, &directories_of_manifests(index)).into_iter().map(|path| root.join(path.as_path()));
    let is_directory = |path: &PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    named.filter(is_directory).chain(environments_of_programs(plan, root, path_variable)).collect()
}

/// Returns links and files of an index of ignored inputs with the name of an environment of packages. Their environments are not
/// mounted, but what they lead to decides what installed programs do.
pub(crate) fn environment_links(inputs: &TreeIndex) -> Vec<TreePath> {
    const SEARCH: NameSearch =
        NameSearch { topic: NameTopic::Environments, is_wanted: |name| class_of(name) == IgnoredClass::Environment };
    inputs.named(SEARCH).into_iter().map(|(path, _)| path).collect()
}

fn directories_of_manifests(index: &TreeIndex) -> Vec<TreePath> {
    let mut directories = vec![TreePath::root()];
    let manifests = index.named(MANIFEST_SEARCH);
    directories.extend(manifests.iter().filter_map(|(path, _)| path.parent()));
    directories.sort();
    directories.dedup();
    directories
}

/// Returns the ignored entries of some directories that are environments.
fn entries_in(index: &TreeIndex, directories: &[TreePath]) -> Vec<TreePath> {
    let mut found = Vec::new();
    for directory in directories {
        let Ok(entries) = fs::read_dir(index.root().join(directory.as_path())) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_named = class_of(name.as_bytes()) == IgnoredClass::Environment;
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_named && !is_directory {
                continue;
            }
            let path = directory.join(name.as_bytes());
            if index.lookup(&path).is_none() && (is_named || entry.path().join(VIRTUAL_ENVIRONMENT).is_file()) {
                found.push(path);
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

// Which environments of a project a survey reads, and what it does with what an earlier one saved.

/// Which environments of a project are read, and how.
pub struct SurveyScope {
    /// Which files of the environments are read.
    pub extent: SurveyExtent,
    pub earlier: EarlierLook,
}

/// What becomes of the saved digests of an earlier look, if the checks run in the project itself. There a check may change what it is
/// judged by, and if proctor dies meanwhile, nobody looks after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierLook {
    /// They are replaced before the run is over, so that the next run can find out what this one's checks changed.
    Replace,
    /// The run before died, and what differs from them is named.
    Compare,
    Leave,
}
