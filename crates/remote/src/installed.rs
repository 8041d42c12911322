//! The directories of installed packages, which are sent as they lie in the project.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use prost::Message as _;

use crate::blob::BlobName;
use crate::fault::RemoteFault;
use crate::input_root::{BlobSource, Builder, digest_of_file};
use proctor_model::Digest;
use proctor_tree::ignore::is_hidden_cache;
use proctor_tree::{EntryStamp, Trust};

/// The directory into which Python writes compiled modules. They fit only files with the same times, and no time is sent.
const BYTECODE: &str = "__pycache__";
/// The bit of a file's mode by which its owner may run it.
const EXECUTABLE: u32 = 0o100;

/// A file that was read once, with a stamp that another content would not have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownFile {
    stamp: EntryStamp,
    digest: Digest,
}

impl Builder<'_> {
    /// Makes the directory at a place with everything in it, except caches.
    pub(crate) fn installed_directory(&mut self, place: &Path) -> Result<BlobName, RemoteFault> {
        let wrong = |place: &Path, why: &dyn std::fmt::Display| RemoteFault::Input(format!("`{}` {why}", place.display()));
        let unread = |error: std::io::Error| wrong(place, &format!("cannot be read: {error}"));
        let mut entries = fs::read_dir(place).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(unread)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut made = reapi::Directory::default();
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name().into_string());
            let name = name.map_err(|_| wrong(&path, &"has a name that is no UTF-8"))?;
            let metadata = entry.metadata().map_err(|error| wrong(&path, &format!("cannot be read: {error}")))?;
            if is_hidden_cache(&path) || (metadata.is_dir() && name == BYTECODE) {
                continue;
            }
            if metadata.is_dir() {
                let digest = Some(self.installed_directory(&path)?.message());
                made.directories.push(reapi::DirectoryNode { name, digest });
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).map_err(|error| wrong(&path, &format!("cannot be read: {error}")))?;
                let target = target.into_os_string().into_string();
                let target = target.map_err(|_| wrong(&path, &"leads to a name that is no UTF-8"))?;
                made.symlinks.push(reapi::SymlinkNode { name, target, node_properties: None });
            } else if metadata.is_file() {
                let digest = Some(self.installed_file(&path, &metadata)?.message());
                let is_executable = metadata.mode() & EXECUTABLE != 0;
                made.files.push(reapi::FileNode { name, digest, is_executable, node_properties: None });
            }
        }
        Ok(self.add(made.encode_to_vec()))
    }

    /// Names a file. One whose stamp is known is not read.
    fn installed_file(&mut self, path: &Path, metadata: &Metadata) -> Result<BlobName, RemoteFault> {
        let stamp = stamp_of(metadata);
        let known = self.old.installed.get(path).filter(|known| known.stamp == stamp);
        let digest = match known {
            Some(known) => known.digest,
            None => digest_of_file(path)
                .map_err(|error| RemoteFault::Input(format!("`{}` cannot be read: {error}", path.display())))?,
        };
        if stamp.trust(self.files.now) == Trust::Settled {
            self.read.insert(path.to_owned(), KnownFile { stamp, digest });
        }
        let name = BlobName { digest, size: stamp.size };
        if !self.old.present.contains(&name) {
            self.blobs.insert(name, BlobSource::File(path.to_owned()));
        }
        Ok(name)
    }
}

fn stamp_of(metadata: &Metadata) -> EntryStamp {
    let nanos = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos);
    EntryStamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
        changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
    }
}
