//! Compares two indexes of a tree and returns the paths that changed between them (S6).

use std::sync::Arc;

use crate::index::TreeIndex;
use crate::inputs::add_differences;
use crate::node::{Content, Directory, Node, pairs};
use proctor_model::{TreeComparison, TreePath};

/// What counts as a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Differences {
    /// Content, kind and existence of files and links.
    Content,
    /// As `Content`, and also directories that were replaced or renamed.
    ContentAndPlace,
}

/// Compares the tree before a run with the tree after it.
///
/// Content decides: a file that was written again with the same bytes, or whose times changed, did not move. A directory moved if
/// another one has its name now, or if it was renamed away and back: a check may have seen another directory at its place.
///
/// Two things that happened in between leave no trace here. A file may have had other content for a while and be as it was. A
/// directory that was renamed away and back is not noticed if one of its entries changed afterwards. Only a snapshot shows checks
/// exactly what was digested.
pub fn compare(before: &TreeIndex, after: &TreeIndex) -> TreeComparison {
    let moved = find_differences(before, after, Differences::ContentAndPlace);
    TreeComparison { after: after.digest(), moved, files: after.files() }
}

/// Returns every path whose content, kind or existence differs between two indexes. A directory counts only by its entries.
pub fn changed_paths(before: &TreeIndex, after: &TreeIndex) -> Vec<TreePath> {
    find_differences(before, after, Differences::Content)
}

pub(super) fn find_differences(before: &TreeIndex, after: &TreeIndex, counts: Differences) -> Vec<TreePath> {
    let mut found = Vec::new();
    compare_directories((&before.top, &after.top), &TreePath::root(), counts, &mut found);
    add_differences(before, after, counts, &mut found);
    found
}

fn compare_directories(
    (before, after): (&Arc<Directory>, &Arc<Directory>),
    path: &TreePath,
    counts: Differences,
    found: &mut Vec<TreePath>,
) {
    // Successive indexes share the directories that did not change.
    if Arc::ptr_eq(before, after) {
        return;
    }
    // A directory without a digest holds nothing of the tree, so it is no part of the tree either.
    let is_of_the_tree = before.digest.is_some() && after.digest.is_some();
    if counts == Differences::ContentAndPlace && is_of_the_tree && before.is_replaced_by(after) {
        found.push(path.clone());
    }
    for nodes in pairs(&before.nodes, &after.nodes) {
        compare_nodes(nodes, path, counts, found);
    }
}

fn compare_nodes(
    (before, after): (Option<&Node>, Option<&Node>),
    parent: &TreePath,
    counts: Differences,
    found: &mut Vec<TreePath>,
) {
    let (Some(old), Some(new)) = (before, after) else {
        return before.into_iter().chain(after).for_each(|node| name_all(node, parent, found));
    };
    match (&old.content, &new.content) {
        (Content::Directory(old), Content::Directory(below)) => {
            compare_directories((old, below), &parent.join(&new.name), counts, found);
        }
        (Content::Leaf(old), Content::Leaf(leaf)) => {
            if (old.kind, old.digest) != (leaf.kind, leaf.digest) {
                found.push(parent.join(&new.name));
            }
        }
        (Content::Unreadable(old_kind, old_stamp), Content::Unreadable(kind, stamp)) => {
            // The content is unknown, so the stamp decides.
            if (old_kind, old_stamp) != (kind, stamp) {
                found.push(parent.join(&new.name));
            }
        }
        (Content::Leaf(_), Content::Unreadable(..)) | (Content::Unreadable(..), Content::Leaf(_)) => {
            found.push(parent.join(&new.name));
        }
        (Content::Directory(_), Content::Leaf(_) | Content::Unreadable(..))
        | (Content::Leaf(_) | Content::Unreadable(..), Content::Directory(_)) => {
            name_all(old, parent, found);
            name_all(new, parent, found);
        }
    }
}

fn name_all(node: &Node, parent: &TreePath, found: &mut Vec<TreePath>) {
    let path = parent.join(&node.name);
    match node.content.directory() {
        Some(directory) => directory.nodes.iter().for_each(|below| name_all(below, &path, found)),
        None => found.push(path),
    }
}
