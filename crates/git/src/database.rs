//! The objects of a repository, each in a file of its own ("loose") or in a pack (gitrepository-layout(5), `objects`).

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::rc::Rc;

use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};

use crate::directory::GitDirectory;
use crate::error::{GitReadError, ObjectProblem};
use crate::object::{GitObject, ObjectId};
use crate::pack::{LARGEST_OBJECT, Pack};

/// The longest header of a loose object, in bytes. The header is compressed together with the content.
const HEAD: usize = 32;
/// A delta may refer to an object that is a delta in another pack. A chain through more packs than this is taken to be
/// circular.
const DEEPEST: u32 = 32;
/// The largest file that lists other repositories to borrow objects from, in bytes.
const LONGEST_LIST: u64 = 64 * 1024;
/// How far repositories may borrow from repositories that borrow themselves. Git has the same limit.
const DEEPEST_LOAN: u32 = 5;
/// The most directories of objects that are searched.
const MOST_DIRECTORIES: usize = 64;
/// The most packs that are opened. Each needs two file descriptors.
const MOST_PACKS: usize = 256;

/// The directories that hold a repository's objects: first its own, then those of the repositories it borrows from.
///
/// An object is returned only if its content has the hash that is its name.
#[derive(Debug)]
pub struct ObjectDatabase {
    directories: Vec<GitDirectory>,
    /// The packs that were found; `None` before they are looked for.
    packs: RefCell<Option<Rc<[Pack]>>>,
}

impl ObjectDatabase {
    /// Finds the repository's own directory of objects, and those from which it borrows (`info/alternates`). `common` is the
    /// directory that all worktrees of the repository share.
    ///
    /// # Errors
    /// When the repository has no objects, or a list of directories cannot be read.
    pub fn open(common: &GitDirectory) -> Result<Self, GitReadError> {
        let own = common.directory("objects")?;
        let own = own.ok_or_else(|| GitReadError::NoObjects { path: common.path().to_owned() })?;
        let mut directories = Vec::new();
        add_with_loans(own, DEEPEST_LOAN, &mut directories)?;
        Ok(Self { directories, packs: RefCell::new(None) })
    }

    /// Returns the repository's own directory of objects.
    pub fn own_directory(&self) -> &GitDirectory {
        &self.directories[0]
    }

    /// Reads an object and checks that it has the hash that is its name.
    ///
    /// # Errors
    /// When the object is missing or damaged, has more than 64 MiB, or lies behind a symbolic link.
    pub fn read(&self, id: ObjectId) -> Result<GitObject, GitReadError> {
        let found = match self.find(id, 0) {
            // Git may have packed the object since the packs were listed.
            Err(ObjectProblem::Missing) if self.packs.take().is_some() => self.find(id, 0),
            found => found,
        };
        found.map_err(|problem| GitReadError::Object { id: id.hex(), problem })
    }

    /// Returns the names of objects that begin with these hexadecimal digits, of which there must be at least two. At most
    /// `most` names are returned.
    ///
    /// # Errors
    /// When a directory of objects or a pack cannot be read.
    pub fn find_abbreviated(&self, digits: &str, most: usize) -> Result<Vec<ObjectId>, GitReadError> {
        let of_object = |problem| GitReadError::Object { id: digits.to_owned(), problem };
        let (above, rest) = digits.split_at_checked(2).ok_or_else(|| of_object(ObjectProblem::Missing))?;
        let mut found = Vec::new();
        for directory in &self.directories {
            let Some(loose) = directory.directory(above)? else { continue };
            let names = list(&loose).into_iter().filter(|name| name.starts_with(rest));
            found.extend(names.filter_map(|name| ObjectId::parse(&format!("{above}{name}"))).take(most));
        }
        for pack in self.packs().map_err(of_object)?.iter() {
            pack.find_abbreviated(digits, most, &mut found).map_err(|_| of_object(ObjectProblem::Damaged))?;
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn find(&self, id: ObjectId, depth: u32) -> Result<GitObject, ObjectProblem> {
        if depth > DEEPEST {
            return Err(ObjectProblem::Damaged);
        }
        // Most objects are in packs. Where a pack is damaged, the object may still have a file of its own.
        let packed = self.find_packed(id, depth);
        if let Ok(Some(object)) = packed {
            return Ok(object);
        }
        for directory in &self.directories {
            if let Some(object) = read_loose(directory, id)? {
                return checked(object, id);
            }
        }
        packed?.ok_or(ObjectProblem::Missing)
    }

    fn find_packed(&self, id: ObjectId, depth: u32) -> Result<Option<GitObject>, ObjectProblem> {
        for pack in self.packs()?.iter() {
            if let Some(object) = pack.read(id, &|base| self.find(base, depth + 1))? {
                return checked(object, id).map(Some);
            }
        }
        Ok(None)
    }

    fn packs(&self) -> Result<Rc<[Pack]>, ObjectProblem> {
        if let Some(packs) = &*self.packs.borrow() {
            return Ok(Rc::clone(packs));
        }
        let mut packs = Vec::new();
        for directory in &self.directories {
            open_packs(directory, &mut packs)?;
        }
        let packs: Rc<[Pack]> = packs.into();
        *self.packs.borrow_mut() = Some(Rc::clone(&packs));
        Ok(packs)
    }
}

fn checked(object: GitObject, id: ObjectId) -> Result<GitObject, ObjectProblem> {
    if object.id() == id { Ok(object) } else { Err(ObjectProblem::Damaged) }
}

/// Adds a directory of objects, and those from which it borrows. A directory that is not there, or is a link, holds no
/// objects: an object that lies only there is missing.
fn add_with_loans(directory: GitDirectory, depth: u32, directories: &mut Vec<GitDirectory>) -> Result<(), GitReadError> {
    if directories.len() >= MOST_DIRECTORIES || directories.iter().any(|known| known.path() == directory.path()) {
        return Ok(());
    }
    let lenders = directory.text("info/alternates", LONGEST_LIST)?.unwrap_or_default();
    let path = directory.path().to_owned();
    directories.push(directory);
    let lines = lenders.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines.filter(|_| depth > 0) {
        if let Ok(lender) = GitDirectory::open(&path.join(unquoted(line))) {
            add_with_loans(lender, depth - 1, directories)?;
        }
    }
    Ok(())
}

/// Returns the path in a line of `info/alternates`. A path in double quotes has escapes as in C.
fn unquoted(line: &str) -> PathBuf {
    let Some(quoted) = line.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return PathBuf::from(line) };
    let (mut path, mut bytes) = (Vec::new(), quoted.bytes());
    while let Some(byte) = bytes.next() {
        let escaped = if byte == b'\\' { bytes.next() } else { None };
        path.push(match escaped {
            None => byte,
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'v') => 11,
            Some(b'f') => 12,
            Some(b'r') => b'\r',
            Some(digit @ b'0'..=b'3') => {
                let digits = [digit, bytes.next().unwrap_or(b'0'), bytes.next().unwrap_or(b'0')];
                digits.iter().fold(0, |value: u8, digit| value.wrapping_mul(8).wrapping_add(digit.wrapping_sub(b'0')))
            }
            Some(other) => other,
        });
    }
    PathBuf::from(OsString::from_vec(path))
}

