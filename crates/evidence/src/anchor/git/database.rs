//! Writing objects, each into a file of its own (gitrepository-layout(5), `objects`).

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use miniz_oxide::deflate::compress_to_vec_zlib;

use crate::EvidenceError;
use crate::anchor::git::error::GitAnchorError;
use crate::changes::{
    create_shared_directories, create_shared_file_with_mode, remove_file, rename, sync_directory, sync_file, write_all,
};
use proctor_git::{
    GitDirectory, GitObject, GitReadError, GitStorage, ObjectDatabase, ObjectId, ReferenceName, find_git_directories,
};

/// The permissions of an object's file before the umask: read-only, because git objects are never changed.
const OBJECT_MODE: u32 = 0o444;
/// The compression level of new objects; git's default.
const LEVEL: u8 = 6;

/// Writes an object unless it exists. When this returns, the object is on disk.
pub(super) fn write_object(objects: &ObjectDatabase, object: &GitObject) -> Result<ObjectId, GitAnchorError> {
    let id = object.id();
    let hex = id.hex();
    let (above, name) = hex.split_at(2);
    let directory = create_directory(objects.own_directory(), above)?;
    if directory.file(name)?.is_some() {
        return Ok(id);
    }
    // Git removes stale files whose names begin with `tmp_obj_`, such as this one after a crash.
    let new_name = format!("tmp_obj_proctor{}", std::process::id());
    let (new, shown) = (directory.through_handle(&new_name), directory.path().join(&new_name));
    named(&directory, &new_name, remove_file(&new))?;
    let mut file = named(&directory, &new_name, create_shared_file_with_mode(&new, OBJECT_MODE))?;
    write_all(&mut file, &shown, &compress_to_vec_zlib(&object.to_bytes(), LEVEL))?;
    sync_file(&file, &shown)?;
    named(&directory, &new_name, rename(&new, &directory.through_handle(name)))?;
    named(&directory, "", sync_directory(&directory.handle_path()))?;
    Ok(id)
}

// The repository that contains a project, as far as notes need it.

#[derive(Debug)]
pub(super) struct Repository {
    pub(super) storage: GitStorage,
}

impl Repository {
    pub(super) fn open(root: &Path) -> Result<Self, GitAnchorError> {
        let (git_directory, common) =
            find_git_directories(root).ok_or_else(|| GitAnchorError::NoRepository { root: root.to_owned() })?;
        Ok(Self { storage: GitStorage::open(&git_directory, &common)? })
    }
}

// Making directories and files in a repository, through the descriptors of directories that were opened without following
// a symbolic link ([`GitDirectory`]).

/// Opens a directory below another one. It is created if it does not exist, and so are missing directories above it.
pub(super) fn create_directory(above: &GitDirectory, relative: &str) -> Result<GitDirectory, GitAnchorError> {
    let mut at = above.clone();
    for name in relative.split('/').filter(|name| !name.is_empty()) {
        at = match at.directory(name)? {
            Some(directory) => directory,
            None => {
                named(&at, name, create_shared_directories(&at.through_handle(name)))?;
                let removed =
                    || GitReadError::Unreadable { path: at.path().join(name), source: std::io::ErrorKind::NotFound.into() };
                at.directory(name)?.ok_or_else(removed)?
            }
        };
    }
    Ok(at)
}

/// Names the file by its own path in an error of an operation that went through the directory's descriptor.
pub(super) fn named<T>(directory: &GitDirectory, name: &str, result: Result<T, EvidenceError>) -> Result<T, EvidenceError> {
    result.map_err(|mut error| {
        if let EvidenceError::File { path, .. } = &mut error {
            *path = directory.path().join(name);
        }
        error
    })
}

// Changing references: names for commits, each in a file of its own (gitrepository-layout(5), `refs`).

/// The permissions of a reference's file before the umask.
const MODE: u32 = 0o666;

