//! References: names for commits, each in a file of its own or as a line of `packed-refs` (gitrepository-layout(5),
//! `refs`).

use std::fs::File;
use std::io::ErrorKind;

use crate::evidence::EvidenceError;
use crate::evidence::anchor::git::directory::GitDirectory;
use crate::evidence::anchor::git::error::GitAnchorError;
use crate::evidence::anchor::git::object::ObjectId;
use crate::evidence::changes::{create_shared_file_with_mode, remove_file, rename, sync_directory, sync_file, write_all};

/// The largest file of a reference, in bytes. A larger file is refused.
const LONGEST_REFERENCE: u64 = 4096;
/// The most references that are followed in a row if each names another one. Git has the same limit.
const MOST_STEPS: u32 = 5;
const MODE: u32 = 0o666;
/// The largest list of packed references that is read, in bytes. The list of a million references is about this large.
const LONGEST_LIST: u64 = 64 << 20;

/// A name below `refs/` that contains no `..` and is safe as a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReferenceName(String);

/// A reference that is being changed. Its lock file keeps git and other processes from changing it meanwhile.
#[derive(Debug)]
pub(super) struct LockedReference {
    directory: GitDirectory,
    /// The name of the reference's file in the directory.
    name: String,
    /// The name of the lock file in the directory. It replaces the reference's file when the reference is set.
    lock: String,
    file: File,
}

