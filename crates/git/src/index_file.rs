//! Parses git's index (gitformat-index(5)): versions 2, 3 and 4, SHA-1 and SHA-256, split and sparse. Pure.
//!
//! Only the names of entries are kept. Checksums are not verified, as git itself does not when it reads an index.
//!
//! Makes an index (gitformat-index(5), version 2) that names given files, as git has it just after a checkout.

use std::fmt;

use sha1::{Digest as _, Sha1};

use crate::bitmap;
use crate::object::ObjectId;
use crate::tracked_paths::TrackedPaths;
use proctor_model::EntryKind;

/// The most bytes that all names of an index may have. In version 4, a small damaged file could otherwise ask for any amount.
const MAX_NAME_BYTES: usize = 256 * 1024 * 1024;

/// The bytes of an entry before its hash: two times of eight bytes each and six numbers.
const BEFORE_HASH: usize = 40;
/// Masks of the 16 bits of an entry's flags.
const IS_EXTENDED: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0fff;

/// Why git's index cannot be used. With such a problem, the rules files alone decide what belongs to a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitIndexProblem {
    /// The file or a part of it cannot be read.
    Unreadable,
    /// The bytes are no index, or they are damaged.
    Damaged,
    /// The index has this version number, which proctor cannot read.
    Version(u32),
    /// The index has an extension with this signature, which proctor does not know and must not skip.
    Extension([u8; 4]),
    /// The index is larger than the limit for reading (`MAX_INDEX_BYTES`), or its names have too many bytes.
    TooLarge,
    /// The index is split, and the file with its larger part is missing or damaged.
    SharedPart,
}

/// The number of bytes of a hash in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HashWidth {
    Sha1,
    Sha256,
}

/// The names of the entries of one index file. A split index also names the file with the shared part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexContent {
    /// The names one after the other, in the order of the entries. An entry that replaces an entry of the shared part has
    /// an empty name.
    names: Vec<u8>,
    /// Where each name ends in `names`.
    ends: Vec<usize>,
    shared: Option<SharedPart>,
}

/// The shared part that a split index names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SharedPart {
    /// The hash in the name of the file with the shared part.
    hash: Vec<u8>,
    /// The two bitmaps: the entries of the shared part that are deleted, and those that are replaced.
    bitmaps: Vec<u8>,
}

/// Parses an index. The index does not say how wide its hashes are. So it is parsed with the width of SHA-1, and if that
/// fails, with that of SHA-256.
///
/// # Errors
///
/// When the bytes are no index of a known form. Damaged bytes never cause a panic.
pub fn parse_index(bytes: &[u8]) -> Result<IndexContent, GitIndexProblem> {
    parse(bytes, HashWidth::Sha1).or_else(|problem| parse(bytes, HashWidth::Sha256).map_err(|_| problem))
}

fn parse(bytes: &[u8], width: HashWidth) -> Result<IndexContent, GitIndexProblem> {
    use GitIndexProblem::Damaged;
    let hash = width.bytes();
    let body = bytes.len().checked_sub(hash).map(|end| &bytes[..end]).ok_or(Damaged)?;
    let mut rest = body.strip_prefix(b"DIRC").ok_or(Damaged)?;
    let version = take_u32(&mut rest)?;
    if !(2..=4).contains(&version) {
        return Err(GitIndexProblem::Version(version));
    }
    let count = take_u32(&mut rest)? as usize;
    // Each entry takes at least this much, so a wrong number cannot make the parser reserve much memory.
    let most = rest.len() / (BEFORE_HASH + hash + 3);
    if count > most {
        return Err(Damaged);
    }
    let mut content = IndexContent { names: Vec::new(), ends: Vec::with_capacity(count), shared: None };
    for _ in 0..count {
        take_entry(&mut rest, (version, hash), &mut content)?;
    }
    while !rest.is_empty() {
        let (signature, after) = rest.split_first_chunk::<4>().ok_or(Damaged)?;
        rest = after;
        let length = take_u32(&mut rest)? as usize;
        let (data, after) = rest.split_at_checked(length).ok_or(Damaged)?;
        rest = after;
        match signature {
            b"link" => {
                let (hash, bitmaps) = data.split_at_checked(hash).ok_or(Damaged)?;
                let is_split = hash.iter().any(|byte| *byte != 0);
                content.shared = is_split.then(|| SharedPart { hash: hash.to_owned(), bitmaps: bitmaps.to_owned() });
            }
            // The extension `sdir` says only that entries may be directories (a sparse index), so it is not read.
            b"sdir" => {}
            // Extensions whose signature begins with an upper-case letter may be skipped.
            [b'A'..=b'Z', ..] => {}
            unknown => return Err(GitIndexProblem::Extension(*unknown)),
        }
    }
    if content.shared.is_none() && content.entries().any(<[u8]>::is_empty) {
        return Err(Damaged);
    }
    Ok(content)
}