/// A reference that is being changed. Its lock file keeps git and other processes from changing it meanwhile.
#[derive(Debug)]
pub(super) struct LockedReference {
    directory: GitDirectory,
    /// The name of the reference's file in the directory.
    name: String,
    /// The name of the lock file in the directory. It replaces the reference's file when the reference is set.
    lock: String,
    file: File,
    /// Whether the lock file is still this process's. Once it was renamed, a file of its name is the lock of another process.
    is_held: bool,
}

impl LockedReference {
    /// Locks a reference as git does: by creating the file that will replace the reference's own.
    pub(super) fn lock(common: &GitDirectory, name: &ReferenceName) -> Result<Self, GitAnchorError> {
        let (above, name) = name.as_str().rsplit_once('/').expect("a reference lies in a directory");
        let directory = create_directory(common, above)?;
        // A reference whose file is a symbolic link is refused here. The rename would only replace the link, but git
        // would have written through it, so the person is told.
        directory.file(name)?;
        let lock = format!("{name}.lock");
        match named(&directory, &lock, create_shared_file_with_mode(&directory.through_handle(&lock), MODE)) {
            Ok(file) => Ok(Self { directory, name: name.to_owned(), lock, file, is_held: true }),
            Err(EvidenceError::File { source, path, .. }) if source.kind() == ErrorKind::AlreadyExists => {
                Err(GitAnchorError::Locked { path })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the object's hash into the reference's file, which releases the lock.
    pub(super) fn set(mut self, id: ObjectId) -> Result<(), GitAnchorError> {
        let lock = self.directory.path().join(&self.lock);
        write_all(&mut self.file, &lock, format!("{}\n", id.hex()).as_bytes())?;
        sync_file(&self.file, &lock)?;
        let renamed = rename(&self.directory.through_handle(&self.lock), &self.directory.through_handle(&self.name));
        named(&self.directory, &self.lock, renamed)?;
        self.is_held = false;
        Ok(named(&self.directory, "", sync_directory(&self.directory.handle_path()))?)
    }
}

impl Drop for LockedReference {
    fn drop(&mut self) {
        // The reference was not set, and other programs must be able to set it.
        if self.is_held {
            let _ = remove_file(&self.directory.through_handle(&self.lock));
        }
    }
}

#[cfg(test)]
mod directory_tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::put;

    #[test]
    fn no_directory_is_made_through_a_link() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        put(&root.join("elsewhere/file"), b"theirs");
        put(&root.join("git/HEAD"), b"ref: refs/heads/main");
        symlink(root.join("elsewhere"), root.join("git/linked")).unwrap();
        symlink(root.join("missing"), root.join("git/dangling")).unwrap();
        let git = GitDirectory::open(&root.join("git")).unwrap();
        for linked in ["linked", "linked/below", "dangling", "dangling/below"] {
            let made = create_directory(&git, linked);
            assert!(matches!(made, Err(GitAnchorError::Read(GitReadError::Linked { .. }))), "{linked}");
        }
        create_directory(&git, "refs/notes/proctor").unwrap();
        assert!(root.join("git/refs/notes/proctor").is_dir());
        assert_eq!(std::fs::read_dir(root.join("elsewhere")).unwrap().count(), 1);
        assert!(!root.join("missing").exists());
    }
}

#[cfg(test)]
mod reference_tests {
    use super::*;
    use proctor_git::read_reference;

    const ONE: &str = "1111111111111111111111111111111111111111";

    #[test]
    fn a_reference_is_set_by_one_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let git = &GitDirectory::open(root).unwrap();
        let name = ReferenceName::parse("refs/notes/proctor/shop-00000001").unwrap();
        let lock = LockedReference::lock(git, &name).unwrap();
        assert!(matches!(LockedReference::lock(git, &name), Err(GitAnchorError::Locked { .. })));
        drop(lock);
        LockedReference::lock(git, &name).unwrap().set(ObjectId::parse(ONE).unwrap()).unwrap();
        assert_eq!(read_reference(git, &name).unwrap(), ObjectId::parse(ONE));
        assert_eq!(std::fs::read_dir(root.join("refs/notes/proctor")).unwrap().count(), 1, "no lock is left");
    }
}
