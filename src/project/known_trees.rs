//! The trees of projects as they were last seen, and as they are saved for the next start.
//!
//! What is kept here only makes the next look cheaper. A look at everything compares every stamp, so a saved index that is old,
//! damaged or gone costs time and never a wrong digest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::evidence::Store;
use crate::ignore::{Matcher, MatcherSettings};
use crate::model::ProjectId;
use crate::process::clock;
use crate::project::error::ProjectError;
use crate::project::request::{Scope, Settings};
use crate::store;
use crate::tree::{TreeHints, TreeIndex};

/// An index is saved anew when a start with the saved one would read so many files …
const WORTH_SAVING: u64 = 16;
/// … and one of so many.
const WORTH_SAVING_OF: u64 = 64;

/// The trees that were looked at, by their roots.
#[derive(Default)]
pub(crate) struct KnownTrees {
    trees: BTreeMap<PathBuf, KnownTree>,
}

struct KnownTree {
    project: ProjectId,
    /// What decided what belongs to the tree. With other settings nothing but the files' stamps counts.
    settings: MatcherSettings,
    matcher: Matcher,
    index: TreeIndex,
    /// What is saved; it shares with the index what has not changed since.
    saved: Option<TreeIndex>,
}

impl KnownTrees {
    /// Looks at a tree: at what the hints say where it is known, else at everything, warm where an index was saved.
    ///
    /// # Errors
    /// When the root cannot be read, or a pattern of the settings is wrong.
    pub(crate) fn look(
        &mut self,
        store: &Store,
        settings: &Settings,
        scope: &Scope,
        hints: &TreeHints,
    ) -> Result<TreeIndex, ProjectError> {
        let known = self.trees.get_mut(&scope.root).filter(|known| known.project == scope.project);
        let Some(known) = known else {
            let matcher = settings.new_matcher()?;
            let saved = read(store, &scope.project, &scope.root);
            let index = begin(saved.as_ref(), &scope.root, &matcher)?;
            let (project, settings) = (scope.project.clone(), settings.matcher.clone());
            let known = KnownTree { project, settings, matcher, index: index.clone(), saved };
            self.trees.insert(scope.root.clone(), known);
            return Ok(index);
        };
        let is_new = known.settings != settings.matcher;
        if is_new {
            (known.matcher, known.settings) = (settings.new_matcher()?, settings.matcher.clone());
        }
        let looked = match hints {
            TreeHints::Only(paths) if !is_new => known.index.apply(paths, &known.matcher, clock::now()),
            TreeHints::Only(_) | TreeHints::Everything => known.index.rescan(&known.matcher, clock::now()),
        };
        known.index = looked.map_err(ProjectError::Tree)?;
        Ok(known.index.clone())
    }

    /// Saves the indexes of which too much is not saved. Takes some milliseconds where there is something to save, so it is not done
    /// between a save and its verdict; and nothing where there is not.
    pub(crate) fn save(&mut self, store: &Store) {
        for known in self.trees.values_mut() {
            let is_worth_it = match &known.saved {
                Some(saved) => known.index.count_outdated(saved) >= WORTH_SAVING + known.index.files() / WORTH_SAVING_OF,
                None => true,
            };
            if !is_worth_it {
                continue;
            }
            // What cannot be saved is read from the files at the next start; it is not tried again for every run.
            known.saved = Some(known.index.clone());
            let path = store.tree_index_path(&known.project);
            if let Err(error) = store::write_tree_index(&path, &known.index.to_bytes()) {
                tracing::warn!("the tree's index was not saved: {error}");
            }
        }
    }
}

/// Looks at a tree that is looked at no second time: warm where an index of it was saved.
///
/// # Errors
/// When the root cannot be read, or a pattern of the settings is wrong.
pub(crate) fn look_once(
    store: &Store,
    settings: &Settings,
    project: Option<&ProjectId>,
    root: &Path,
) -> Result<TreeIndex, ProjectError> {
    let saved = project.and_then(|project| read(store, project, root));
    begin(saved.as_ref(), root, &settings.new_matcher()?)
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
