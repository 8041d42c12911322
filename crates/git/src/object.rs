//! The content of git objects, as bytes (gitformat-pack(5), git-mktree(1), git-commit-tree(1), git-mktag(1)). Pure.

use std::fmt;

use sha1::{Digest as _, Sha1};

use proctor_model::{EntryKind, words};

/// The length of an object's hash in bytes.
pub(super) const ID_BYTES: usize = 20;
/// The mode by which a tree object marks a file that is not executable; `TREE_MODE` marks a directory.
const FILE_MODE: &[u8] = b"100644";
const TREE_MODE: &[u8] = b"40000";
/// The author of the commits by which proctor changes the notes.
const AUTHOR: &str = "proctor <proctor@localhost>";

/// The name of a git object: the SHA-1 of its kind, length and content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId([u8; ID_BYTES]);

/// What a git object holds. The word for it begins the bytes whose SHA-1 is the object's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// The content of a file, or the target of a symbolic link.
    Blob,
    /// The entries of a directory.
    Tree,
    Commit,
    /// An annotated tag, which names another object.
    Tag,
}

/// A git object: its kind, and its content without the header that is hashed with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitObject {
    pub kind: ObjectKind,
    pub content: Vec<u8>,
}

/// An entry of a tree object. Its name is as it was read, and may be one that git itself would not write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitTreeEntry {
    /// The octal digits of the entry's mode, which also says what kind of entry it is.
    mode: Vec<u8>,
    pub name: Vec<u8>,
    pub id: ObjectId,
}

/// The kind of a tree entry, by its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitEntryKind {
    /// A file, a link or a directory of the commit.
    Own(EntryKind),
    /// A commit of another repository, which is checked out in a directory of this name.
    Submodule,
}

impl ObjectId {
    /// Makes a name of the bytes of a SHA-1.
    pub fn from_bytes(bytes: [u8; ID_BYTES]) -> Self {
        Self(bytes)
    }

    /// Parses 40 lower-case hexadecimal digits.
    pub fn parse(hex: &str) -> Option<Self> {
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

    /// Returns the bytes of the SHA-1.
    pub fn as_bytes(&self) -> &[u8; ID_BYTES] {
        &self.0
    }

    /// Returns the 40 lower-case hexadecimal digits by which git shows the name.
    pub fn hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.hex())
    }
}

words! {
    /// Returns the kind's name, as git writes it in objects.
    pub fn ObjectKind::word, ALL: Blob "blob", Tree "tree", Commit "commit", Tag "tag"
}