impl ReferenceName {
    /// Checks a reference's name by the rules of git-check-ref-format(1) that keep it safe as a path.
    pub(super) fn parse(name: &str) -> Result<Self, GitAnchorError> {
        let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock") && !part.ends_with('.');
        let is_odd = |character: char| character.is_control() || " ~^:?*[\\".contains(character);
        let is_name = name.starts_with("refs/") && name.split('/').all(is_part) && !name.contains("..") && !name.contains(is_odd);
        if is_name { Ok(Self(name.to_owned())) } else { Err(GitAnchorError::Name(name.to_owned())) }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the checked-out commit, or `None` if nothing is committed yet.
pub(super) fn read_head(git_directory: &GitDirectory, common: &GitDirectory) -> Result<Option<ObjectId>, GitAnchorError> {
    match git_directory.text("HEAD", LONGEST_REFERENCE)? {
        Some(text) => follow(common, &text, MOST_STEPS),
        None => Ok(None),
    }
}

/// Returns the commit that a reference names, or `None` if the reference does not exist.
pub(super) fn read(common: &GitDirectory, name: &ReferenceName) -> Result<Option<ObjectId>, GitAnchorError> {
    read_steps(common, name, MOST_STEPS)
}

fn read_steps(common: &GitDirectory, name: &ReferenceName, steps: u32) -> Result<Option<ObjectId>, GitAnchorError> {
    // A directory with other references may have the same name as this reference. Then this reference has no file of
    // its own, and `packed-refs` may list it.
    match common.text(name.as_str(), LONGEST_REFERENCE) {
        Ok(Some(text)) => follow(common, &text, steps),
        Ok(None) => read_packed(common, name),
        Err(GitAnchorError::NotAFile { path }) if path.is_dir() => read_packed(common, name),
        Err(error) => Err(error),
    }
}

fn follow(common: &GitDirectory, text: &str, steps: u32) -> Result<Option<ObjectId>, GitAnchorError> {
    match (text.trim_end().strip_prefix("ref: "), steps.checked_sub(1)) {
        (None, _) => Ok(ObjectId::parse(text.trim_end())),
        (Some(next), Some(steps)) => read_steps(common, &ReferenceName::parse(next)?, steps),
        (Some(next), None) => Err(GitAnchorError::Name(next.to_owned())),
    }
}

/// Looks a reference up in `packed-refs`, which lists the references that have no file of their own.
fn read_packed(common: &GitDirectory, name: &ReferenceName) -> Result<Option<ObjectId>, GitAnchorError> {
    let Some(text) = common.text("packed-refs", LONGEST_LIST)? else { return Ok(None) };
    let lines = text.lines().filter(|line| !line.starts_with(['#', '^']));
    let mut named = lines.filter_map(|line| line.split_once(' ')).filter(|(_, listed)| *listed == name.as_str());
    Ok(named.next().and_then(|(id, _)| ObjectId::parse(id)))
}

impl LockedReference {
    /// Locks a reference as git does: by creating the file that will replace the reference's own.
    pub(super) fn lock(common: &GitDirectory, name: &ReferenceName) -> Result<Self, GitAnchorError> {
        let (above, name) = name.as_str().rsplit_once('/').expect("a reference lies in a directory");
        let directory = common.create_directory(above)?;
        // A reference whose file is a symbolic link is refused here. The rename would only replace the link, but git
        // would have written through it, so the person is told.
        directory.file(name)?;
        let lock = format!("{name}.lock");
        match directory.named(&lock, create_shared_file_with_mode(&directory.through_handle(&lock), MODE)) {
            Ok(file) => Ok(Self { directory, name: name.to_owned(), lock, file }),
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
        self.directory.named(&self.lock, renamed)?;
        Ok(self.directory.named("", sync_directory(&self.directory.handle_path()))?)
    }
}

impl Drop for LockedReference {
    fn drop(&mut self) {
        // If the reference was set, the lock file was renamed and is gone. If not, the lock file is removed here, so
        // that other programs can set the reference.
        let _ = remove_file(&self.directory.through_handle(&self.lock));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::testing::put;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn name(text: &str) -> ReferenceName {
        ReferenceName::parse(text).unwrap()
    }

    #[test]
    fn a_name_stays_below_the_references() {
        for bad in [
            "",
            "HEAD",
            "refs",
            "refs/",
            "refs//x",
            "refs/../HEAD",
            "refs/a..b",
            "refs/.x",
            "refs/x.lock",
            "refs/a b",
            "refs/a\nb",
        ] {
            assert!(ReferenceName::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(name("refs/notes/proctor/shop-00000001").as_str(), "refs/notes/proctor/shop-00000001");
    }

    #[test]
    fn a_file_takes_precedence_over_packed_refs_and_heads_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let git = &GitDirectory::open(root).unwrap();
        let hex = |id: Option<ObjectId>| id.map(ObjectId::hex);
        assert_eq!(read_head(git, git).unwrap(), None);
        put(&root.join("HEAD"), b"ref: refs/heads/main\n");
        assert_eq!(read_head(git, git).unwrap(), None, "nothing is committed yet");
        put(
            &root.join("packed-refs"),
            format!("# pack-refs with: peeled\n{ONE} refs/heads/main\n^{TWO}\n{TWO} refs/x\n").as_bytes(),
        );
        assert_eq!(hex(read_head(git, git).unwrap()).as_deref(), Some(ONE));
        put(&root.join("refs/heads/main"), format!("{TWO}\n").as_bytes());
        assert_eq!(hex(read_head(git, git).unwrap()).as_deref(), Some(TWO));
        put(&root.join("refs/heads/main"), b"ref: refs/heads/main\n");
        assert!(read_head(git, git).is_err(), "in a circle");
        put(&root.join("HEAD"), format!("{ONE}\n").as_bytes());
        assert_eq!(hex(read_head(git, git).unwrap()).as_deref(), Some(ONE));
        put(&root.join("refs/heads/main"), b"ref: ../../elsewhere\n");
        assert!(read(git, &name("refs/heads/main")).is_err());
    }

    #[test]
    fn a_reference_is_set_by_one_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let git = &GitDirectory::open(root).unwrap();
        let name = name("refs/notes/proctor/shop-00000001");
        let lock = LockedReference::lock(git, &name).unwrap();
        assert!(matches!(LockedReference::lock(git, &name), Err(GitAnchorError::Locked { .. })));
        drop(lock);
        LockedReference::lock(git, &name).unwrap().set(ObjectId::parse(ONE).unwrap()).unwrap();
        assert_eq!(read(git, &name).unwrap(), ObjectId::parse(ONE));
        assert_eq!(std::fs::read_dir(root.join("refs/notes/proctor")).unwrap().count(), 1, "no lock is left");
    }
}
