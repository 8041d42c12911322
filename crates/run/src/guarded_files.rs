//! The files of a project that decide how it is judged: `proctor.toml`, specifications, ignore files, the keys that may
//! approve, and git's own files (S7).
//!
//! Actions that work in the project itself, such as prerequisites, may not write them. In namespaces these files are
//! read-only for such actions. No level can keep an action from making a new file of this kind, and the weaker levels
//! cannot make single files read-only. So they are compared after the run as well.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::check_place::CheckPlace;
use proctor_git::git_directory;
use proctor_model::{Action, ActionPhase, Digest, EntryKind, TreePath};
use proctor_project::{CONFIGURATION_FILE, DecidingFilesBefore, RunRequest, SPECIFICATION_SEARCH};
use proctor_tree::TreeIndex;

/// The ignore files in the root of a project.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The name of git's directory, or of the file that names it.
const GIT: &str = ".git";

/// The file of git's directory without which git does not take a directory for one of its own.
const HEAD: &str = "HEAD";

/// The files of git's directory that can name programs, or another directory with such files.
const GIT_FILES: [&str; 3] = ["config", "config.worktree", "commondir"];

/// The most hooks of a repository that are compared.
const MOST_HOOKS: usize = 200;

/// The largest file that is compared, in bytes. No file of this kind is that long.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The most files that a refused run names. Further files are only counted.
const NAMED: usize = 20;

/// The files that decide how a project is judged, as they were before the first action of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GuardedFiles(DecidingFilesBefore);

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
        let directories = directories(root, index);
        let repositories = repositories(root, &directories);
        let of_git = git_programs(root, &repositories);
        let names: BTreeSet<String> = fixed.chain(specifications).chain(nested).chain(of_git).collect();
        let files = names.into_iter().map(|name| {
            let digest = digest(&root.join(&name));
            (name, digest)
        });
        Self(DecidingFilesBefore { files: files.collect(), directories, repositories })
    }

    /// Returns the files as they were before an earlier run.
    pub(crate) fn before(earlier: &DecidingFilesBefore) -> Self {
        Self(earlier.clone())
    }

    /// Compares git's files with those before an earlier run, which a save stopped: what an action of that run changed has
    /// not been reported yet. The other files are those that people save, and each change of them is asked for if it weakens
    /// something.
    pub(crate) fn since(mut self, stopped: Option<DecidingFilesBefore>) -> Self {
        if let Some(before) = stopped.filter(|_| !self.0.files.is_empty()) {
            self.0.files.retain(|name, _| !is_of_git(name));
            self.0.files.extend(before.files.into_iter().filter(|(name, _)| is_of_git(name)));
            self.0.directories = before.directories;
            self.0.repositories = before.repositories;
        }
        self
    }

    /// Returns the files before a run that a save stopped, if one of them differs now.
    pub(crate) fn before_if_changed(&self, root: &Path) -> Option<DecidingFilesBefore> {
        (!self.changed(root).is_empty()).then(|| self.0.clone())
    }

    /// Returns the absolute paths that an action in the project must not write. Ignore files below the root are not among
    /// them: a file that is mounted for itself keeps tools from moving files between the directories around it.
    pub(crate) fn read_only(&self, root: &Path) -> Vec<PathBuf> {
        let DecidingFilesBefore { files, repositories, .. } = &self.0;
        let is_held = |name: &&String| {
            let is_nested_ignore_file = name.contains('/') && IGNORE_FILES.iter().any(|file| name.ends_with(&format!("/{file}")));
            !is_nested_ignore_file && !repositories.contains(Path::new(name))
        };
        let files = files.iter().filter(|(_, digest)| digest.is_some()).map(|(name, _)| name).filter(is_held);
        files.map(|name| root.join(name)).chain(repositories.iter().map(|path| root.join(path))).collect()
    }

    /// Returns the guarded files that differ now, and every `.git` and repository that is new.
    pub(crate) fn changed(&self, root: &Path) -> Vec<TreePath> {
        let DecidingFilesBefore { files, directories, repositories: known } = &self.0;
        if files.is_empty() {
            return Vec::new();
        }
        let differs = |(name, before): (&String, &Option<Digest>)| (digest(&root.join(name)) != *before).then(|| name.clone());
        let now = repositories(root, directories);
        let is_new = |name: &String| !files.contains_key(name) && digest(&root.join(name)).is_some();
        let new = git_programs(root, known).into_iter().filter(is_new);
        let made = now.difference(known).filter_map(|path| path.to_str().map(str::to_owned));
        let all: BTreeSet<String> = files.iter().filter_map(differs).chain(new).chain(made).collect();
        all.into_iter().filter_map(|path| TreePath::below(root, &root.join(path)).ok()).collect()
    }

    /// Returns the sentence with which a refused run names the guarded files that differ now; `None` if none does. The files
    /// are those before a run that a save stopped, so nothing else has reported them.
    pub(crate) fn changed_in_stopped_run(&self, root: &Path) -> Option<String> {
        let changed = self.changed(root);
        let named: Vec<String> = changed.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
        let more = changed.len().checked_sub(NAMED + 1).map(|more| format!(" and {} more", more + 1)).unwrap_or_default();
        let what = "decides how the project is judged, and changed during the last run, which a save stopped";
        (!named.is_empty()).then(|| format!("{}{more}: each {what}: a check may have written it", named.join(", ")))
    }
}

