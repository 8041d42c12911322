//! The files of a commit, for making the plan that the commit has. Nothing is checked out.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use proctor_git::{GitEntryKind, GitReadError, GitStorage, GitTreeEntry, ObjectId};
use proctor_model::EntryKind;
use proctor_plan::spec::ProjectFiles;

/// The largest file that is read, in bytes. A larger file counts as unreadable, as on disk.
const LARGEST_FILE: usize = 1 << 20;
/// The most links that are followed in one path.
const MOST_LINKS: u32 = 8;

/// The files of a project in a commit.
#[derive(Debug)]
pub struct CommittedFiles<'a> {
    storage: &'a GitStorage,
    /// The tree of the project's directory; `None` if the commit has no such directory.
    root: Option<ObjectId>,
    directories: RefCell<BTreeMap<ObjectId, Rc<[GitTreeEntry]>>>,
    /// The first error of reading an object.
    failed: RefCell<Option<GitReadError>>,
}

impl<'a> CommittedFiles<'a> {
    /// Returns the files below a tree of a repository.
    pub fn new(storage: &'a GitStorage, root: Option<ObjectId>) -> Self {
        Self { storage, root, directories: RefCell::default(), failed: RefCell::default() }
    }

    /// Returns the error because of which files may have been taken for missing.
    ///
    /// # Errors
    /// When an object could not be read.
    pub fn finish(self) -> Result<(), GitReadError> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }

    /// Returns the files whose names end so, by their paths from the project's root, each with the name of its blob.
    pub fn files_ending(&self, ending: &str) -> BTreeMap<String, ObjectId> {
        let mut found = BTreeMap::new();
        if let Some(root) = self.root {
            self.collect_ending(root, "", ending, &mut found);
        }
        found
    }

    fn collect_ending(&self, tree: ObjectId, above: &str, ending: &str, found: &mut BTreeMap<String, ObjectId>) {
        for entry in self.entries(tree).iter() {
            let Ok(name) = std::str::from_utf8(&entry.name) else { continue };
            let path = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
            match entry.kind() {
                Some(GitEntryKind::Own(EntryKind::Directory)) => self.collect_ending(entry.id, &path, ending, found),
                Some(GitEntryKind::Own(EntryKind::File | EntryKind::Executable)) if name.ends_with(ending) => {
                    found.insert(path, entry.id);
                }
                Some(_) | None => {}
            }
        }
    }

    /// Returns the content of a blob; nothing if it cannot be read.
    pub fn blob(&self, id: ObjectId) -> Option<Vec<u8>> {
        self.noted(self.storage.blob(id))
    }

    fn noted<T>(&self, read: Result<T, GitReadError>) -> Option<T> {
        read.map_err(|error| {
            self.failed.borrow_mut().get_or_insert(error);
        })
        .ok()
    }

    fn entries(&self, tree: ObjectId) -> Rc<[GitTreeEntry]> {
        if let Some(known) = self.directories.borrow().get(&tree) {
            return Rc::clone(known);
        }
        let read: Rc<[GitTreeEntry]> = self.noted(self.storage.entries(tree)).unwrap_or_default().into();
        self.directories.borrow_mut().insert(tree, Rc::clone(&read));
        read
    }

    /// Returns the kind and the object of what a path leads to, if it is there. Links that leave the project lead nowhere.
    fn find(&self, path: &str, links: u32) -> Option<(EntryKind, ObjectId)> {
        let mut place: Vec<(String, ObjectId)> = Vec::new();
        let mut at = (EntryKind::Directory, self.root?);
        let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
        while let Some(part) = parts.next() {
            if part == ".." {
                place.pop()?;
                at = (EntryKind::Directory, place.last().map_or(self.root?, |(_, tree)| *tree));
                continue;
            }
            if at.0 != EntryKind::Directory {
                return None;
            }
            let entries = self.entries(at.1);
            let entry = entries.iter().find(|entry| entry.name == part.as_bytes())?;
            let Some(GitEntryKind::Own(kind)) = entry.kind() else { return None };
            if kind == EntryKind::Link {
                let target = String::from_utf8(self.blob(entry.id)?).ok().filter(|target| !target.starts_with('/'))?;
                let directory: String = place.iter().map(|(name, _)| format!("{name}/")).collect();
                let rest: String = parts.map(|part| format!("/{part}")).collect();
                return self.find(&format!("{directory}{target}{rest}"), links.checked_sub(1)?);
            }
            if kind == EntryKind::Directory {
                place.push((part.to_owned(), entry.id));
            }
            at = (kind, entry.id);
        }
        Some(at)
    }
}

/// A file that two commits do not have alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// The path from the project's root.
    pub path: String,
    /// The object of the first commit, and that of the second; `None` where nothing is there.
    pub objects: [Option<ObjectId>; 2],
}

/// Returns the files that are not the same below two trees, or that only one of them has. Directories that are the same are not read.
///
/// # Errors
/// When an object cannot be read.
pub fn changed_paths_between(storage: &GitStorage, trees: [Option<ObjectId>; 2]) -> Result<Vec<ChangedPath>, GitReadError> {
    let (mut found, mut left) = (Vec::new(), vec![(String::new(), trees)]);
    while let Some((above, trees)) = left.pop() {
        let mut names: BTreeMap<Vec<u8>, [Option<GitTreeEntry>; 2]> = BTreeMap::new();
        for (side, tree) in trees.into_iter().enumerate() {
            for entry in tree.map_or_else(|| Ok(Vec::new()), |tree| storage.entries(tree))? {
                let name = entry.name.clone();
                names.entry(name).or_default()[side] = Some(entry);
            }
        }
        for (name, sides) in names {
            let path = format!("{above}{}", String::from_utf8_lossy(&name));
            let is_directory = |entry: &GitTreeEntry| entry.kind() == Some(GitEntryKind::Own(EntryKind::Directory));
            let ids = |wanted: bool| {
                [0, 1].map(|side: usize| sides[side].as_ref().filter(|entry| is_directory(entry) == wanted).map(|entry| entry.id))
            };
            let (directories, objects) = (ids(true), ids(false));
            if directories[0] != directories[1] {
                left.push((format!("{path}/"), directories));
            }
            if objects[0] != objects[1] {
                found.push(ChangedPath { path, objects });
            }
        }
    }
    Ok(found)
}

impl ProjectFiles for CommittedFiles<'_> {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let (kind, id) = self.find(path, MOST_LINKS)?;
        let content = if kind == EntryKind::Directory { None } else { self.blob(id) };
        content.filter(|content| content.len() <= LARGEST_FILE)
    }

    fn exists(&self, path: &str) -> bool {
        self.find(path, MOST_LINKS).is_some()
    }

    fn is_directory(&self, path: &str) -> bool {
        self.find(path, MOST_LINKS).is_some_and(|(kind, _)| kind == EntryKind::Directory)
    }

    fn names(&self, directory: &str) -> Vec<String> {
        match self.find(directory, MOST_LINKS) {
            Some((EntryKind::Directory, tree)) => {
                let names = self.entries(tree);
                let mut names: Vec<String> =
                    names.iter().filter_map(|entry| String::from_utf8(entry.name.clone()).ok()).collect();
                names.sort();
                names
            }
            Some(_) | None => Vec::new(),
        }
    }
}
