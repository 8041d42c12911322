//! The content of git objects, as bytes (gitformat-pack(5), git-mktree(1), git-commit-tree(1)). Pure.

use std::fmt;

use sha1::{Digest as _, Sha1};

/// The length of an object's hash in bytes.
pub(super) const ID_BYTES: usize = 20;
/// The mode by which a tree object marks a file that is not executable; `TREE_MODE` marks a directory.
const FILE_MODE: &[u8] = b"100644";
const TREE_MODE: &[u8] = b"40000";
/// The author of the commits by which proctor changes the notes.
const AUTHOR: &str = "proctor <proctor@localhost>";

/// The name of an object: the SHA-1 of its kind, length and content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ObjectId([u8; ID_BYTES]);

/// The kinds of objects that notes consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Blob,
    Tree,
    Commit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitObject {
    pub(super) kind: ObjectKind,
    pub(super) content: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitTreeEntry {
    mode: Vec<u8>,
    pub(super) name: Vec<u8>,
    pub(super) id: ObjectId,
}

impl ObjectId {
    pub(super) fn from_bytes(bytes: [u8; ID_BYTES]) -> Self {
        Self(bytes)
    }

    /// Parses 40 lower-case hexadecimal digits.
    pub(super) fn parse(hex: &str) -> Option<Self> {
        let digits = hex.as_bytes();
        let is_digit = |digit: &u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(digit);
        if digits.len() != 2 * ID_BYTES || !digits.iter().all(is_digit) {
            return None;
        }
        let mut bytes = [0; ID_BYTES];
        for (position, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * position..2 * position + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }

    pub(super) fn as_bytes(&self) -> &[u8; ID_BYTES] {
        &self.0
    }

    pub(super) fn hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.hex())
    }
}

impl ObjectKind {
    fn word(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
            Self::Commit => "commit",
        }
    }
}

impl GitObject {
    /// Returns the bytes of a loose object before compression: kind and length, then the content.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let head = format!("{} {}\0", self.kind.word(), self.content.len());
        [head.as_bytes(), &self.content].concat()
    }

    /// Parses a loose object. Returns `None` if it is damaged, or a tag.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let (word, length) = std::str::from_utf8(&bytes[..end]).ok()?.split_once(' ')?;
        let kind = [ObjectKind::Blob, ObjectKind::Tree, ObjectKind::Commit].into_iter().find(|kind| kind.word() == word)?;
        let content = bytes[end + 1..].to_vec();
        (length.parse() == Ok(content.len())).then_some(Self { kind, content })
    }

    pub(super) fn id(&self) -> ObjectId {
        ObjectId(Sha1::digest(self.to_bytes()).into())
    }

    /// Makes the object for a file with this content.
    pub(super) fn blob(content: Vec<u8>) -> Self {
        Self { kind: ObjectKind::Blob, content }
    }

    /// Makes a tree. Entries are sorted as git sorts them: a directory as if its name ended with a slash.
    pub(super) fn tree(mut entries: Vec<GitTreeEntry>) -> Self {
        let key = |entry: &GitTreeEntry| [entry.name.as_slice(), if entry.is_tree() { b"/" } else { b"" }].concat();
        entries.sort_by_key(key);
        let bytes = |entry: &GitTreeEntry| [entry.mode.as_slice(), b" ", &entry.name, b"\0", entry.id.as_bytes()].concat();
        Self { kind: ObjectKind::Tree, content: entries.iter().flat_map(bytes).collect() }
    }

    /// Makes a commit; the time is in seconds since 1970.
    pub(super) fn commit(tree: ObjectId, parent: Option<ObjectId>, seconds: i64, message: &str) -> Self {
        let parent = parent.map_or(String::new(), |parent| format!("parent {}\n", parent.hex()));
        let who = format!("author {AUTHOR} {seconds} +0000\ncommitter {AUTHOR} {seconds} +0000");
        let text = format!("tree {}\n{parent}{who}\n\n{message}\n", tree.hex());
        Self { kind: ObjectKind::Commit, content: text.into_bytes() }
    }

    /// Returns the entries of a tree, or `None` if the object is not a tree or is damaged.
    pub(super) fn entries(&self) -> Option<Vec<GitTreeEntry>> {
        let (mut rest, mut entries) = (self.content_if(ObjectKind::Tree)?, Vec::new());
        while !rest.is_empty() {
            let space = rest.iter().position(|byte| *byte == b' ')?;
            let end = rest.iter().position(|byte| *byte == 0).filter(|end| *end > space)?;
            let id = rest.get(end + 1..end + 1 + ID_BYTES)?;
            let id = ObjectId(id.try_into().ok()?);
            entries.push(GitTreeEntry { mode: rest[..space].to_vec(), name: rest[space + 1..end].to_vec(), id });
            rest = &rest[end + 1 + ID_BYTES..];
        }
        Some(entries)
    }

    /// Returns the tree of a commit, or `None` if the object is not a commit or is damaged.
    pub(super) fn commit_tree(&self) -> Option<ObjectId> {
        let first = self.content_if(ObjectKind::Commit)?.split(|byte| *byte == b'\n').next()?;
        ObjectId::parse(std::str::from_utf8(first).ok()?.strip_prefix("tree ")?)
    }

    fn content_if(&self, kind: ObjectKind) -> Option<&[u8]> {
        (self.kind == kind).then_some(self.content.as_slice())
    }
}