/// Returns whether an action works in the project itself, whatever place the checks have.
fn works_in_project(action: &Action) -> bool {
    match action.phase {
        ActionPhase::Prerequisite | ActionPhase::Cleanup => true,
        ActionPhase::Step => action.in_place,
    }
}

/// Returns the directories in which a `.git` is looked for: the root, those of the tree, and those in the root that do not
/// belong to the tree, such as `node_modules`. The root is the empty path.
fn directories(root: &Path, index: &TreeIndex) -> BTreeSet<PathBuf> {
    let in_tree = index.entries().filter(|entry| entry.kind == EntryKind::Directory).map(|entry| entry.path.as_path().to_owned());
    let in_root = std::fs::read_dir(root).into_iter().flatten().flatten();
    let in_root = in_root.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != GIT);
    let in_root = in_root.map(|entry| PathBuf::from(entry.file_name()));
    [PathBuf::new()].into_iter().chain(in_tree).chain(in_root).collect()
}

/// Returns the paths of every `.git` in some directories, and of the `HEAD` of each directory that is a repository without a
/// working tree: git obeys the configuration there as well.
fn repositories(root: &Path, directories: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let is_there = |path: &PathBuf| std::fs::symlink_metadata(root.join(path)).is_ok();
    let is_bare = |directory: &&PathBuf| {
        is_there(&directory.join(HEAD)) && ["objects", "refs"].iter().all(|name| root.join(directory).join(name).is_dir())
    };
    let bare = directories.iter().filter(is_bare).map(|directory| directory.join(HEAD));
    directories.iter().map(|directory| directory.join(GIT)).filter(is_there).chain(bare).collect()
}

/// Returns the files of git that are programs, or name some, which git starts at one of its next calls: the configuration, the
/// hooks, and the `.git` file of a submodule, which says where these lie.
fn git_programs(root: &Path, repositories: &BTreeSet<PathBuf>) -> BTreeSet<String> {
    let hooks = |directory: &Path| {
        let directory = directory.join("hooks");
        let entries = std::fs::read_dir(root.join(&directory)).into_iter().flatten().flatten().take(MOST_HOOKS);
        let names = entries.map(|entry| directory.join(entry.file_name()));
        names.filter(|path| path.extension() != Some(OsStr::new("sample"))).collect::<Vec<_>>()
    };
    let of = |repository: &PathBuf| {
        let is_bare = repository.file_name() != Some(OsStr::new(GIT));
        let around = repository.parent().map(Path::to_owned);
        let named = around.as_ref().filter(|_| !is_bare).and_then(|work_tree| git_directory(&root.join(work_tree)));
        // A directory outside of the project is not compared: an action may not write there.
        let named = named.and_then(|path| Some(path.canonicalize().ok()?.strip_prefix(root).ok()?.to_owned()));
        let own = if is_bare { around } else { Some(repository.clone()) };
        let directories = [own, named].into_iter().flatten();
        let files = directories
            .flat_map(|directory| GIT_FILES.iter().map(|file| directory.join(file)).chain(hooks(&directory)).collect::<Vec<_>>());
        files.chain([repository.clone()]).collect::<Vec<_>>()
    };
    repositories.iter().flat_map(of).filter_map(|path| path.to_str().map(str::to_owned)).collect()
}

/// Returns whether a guarded file is one of git's own.
fn is_of_git(name: &str) -> bool {
    name.split('/').any(|part| part == GIT)
}

fn digest(path: &Path) -> Option<Digest> {
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LONGEST);
    if is_file { std::fs::read(path).ok().map(|bytes| Digest::of(&bytes)) } else { None }
}
