//! Observing a file of the project for a check about that file: whether it exists and, if asked for, what it contains.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::artifact::{ArtifactRefusal, Opening, open_regular_below};
use proctor_model::{Digest, FileState, FoundFile, Timestamp};

/// How many bytes are read between two calls of `interrupted`.
const CHUNK: usize = 256 * 1024;

/// How much of a file `observe_file` reads.
#[derive(Clone, Copy)]
pub enum ContentRequest<'a> {
    /// Reads no content, because the check only needs existence and size.
    MetadataOnly,
    /// Reads the whole file and computes its digest. The content is returned too if it has at most `keep` bytes.
    Whole {
        /// The content of a file with more bytes than this is not returned.
        keep: u64,
        /// A function that is called before each chunk is read. If it returns a state, reading ends with that state.
        interrupted: &'a dyn Fn() -> Option<FileState>,
    },
}

/// Observes the file at `relative` below `base`. It must be a regular file, reached without symbolic links (E12): the caller has
/// followed the links that may be followed. The file may have several hard links, because package managers such as uv install
/// files in that way.
pub fn observe_file(base: &Path, relative: &Path, request: ContentRequest<'_>) -> FileState {
    let opening = match request {
        ContentRequest::MetadataOnly => Opening::Metadata,
        ContentRequest::Whole { .. } => Opening::Content,
    };
    let (mut file, metadata) = match open_regular_below(base, relative, opening) {
        Ok(opened) => opened,
        Err(ArtifactRefusal::NotThere) => return FileState::Missing,
        Err(refused) => return FileState::Refused(refused.to_string()),
    };
    let modified = Timestamp::from_millis(metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000);
    let without_content = FoundFile { bytes: metadata.len(), modified, sha256: None, content: None };
    let ContentRequest::Whole { keep, interrupted } = request else { return FileState::Found(without_content) };
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
            Err(error) => return FileState::Refused(ArtifactRefusal::Unreadable(error.to_string()).to_string()),
        };
        hasher.update(&chunk[..count]);
        total += count as u64;
        if total <= keep {
            content.extend_from_slice(&chunk[..count]);
        } else {
            content = Vec::new();
        }
    }
    FileState::Found(FoundFile {
        // The number of bytes that were read counts. For a file that grows, the metadata may say less.
        bytes: total,
        sha256: Some(Digest::from_hasher(hasher)),
        content: (total <= keep).then_some(content),
        ..without_content
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::put;

    fn whole(base: &Path, name: &str, keep: u64) -> FileState {
        observe_file(base, Path::new(name), ContentRequest::Whole { keep, interrupted: &|| None })
    }

    fn found(look: FileState) -> FoundFile {
        let FileState::Found(found) = look else { panic!("{look:?}") };
        found
    }

    #[test]
    fn a_file_is_read_as_far_as_it_is_asked_for() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let bytes = vec![b'x'; CHUNK + 7];
        put(&directory.path().join("a/b"), &bytes);
        let without_content = found(observe_file(directory.path(), Path::new("a/b"), ContentRequest::MetadataOnly));
        assert_eq!((without_content.bytes, without_content.sha256, without_content.content), (bytes.len() as u64, None, None));
        assert!(without_content.modified > Timestamp::from_millis(0));
        let kept = found(whole(directory.path(), "a/b", bytes.len() as u64));
        assert_eq!((kept.sha256, kept.content), (Some(Digest::of(&bytes)), Some(bytes.clone())));
        let digested = found(whole(directory.path(), "a/b", bytes.len() as u64 - 1));
        assert_eq!((digested.bytes, digested.sha256, digested.content), (bytes.len() as u64, Some(Digest::of(&bytes)), None));
    }

    #[test]
    fn a_missing_file_is_missing_and_anything_but_a_regular_file_is_refused() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        put(&directory.path().join("file"), b"1");
        symlink("file", directory.path().join("link")).expect("the directory is ours");
        assert_eq!(whole(directory.path(), "none", 9), FileState::Missing);
        for odd in ["link", ".", "../file"] {
            assert!(matches!(whole(directory.path(), odd, 9), FileState::Refused(_)), "{odd}");
        }
        std::fs::hard_link(directory.path().join("file"), directory.path().join("second")).expect("the directory is ours");
        for name in ["file", "second"] {
            assert_eq!(found(whole(directory.path(), name, 9)).content, Some(b"1".to_vec()), "two names make no difference");
            assert_eq!(found(observe_file(directory.path(), Path::new(name), ContentRequest::MetadataOnly)).bytes, 1);
        }
        let stop = || Some(FileState::OutOfTime);
        let request = ContentRequest::Whole { keep: 9, interrupted: &stop };
        assert_eq!(observe_file(directory.path(), Path::new("file"), request), FileState::OutOfTime);
    }
}
