//! Compares two indexes of a tree and returns the paths that changed between them (S6).

use std::cmp::Ordering;
use std::sync::Arc;

use crate::model::{TreeComparison, TreePath};
use crate::tree::index::TreeIndex;
use crate::tree::node::{Content, Directory, Node};

/// Returns every path whose content, kind, existence or change time differs between two indexes.
///
/// A file that was written again with the same bytes counts too: a process that read it in between may have seen other
/// bytes. A readable directory itself is not returned; its files, links and unreadable entries are.
pub fn compare(before: &TreeIndex, after: &TreeIndex) -> TreeComparison {
    let mut moved = Vec::new();
    compare_directories(&before.top, &after.top, &TreePath::root(), &mut moved);
    TreeComparison { after: after.digest(), moved, files: after.files() }
}

fn compare_directories(before: &Arc<Directory>, after: &Arc<Directory>, path: &TreePath, moved: &mut Vec<TreePath>) {
    // Successive indexes share the directories that did not change.
    if Arc::ptr_eq(before, after) {
        return;
    }
    let (mut old, mut new) = (before.nodes.iter().peekable(), after.nodes.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.name.cmp(&new.name),
        };
        let gone = if order.is_le() { old.next() } else { None };
        let come = if order.is_ge() { new.next() } else { None };
        compare_nodes(gone, come, path, moved);
    }
}

fn compare_nodes(before: Option<&Node>, after: Option<&Node>, parent: &TreePath, moved: &mut Vec<TreePath>) {
    let (Some(old), Some(new)) = (before, after) else {
        return before.into_iter().chain(after).for_each(|node| name_all(node, parent, moved));
    };
    match (&old.content, &new.content) {
        (Content::Directory(old), Content::Directory(below)) => {
            compare_directories(old, below, &parent.join(&new.name), moved);
        }
        (Content::Leaf(old), Content::Leaf(leaf)) => {
            if (old.kind, old.stamp, old.digest) != (leaf.kind, leaf.stamp, leaf.digest) {
                moved.push(parent.join(&new.name));
            }
        }
        (Content::Unreadable(old_kind, old_stamp), Content::Unreadable(kind, stamp)) => {
            if (old_kind, old_stamp) != (kind, stamp) {
                moved.push(parent.join(&new.name));
            }
        }
        (Content::Leaf(_), Content::Unreadable(..)) | (Content::Unreadable(..), Content::Leaf(_)) => {
            moved.push(parent.join(&new.name));
        }
        (Content::Directory(_), Content::Leaf(_) | Content::Unreadable(..))
        | (Content::Leaf(_) | Content::Unreadable(..), Content::Directory(_)) => {
            name_all(old, parent, moved);
            name_all(new, parent, moved);
        }
    }
}

fn name_all(node: &Node, parent: &TreePath, moved: &mut Vec<TreePath>) {
    let path = parent.join(&node.name);
    match node.content.directory() {
        Some(directory) => directory.nodes.iter().for_each(|below| name_all(below, &path, moved)),
        None => moved.push(path),
    }
}
