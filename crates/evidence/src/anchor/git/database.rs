//! Writing objects, each into a file of its own (gitrepository-layout(5), `objects`).

use miniz_oxide::deflate::compress_to_vec_zlib;

use crate::anchor::git::directory::{create_directory, named};
use crate::anchor::git::error::GitAnchorError;
use crate::changes::{create_shared_file_with_mode, remove_file, rename, sync_directory, sync_file, write_all};
use proctor_git::{GitObject, ObjectDatabase, ObjectId};

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
