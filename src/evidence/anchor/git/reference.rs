//! References: names for commits, each in a file of its own or as a line of `packed-refs` (gitrepository-layout(5),
//! `refs`).

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::evidence::EvidenceError;
use crate::evidence::anchor::git::error::GitAnchorError;
use crate::evidence::anchor::git::object::ObjectId;
use crate::evidence::changes::{
    create_shared_directories, create_shared_file_with_mode, remove_file, rename, sync_directory, sync_file, write_all,
};

/// The most bytes that are read of a reference's file.
const LONGEST_REFERENCE: u64 = 4096;
/// How many references in a row are followed if each names another one. Git has the same limit.
const MOST_STEPS: u32 = 5;
const MODE: u32 = 0o666;

/// A name below `refs/` that contains no `..` and is safe as a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReferenceName(String);

/// A reference that is being changed. Its lock file keeps git and other processes from changing it meanwhile.
#[derive(Debug)]
pub(super) struct LockedReference {
    path: PathBuf,
    lock: PathBuf,
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
pub(super) fn read_head(git_directory: &Path, common: &Path) -> Result<Option<ObjectId>, GitAnchorError> {
    match read_file(&git_directory.join("HEAD")) {
        Some(text) => follow(common, &text, MOST_STEPS),
        None => Ok(None),
    }
}

/// Returns the commit that a reference names, or `None` if the reference does not exist.
pub(super) fn read(common: &Path, name: &ReferenceName) -> Result<Option<ObjectId>, GitAnchorError> {
    read_steps(common, name, MOST_STEPS)
}

fn read_steps(common: &Path, name: &ReferenceName, steps: u32) -> Result<Option<ObjectId>, GitAnchorError> {
    match read_file(&common.join(name.as_str())) {
        Some(text) => follow(common, &text, steps),
        None => Ok(read_packed(common, name)),
    }
}

fn follow(common: &Path, text: &str, steps: u32) -> Result<Option<ObjectId>, GitAnchorError> {
    match (text.trim_end().strip_prefix("ref: "), steps.checked_sub(1)) {
        (None, _) => Ok(ObjectId::parse(text.trim_end())),
        (Some(next), Some(steps)) => read_steps(common, &ReferenceName::parse(next)?, steps),
        (Some(next), None) => Err(GitAnchorError::Name(next.to_owned())),
    }
}

fn read_file(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST_REFERENCE).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Looks a reference up in `packed-refs`, which lists the references that have no file of their own.
fn read_packed(common: &Path, name: &ReferenceName) -> Option<ObjectId> {
    let text = std::fs::read_to_string(common.join("packed-refs")).ok()?;
    let lines = text.lines().filter(|line| !line.starts_with(['#', '^']));
    let mut named = lines.filter_map(|line| line.split_once(' ')).filter(|(_, listed)| *listed == name.as_str());
    named.next().and_then(|(id, _)| ObjectId::parse(id))
}

impl LockedReference {
    /// Locks a reference as git does: by creating the file that will replace the reference's own.
    pub(super) fn lock(common: &Path, name: &ReferenceName) -> Result<Self, GitAnchorError> {
        let path = common.join(name.as_str());
        create_shared_directories(path.parent().expect("a reference lies in a directory"))?;
        let mut lock = path.clone().into_os_string();
        lock.push(".lock");
        let lock = PathBuf::from(lock);
        match create_shared_file_with_mode(&lock, MODE) {
            Ok(file) => Ok(Self { path, lock, file }),
            Err(EvidenceError::File { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {
                Err(GitAnchorError::Locked { path: lock })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the object's hash into the reference's file, which releases the lock.
    pub(super) fn set(mut self, id: ObjectId) -> Result<(), GitAnchorError> {
        write_all(&mut self.file, &self.lock, format!("{}\n", id.hex()).as_bytes())?;
        sync_file(&self.file, &self.lock)?;
        rename(&self.lock, &self.path)?;
        Ok(sync_directory(self.path.parent().expect("a reference lies in a directory"))?)
    }
}

impl Drop for LockedReference {
    fn drop(&mut self) {
        // If the reference was set, the lock file was renamed and is gone. If not, the lock file is removed here, so
        // that other programs can set the reference.
        let _ = remove_file(&self.lock);
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
        let hex = |id: Option<ObjectId>| id.map(ObjectId::hex);
        assert_eq!(read_head(root, root).unwrap(), None);
        put(&root.join("HEAD"), b"ref: refs/heads/main\n");
        assert_eq!(read_head(root, root).unwrap(), None, "nothing is committed yet");
        put(
            &root.join("packed-refs"),
            format!("# pack-refs with: peeled\n{ONE} refs/heads/main\n^{TWO}\n{TWO} refs/x\n").as_bytes(),
        );
        assert_eq!(hex(read_head(root, root).unwrap()).as_deref(), Some(ONE));
        put(&root.join("refs/heads/main"), format!("{TWO}\n").as_bytes());
        assert_eq!(hex(read_head(root, root).unwrap()).as_deref(), Some(TWO));
        put(&root.join("refs/heads/main"), b"ref: refs/heads/main\n");
        assert!(read_head(root, root).is_err(), "in a circle");
        put(&root.join("HEAD"), format!("{ONE}\n").as_bytes());
        assert_eq!(hex(read_head(root, root).unwrap()).as_deref(), Some(ONE));
        put(&root.join("refs/heads/main"), b"ref: ../../elsewhere\n");
        assert!(read(root, &name("refs/heads/main")).is_err());
    }

    #[test]
    fn a_reference_is_set_by_one_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let name = name("refs/notes/proctor/shop-00000001");
        let lock = LockedReference::lock(root, &name).unwrap();
        assert!(matches!(LockedReference::lock(root, &name), Err(GitAnchorError::Locked { .. })));
        drop(lock);
        LockedReference::lock(root, &name).unwrap().set(ObjectId::parse(ONE).unwrap()).unwrap();
        assert_eq!(read(root, &name).unwrap(), ObjectId::parse(ONE));
        assert_eq!(std::fs::read_dir(root.join("refs/notes/proctor")).unwrap().count(), 1, "no lock is left");
    }
}
