//! The last known tree of each project, in memory and saved on disk for the next start.
//!
//! A remembered tree only makes the next reading faster. A complete reading compares the stamp of every file. So a
//! saved tree index that is old, damaged or missing costs time, but never leads to a wrong digest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::ProjectError;
use crate::request::{ProjectScope, ProjectSettings};
use proctor_evidence::Store;
use proctor_index as store;
use proctor_model::{ProjectId, TreeDigest};
use proctor_sandbox::process::clock;
use proctor_tree::ignore::{Matcher, MatcherSettings};
use proctor_tree::{TreeHints, TreeIndex};

/// A tree index is saved again when this many files changed since the last time, plus one for every [`WORTH_SAVING_OF`]
/// files of the tree. If proctor started again with the old saved index, it would have to read all changed files.
const WORTH_SAVING: u64 = 16;
/// In a large tree more files must have changed before the index is saved again: one more for each 64 files. See
/// [`WORTH_SAVING`].
const WORTH_SAVING_OF: u64 = 64;

/// A tree with at most this many files is saved whenever a run tested another content, so that a run in another process can say in which
/// files its tree differs from the last one. Writing it takes less than two milliseconds.
const SMALL: u64 = 5000;

/// The most paths that are remembered for the next reading of ignored inputs; with more, all inputs are read. Where
/// no snapshot is made, the ignored inputs are never read, and the paths would be collected without end.
const MOST_UNREAD: usize = 8192;

/// The trees that this process has read, by the root directory of their project.
#[derive(Default)]
pub struct KnownTrees {
    trees: BTreeMap<PathBuf, KnownTree>,
}

struct KnownTree {
    project: ProjectId,
    /// The settings that decide which files belong to the tree. If they change, the tree is read again, and only the
    /// stamps of files are reused.
    settings: MatcherSettings,
    matcher: Matcher,
    index: TreeIndex,
    /// Where the project may have changed since [`KnownTrees::take_unread_inputs`] was last called.
    unread_inputs: TreeHints,
    /// The index as it was last saved on disk. In memory it shares unchanged parts with `index`.
    saved: Option<TreeIndex>,
    /// The tree of the last run by approved rules in this process.
    tested: Option<TreeIndex>,
    /// Whether `tested` is to be saved.
    is_tested_unsaved: bool,
}

impl KnownTrees {
    /// Reads a tree. If the tree is known, only the paths in `hints` are read. Otherwise the whole tree is read,
    /// starting from a saved index if there is one.
    ///
    /// # Errors
    ///
    /// When the root cannot be read, or a pattern of the settings is wrong.
    pub fn scan(
        &mut self,
        store: &Store,
        settings: &ProjectSettings,
        scope: &ProjectScope,
        hints: &TreeHints,
    ) -> Result<TreeIndex, ProjectError> {
        let known = self.trees.get_mut(&scope.root).filter(|known| known.project == scope.project);
        let Some(known) = known else {
            let matcher = settings.new_matcher()?;
            let saved = read(store, &scope.project, &scope.root);
            let index = begin(saved.as_ref(), &scope.root, &matcher)?;
            let (project, settings) = (scope.project.clone(), settings.matcher.clone());
            let unread_inputs = TreeHints::Everything;
            let known = KnownTree {
                project,
                settings,
                matcher,
                index: index.clone(),
                unread_inputs,
                saved,
                tested: None,
                is_tested_unsaved: false,
            };
            self.trees.insert(scope.root.clone(), known);
            return Ok(index);
        };
        let is_new = known.settings != settings.matcher;
        if is_new {
            (known.matcher, known.settings) = (settings.new_matcher()?, settings.matcher.clone());
        }
        // Every reading of the tree uses up its hints. The ignored inputs are read by runs only, so the hints are
        // also kept for the next run.
        known.unread_inputs.add(if is_new { TreeHints::Everything } else { hints.clone() });
        if matches!(&known.unread_inputs, TreeHints::Only(paths) if paths.len() > MOST_UNREAD) {
            known.unread_inputs = TreeHints::Everything;
        }
        let looked = match hints {
            TreeHints::Only(paths) if !is_new => known.index.apply(paths, &known.matcher, clock::now()),
            TreeHints::Only(_) | TreeHints::Everything => known.index.rescan(&known.matcher, clock::now()),
        };
        known.index = looked?;
        Ok(known.index.clone())
    }

