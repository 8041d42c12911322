//! Lists the steps by which a copy of the tree of one index becomes a copy of the tree of a later index. Content and kind of the
//! entries count, and not their inodes and times. Where only the stamp of an entry differs, its permissions may have changed.
//!
//! Compares single files on disk with an index, for a save during a run: a save that leaves the content as it was concerns no
//! run.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use crate::content::{BUFFER_BYTES, read_file, read_link};
use crate::index::TreeIndex;
use crate::listing::{open_below, open_root, stat_entry, to_c_name};
use crate::node::{Content, Directory, LeafKind, Node, pairs};
use proctor_model::{Digest, EntryKind, Timestamp, TreePath};

/// One step by which a copy of the earlier tree becomes a copy of the later tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentChange {
    /// The entry at this path must be removed, with everything below it.
    Removed(TreePath),
    /// The entry at this path is new or has new content. Its parent directory stands earlier in the list. A directory
    /// is listed only if no directory was at this path before, and it is empty until its entries follow.
    Put(TreePath, EntryKind, Option<Digest>),
}

/// Returns every difference in content, kind or existence, in the order in which a copy of the tree must be changed. Without
/// `before`, everything in `after` is new.
pub fn content_changes(before: Option<&TreeIndex>, after: &TreeIndex) -> Vec<ContentChange> {
    let mut changes = Vec::new();
    compare_directories(before.map(|before| &before.top), &after.top, &TreePath::root(), &mut changes);
    changes
}

fn compare_directories(
    before: Option<&Arc<Directory>>,
    after: &Arc<Directory>,
    path: &TreePath,
    changes: &mut Vec<ContentChange>,
) {
    // Equal digests mean equal content, even if inodes or times differ.
    if before.is_some_and(|before| Arc::ptr_eq(before, after) || (before.digest.is_some() && before.digest == after.digest)) {
        return;
    }
    let known = before.map_or(&[][..], |before| &before.nodes);
    for (gone, come) in pairs(known, &after.nodes) {
        compare_nodes(gone, come, path, changes);
    }
}

fn compare_nodes(before: Option<&Node>, after: Option<&Node>, parent: &TreePath, changes: &mut Vec<ContentChange>) {
    // A directory without any entry of the tree does not belong to the tree itself.
    let (old, new) = (before.and_then(Node::entry), after.and_then(Node::entry));
    let Some(name) = after.or(before).map(|node| &node.name) else { return };
    let is_directory = |entry: Option<(EntryKind, Option<Digest>)>| entry.is_some_and(|(kind, _)| kind == EntryKind::Directory);
    let stays_directory = is_directory(old) && is_directory(new);
    if old == new {
        return;
    }
    let path = parent.join(name);
    if old.is_some() && !stays_directory {
        changes.push(ContentChange::Removed(path.clone()));
    }
    let Some((kind, digest)) = new else { return };
    if !stays_directory {
        changes.push(ContentChange::Put(path.clone(), kind, digest));
    }
    if let Some(below) = after.and_then(|node| node.content.directory()) {
        let known = before.and_then(|node| node.content.directory()).filter(|_| stays_directory);
        compare_directories(known, below, &path, changes);
    }
}

/// Returns the files and directories of both trees whose permissions may differ although their content is equal: their stamps
/// differ or are unknown. The digest of a tree does not name permissions, apart from whether the owner may execute a file.
pub fn possible_mode_changes(before: &TreeIndex, after: &TreeIndex) -> Vec<TreePath> {
    let mut found = Vec::new();
    let mut waiting = vec![(TreePath::root(), &before.top, &after.top)];
    while let Some((path, before, after)) = waiting.pop() {
        if Arc::ptr_eq(before, after) {
            continue;
        }
        let is_known = before.stamp.is_some() && before.stamp == after.stamp;
        if !is_known && !path.is_root() && after.digest.is_some() {
            found.push(path.clone());
        }
        // Both lists are sorted by name.
        let mut known = before.nodes.iter().peekable();
        for node in &after.nodes {
            while known.next_if(|known| known.name < node.name).is_some() {}
            let Some(known) = known.next_if(|known| known.name == node.name) else { continue };
            match (&known.content, &node.content) {
                (Content::Leaf(old), Content::Leaf(new)) => {
                    if old != new && (old.kind, old.digest) == (new.kind, new.digest) && new.kind != LeafKind::Link {
                        found.push(path.join(&node.name));
                    }
                }
                (Content::Directory(old), Content::Directory(new)) => waiting.push((path.join(&node.name), old, new)),
                (Content::Leaf(_) | Content::Directory(_) | Content::Unreadable(..), _) => {}
            }
        }
    }
    found
}