impl GitObject {
    /// Returns the bytes of a loose object before compression: kind and length, then the content.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = format!("{} {}\0", self.kind.word(), self.content.len());
        [head.as_bytes(), &self.content].concat()
    }

    /// Parses a loose object. Returns `None` if it is damaged.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let (word, length) = std::str::from_utf8(&bytes[..end]).ok()?.split_once(' ')?;
        let kind = ObjectKind::ALL.into_iter().find(|kind| kind.word() == word)?;
        let content = bytes[end + 1..].to_vec();
        (length.parse() == Ok(content.len())).then_some(Self { kind, content })
    }

    /// Computes the object's name.
    pub fn id(&self) -> ObjectId {
        let mut hasher = Sha1::new();
        hasher.update(format!("{} {}\0", self.kind.word(), self.content.len()));
        hasher.update(&self.content);
        ObjectId(hasher.finalize().into())
    }

    /// Makes the object for a file with this content.
    pub fn blob(content: Vec<u8>) -> Self {
        Self { kind: ObjectKind::Blob, content }
    }

    /// Makes a tree. Entries are sorted as git sorts them: a directory as if its name ended with a slash.
    pub fn tree(mut entries: Vec<GitTreeEntry>) -> Self {
        let key = |entry: &GitTreeEntry| [entry.name.as_slice(), if entry.is_tree() { b"/" } else { b"" }].concat();
        entries.sort_by_key(key);
        let bytes = |entry: &GitTreeEntry| [entry.mode.as_slice(), b" ", &entry.name, b"\0", entry.id.as_bytes()].concat();
        Self { kind: ObjectKind::Tree, content: entries.iter().flat_map(bytes).collect() }
    }

    /// Makes a commit; the time is in seconds since 1970.
    pub fn commit(tree: ObjectId, parents: impl IntoIterator<Item = ObjectId>, seconds: i64, message: &str) -> Self {
        let parents: String = parents.into_iter().map(|parent| format!("parent {}\n", parent.hex())).collect();
        let who = format!("author {AUTHOR} {seconds} +0000\ncommitter {AUTHOR} {seconds} +0000");
        let text = format!("tree {}\n{parents}{who}\n\n{message}\n", tree.hex());
        Self { kind: ObjectKind::Commit, content: text.into_bytes() }
    }

    /// Returns the entries of a tree, or `None` if the object is not a tree or is damaged.
    pub fn entries(&self) -> Option<Vec<GitTreeEntry>> {
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
    pub fn commit_tree(&self) -> Option<ObjectId> {
        let first = self.content_if(ObjectKind::Commit)?.split(|byte| *byte == b'\n').next()?;
        to_id(first.strip_prefix(b"tree ")?)
    }

    /// Returns the parents of a commit in their order, or `None` if the object is not a commit or is damaged.
    pub fn commit_parents(&self) -> Option<Vec<ObjectId>> {
        let lines = self.content_if(ObjectKind::Commit)?.split(|byte| *byte == b'\n').skip(1);
        lines.map_while(|line| line.strip_prefix(b"parent ")).map(to_id).collect()
    }

    /// Returns when a commit was made, in seconds since 1970, as its maker's clock said; `None` if the object is not a commit or is damaged.
    pub fn commit_time(&self) -> Option<u64> {
        let mut lines = self.content_if(ObjectKind::Commit)?.split(|byte| *byte == b'\n');
        let committer = std::str::from_utf8(lines.find(|line| line.starts_with(b"committer "))?).ok()?;
        committer.rsplit(' ').nth(1)?.parse().ok()
    }

    /// Returns the object that a tag names, or `None` if the object is not a tag or is damaged.
    pub fn tagged(&self) -> Option<ObjectId> {
        to_id(self.content_if(ObjectKind::Tag)?.split(|byte| *byte == b'\n').next()?.strip_prefix(b"object ")?)
    }

    fn content_if(&self, kind: ObjectKind) -> Option<&[u8]> {
        (self.kind == kind).then_some(self.content.as_slice())
    }
}

fn to_id(digits: &[u8]) -> Option<ObjectId> {
    ObjectId::parse(std::str::from_utf8(digits).ok()?)
}

impl GitTreeEntry {
    /// Returns what the entry stands for; `None` if no version of git writes such a mode.
    pub fn kind(&self) -> Option<GitEntryKind> {
        let is_octal = self.mode.len() <= 6 && self.mode.iter().all(|digit| (b'0'..=b'7').contains(digit));
        let mode = u32::from_str_radix(std::str::from_utf8(&self.mode).ok()?, 8).ok().filter(|_| is_octal)?;
        match mode & 0o170_000 {
            0o100_000 if mode & 0o100 != 0 => Some(GitEntryKind::Own(EntryKind::Executable)),
            0o100_000 => Some(GitEntryKind::Own(EntryKind::File)),
            0o120_000 => Some(GitEntryKind::Own(EntryKind::Link)),
            0o040_000 => Some(GitEntryKind::Own(EntryKind::Directory)),
            0o160_000 => Some(GitEntryKind::Submodule),
            _ => None,
        }
    }

    pub fn file(name: Vec<u8>, id: ObjectId) -> Self {
        Self { mode: FILE_MODE.to_vec(), name, id }
    }

    pub fn directory(name: Vec<u8>, id: ObjectId) -> Self {
        Self { mode: TREE_MODE.to_vec(), name, id }
    }

    /// Returns whether the entry is a directory.
    pub fn is_tree(&self) -> bool {
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
        assert_eq!(GitObject::parse(b"other 0\0"), None);
        let parents = GitObject { kind: ObjectKind::Commit, content: [&commit.content[..46], b"parent x\n"].concat() };
        assert_eq!((commit.commit_parents(), parents.commit_parents()), (Some(vec![blob.id()]), None));
        let tag = format!("object {}\ntype commit\ntag v1\n", commit.id().hex()).into_bytes();
        assert_eq!(GitObject { kind: ObjectKind::Tag, content: tag }.tagged(), Some(commit.id()));
        assert_eq!(commit.tagged(), None);
        for bad in
            ["", "E69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "e69de29bb2d1d6434b8b29ae775ad8c2e48c539", "ref: refs/heads/main"]
        {
            assert_eq!(ObjectId::parse(bad), None, "{bad}");
        }
    }
}
