//! Saves an index as bytes, so that after a restart only changed files are read.
//!
//! ```text
//! "proctor-tree-index-1\n"  directory of the root  each input  SHA-256 of all that
//!
//! directory  number of entries, then each:  letter  name  rest
//! name       its length in bytes, the bytes
//! rest       f x l F X L   stamp, 32 bytes of SHA-256          (a capital letter marks a racy stamp)
//!            d             directory
//!            u             kind letter, 0, or kind letter, 1, stamp
//! input      name  name (its path)  then  d directory  |  f x F X and the rest  |  n (nothing is there)
//! stamp      device, inode, size; 8 bytes each of modified and changed, little-endian
//! ```
//!
//! Numbers are written in groups of seven bits, the lowest first, with the eighth bit set in all groups but the last.
//! Rules files are not saved: the next rescan reads them. Digests of directories are computed again when the bytes are
//! read, and stamps are trusted no more than those of any other index. If the bytes are damaged or of another version,
//! the whole tree is read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use crate::ignore::InputPlace;
use crate::ignore::TreeMembership;
use crate::index::TreeIndex;
use crate::inputs::{Input, InputContent};
use crate::node::{Content, Directory, Leaf, LeafKind, Node};
use crate::stamp::{EntryStamp, Trust};
use proctor_git::GitIndex;
use proctor_model::{Digest, EntryKind};

const TAG: &[u8] = b"proctor-tree-index-1\n";
const DIGEST_BYTES: usize = 32;

/// The deepest nesting of directories that is accepted. Deeper nesting means that the bytes are damaged.
const MAX_DEPTH: usize = 257;

/// The letters of files and links. A capital letter marks a racy stamp: the entry was written so shortly before it was
/// read that an equal stamp proves nothing.
const LEAVES: [(u8, LeafKind, Trust); 6] = [
    (b'f', LeafKind::File { is_executable: false }, Trust::Settled),
    (b'x', LeafKind::File { is_executable: true }, Trust::Settled),
    (b'l', LeafKind::Link, Trust::Settled),
    (b'F', LeafKind::File { is_executable: false }, Trust::Racy),
    (b'X', LeafKind::File { is_executable: true }, Trust::Racy),
    (b'L', LeafKind::Link, Trust::Racy),
];

/// The letters that give the kind of an unreadable entry.
const KINDS: [(u8, EntryKind); 4] =
    [(b'd', EntryKind::Directory), (b'f', EntryKind::File), (b'x', EntryKind::Executable), (b'l', EntryKind::Link)];

impl TreeIndex {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = TAG.to_vec();
        write_directory(&self.top, &mut bytes);
        self.inputs.iter().for_each(|input| write_input(input, &mut bytes));
        let checksum = Digest::of(&bytes);
        bytes.extend_from_slice(checksum.as_bytes());
        bytes
    }

    /// Returns the number of files and links in this index whose entry in the other index is missing or differs, be it
    /// only in its stamp. proctor would have to read these if it started with the other index.
    pub fn count_outdated(&self, other: &Self) -> u64 {
        count_unlike(&self.top, Some(&other.top))
    }

    /// Reads an index of the tree at `root` from bytes; `None` if the bytes are damaged or of another version.
    ///
    /// The result says what was on disk when the index was saved. It must go through [`TreeIndex::rescan`] first: until
    /// then its digest proves nothing.
    pub fn from_bytes(root: &Path, bytes: &[u8]) -> Option<Self> {
        let (body, checksum) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST_BYTES)?)?;
        if Digest::of(body).as_bytes() != checksum {
            return None;
        }
        let mut reader = Reader { rest: body.strip_prefix(TAG)? };
        let top = reader.top()?;
        let mut inputs = Vec::new();
        while !reader.rest.is_empty() {
            inputs.push(reader.input()?);
        }
        Some(Self { root: root.to_owned(), top, git: GitIndex::default(), inputs: inputs.into() })
    }
}

