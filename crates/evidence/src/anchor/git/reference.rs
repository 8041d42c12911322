//! Changing references: names for commits, each in a file of its own (gitrepository-layout(5), `refs`).

use std::fs::File;
use std::io::ErrorKind;

use crate::EvidenceError;
use crate::anchor::git::directory::{create_directory, named};
use crate::anchor::git::error::GitAnchorError;
use crate::changes::{create_shared_file_with_mode, remove_file, rename, sync_directory, sync_file, write_all};
use proctor_git::{GitDirectory, ObjectId, ReferenceName};

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
mod tests {
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