/// Reads one entry and appends its name.
fn take_entry(rest: &mut &[u8], (version, hash): (u32, usize), content: &mut IndexContent) -> Result<(), GitIndexProblem> {
    use GitIndexProblem::Damaged;
    let entry = *rest;
    let flags_at = BEFORE_HASH + hash;
    let flags = entry.get(flags_at..flags_at + 2).ok_or(Damaged)?;
    let flags = u16::from_be_bytes([flags[0], flags[1]]);
    let is_extended = flags & IS_EXTENDED != 0;
    if is_extended && version == 2 {
        return Err(Damaged);
    }
    let mut place = flags_at + if is_extended { 4 } else { 2 };
    let previous = content.entries().next_back().unwrap_or_default();
    let kept = if version == 4 { previous.len().checked_sub(take_offset(entry, &mut place)?).ok_or(Damaged)? } else { 0 };
    let tail = entry.get(place..).ok_or(Damaged)?;
    let length = tail.iter().position(|byte| *byte == 0).ok_or(Damaged)?;
    let name_length = kept + length;
    // The flags repeat the length of the name, up to the largest number that their 12 bits can hold.
    if usize::from(flags & NAME_LENGTH) != name_length.min(usize::from(NAME_LENGTH)) {
        return Err(Damaged);
    }
    let start = content.names.len() - previous.len();
    content.names.extend_from_within(start..start + kept);
    content.names.extend_from_slice(&tail[..length]);
    if content.names.len() > MAX_NAME_BYTES {
        return Err(GitIndexProblem::TooLarge);
    }
    let name = &content.names[content.names.len() - name_length..];
    if !is_clean(name) {
        return Err(Damaged);
    }
    content.ends.push(content.names.len());
    let end = place + length;
    // Up to version 3, one to eight NUL bytes make the length of an entry a multiple of eight.
    let end = if version == 4 { end + 1 } else { (end + 8) & !7 };
    *rest = entry.get(end..).ok_or(Damaged)?;
    Ok(())
}

/// Returns whether a name may stand in an index: no component may be empty, `.` or `..`. A directory of a sparse index
/// ends with `/`. An empty name is allowed for an entry that replaces an entry of the shared part.
fn is_clean(name: &[u8]) -> bool {
    let name = name.strip_suffix(b"/").filter(|directory| !directory.is_empty()).unwrap_or(name);
    name.is_empty() || name.split(|byte| *byte == b'/').all(|part| !part.is_empty() && part != b"." && part != b"..")
}

fn take_u32(rest: &mut &[u8]) -> Result<u32, GitIndexProblem> {
    let (number, after) = rest.split_first_chunk::<4>().ok_or(GitIndexProblem::Damaged)?;
    *rest = after;
    Ok(u32::from_be_bytes(*number))
}

/// Reads a number in git's encoding of offsets: groups of seven bits, the highest first, each further group adding one.
fn take_offset(entry: &[u8], place: &mut usize) -> Result<usize, GitIndexProblem> {
    let mut number = 0_usize;
    loop {
        let byte = *entry.get(*place).ok_or(GitIndexProblem::Damaged)?;
        *place += 1;
        number = number
            .checked_mul(128)
            .and_then(|number| number.checked_add(usize::from(byte & 0x7f)))
            .ok_or(GitIndexProblem::Damaged)?;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
        number += 1;
    }
}

impl HashWidth {
    fn bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

impl IndexContent {
    /// Returns the name of the file that holds the shared part of a split index; `None` if the index is whole.
    pub fn shared_file(&self) -> Option<String> {
        let hash = &self.shared.as_ref()?.hash;
        Some(hash.iter().fold("sharedindex.".to_owned(), |name, byte| format!("{name}{byte:02x}")))
    }