/// Returns whether every one of these paths has the content on disk that the index names. At most `bound` bytes are read; if the
/// files are larger, or something cannot be read, the answer is `false`. Directories are not compared, nor is what lies beside the tree,
/// so for them the answer is `false` too.
pub fn is_unchanged_on_disk<'p>(index: &TreeIndex, paths: impl Iterator<Item = &'p TreePath>, bound: u64) -> bool {
    let mut left = bound;
    paths.into_iter().all(|path| is_same(index, path, &mut left).unwrap_or(false))
}

fn is_same(index: &TreeIndex, path: &TreePath, left: &mut u64) -> io::Result<bool> {
    if path.is_beside() {
        return Ok(false);
    }
    let known = index.lookup(path);
    let parent = path.parent().unwrap_or_default();
    let root = open_root(index.root())?;
    let found = open_below(root.as_fd(), parent.as_bytes()).and_then(|directory| {
        let name = to_c_name(path.name());
        let stat = stat_entry(directory.as_fd(), &name)?;
        Ok((directory, name, stat))
    });
    let (directory, name, stat) = match (found, &known) {
        (Ok(found), Some(_)) => found,
        (Ok(_), None) => return Ok(false),
        (Err(error), None) => return Ok(error.kind() == io::ErrorKind::NotFound),
        (Err(error), Some(_)) => return Err(error),
    };
    let Some(entry) = known else { return Ok(false) };
    let bytes = stat.st_size.cast_unsigned();
    if bytes > *left {
        return Ok(false);
    }
    *left -= bytes;
    // The time only decides how far the leaf's stamp is trusted, and the stamp is not used here.
    let now = Timestamp::from_millis(0);
    let leaf = match entry.kind {
        EntryKind::Directory => return Ok(false),
        EntryKind::Link => read_link(directory.as_fd(), &name, &stat, now)?,
        EntryKind::File | EntryKind::Executable => read_file(directory.as_fd(), &name, &stat, now, &mut vec![0; BUFFER_BYTES])?,
    };
    let kind = match leaf.kind {
        LeafKind::Link => EntryKind::Link,
        LeafKind::File { is_executable: true } => EntryKind::Executable,
        LeafKind::File { is_executable: false } => EntryKind::File,
    };
    Ok(kind == entry.kind && Some(leaf.digest) == entry.digest)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the files that are compared")]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::ignore::{Matcher, MatcherSettings};

    fn scan(root: &std::path::Path) -> TreeIndex {
        let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
        TreeIndex::scan(root, &matcher, Timestamp::from_millis(0)).expect("a tree")
    }

    #[test]
    fn a_file_is_unchanged_while_kind_and_content_are_those_of_the_index() {
        let root = tempfile::tempdir().expect("a directory");
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("d")).expect("a directory");
        for (name, text) in [("a", "one"), ("d/b", "two"), ("gone", "x")] {
            fs::write(at(name), text).expect("a file");
        }
        symlink("a", at("link")).expect("a link");
        let index = scan(root.path());
        let is_same = |names: &[&str]| {
            let paths: Vec<_> = names.iter().map(|name| TreePath::try_from(*name).expect("a clean path")).collect();
            is_unchanged_on_disk(&index, paths.iter(), 100)
        };
        File::options().write(true).open(at("a")).expect("a file").set_modified(std::time::UNIX_EPOCH).expect("a time");
        fs::write(at("d/b"), "two").expect("written again");
        assert!(is_same(&["a", "d/b", "link", "never/there"]));
        assert!(!is_same(&["d"]), "directories are not compared");
        fs::write(at("d/b"), "owt").expect("a file");
        fs::remove_file(at("gone")).expect("removed");
        fs::set_permissions(at("a"), fs::Permissions::from_mode(0o755)).expect("a mode");
        fs::write(at("new"), "").expect("a file");
        assert!(["d/b", "gone", "a", "new"].iter().all(|name| !is_same(&[name])));
        fs::write(at("d/b"), vec![b'x'; 101]).expect("a file");
        assert!(!is_same(&["d/b"]), "more than the bound is not read");
    }
}
