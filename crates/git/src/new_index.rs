//! Makes an index (gitformat-index(5), version 2) that names given files, as git has it just after a checkout.

use sha1::{Digest as _, Sha1};

use crate::object::ObjectId;
use proctor_model::EntryKind;

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
    use crate::index_file::parse_index;

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
