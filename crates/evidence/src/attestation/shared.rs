//! A directory in which bundles are shared: on a mounted file system, or restored by the cache of CI.
//!
//! ```text
//! sha256/<digest>              a bundle, named by the SHA-256 of its bytes; never changed
//! tree/<tree>/<digest>         an empty file: the bundle says something of this tree
//! ```
//!
//! Anybody who can write there can write anything, so a bundle is compared with its name, and its statements with the keys of the reader.
//! Writers need no lock: two that write the same bundle write the same bytes, and each file appears whole, by a rename.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::attestation::bundle::write_whole;
use crate::changes::{create_shared_directories, create_shared_file, remove_file, rename, sync_directory};
use crate::{EvidenceError, mint_nonce, read_regular_file};
use proctor_model::{Digest, TreeDigest};

/// The largest bundle that is read, in bytes.
const LONGEST_BUNDLE: u64 = 16 << 20;
/// The most bundles of one tree that are listed.
const MOST_LISTED: usize = 200;

/// A directory with bundles, by tree.
#[derive(Debug, Clone)]
pub struct SharedDirectory {
    root: PathBuf,
}

impl SharedDirectory {
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Returns a bundle; `None` if the content is not the one that its name says.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn get(&self, bundle: Digest) -> io::Result<Option<Vec<u8>>> {
        let bytes = read_regular_file(&self.object(bundle), LONGEST_BUNDLE)?;
        Ok((Digest::of(&bytes) == bundle).then_some(bytes))
    }

    /// Adds a bundle about a tree, unless it is there already with the right content. The directory itself has to be there: a mount that
    /// is gone is no reason to write beneath it.
    ///
    /// # Errors
    /// When it cannot be written. Nothing of it is listed then.
    pub fn put_if_absent(&self, tree: TreeDigest, bytes: &[u8]) -> Result<(), EvidenceError> {
        sync_directory(&self.root)?;
        let bundle = Digest::of(bytes);
        let (object, listed) = (self.object(bundle), self.of_tree(tree));
        for directory in [object.parent().unwrap_or(&self.root), &listed] {
            create_shared_directories(directory)?;
        }
        if !matches!(self.get(bundle), Ok(Some(_))) {
            let new = object.with_file_name(format!(".{}.new", mint_nonce()?));
            write_whole(&new, bytes)?;
            rename(&new, &object).inspect_err(|_| drop(remove_file(&new)))?;
        }
        match create_shared_file(&listed.join(bundle.hex())) {
            Err(EvidenceError::File { source, .. }) if source.kind() == ErrorKind::AlreadyExists => Ok(()),
            created => created.map(drop),
        }
    }

    /// Returns the bundles that are said to be about a tree, at most 200 of them.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn list_by_tree(&self, tree: TreeDigest) -> io::Result<Vec<Digest>> {
        let entries = match fs::read_dir(self.of_tree(tree)) {
            Ok(entries) => entries,
            // If the directory itself is missing, nothing is known; an empty list would say that there are no attestations.
            Err(error) if error.kind() == ErrorKind::NotFound => return fs::metadata(&self.root).map(|_| Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries.take(MOST_LISTED) {
            let name = entry?.file_name();
            found.extend(name.to_str().and_then(|name| Digest::try_from(name.to_owned()).ok()));
        }
        found.sort_unstable();
        Ok(found)
    }

    fn object(&self, bundle: Digest) -> PathBuf {
        self.root.join("sha256").join(bundle.hex())
    }

    fn of_tree(&self, tree: TreeDigest) -> PathBuf {
        self.root.join("tree").join(tree.0.hex())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> TreeDigest {
        TreeDigest(Digest::of(b"tree"))
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("it is there");
        entries.map(|entry| entry.expect("it is ours").file_name().into_string().expect("text")).collect()
    }

    #[test]
    fn eight_writers_lose_nothing_and_leave_nothing_unfinished() {
        let root = tempfile::tempdir().expect("a directory");
        let shared = SharedDirectory::new(root.path().to_owned());
        std::thread::scope(|scope| {
            for writer in 0..8_u8 {
                let shared = &shared;
                scope.spawn(move || {
                    for number in 0..8_u8 {
                        // Every second one is the same for all writers.
                        let own = if number % 2 == 0 { writer } else { u8::MAX };
                        shared.put_if_absent(tree(), &[own, number]).expect("there is room");
                    }
                });
            }
        });
        let listed = shared.list_by_tree(tree()).expect("it can be read");
        assert_eq!(listed.len(), 8 * 4 + 4);
        assert!(listed.iter().all(|bundle| shared.get(*bundle).expect("it is there").is_some()));
        assert_eq!(names(&root.path().join("sha256")).len(), listed.len());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test puts another content in the place of a bundle")]
    fn a_bundle_with_another_content_is_none_and_the_next_writer_mends_it() {
        let root = tempfile::tempdir().expect("a directory");
        let shared = SharedDirectory::new(root.path().to_owned());
        shared.put_if_absent(tree(), b"bundle").expect("there is room");
        let bundle = Digest::of(b"bundle");
        fs::remove_file(shared.object(bundle)).expect("it is ours");
        assert_eq!(shared.get(bundle).map_err(|error| error.kind()), Err(ErrorKind::NotFound));
        std::os::unix::fs::symlink("/etc/hostname", shared.object(bundle)).expect("it is ours");
        assert!(!matches!(shared.get(bundle), Ok(Some(_))), "a link leads to another content");
        fs::remove_file(shared.object(bundle)).expect("it is ours");
        fs::write(shared.object(bundle), b"another").expect("it is ours");
        assert_eq!(shared.get(bundle).expect("it is there"), None);
        shared.put_if_absent(tree(), b"bundle").expect("there is room");
        assert_eq!(shared.get(bundle).expect("it is there").as_deref(), Some(&b"bundle"[..]));
    }

    #[test]
    fn a_directory_that_is_gone_is_an_error_and_is_not_made_anew() {
        let root = tempfile::tempdir().expect("a directory");
        let gone = root.path().join("mount");
        let shared = SharedDirectory::new(gone.clone());
        assert!(shared.put_if_absent(tree(), b"bundle").is_err());
        assert!(shared.list_by_tree(tree()).is_err());
        assert!(!gone.exists());
        fs::create_dir(&gone).expect("it is ours");
        assert_eq!(shared.list_by_tree(tree()).expect("it can be read"), []);
    }
}
