//! Lists the steps by which a copy of the tree of one index becomes a copy of the tree of a later index. Content and kind of the
//! entries count, and not their inodes and times. Where only the stamp of an entry differs, its permissions may have changed.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::index::TreeIndex;
use crate::node::{Content, Directory, LeafKind, Node};
use proctor_model::{Digest, EntryKind, TreePath};

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
    let (mut old, mut new) = (known.iter().peekable(), after.nodes.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.name.cmp(&new.name),
        };
        let gone = if order.is_le() { old.next() } else { None };
        let come = if order.is_ge() { new.next() } else { None };
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