    /// Returns the tree of a project as it was last read.
    pub(crate) fn index_of(&self, scope: &ProjectScope) -> Option<TreeIndex> {
        self.trees.get(&scope.root).filter(|known| known.project == scope.project).map(|known| known.index.clone())
    }

    /// Returns where the ignored inputs of a project may have changed since the last call, and forgets these places.
    /// They come from the hints of every [`Self::scan`] since that call.
    pub fn take_unread_inputs(&mut self, scope: &ProjectScope) -> TreeHints {
        let known = self.trees.get_mut(&scope.root).filter(|known| known.project == scope.project);
        known.map_or(TreeHints::Everything, |known| std::mem::replace(&mut known.unread_inputs, TreeHints::nothing()))
    }

    /// Remembers the tree that a run by approved rules tests, so that a later run can say in which files it differs.
    pub fn keep_tested(&mut self, scope: &ProjectScope, index: &TreeIndex) {
        if let Some(known) = self.trees.get_mut(&scope.root).filter(|known| known.project == scope.project) {
            known.is_tested_unsaved = index.files() <= SMALL;
            known.tested = Some(index.clone());
        }
    }

    /// Returns a tree that the last run by approved rules tested, or that was saved on disk, by its digest.
    pub(crate) fn tested_with(&self, scope: &ProjectScope, digest: TreeDigest) -> Option<&TreeIndex> {
        let known = self.trees.get(&scope.root).filter(|known| known.project == scope.project)?;
        [&known.tested, &known.saved].into_iter().flatten().find(|index| index.digest() == digest)
    }

    /// Saves every tree index with enough unsaved changes. Writing takes some milliseconds, so the caller does it in
    /// idle time and not between the save of a source file and its verdict.
    pub(crate) fn save(&mut self, store: &Store) {
        for known in self.trees.values_mut() {
            let Some(index) = known.index_worth_saving().cloned() else { continue };
            let path = store.tree_index_path(&known.project);
            let written = store::write_tree_index(&path, &index.to_bytes());
            // The index counts as saved even if writing fails, so a failure is not repeated after every run. The next
            // start then reads the files instead.
            (known.saved, known.is_tested_unsaved) = (Some(index), false);
            if let Err(error) = written {
                tracing::warn!("the tree's index was not saved: {error}");
            }
        }
    }
}

impl KnownTree {
    /// Returns the index that is to be saved now, if any.
    fn index_worth_saving(&self) -> Option<&TreeIndex> {
        let Some(saved) = &self.saved else { return Some(self.tested.as_ref().unwrap_or(&self.index)) };
        let tested = self.tested.as_ref().filter(|tested| self.is_tested_unsaved && tested.digest() != saved.digest());
        let many = WORTH_SAVING + self.index.files() / WORTH_SAVING_OF;
        tested.or_else(|| (self.index.count_outdated(saved) >= many).then_some(&self.index))
    }
}

/// Reads a tree that is needed only once, starting from a saved index if there is one.
///
/// # Errors
///
/// When the root cannot be read, or a pattern of the settings is wrong.
pub(crate) fn scan_once(
    store: &Store,
    settings: &ProjectSettings,
    project: Option<&ProjectId>,
    root: &Path,
) -> Result<TreeIndex, ProjectError> {
    let saved = project.and_then(|project| read(store, project, root));
    begin(saved.as_ref(), root, &settings.new_matcher()?)
}

/// Reads a tree, starting from what was read of it before.
///
/// # Errors
///
/// When the root cannot be read, or a pattern of the settings is wrong.
pub(crate) fn scan_again(before: &TreeIndex, settings: &ProjectSettings, root: &Path) -> Result<TreeIndex, ProjectError> {
    begin(Some(before), root, &settings.new_matcher()?)
}

fn begin(saved: Option<&TreeIndex>, root: &Path, matcher: &Matcher) -> Result<TreeIndex, ProjectError> {
    let looked = match saved {
        Some(saved) => saved.rescan(matcher, clock::now()),
        None => TreeIndex::scan(root, matcher, clock::now()),
    };
    looked.map_err(ProjectError::Tree)
}

fn read(store: &Store, project: &ProjectId, root: &Path) -> Option<TreeIndex> {
    let bytes = store::read_tree_index(&store.tree_index_path(project))?;
    let index = TreeIndex::from_bytes(root, &bytes);
    if index.is_none() {
        tracing::warn!("the saved index of `{}` is damaged or of another version: every file is read", root.display());
    }
    index
}
