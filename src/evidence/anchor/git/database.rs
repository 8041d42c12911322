//! The objects of a repository, each in a file of its own ("loose") or in a pack (gitrepository-layout(5), `objects`).

use std::io::Read as _;

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use crate::evidence::anchor::git::directory::GitDirectory;
use crate::evidence::anchor::git::error::{GitAnchorError, ObjectProblem};
use crate::evidence::anchor::git::object::{GitObject, ObjectId};
use crate::evidence::anchor::git::pack::{self, LARGEST_OBJECT};
use crate::evidence::changes::{create_shared_file_with_mode, remove_file, rename, sync_directory, sync_file, write_all};
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
    directories: Vec<GitDirectory>,
}

impl ObjectDatabase {
    /// Finds the repository's own directory of objects, and those from which it borrows (`info/alternates`).
    pub(super) fn open(common: &GitDirectory) -> Result<Self, GitAnchorError> {
        let own = common.directory("objects")?;
        let own = own.ok_or_else(|| GitAnchorError::NoRepository { root: common.path().to_owned() })?;
        let list = own.text("info/alternates", LONGEST_LIST)?.unwrap_or_default();
        let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        // A directory that is not there, or is a link, holds no objects: an object that lies only there is missing.
        let borrowed: Vec<GitDirectory> = lines.filter_map(|line| GitDirectory::open(&own.path().join(line)).ok()).collect();
        Ok(Self { directories: std::iter::once(own).chain(borrowed).collect() })
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
            let found = match read_loose(directory, id)? {
                Some(object) => Some(object),
                None => self.find_packed(directory, id, depth)?,
            };
            if let Some(object) = found {
                return if object.id() == id { Ok(object) } else { Err(ObjectProblem::Damaged) };
            }
        }
        Err(ObjectProblem::Missing)
    }

    fn find_packed(&self, directory: &GitDirectory, id: ObjectId, depth: u32) -> Result<Option<GitObject>, ObjectProblem> {
        let Some(packs) = directory.directory("pack").map_err(|error| from_opening(&error))? else { return Ok(None) };
        let entries = list_directory(&packs.handle_path()).unwrap_or_default().into_iter();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        for name in names.filter_map(|name| name.strip_suffix(".idx").map(str::to_owned)) {
            let opened = |ending: &str| packs.file(&format!("{name}{ending}")).map_err(|error| from_opening(&error));
            let Some(index) = opened(".idx")? else { continue };
            let Some(offset) = pack::find(&index, id).map_err(|_| ObjectProblem::Damaged)? else { continue };
            let file = opened(".pack")?.ok_or(ObjectProblem::Damaged)?;
            return pack::read(&file, offset, &|base| self.find(base, depth + 1)).map(Some);
        }
        Ok(None)
    }

    /// Writes an object unless it exists. When this returns, the object is on disk.
    pub(super) fn write(&self, object: &GitObject) -> Result<ObjectId, GitAnchorError> {
        let id = object.id();
        let hex = id.hex();
        let (above, name) = hex.split_at(2);
        let directory = self.directories[0].create_directory(above)?;
        if directory.file(name)?.is_some() {
            return Ok(id);
        }
        // Git removes stale files whose names begin with `tmp_obj_`, such as this one after a crash.
        let new_name = format!("tmp_obj_proctor{}", std::process::id());
        let (new, shown) = (directory.through_handle(&new_name), directory.path().join(&new_name));
        directory.named(&new_name, remove_file(&new))?;
        let mut file = directory.named(&new_name, create_shared_file_with_mode(&new, OBJECT_MODE))?;
        write_all(&mut file, &shown, &compress_to_vec_zlib(&object.to_bytes(), LEVEL))?;
        sync_file(&file, &shown)?;
        directory.named(&new_name, rename(&new, &directory.through_handle(name)))?;
        directory.named("", sync_directory(&directory.handle_path()))?;
        Ok(id)
    }
}

/// Reads a loose object. Returns `None` if its file does not exist.
fn read_loose(objects: &GitDirectory, id: ObjectId) -> Result<Option<GitObject>, ObjectProblem> {
    let hex = id.hex();
    let opened = objects.file(&format!("{}/{}", &hex[..2], &hex[2..])).map_err(|error| from_opening(&error))?;
    let Some(file) = opened else { return Ok(None) };
    let mut compressed = Vec::new();
    let read = file.take(LARGEST_OBJECT as u64).read_to_end(&mut compressed);
    read.map_err(|_| ObjectProblem::Damaged)?;
    let bytes = decompress_to_vec_zlib_with_limit(&compressed, LARGEST_OBJECT + HEAD).map_err(|_| ObjectProblem::Damaged)?;
    GitObject::parse(&bytes).ok_or(ObjectProblem::Damaged).map(Some)
}

/// Returns what is wrong with an object whose file cannot be opened.
fn from_opening(error: &GitAnchorError) -> ObjectProblem {
    match error {
        GitAnchorError::Linked { .. } | GitAnchorError::NotAFile { .. } => ObjectProblem::Linked,
        GitAnchorError::NoRepository { .. }
        | GitAnchorError::NothingCommitted { .. }
        | GitAnchorError::Format { .. }
        | GitAnchorError::Name(_)
        | GitAnchorError::Locked { .. }
        | GitAnchorError::TooLong { .. }
        | GitAnchorError::Object { .. }
        | GitAnchorError::Refused { .. }
        | GitAnchorError::Evidence(_) => ObjectProblem::Damaged,
    }
}
