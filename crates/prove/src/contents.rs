//! The contents that are compared: files of commits, read from git's objects, and those of the working tree, read from its copy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use proctor_app::CommandError;
use proctor_git::{GitEntryKind, GitObject, GitReadError, GitStorage, GitTreeEntry, ObjectId, ObjectProblem};
use proctor_model::{CommandExit, EntryKind, TreePath};
use proctor_project::ProjectRepository;
use proctor_tree::{TreeIndex, is_clean};

/// A file of one of the contents, by the name that git gives to its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileAt {
    /// A file, an executable file or a link.
    pub(crate) kind: EntryKind,
    pub(crate) id: ObjectId,
}

/// The files of a project, by their paths from its root.
pub(crate) type Files = BTreeMap<String, FileAt>;

/// Which contents are compared.
#[derive(Debug, Clone)]
pub(crate) struct Compared {
    /// The commit where the change begins.
    pub(crate) base: ObjectId,
    /// The base as people named it, or what it is.
    pub(crate) base_name: String,
    /// The commit with the change; `None` means the working tree.
    pub(crate) after: Option<ObjectId>,
    /// How many commits the change has.
    pub(crate) commits: usize,
}

/// Finds out which contents are compared. `range` is `BASE..REV`, or `BASE` for the working tree; without one, the working tree is compared
/// with the commit where the checked-out branch left its upstream, and without an upstream with the checked-out commit.
pub(crate) fn compared(repository: &ProjectRepository, range: Option<&str>) -> Result<Compared, CommandError> {
    let storage = &repository.storage;
    let resolve = |revision: &str| {
        storage.resolve(revision).map_err(|error| {
            CommandError::of(CommandExit::Usage, &error)
                .hint("`git log --oneline --all` lists commits, `git branch --all` the branches")
        })
    };
    let named = |name: &'_ str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
    let (base, after) = match range.map(|range| range.split_once("..").ok_or(range)) {
        None => (None, None),
        Some(Err(base)) => (Some(named(base)), None),
        Some(Ok((base, after))) => (Some(named(base)), Some(resolve(&named(after.trim_start_matches('.')))?)),
    };
    let upstream = || storage.upstream_of_head().ok().flatten().map(|name| name.as_str().to_owned());
    let base_name = base.or_else(upstream).unwrap_or_else(|| "HEAD".to_owned());
    let tip = after.map_or_else(|| resolve("HEAD"), Ok)?;
    let base = storage.merge_base(resolve(&base_name)?, tip).ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("`{base_name}` has no commit in common with what is compared"))
            .hint("name a commit before the change: `proctor prove BASE..HEAD`")
    })?;
    let commits = storage.commits_since(base, tip);
    Ok(Compared { base, base_name: base_name.trim_start_matches("refs/remotes/").to_owned(), after, commits })
}

/// Returns the files below a tree of git, which is the directory of the project in a commit.
pub(crate) fn files_of_commit(storage: &GitStorage, tree: Option<ObjectId>) -> Result<Files, GitReadError> {
    let mut files = Files::new();
    let mut waiting: Vec<(String, ObjectId)> = tree.map(|tree| (String::new(), tree)).into_iter().collect();
    while let Some((above, tree)) = waiting.pop() {
        let entries = storage.entries(tree)?;
        if !has_clean_names(&entries) {
            return Err(GitReadError::Object { id: tree.hex(), problem: ObjectProblem::Damaged });
        }
        for entry in entries {
            let path = format!("{above}{}", String::from_utf8_lossy(&entry.name));
            match entry.kind() {
                Some(GitEntryKind::Own(EntryKind::Directory)) => waiting.push((format!("{path}/"), entry.id)),
                Some(GitEntryKind::Own(kind)) => {
                    files.insert(path, FileAt { kind, id: entry.id });
                }
                // A submodule has the content of the working tree on both sides.
                Some(_) | None => {}
            }
        }
    }
    Ok(files)
}

/// Returns whether all names of a directory are clean and differ. Others could lead out of the layer in which the files are written.
fn has_clean_names(entries: &[GitTreeEntry]) -> bool {
    let mut names = BTreeSet::new();
    entries.iter().all(|entry| is_clean(&entry.name) && names.insert(String::from_utf8_lossy(&entry.name)))
}

/// The working tree, and from where the files of both sides are read.
pub(crate) struct CopiedTree<'a> {
    pub(crate) files: Files,
    /// The directory with its copy.
    copy: PathBuf,
    storage: &'a GitStorage,
}

impl<'a> CopiedTree<'a> {
    /// Reads the copy of the working tree. `copy` is its directory.
    pub(crate) fn of(index: &TreeIndex, copy: &Path, storage: &'a GitStorage) -> Result<Self, CommandError> {
        let mut files = Files::new();
        for entry in index.entries().filter(|entry| entry.kind != EntryKind::Directory) {
            let text = read_copied(copy, &entry.path, entry.kind)?;
            files.insert(entry.path.to_string(), FileAt { kind: entry.kind, id: GitObject::blob(text).id() });
        }
        Ok(Self { files, copy: copy.to_owned(), storage })
    }

    /// Reads a file of one of the sides: from the copy of the project if it is the same there, else from git.
    pub(crate) fn read(&self, path: &str, file: FileAt) -> Result<Vec<u8>, CommandError> {
        match TreePath::try_from(path) {
            Ok(copied) if self.files.get(path) == Some(&file) => read_copied(&self.copy, &copied, file.kind),
            Ok(_) | Err(_) => self.storage.blob(file.id).map_err(|error| {
                CommandError::caused(CommandExit::EvidenceWrong, format!("`{path}` cannot be read from git"), &error)
                    .hint("`git fsck` says what is wrong with the repository")
            }),
        }
    }
}

/// Returns the content of a file of the copy; for a link, where it leads.
fn read_copied(copy: &Path, path: &TreePath, kind: EntryKind) -> Result<Vec<u8>, CommandError> {
    let full = copy.join(path.as_path());
    let read = match kind {
        EntryKind::Link => fs::read_link(&full).map(|target| target.as_os_str().as_bytes().to_vec()),
        EntryKind::File | EntryKind::Executable | EntryKind::Directory => fs::read(&full),
    };
    read.map_err(|error| {
        CommandError::caused(CommandExit::OwnFault, format!("`{path}` cannot be read from the copy of the project"), &error)
            .hint("run the command again")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> ObjectId {
        GitObject::blob(vec![number]).id()
    }

    #[test]
    fn names_that_lead_out_of_a_directory_or_stand_twice_are_refused() {
        let is_clean = |names: &[&[u8]]| {
            let entries: Vec<GitTreeEntry> = names.iter().map(|name| GitTreeEntry::file(name.to_vec(), id(0))).collect();
            has_clean_names(&entries)
        };
        assert!(is_clean(&[b"a", b"b", b"..a"]));
        for names in [&[&b".."[..]][..], &[b"."], &[b""], &[b"/etc"], &[b"a/b"], &[b".git"], &[b"a", b"a"], &[b"\xff", b"\xfe"]] {
            assert!(!is_clean(names), "{names:?}");
        }
    }
}
