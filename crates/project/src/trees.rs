//! What is known of the projects' files: the trees as they were last read, and what follows from them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::ProjectError;
use crate::known_trees::KnownTrees;
use crate::request::{ProjectScope, ProjectSettings, RunRequest};
use crate::selection::Selection;
use crate::specifications::Specifications;
use proctor_evidence::Store;
use proctor_index::{RunsJudgedBy, StoreIndex};
use proctor_model::{
    DifferingFile, Digest, EntryKind, KnownCheck, PlanNote, RunId, TaskId, TreeDifference, TreeDigest, TreeFile, TreePath,
};
use proctor_tree::{self as tree, TreeHints, TreeIndex};

/// The tree of the last verdict, and the project and plan that the verdict is for.
struct VerdictTree {
    root: PathBuf,
    plan: Digest,
    index: TreeIndex,
}

/// What a process knows of the trees of its projects.
#[derive(Default)]
pub struct Trees {
    pub known: KnownTrees,
    pub(crate) checked: CheckedTrees,
    pub(crate) specifications: Specifications,
    tracked_outside: TrackedOutside,
    verdict: Option<VerdictTree>,
}

/// At most this many files are listed that differ from the tree of the last run.
const MOST_LISTED: usize = 200;

impl Trees {
    /// Returns the test specifications in the current tree.
    pub(crate) fn read_specifications(
        &mut self,
        store: &Store,
        settings: &ProjectSettings,
        scope: &ProjectScope,
        hints: &TreeHints,
    ) -> Result<&Specifications, ProjectError> {
        let index = self.known.scan(store, settings, scope, hints)?;
        self.specifications.update(&scope.root, &index, &settings.specification);
        Ok(&self.specifications)
    }

    /// Remembers the tree of a verdict, if the plan has checks that only some changes trigger.
    ///
    /// A run of checks that were selected by name keeps the remembered tree, because the other checks did not run on
    /// this tree.
    pub fn keep_verdict_tree(&mut self, request: &RunRequest<'_>, plan: Digest, tree: &TreeIndex) {
        let is_needed = request.plan.steps.iter().any(|step| !step.paths.is_empty());
        match request.checks {
            Selection::Every | Selection::All | Selection::Missing | Selection::Triggered { .. } => {
                let kept = || VerdictTree { root: request.scope.root.clone(), plan, index: tree.clone() };
                self.verdict = is_needed.then(kept);
            }
            Selection::Named(_) => {}
        }
    }

    /// Remembers the tree of a run, so that the state of the project can say how many files have changed since each check ran.
    pub fn keep_checked_tree(&mut self, index: &StoreIndex, request: &RunRequest<'_>, tree: &TreeIndex) {
        let (scope, plan) = (request.scope, request.plan);
        // All checks of a plan with one check ran on the tree of the last verdict.
        if plan.steps.len() > 1
            && let Ok(checks) = index.checks(&scope.project, &plan.task, RunsJudgedBy::AnyRules)
        {
            self.checked.keep(&scope.root, &plan.task, tree.clone(), &checks);
        }
    }

    /// Returns every path that differs from the tree of the last verdict on the same plan; `None` if there is no such
    /// verdict.
    pub fn changed_since_verdict(&self, request: &RunRequest<'_>, plan: Digest, now: &TreeIndex) -> Option<Vec<TreePath>> {
        let last = self.verdict.as_ref().filter(|last| last.root == request.scope.root && last.plan == plan)?;
        Some(tree::changed_paths(&last.index, now))
    }

    /// Returns in which files a tree differs from the tree of an earlier run; `None` if the tree of that run is not known any more.
    pub fn difference_since(
        &self,
        scope: &ProjectScope,
        (since, tree): (RunId, TreeDigest),
        now: &TreeIndex,
    ) -> Option<TreeDifference> {
        let before = self.known.tested_with(scope, tree)?;
        let file_in = |index: &TreeIndex, path: &TreePath| {
            let entry = index.lookup(path).filter(|entry| entry.kind != EntryKind::Directory)?;
            Some(TreeFile { kind: entry.kind, digest: entry.digest? })
        };
        let file = |path: &TreePath| {
            let (before, after) = (file_in(before, path), file_in(now, path));
            (before != after).then(|| DifferingFile { path: path.to_string(), before, after })
        };
        let mut files: Vec<DifferingFile> = tree::changed_paths(before, now).iter().filter_map(file).collect();
        let count = files.len() as u64;
        files.truncate(MOST_LISTED);
        Some(TreeDifference { since, count, files })
    }

    /// Returns a note about the tracked files of the run's project that belong to no tree.
    pub fn note_tracked_outside(&mut self, scope: &ProjectScope) -> Option<PlanNote> {
        let index = self.known.index_of(scope)?;
        self.tracked_outside.note(&index)
    }
}

// The trees on which the checks of a task last ran, in memory. They say how many files have changed since a check's last
// result. A restart forgets them; then the number is not shown.

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

// Names the files that git tracks and that belong to no tree because of their names, such as a fixture in `node_modules`.

/// The most files that the note names.
const NAMED: usize = 3;

/// What is known of the tracked files that belong to no tree: the index that was searched, and the note about it.
#[derive(Debug, Default)]
struct TrackedOutside(Option<(TreeIndex, Option<PlanNote>)>);

impl TrackedOutside {
    /// Returns a note about the tracked files of a project that belong to no tree; `None` if there are none. The search is repeated
    /// only if git tracks other files than before.
    fn note(&mut self, index: &TreeIndex) -> Option<PlanNote> {
        let known = self.0.take().filter(|(known, _)| known.root() == index.root() && known.tracks_as(index));
        let note = known.map_or_else(|| describe(&index.tracked_outside()), |(_, note)| note);
        self.0 = Some((index.clone(), note.clone()));
        note
    }
}

fn describe(files: &[TreePath]) -> Option<PlanNote> {
    let named: Vec<String> = files.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    let more = if files.len() > NAMED { ", …" } else { "" };
    let count = match files.len() {
        1 => "1 tracked file belongs".to_owned(),
        several => format!("{several} tracked files belong"),
    };
    let message = format!(
        "{count} to no tree because of the name: {}{more}. No digest covers the content, and checks on a snapshot may not see it \
         (`proctor why PATH` says how they do)",
        named.join(", ")
    );
    (!files.is_empty()).then(|| PlanNote { subject: "tree".to_owned(), message })
}

#[cfg(test)]
mod tracked_outside_tests {
    use super::*;

    #[test]
    fn the_first_files_are_named_and_all_are_counted() {
        let files =
            ["old.pyc", "t/node_modules/a.js", "t/node_modules/b.js", "x~"].map(|path| TreePath::try_from(path).expect("clean"));
        assert_eq!(describe(&[]), None);
        let one = describe(&files[..1]).expect("a note").message;
        assert!(one.starts_with("1 tracked file belongs to no tree because of the name: `old.pyc`. No digest"), "{one}");
        let all = describe(&files).expect("a note").message;
        let begin =
            "4 tracked files belong to no tree because of the name: `old.pyc`, `t/node_modules/a.js`, `t/node_modules/b.js`, …. ";
        assert!(all.starts_with(begin), "{all}");
    }
}
