//! A look at a file of the project that is itself the question: what is there, and its bytes as far as they are asked for.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::evidence::artifact::{Refused, open_artifact};
use crate::model::{Digest, FileLook, FoundFile, Timestamp};

/// So many bytes are read between two looks at whether the reading is to go on.
const CHUNK: usize = 256 * 1024;

/// What is read of a file.
#[derive(Clone, Copy)]
pub enum Reading<'a> {
    /// Nothing: its name and size are the question.
    Nothing,
    /// All of it, for its digest; its bytes are kept where there are not more than `keep` of them.
    Whole {
        /// How many bytes are kept at most.
        keep: u64,
        /// Says between two chunks what the look comes to where it is not to go on.
        interrupted: &'a dyn Fn() -> Option<FileLook>,
    },
}

/// Looks at the file at `relative` below `base`: one regular file with one name, reached over no link (E12).
pub fn look_at_file(base: &Path, relative: &Path, reading: Reading<'_>) -> FileLook {
    let (mut file, metadata) = match open_artifact(base, relative) {
        Ok(opened) => opened,
        Err(Refused::NotThere) => return FileLook::Missing,
        Err(refused) => return FileLook::Refused(refused.to_string()),
    };
    let modified = Timestamp::from_millis(metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000);
    let named = FoundFile { bytes: metadata.len(), modified, sha256: None, content: None };
    let Reading::Whole { keep, interrupted } = reading else { return FileLook::Found(named) };
    let (mut hasher, mut content, mut total) = (Sha256::new(), Vec::new(), 0_u64);
    let mut chunk = vec![0; CHUNK];
    loop {
        if let Some(look) = interrupted() {
            return look;
        }
        let count = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return FileLook::Refused(Refused::Unreadable(error.to_string()).to_string()),
        };
        hasher.update(&chunk[..count]);
        total += count as u64;
        if total <= keep {
            content.extend_from_slice(&chunk[..count]);
        } else {
            content = Vec::new();
        }
    }
    FileLook::Found(FoundFile {
        // What was read counts: the name may say less of a file that grows.
        bytes: total,
        sha256: Some(Digest::from_hasher(hasher)),
        content: (total <= keep).then_some(content),
        ..named
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::evidence::testing::put;

    fn whole(base: &Path, name: &str, keep: u64) -> FileLook {
        look_at_file(base, Path::new(name), Reading::Whole { keep, interrupted: &|| None })
    }

    fn found(look: FileLook) -> FoundFile {
        let FileLook::Found(found) = look else { panic!("{look:?}") };
        found
    }

    #[test]
    fn a_file_is_read_as_far_as_it_is_asked_for() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let bytes = vec![b'x'; CHUNK + 7];
        put(&directory.path().join("a/b"), &bytes);
        let named = found(look_at_file(directory.path(), Path::new("a/b"), Reading::Nothing));
        assert_eq!((named.bytes, named.sha256, named.content), (bytes.len() as u64, None, None));
        assert!(named.modified > Timestamp::from_millis(0));
        let kept = found(whole(directory.path(), "a/b", bytes.len() as u64));
        assert_eq!((kept.sha256, kept.content), (Some(Digest::of(&bytes)), Some(bytes.clone())));
        let digested = found(whole(directory.path(), "a/b", bytes.len() as u64 - 1));
        assert_eq!((digested.bytes, digested.sha256, digested.content), (bytes.len() as u64, Some(Digest::of(&bytes)), None));
    }

    #[test]
    fn what_is_not_there_is_missing_and_what_is_none_is_refused() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        put(&directory.path().join("file"), b"1");
        symlink("file", directory.path().join("link")).expect("the directory is ours");
        assert_eq!(whole(directory.path(), "none", 9), FileLook::Missing);
        for odd in ["link", ".", "../file"] {
            assert!(matches!(whole(directory.path(), odd, 9), FileLook::Refused(_)), "{odd}");
        }
        let stop = || Some(FileLook::OutOfTime);
        let reading = Reading::Whole { keep: 9, interrupted: &stop };
        assert_eq!(look_at_file(directory.path(), Path::new("file"), reading), FileLook::OutOfTime);
    }
}
