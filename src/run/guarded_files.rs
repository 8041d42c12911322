//! The files of a project that decide how it is judged: `proctor.toml`, specifications, ignore files, the keys that may
//! approve, and git's own files (S7).
//!
//! Actions that work in the project itself, such as prerequisites, may not write them. In namespaces these files are
//! read-only for such actions. No level can keep an action from making a new file of this kind, and the weaker levels
//! cannot make single files read-only. So they are compared after the run as well.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::model::{Action, ActionPhase, Digest, EntryKind, TreePath};
use crate::project::{CONFIGURATION_FILE, GitFilesBefore, RunRequest, SPECIFICATION_SEARCH};
use crate::run::check_place::CheckPlace;
use crate::tree::TreeIndex;

/// The ignore files in the root of a project.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The name of git's directory, or of the file that names it.
const GIT: &str = ".git";

/// The most hooks of a repository that are compared.
const MOST_HOOKS: usize = 200;

/// The largest file that is compared, in bytes. No file of this kind is that long.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The files that decide how a project is judged, as they were before the first action of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GuardedFiles {
    /// Each file by its path relative to the project; `None` if there is no such file, or if it is longer than
    /// [`LONGEST`] or cannot be read.
    files: BTreeMap<String, Option<Digest>>,
    /// The paths of git's directories, relative to the project.
    repositories: BTreeSet<PathBuf>,
}

impl GuardedFiles {
    /// Finds the files before a run. Nothing is searched where all actions work on a snapshot.
    pub(crate) fn find(request: &RunRequest<'_>, index: &TreeIndex, place: &CheckPlace) -> Self {
        if place.is_snapshot() && !request.plan.actions().any(works_in_project) {
            return Self::default();
        }
        let root = &request.scope.root;
        let signers = request.settings.allowed_signers.as_deref();
        let specifications = index.named(SPECIFICATION_SEARCH).into_iter();
        let specifications = specifications.filter_map(|(path, _)| path.as_path().to_str().map(str::to_owned));
        let fixed = [CONFIGURATION_FILE].into_iter().chain(IGNORE_FILES).chain(signers).map(str::to_owned);
        let nested = index.rules_files().into_keys().filter_map(|path| path.as_path().to_str().map(str::to_owned));
        let repositories = repositories(root, index);
        let of_git = git_programs(root, &repositories);
        let names: BTreeSet<String> = fixed.chain(specifications).chain(nested).chain(of_git).collect();
        let files = names.into_iter().map(|name| {
            let digest = digest(&root.join(&name));
            (name, digest)
        });
        Self { files: files.collect(), repositories }
    }

    /// Compares git's files with those before an earlier run, which a save stopped: what an action of that run changed has
    /// not been reported yet.
    pub(crate) fn since(mut self, stopped: Option<GitFilesBefore>) -> Self {
        if let Some(GitFilesBefore { programs, directories }) = stopped.filter(|_| !self.files.is_empty()) {
            self.files.retain(|name, _| !is_of_git(name));
            self.files.extend(programs);
            self.repositories = directories;
        }
        self
    }

    /// Returns git's files before a run that a save stopped, if they differ now.
    pub(crate) fn git_files_if_changed(&self, root: &Path, index: &TreeIndex) -> Option<GitFilesBefore> {
        let is_changed =
            self.changed(root, index).iter().any(|path| path.as_path().components().any(|part| part.as_os_str() == GIT));
        let programs = self.files.iter().filter(|(name, _)| is_of_git(name));
        let programs = programs.map(|(name, digest)| (name.clone(), *digest)).collect();
        is_changed.then(|| GitFilesBefore { programs, directories: self.repositories.clone() })
    }

    /// Returns the absolute paths that an action in the project must not write. Ignore files below the root are not among
    /// them: a file that is mounted for itself keeps tools from moving files between the directories around it.
    pub(crate) fn read_only(&self, root: &Path) -> Vec<PathBuf> {
        let is_held =
            |name: &&String| !name.contains('/') || !IGNORE_FILES.iter().any(|file| name.ends_with(&format!("/{file}")));
        let files = self.files.iter().filter(|(_, digest)| digest.is_some()).map(|(name, _)| name).filter(is_held);
        files.map(|name| root.join(name)).chain(self.repositories.iter().map(|path| root.join(path))).collect()
    }

    /// Returns the guarded files that differ now, and the directories of git that are new. `index` is the tree before the
    /// run.
    pub(crate) fn changed(&self, root: &Path, index: &TreeIndex) -> Vec<TreePath> {
        if self.files.is_empty() {
            return Vec::new();
        }
        let differs = |(name, before): (&String, &Option<Digest>)| (digest(&root.join(name)) != *before).then(|| name.clone());
        let new = git_programs(root, &self.repositories).into_iter().filter(|name| !self.files.contains_key(name));
        let files: Vec<String> = self.files.iter().filter_map(differs).chain(new).collect();
        let now = repositories(root, index);
        let made = now.difference(&self.repositories).filter_map(|path| path.to_str().map(str::to_owned));
        files.into_iter().chain(made).filter_map(|path| TreePath::below(root, &root.join(path)).ok()).collect()
    }
}

/// Returns whether an action works in the project itself, whatever place the checks have.
fn works_in_project(action: &Action) -> bool {
    match action.phase {
        ActionPhase::Prerequisite | ActionPhase::Cleanup => true,
        ActionPhase::Step => action.in_place,
    }
}

/// Returns the paths of git's directories in the root and in the directories of the tree.
fn repositories(root: &Path, index: &TreeIndex) -> BTreeSet<PathBuf> {
    let directories = index.entries().filter(|entry| entry.kind == EntryKind::Directory);
    let below = directories.map(|entry| entry.path.as_path().join(GIT));
    let all = [PathBuf::from(GIT)].into_iter().chain(below);
    all.filter(|path| std::fs::symlink_metadata(root.join(path)).is_ok()).collect()
}

/// Returns the files of git that name or are programs, which git starts at one of its next calls: `config` and the
/// hooks.
fn git_programs(root: &Path, repositories: &BTreeSet<PathBuf>) -> BTreeSet<String> {
    let hooks = |repository: &PathBuf| {
        let directory = repository.join("hooks");
        let entries = std::fs::read_dir(root.join(&directory)).into_iter().flatten().flatten().take(MOST_HOOKS);
        let names = entries.map(|entry| directory.join(entry.file_name()));
        names.filter(|path| path.extension() != Some(OsStr::new("sample"))).collect::<Vec<_>>()
    };
    let files = repositories.iter().flat_map(|repository| [vec![repository.join("config")], hooks(repository)].concat());
    files.filter_map(|path| path.to_str().map(str::to_owned)).collect()
}

/// Returns whether a guarded file is one of git's own.
fn is_of_git(name: &str) -> bool {
    name.split('/').any(|part| part == GIT)
}

fn digest(path: &Path) -> Option<Digest> {
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LONGEST);
    if is_file { std::fs::read(path).ok().map(|bytes| Digest::of(&bytes)) } else { None }
}
