//! The objects of a repository: each on its own in a file, or in a pack (gitrepository-layout(5), `objects`).

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use crate::evidence::EvidenceError;
use crate::evidence::anchor::git::error::{GitAnchorError, ObjectProblem};
use crate::evidence::anchor::git::object::{Object, ObjectId};
use crate::evidence::anchor::git::pack::{self, LARGEST_OBJECT};
use crate::evidence::changes::{
    create_open_directories, create_open_file, remove_file, rename, sync_directory, sync_file, write_all,
};
use crate::evidence::files::list;

/// The mode of an object's file before the user's mask: nobody writes to it again.
const OBJECT_MODE: u32 = 0o444;
/// As git compresses.
const LEVEL: u8 = 6;
/// The head of an object on its own, which is compressed with it.
const HEAD: usize = 32;
/// A delta may be on an object that is a delta in another pack; more often than this it is on itself.
const DEEPEST: u32 = 32;
/// A repository that borrows objects names from where; a longer list is none.
const LONGEST_LIST: u64 = 64 * 1024;

/// Every place where objects of a repository lie; its own is the first.
#[derive(Debug, Clone)]
pub(super) struct ObjectDatabase {
    places: Vec<PathBuf>,
}

impl ObjectDatabase {
    /// Finds the places: the repository's own, and those it borrows from.
    pub(super) fn open(objects: PathBuf) -> Self {
        let mut places = vec![objects.clone()];
        let mut text = String::new();
        let list = File::open(objects.join("info/alternates")).map(|file| file.take(LONGEST_LIST).read_to_string(&mut text));
        if matches!(list, Ok(Ok(_))) {
            places.extend(text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| objects.join(line)));
        }
        Self { places }
    }

    /// Reads an object, which must have the name it is asked by.
    pub(super) fn read(&self, id: ObjectId) -> Result<Object, GitAnchorError> {
        self.find(id, 0).map_err(|problem| GitAnchorError::Object { id: id.hex(), problem })
    }

    fn find(&self, id: ObjectId, depth: u32) -> Result<Object, ObjectProblem> {
        if depth > DEEPEST {
            return Err(ObjectProblem::Damaged);
        }
        for place in &self.places {
            let found = match read_loose(&place_of(place, id))? {
                Some(object) => Some(object),
                None => self.find_packed(place, id, depth)?,
            };
            if let Some(object) = found {
                return if object.id() == id { Ok(object) } else { Err(ObjectProblem::Damaged) };
            }
        }
        Err(ObjectProblem::Missing)
    }

    fn find_packed(&self, place: &Path, id: ObjectId, depth: u32) -> Result<Option<Object>, ObjectProblem> {
        let entries = list(&place.join("pack")).unwrap_or_default().into_iter().map(|entry| entry.path());
        for index in entries.filter(|path| path.extension().is_some_and(|extension| extension == "idx")) {
            let Some(offset) = pack::find(&index, id).map_err(|_| ObjectProblem::Damaged)? else { continue };
            let file = File::open(index.with_extension("pack")).map_err(|_| ObjectProblem::Damaged)?;
            return pack::read(&file, offset, &|base| self.find(base, depth + 1)).map(Some);
        }
        Ok(None)
    }

    /// Writes an object, unless it is there; when this returns, it is on disk.
    pub(super) fn write(&self, object: &Object) -> Result<ObjectId, EvidenceError> {
        let id = object.id();
        let path = place_of(&self.places[0], id);
        if path.symlink_metadata().is_ok() {
            return Ok(id);
        }
        let directory = path.parent().expect("an object lies in a directory").to_owned();
        create_open_directories(&directory)?;
        // Git removes what is left of a name like this.
        let new = directory.join(format!("tmp_obj_proctor{}", std::process::id()));
        remove_file(&new)?;
        let mut file = create_open_file(&new, OBJECT_MODE)?;
        write_all(&mut file, &new, &compress_to_vec_zlib(&object.to_bytes(), LEVEL))?;
        sync_file(&file, &new)?;
        rename(&new, &path)?;
        sync_directory(&directory)?;
        Ok(id)
    }
}

fn place_of(objects: &Path, id: ObjectId) -> PathBuf {
    let hex = id.hex();
    objects.join(&hex[..2]).join(&hex[2..])
}

/// Reads an object that is on its own; none where there is no such file.
fn read_loose(path: &Path) -> Result<Option<Object>, ObjectProblem> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    let mut compressed = Vec::new();
    let read = file.take(LARGEST_OBJECT as u64).read_to_end(&mut compressed);
    read.map_err(|_| ObjectProblem::Damaged)?;
    let bytes = decompress_to_vec_zlib_with_limit(&compressed, LARGEST_OBJECT + HEAD).map_err(|_| ObjectProblem::Damaged)?;
    Object::parse(&bytes).ok_or(ObjectProblem::Damaged).map(Some)
}
