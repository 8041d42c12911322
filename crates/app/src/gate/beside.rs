//! What a commit changes beside the trusted commit by which it can be green in another way. The texts of both commits are read from git's
//! objects, and [`proctor_plan::changes`] says what of them is named.

use std::collections::BTreeSet;

use crate::error::CommandError;
use crate::gate::errors::from_git_read_error;
use crate::gate::plans::started_files;
use proctor_git::{GitReadError, ObjectId};
use proctor_plan::changes::{ChangedFile, GateChange, find_gate_changes};
use proctor_plan::config::Configuration;
use proctor_project::{ChangedPath, ProjectRepository, changed_paths_between};

/// The largest file that is compared, in bytes.
const LARGEST: usize = 1 << 20;

/// Returns what the second commit, which is judged, changes beside the first, which is trusted. Each has its configuration.
pub(super) fn changes_beside(
    repository: &ProjectRepository,
    [(trusted, before), (commit, now)]: [(ObjectId, &Configuration); 2],
) -> Result<Vec<GateChange>, CommandError> {
    let storage = &repository.storage;
    let failed = |error: GitReadError| from_git_read_error(storage, &error);
    let tree = |commit| repository.project_tree_of(commit).map_err(failed);
    let trees = [tree(trusted)?, tree(commit)?];
    let mut started = BTreeSet::new();
    for (tree, configuration) in trees.into_iter().zip([before, now]) {
        started.extend(started_files(storage, tree, configuration).map_err(failed)?);
    }
    let changed = changed_paths_between(storage, trees).map_err(failed)?;
    let text = |object: Option<ObjectId>| -> Result<Option<String>, GitReadError> {
        // What is in the place of a submodule is a commit of another repository.
        let content = match object.map(|object| storage.blob(object)).transpose() {
            Err(GitReadError::Object { .. }) => None,
            content => content?,
        };
        Ok(content.filter(|content| content.len() <= LARGEST).and_then(|content| String::from_utf8(content).ok()))
    };
    let mut texts = Vec::new();
    for ChangedPath { objects: [before, now], .. } in &changed {
        texts.push((text(*before).map_err(failed)?, text(*now).map_err(failed)?));
    }
    let files: Vec<ChangedFile<'_>> = changed
        .iter()
        .zip(&texts)
        .map(|(path, (before, after))| ChangedFile {
            path: &path.path,
            before: before.as_deref(),
            after: after.as_deref(),
            is_there: (path.objects[0].is_some(), path.objects[1].is_some()),
        })
        .collect();
    Ok(find_gate_changes(&files, &started))
}