fn open_packs(objects: &GitDirectory, packs: &mut Vec<Pack>) -> Result<(), ObjectProblem> {
    let Some(directory) = objects.directory("pack").map_err(|error| error.of_an_object())? else { return Ok(()) };
    let mut names: Vec<String> = list(&directory);
    names.sort_unstable();
    for name in names.iter().filter_map(|name| name.strip_suffix(".idx")) {
        if packs.len() >= MOST_PACKS {
            return Err(ObjectProblem::TooManyPacks);
        }
        let opened = |ending: &str| directory.file(&format!("{name}{ending}")).map_err(|error| error.of_an_object());
        // Git writes the pack before its index, and removes the index first.
        let (Some(index), Some(file)) = (opened(".idx")?, opened(".pack")?) else { continue };
        packs.extend(Pack::open(index, file)?);
    }
    Ok(())
}

/// Returns the names of a directory's entries that are UTF-8, as all names that git gives are.
fn list(directory: &GitDirectory) -> Vec<String> {
    let entries = fs::read_dir(directory.handle_path()).into_iter().flatten().filter_map(io::Result::ok);
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Reads a loose object. Returns `None` if its file does not exist.
fn read_loose(objects: &GitDirectory, id: ObjectId) -> Result<Option<GitObject>, ObjectProblem> {
    let hex = id.hex();
    let opened = objects.file(&format!("{}/{}", &hex[..2], &hex[2..])).map_err(|error| error.of_an_object())?;
    let Some(file) = opened else { return Ok(None) };
    // Without room from the start, `read_to_end` begins with 32 bytes and reads a small file in seven pieces.
    let length = file.metadata().map_err(|_| ObjectProblem::Damaged)?.len().min(LARGEST_OBJECT as u64);
    let mut compressed = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
    let read = file.take(LARGEST_OBJECT as u64).read_to_end(&mut compressed);
    read.map_err(|_| ObjectProblem::Damaged)?;
    let bytes = decompress_to_vec_zlib_with_limit(&compressed, LARGEST_OBJECT + HEAD).map_err(|error| {
        if error.status == TINFLStatus::HasMoreOutput { ObjectProblem::TooLarge } else { ObjectProblem::Damaged }
    })?;
    GitObject::parse(&bytes).ok_or(ObjectProblem::Damaged).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_lender_may_be_quoted() {
        for (line, path) in [
            ("/a b/objects", "/a b/objects"),
            ("\"/a\\tb\\\"c\\\\/objects\"", "/a\tb\"c\\/objects"),
            ("\"/\\303\\251/objects\"", "/é/objects"),
            ("\"\\", "\"\\"),
        ] {
            assert_eq!(unquoted(line), PathBuf::from(path), "{line}");
        }
        assert_eq!(unquoted("\"\\3\""), PathBuf::from(OsString::from_vec(vec![0o300])));
    }
}