fn count_unlike(directory: &Arc<Directory>, other: Option<&Arc<Directory>>) -> u64 {
    if other.is_some_and(|other| Arc::ptr_eq(directory, other)) {
        return 0;
    }
    let unlike = |node: &Node| {
        let known = other.and_then(|other| other.find(&node.name));
        match &node.content {
            Content::Directory(below) => count_unlike(below, known.and_then(|known| known.content.directory())),
            Content::Leaf(leaf) => u64::from(known.and_then(|known| known.content.leaf()) != Some(leaf)),
            Content::Unreadable(..) => 0,
        }
    };
    directory.nodes.iter().map(unlike).sum()
}

fn write_directory(directory: &Directory, bytes: &mut Vec<u8>) {
    write_number(directory.nodes.len() as u64, bytes);
    for node in &directory.nodes {
        bytes.push(letter(&node.content));
        write_number(node.name.len() as u64, bytes);
        bytes.extend_from_slice(&node.name);
        match &node.content {
            Content::Leaf(leaf) => {
                write_stamp(&leaf.stamp, bytes);
                bytes.extend_from_slice(leaf.digest.as_bytes());
            }
            Content::Directory(below) => write_directory(below, bytes),
            Content::Unreadable(kind, stamp) => {
                let (letter, _) = KINDS.iter().find(|(_, known)| known == kind).expect("every kind has a letter");
                bytes.push(*letter);
                bytes.push(u8::from(stamp.is_some()));
                stamp.iter().for_each(|stamp| write_stamp(stamp, bytes));
            }
        }
    }
}

fn write_input(input: &Input, bytes: &mut Vec<u8>) {
    for part in [input.place.name.as_bytes(), input.place.path.as_os_str().as_bytes()] {
        write_number(part.len() as u64, bytes);
        bytes.extend_from_slice(part);
    }
    match &input.content {
        InputContent::Nothing => bytes.push(b'n'),
        InputContent::Directory(index) => {
            bytes.push(b'd');
            write_directory(&index.top, bytes);
        }
        InputContent::File(leaf) => {
            bytes.push(letter_of_leaf(leaf));
            write_stamp(&leaf.stamp, bytes);
            bytes.extend_from_slice(leaf.digest.as_bytes());
        }
    }
}

fn letter_of_leaf(leaf: &Leaf) -> u8 {
    let row = LEAVES.iter().find(|(_, kind, trust)| (*kind, *trust) == (leaf.kind, leaf.trust));
    row.expect("every kind of leaf has a letter").0
}

fn letter(content: &Content) -> u8 {
    match content {
        Content::Leaf(leaf) => letter_of_leaf(leaf),
        Content::Directory(_) => b'd',
        Content::Unreadable(..) => b'u',
    }
}

fn write_stamp(stamp: &EntryStamp, bytes: &mut Vec<u8>) {
    [stamp.device, stamp.inode, stamp.size].into_iter().for_each(|number| write_number(number, bytes));
    [stamp.modified, stamp.changed].into_iter().for_each(|time| bytes.extend_from_slice(&time.to_le_bytes()));
}

fn write_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

struct Reader<'bytes> {
    rest: &'bytes [u8],
}

/// A directory whose entries have not all been read.
struct Unfinished {
    name: Box<[u8]>,
    nodes: Vec<Node>,
    missing: u64,
}

impl<'bytes> Reader<'bytes> {
    /// Reads a directory and everything below it. This is a loop and no recursion, because deeply nested forged bytes
    /// would exhaust the stack.
    fn top(&mut self) -> Option<Arc<Directory>> {
        let mut unfinished = vec![self.begin_directory(b"")?];
        loop {
            let current = unfinished.last_mut()?;
            if current.missing > 0 {
                current.missing -= 1;
                let (letter, name) = self.head(current.nodes.last())?;
                if letter != b'd' {
                    current.nodes.push(Node { name: name.into(), content: self.content(letter)? });
                } else if unfinished.len() <= MAX_DEPTH {
                    unfinished.push(self.begin_directory(name)?);
                } else {
                    return None;
                }
                continue;
            }
            let done = unfinished.pop()?;
            let directory = Arc::new(Directory::new(done.nodes, None, Vec::new(), None, TreeMembership::In));
            match unfinished.last_mut() {
                Some(parent) => parent.nodes.push(Node { name: done.name, content: Content::Directory(directory) }),
                None => return Some(directory),
            }
        }
    }

