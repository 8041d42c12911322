//! The objects of a repository, each in a file of its own ("loose") or in a pack (gitrepository-layout(5), `objects`).

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use crate::evidence::EvidenceError;
use crate::evidence::anchor::git::error::{GitAnchorError, ObjectProblem};
use crate::evidence::anchor::git::object::{GitObject, ObjectId};
use crate::evidence::anchor::git::pack::{self, LARGEST_OBJECT};
use crate::evidence::changes::{
    create_shared_directories, create_shared_file_with_mode, remove_file, rename, sync_directory, sync_file, write_all,
};
use crate::evidence::files::list_directory;

/// The permissions of an object's file before the umask: read-only, because git objects are never changed.
const OBJECT_MODE: u32 = 0o444;
/// The compression level of new objects; git's default.
const LEVEL: u8 = 6;
/// The longest header of a loose object, in bytes. The header is compressed together with the content.
const HEAD: usize = 32;
/// A delta may refer to an object that is a delta in another pack. A chain through more packs than this is taken to be
/// circular.
const DEEPEST: u32 = 32;
/// The largest file that lists other repositories to borrow objects from, in bytes.
const LONGEST_LIST: u64 = 64 * 1024;

/// The directories that hold a repository's objects: first its own, then those of the repositories it borrows from.
#[derive(Debug, Clone)]
pub(super) struct ObjectDatabase {
    directories: Vec<PathBuf>,
}

impl ObjectDatabase {
    /// Finds the repository's own directory of objects, and those from which it borrows (`info/alternates`).
    pub(super) fn open(objects: PathBuf) -> Self {
        let mut directories = vec![objects.clone()];
        let mut text = String::new();
        let list = File::open(objects.join("info/alternates")).map(|file| file.take(LONGEST_LIST).read_to_string(&mut text));
        if matches!(list, Ok(Ok(_))) {
            directories
                .extend(text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| objects.join(line)));
        }
        Self { directories }
    }

    /// Reads an object and checks that it has the hash that is its name.
    pub(super) fn read(&self, id: ObjectId) -> Result<GitObject, GitAnchorError> {
        self.find(id, 0).map_err(|problem| GitAnchorError::Object { id: id.hex(), problem })
    }

    fn find(&self, id: ObjectId, depth: u32) -> Result<GitObject, ObjectProblem> {
        if depth > DEEPEST {
            return Err(ObjectProblem::Damaged);
        }
        for directory in &self.directories {
            let found = match read_loose(&object_path(directory, id))? {
                Some(object) => Some(object),
                None => self.find_packed(directory, id, depth)?,
            };
            if let Some(object) = found {
                return if object.id() == id { Ok(object) } else { Err(ObjectProblem::Damaged) };
            }
        }
        Err(ObjectProblem::Missing)
    }

    fn find_packed(&self, directory: &Path, id: ObjectId, depth: u32) -> Result<Option<GitObject>, ObjectProblem> {
        let entries = list_directory(&directory.join("pack")).unwrap_or_default().into_iter().map(|entry| entry.path());
        for index in entries.filter(|path| path.extension().is_some_and(|extension| extension == "idx")) {
            let Some(offset) = pack::find(&index, id).map_err(|_| ObjectProblem::Damaged)? else { continue };
            let file = File::open(index.with_extension("pack")).map_err(|_| ObjectProblem::Damaged)?;
            return pack::read(&file, offset, &|base| self.find(base, depth + 1)).map(Some);
        }
        Ok(None)
    }

    /// Writes an object unless it exists. When this returns, the object is on disk.
    pub(super) fn write(&self, object: &GitObject) -> Result<ObjectId, EvidenceError> {
        let id = object.id();
        let path = object_path(&self.directories[0], id);
        if path.symlink_metadata().is_ok() {
            return Ok(id);
        }
        let directory = path.parent().expect("an object lies in a directory").to_owned();
        create_shared_directories(&directory)?;
        // Git removes stale files whose names begin with `tmp_obj_`, such as this one after a crash.
        let new = directory.join(format!("tmp_obj_proctor{}", std::process::id()));
        remove_file(&new)?;
        let mut file = create_shared_file_with_mode(&new, OBJECT_MODE)?;
        write_all(&mut file, &new, &compress_to_vec_zlib(&object.to_bytes(), LEVEL))?;
        sync_file(&file, &new)?;
        rename(&new, &path)?;
        sync_directory(&directory)?;
        Ok(id)
    }
}

fn object_path(objects: &Path, id: ObjectId) -> PathBuf {
    let hex = id.hex();
    objects.join(&hex[..2]).join(&hex[2..])
}

/// Reads a loose object. Returns `None` if its file does not exist.
fn read_loose(path: &Path) -> Result<Option<GitObject>, ObjectProblem> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    let mut compressed = Vec::new();
    let read = file.take(LARGEST_OBJECT as u64).read_to_end(&mut compressed);
    read.map_err(|_| ObjectProblem::Damaged)?;
    let bytes = decompress_to_vec_zlib_with_limit(&compressed, LARGEST_OBJECT + HEAD).map_err(|_| ObjectProblem::Damaged)?;
    GitObject::parse(&bytes).ok_or(ObjectProblem::Damaged).map(Some)
}
