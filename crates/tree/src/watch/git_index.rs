//! Follows git's index: what git tracks belongs to the tree although a rule ignores it, so `git add -f` and
//! `git rm --cached` change what is watched.
//!
//! Finds out from git's files which operation git is in the middle of. The git program is never run: it would take
//! locks, and it would execute commands that the project's configuration names.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::watch::placing::Report;
use crate::watch::worker::Worker;
use proctor_git::{Repository, git_directory, read_git_index};
use proctor_model::{GitOperation, TreePath, WatchHint};

impl Worker {
    /// Finds the project's repository, watches its directory, and reads its index. The watch is placed first, so that
    /// no change in between is missed. Without a watch, the index is read again at every sweep, at every poll, and
    /// whenever the watcher is asked to report every change so far.
    pub(super) fn follow_repository(&mut self) {
        self.git_directory = Repository::find(&self.root).map(|repository| repository.directory);
        if let Some(directory) = &self.git_directory {
            self.places.watch_besides(directory);
        }
        self.read_index();
    }

    /// Handles an event in git's directory, or of a `.git` in the root. Returns whether the path is one in git's directory.
    pub(super) fn note_git(&mut self, path: &Path) -> bool {
        if path.parent() == Some(self.root.as_path()) && path.file_name().is_some_and(|name| name == ".git") {
            self.follow_repository();
        }
        let is_in_git = self.git_directory.as_deref().is_some_and(|directory| path.parent() == Some(directory));
        if is_in_git && path.file_name().is_some_and(|name| name == "index") {
            self.read_index();
        }
        is_in_git
    }

    /// Reads the index if it is another file now. Sends a hint for each path that belongs to the tree because of that,
    /// or no longer does.
    pub(super) fn read_index(&mut self) {
        let git = read_git_index(&self.root, Some(&self.git));
        if Arc::ptr_eq(git.paths(), self.git.paths()) {
            self.git = git;
            return;
        }
        let changed = git.paths().differences(self.git.paths());
        let before: Vec<bool> = changed.iter().map(|path| self.belongs(path, false)).collect();
        self.matcher.set_tracked(Arc::clone(git.paths()));
        self.git = git;
        let moved: Vec<TreePath> = changed
            .into_iter()
            .zip(before)
            .filter(|(path, belonged)| self.belongs(path, false) != *belonged)
            .map(|(path, _)| path)
            .collect();
        if moved.is_empty() {
            return;
        }
        self.withdraw_what_is_out(&TreePath::root());
        self.place_or_tell(&TreePath::root(), Report::Nothing);
        moved.into_iter().for_each(|path| self.send_hint(WatchHint::Saved(path)));
    }
}

/// The files and directories in the git directory that exist during an operation of git. Long operations come first,
/// because a rebase also locks the index again and again.
pub const GIT_MARKS: &[(&str, GitOperation)] = &[
    ("rebase-merge", GitOperation::Rebase),
    ("rebase-apply", GitOperation::Apply),
    ("MERGE_HEAD", GitOperation::Merge),
    ("CHERRY_PICK_HEAD", GitOperation::CherryPick),
    ("REVERT_HEAD", GitOperation::Revert),
    ("index.lock", GitOperation::Index),
];

/// Knows where the git directory of a project is, and reads git's state from it.
#[derive(Debug, Clone)]
pub struct GitFiles {
    /// The project's root or the nearest directory above it that contains a `.git`; the root if there is no `.git`.
    top: PathBuf,
}

impl GitFiles {
    /// Finds the repository that contains a project, by searching for `.git` from the root upwards.
    pub fn find(root: &Path) -> Self {
        let top = root.ancestors().find(|directory| fs::symlink_metadata(directory.join(".git")).is_ok());
        Self { top: top.unwrap_or(root).to_owned() }
    }

    /// Returns the operation that git is in the middle of; `None` if there is no operation, no repository, or git's
    /// files cannot be read.
    pub fn read(&self) -> Option<GitOperation> {
        let directory = git_directory(&self.top)?;
        let is_there = |name: &str| fs::symlink_metadata(directory.join(name)).is_ok();
        GIT_MARKS.iter().find(|(name, _)| is_there(name)).map(|(_, operation)| *operation)
    }
}