impl GitTreeEntry {
    pub(super) fn file(name: Vec<u8>, id: ObjectId) -> Self {
        Self { mode: FILE_MODE.to_vec(), name, id }
    }

    pub(super) fn is_tree(&self) -> bool {
        self.mode == TREE_MODE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_the_names_git_gives_them() {
        // The expected names are the output of `git hash-object` and `git mktree` for no bytes, and for `hello\n`.
        assert_eq!(GitObject::blob(Vec::new()).id().hex(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(GitObject::tree(Vec::new()).id().hex(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        assert_eq!(GitObject::blob(b"hello\n".to_vec()).id().hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn an_object_is_read_as_it_was_written_and_no_other_is() {
        let blob = GitObject::blob(b"x".to_vec());
        let directory = GitTreeEntry { mode: TREE_MODE.to_vec(), ..GitTreeEntry::file(b"ab".to_vec(), blob.id()) };
        let tree = GitObject::tree(vec![
            GitTreeEntry::file(b"ab.c".to_vec(), blob.id()),
            directory,
            GitTreeEntry::file(b"ab0".to_vec(), blob.id()),
        ]);
        let names: Vec<_> = tree.entries().unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(
            names,
            [b"ab.c".to_vec(), b"ab".to_vec(), b"ab0".to_vec()],
            "a directory is sorted as if it ended with a slash"
        );
        let commit = GitObject::commit(tree.id(), Some(blob.id()), 1_772_616_600, "why");
        assert_eq!(commit.commit_tree(), Some(tree.id()));
        assert_eq!((tree.commit_tree(), commit.entries()), (None, None));
        for object in [&blob, &tree, &commit] {
            let bytes = object.to_bytes();
            assert_eq!(GitObject::parse(&bytes).as_ref(), Some(object));
            assert_eq!(GitObject::parse(&bytes[..bytes.len() - 1]), None);
        }
        let cut = GitObject { kind: ObjectKind::Tree, content: tree.content[..tree.content.len() - 1].to_vec() };
        assert_eq!(cut.entries(), None);
        assert_eq!(GitObject::parse(b"tag 0\0"), None);
        for bad in
            ["", "E69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "e69de29bb2d1d6434b8b29ae775ad8c2e48c539", "ref: refs/heads/main"]
        {
            assert_eq!(ObjectId::parse(bad), None, "{bad}");
        }
    }
}