    fn begin_directory(&mut self, name: &[u8]) -> Option<Unfinished> {
        let missing = self.number()?;
        // An entry has at least three bytes, so a forged number of entries cannot reserve much memory.
        let capacity = usize::try_from(missing).ok()?.min(self.rest.len() / 3);
        Some(Unfinished { name: name.into(), nodes: Vec::with_capacity(capacity), missing })
    }

    /// Reads an entry's letter and name; `None` if the name is not valid or does not come after `last`.
    fn head(&mut self, last: Option<&Node>) -> Option<(u8, &'bytes [u8])> {
        let letter = self.byte()?;
        let length = usize::try_from(self.number()?).ok()?;
        let name = self.take(length)?;
        let is_name = !name.is_empty() && !name.contains(&b'/') && !name.contains(&0);
        (is_name && last.is_none_or(|last| *last.name < *name)).then_some((letter, name))
    }

    fn content(&mut self, letter: u8) -> Option<Content> {
        if letter == b'u' {
            let kind_letter = self.byte()?;
            let (_, kind) = KINDS.iter().find(|(known, _)| *known == kind_letter)?;
            let stamp = if self.byte()? == 0 { None } else { Some(self.stamp()?) };
            return Some(Content::Unreadable(*kind, stamp));
        }
        let (_, kind, trust) = *LEAVES.iter().find(|(known, ..)| *known == letter)?;
        Some(Content::Leaf(Leaf { kind, trust, stamp: self.stamp()?, digest: Digest::from_bytes(self.array()?) }))
    }

    fn input(&mut self) -> Option<Input> {
        let (name, path) = (self.read_text()?, self.read_text()?);
        let place = InputPlace { name: String::from_utf8(name.to_owned()).ok()?, path: OsStr::from_bytes(path).into() };
        let content = match self.byte()? {
            b'n' => InputContent::Nothing,
            b'd' => {
                let (root, top) = (place.path.clone(), self.top()?);
                InputContent::Directory(Box::new(TreeIndex { root, top, git: GitIndex::default(), inputs: Arc::default() }))
            }
            letter => InputContent::File(*self.content(letter)?.leaf()?),
        };
        Some(Input { place, content })
    }