    /// Returns the tracked paths below `prefix`, which is empty or ends with `/`. A split index needs its shared part.
    ///
    /// # Errors
    ///
    /// When the shared part is missing or does not fit, or the names have too many bytes.
    pub fn tracked_below(&self, prefix: &[u8], shared: Option<&Self>) -> Result<TrackedPaths, GitIndexProblem> {
        let mut names: Vec<&[u8]> = self.entries().filter(|name| !name.is_empty()).collect();
        match (&self.shared, shared) {
            (None, _) => {}
            (Some(_), None) => return Err(GitIndexProblem::SharedPart),
            (Some(part), Some(shared)) => {
                let count = shared.ends.len();
                let (deleted, rest) = bitmap::decode(&part.bitmaps, count).ok_or(GitIndexProblem::SharedPart)?;
                let (replaced, _) = bitmap::decode(rest, count).ok_or(GitIndexProblem::SharedPart)?;
                // An entry without a name replaces an entry of the shared part and has the same name. So the names of the
                // shared part stay.
                let nameless = self.entries().filter(|name| name.is_empty()).count();
                if nameless != replaced.len() || shared.shared.is_some() {
                    return Err(GitIndexProblem::SharedPart);
                }
                let mut deleted = deleted.into_iter().peekable();
                let kept = shared.entries().enumerate().filter(|(position, _)| deleted.next_if_eq(position).is_none());
                names.extend(kept.map(|(_, name)| name));
            }
        }
        let below = names.into_iter().filter_map(|name| name.strip_prefix(prefix)).filter(|name| !name.is_empty());
        TrackedPaths::new(below).ok_or(GitIndexProblem::TooLarge)
    }

    fn entries(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        let start = |position: usize| position.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.ends.iter().enumerate().map(move |(position, end)| &self.names[start(position)..*end])
    }
}

impl fmt::Display for GitIndexProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => formatter.write_str("it cannot be read"),
            Self::Damaged => formatter.write_str("it is damaged"),
            Self::Version(version) => write!(formatter, "its version {version} is not known"),
            Self::Extension(signature) => {
                write!(formatter, "its extension `{}` is not known", String::from_utf8_lossy(signature).escape_default())
            }
            Self::TooLarge => formatter.write_str("it is too large"),
            Self::SharedPart => formatter.write_str("it is split, and its shared part is missing or damaged"),
        }
    }
}

const MODE_FILE: u32 = 0o100_644;
const MODE_EXECUTABLE: u32 = 0o100_755;
const MODE_LINK: u32 = 0o120_000;
/// The ten numbers of an entry about the file on disk: times, device, inode, mode, owner, and size.
const NUMBERS: usize = 10;
/// The place of the mode among these numbers.
const MODE_PLACE: usize = 6;
/// The longest path whose length an entry names. Of a longer path, the entry says that it is at least so long.
const LONGEST_NAMED: usize = 0xfff;

/// Returns an index of these files and links. Times and sizes are zero, so git compares the content of each file when it is first
/// asked. Directories are left out.
pub fn index_of_files<'a>(files: impl Iterator<Item = (&'a [u8], EntryKind, ObjectId)>) -> Vec<u8> {
    let mut files: Vec<(&[u8], EntryKind, ObjectId)> = files.filter(|(_, kind, _)| *kind != EntryKind::Directory).collect();
    files.sort_unstable_by(|left, right| left.0.cmp(right.0));
    let mut index = Vec::new();
    index.extend_from_slice(b"DIRC");
    index.extend_from_slice(&2_u32.to_be_bytes());
    index.extend_from_slice(&u32::try_from(files.len()).unwrap_or(u32::MAX).to_be_bytes());
    for (path, kind, id) in files {
        let start = index.len();
        let mode = match kind {
            EntryKind::Executable => MODE_EXECUTABLE,
            EntryKind::Link => MODE_LINK,
            EntryKind::File | EntryKind::Directory => MODE_FILE,
        };
        for place in 0..NUMBERS {
            index.extend_from_slice(&if place == MODE_PLACE { mode } else { 0 }.to_be_bytes());
        }
        index.extend_from_slice(id.as_bytes());
        let named = u16::try_from(path.len().min(LONGEST_NAMED)).unwrap_or(u16::MAX);
        index.extend_from_slice(&named.to_be_bytes());
        index.extend_from_slice(path);
        // One to eight NUL bytes follow, so that the length of the entry is a multiple of eight.
        let padding = 8 - (index.len() - start) % 8;
        index.resize(index.len() + padding, 0);
    }
    let mut hasher = Sha1::new();
    hasher.update(&index);
    index.extend_from_slice(&hasher.finalize());
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_read_as_it_was_made() {
        let id = ObjectId::from_bytes([7; 20]);
        let long = [b'x'; 5000];
        let files = [(&b"b/c"[..], EntryKind::Link, id), (b"a", EntryKind::File, id), (&long, EntryKind::Executable, id)];
        let index = index_of_files(files.into_iter());
        assert!(parse_index(&index).is_ok());
        assert!(parse_index(&index_of_files(std::iter::empty())).is_ok());
    }
}
