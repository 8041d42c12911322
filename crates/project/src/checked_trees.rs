//! The trees on which the checks of a task last ran, in memory. They say how many files have changed since a check's last
//! result. A restart forgets them; then the number is not shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proctor_model::{KnownCheck, TaskId, TreeDigest};
use proctor_tree::TreeIndex;

/// The trees of the last results, by the project's root and the task. Trees share their unchanged parts in memory.
#[derive(Debug, Default)]
pub(crate) struct CheckedTrees {
    trees: BTreeMap<(PathBuf, TaskId), BTreeMap<TreeDigest, TreeIndex>>,
}

impl CheckedTrees {
    /// Remembers the tree of a run, and forgets the trees that no check of the task had its last result on.
    pub(crate) fn keep(&mut self, root: &Path, task: &TaskId, index: TreeIndex, checks: &[KnownCheck]) {
        let trees = self.trees.entry((root.to_owned(), task.clone())).or_default();
        trees.insert(index.digest(), index);
        trees.retain(|tree, _| checks.iter().any(|check| check.last.as_ref().is_some_and(|last| last.tree == *tree)));
    }

    pub(crate) fn find(&self, root: &Path, tree: TreeDigest) -> Option<&TreeIndex> {
        let of_root = self.trees.iter().filter(|((path, _), _)| path == root);
        of_root.map(|(_, trees)| trees).find_map(|trees| trees.get(&tree))
    }
}