    fn read_text(&mut self) -> Option<&'bytes [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    fn stamp(&mut self) -> Option<EntryStamp> {
        let (device, inode, size) = (self.number()?, self.number()?, self.number()?);
        let (modified, changed) = (i64::from_le_bytes(self.array()?), i64::from_le_bytes(self.array()?));
        Some(EntryStamp { device, inode, size, modified, changed })
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    fn array<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        self.take(LENGTH)?.try_into().ok()
    }

    fn take(&mut self, length: usize) -> Option<&'bytes [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(seed: u64) -> EntryStamp {
        EntryStamp { device: seed, inode: u64::MAX - seed, size: seed * 1_000, modified: -1, changed: i64::MAX }
    }

    fn leaf(name: &[u8], kind: LeafKind, trust: Trust) -> Node {
        let leaf = Leaf { kind, trust, stamp: stamp(name.len() as u64), digest: Digest::of(name) };
        Node { name: name.into(), content: Content::Leaf(leaf) }
    }

    fn sample() -> TreeIndex {
        let directory = |nodes| Content::Directory(Arc::new(Directory::new(nodes, None, Vec::new(), None, TreeMembership::In)));
        let rows = LEAVES.iter().enumerate();
        let mut nodes: Vec<Node> =
            rows.map(|(number, (_, kind, trust))| leaf(format!("a{number}\n").as_bytes(), *kind, *trust)).collect();
        nodes.push(Node {
            name: b"b".as_slice().into(),
            content: directory(vec![leaf(b"\xff", LeafKind::File { is_executable: false }, Trust::Settled)]),
        });
        nodes.push(Node { name: b"c".as_slice().into(), content: directory(Vec::new()) });
        nodes.push(Node { name: b"d".as_slice().into(), content: Content::Unreadable(EntryKind::Directory, None) });
        nodes.push(Node { name: b"e".as_slice().into(), content: Content::Unreadable(EntryKind::Link, Some(stamp(3))) });
        TreeIndex {
            root: "/p".into(),
            top: Arc::new(Directory::new(nodes, None, Vec::new(), None, TreeMembership::In)),
            git: GitIndex::default(),
            inputs: Arc::default(),
        }
    }

    #[test]
    fn an_index_round_trips_with_its_stamps_and_what_they_are_worth() {
        let index = sample();
        let read = TreeIndex::from_bytes(Path::new("/p"), &index.to_bytes()).expect("sound bytes");
        assert_eq!((read.digest(), read.files(), read.issues()), (index.digest(), index.files(), index.issues()));
        assert_eq!(format!("{:?}", read.top), format!("{:?}", index.top));
    }

    #[test]
    fn what_a_start_would_have_to_read_is_counted() {
        let index = |names: &[&[u8]], trust| {
            let below = names.iter().map(|name| leaf(name, LeafKind::File { is_executable: false }, trust)).collect();
            let below = Content::Directory(Arc::new(Directory::new(below, None, Vec::new(), None, TreeMembership::In)));
            let nodes = vec![
                leaf(b"a", LeafKind::File { is_executable: false }, Trust::Settled),
                Node { name: b"b".as_slice().into(), content: below },
            ];
            TreeIndex {
                root: "/p".into(),
                top: Arc::new(Directory::new(nodes, None, Vec::new(), None, TreeMembership::In)),
                git: GitIndex::default(),
                inputs: Arc::default(),
            }
        };
        let now = index(&[b"1", b"2", b"3"], Trust::Settled);
        for (saved, expected) in [
            (now.clone(), 0),
            (index(&[b"1", b"2", b"3", b"4"], Trust::Settled), 0),
            (index(&[b"1", b"3"], Trust::Settled), 1),
            (index(&[b"1", b"2", b"3"], Trust::Racy), 3),
        ] {
            assert_eq!(now.count_outdated(&saved), expected);
        }
    }

    #[test]
    fn damaged_bytes_are_no_index() {
        let bytes = sample().to_bytes();
        let read = |bytes: &[u8]| TreeIndex::from_bytes(Path::new("/p"), bytes);
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1;
            assert!(read(&damaged).is_none() && read(&bytes[..position]).is_none(), "byte {position}");
        }
    }

    #[test]
    fn bytes_with_a_right_checksum_that_make_no_sense_are_no_index() {
        let checked = |body: &[u8]| [body, Digest::of(body).as_bytes()].concat();
        let read = |body: &[u8]| TreeIndex::from_bytes(Path::new("/p"), &checked(body));
        assert!(read(&[TAG, &[0]].concat()).is_some());
        let endless = [&[1_u8, b'd', 1, b'a'][..]; 100_000].concat();
        for body in [
            &b""[..],
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
            b"\x01d\x00\x00",
            b"\x01d\x01/\x00",
            b"\x02d\x01b\x00d\x01a\x00",
            b"\x01?\x01a\x00",
            b"\0more",
            &endless,
        ] {
            assert!(read(&[TAG, body].concat()).is_none(), "{:?}", &body[..body.len().min(20)]);
        }
        assert!(read(&[b"proctor-tree-index-2\n", &b"\0"[..]].concat()).is_none());
    }
}
