//! The other checkouts of a project's repository in this store: its worktrees, and clones.

use std::path::Path;

use crate::checked_index::catch_up_and_name;
use crate::error::ProjectError;
use crate::former_identity::{Likeness, former_identities};
use crate::gate::ProjectRepository;
use crate::registration::RootDirectory;
use crate::store_reader::StoreReader;
use proctor_git::ObjectId;
use proctor_index::{IndexedProject, StoreIndex};
use proctor_model::{ProjectId, TreeDigest};

impl StoreReader {
    /// Returns the registered projects whose directories are in the repository that contains `root`: its other worktrees, and other
    /// directories of them. A directory may be gone by now.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn projects_of_repository(&mut self, root: &Path) -> Result<Vec<ProjectId>, ProjectError> {
        if proctor_git::git_common_directory(root).is_some() {
            catch_up_and_name(&self.store, &mut self.index)?;
        }
        projects_of_repository(&self.index, root)
    }

    /// Returns the projects of [`Self::projects_of_repository`], and those in other clones of the repository that have a run on a tree.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn projects_with_content(&mut self, root: &Path, tree: TreeDigest) -> Result<Vec<ProjectId>, ProjectError> {
        self.projects_of_repository(root)?;
        projects_with_content(&self.index, root, tree)
    }

    /// Returns whether a directory is a clone of a registered project, and nothing that was registered before.
    ///
    /// # Errors
    /// When the directory, the index or a ledger cannot be read.
    pub fn is_clone_of_registered(&mut self, root: &Path) -> Result<bool, ProjectError> {
        catch_up_and_name(&self.store, &mut self.index)?;
        let formers = former_identities(&self.store, &self.index, &RootDirectory::of(root)?)?;
        Ok(formers.first().is_some_and(|former| former.likeness == Likeness::SharedCommits))
    }
}

/// Does what [`StoreReader::projects_of_repository`] says, by the index as it is.
pub(crate) fn projects_of_repository(index: &StoreIndex, root: &Path) -> Result<Vec<ProjectId>, ProjectError> {
    let Some(common) = proctor_git::git_common_directory(root) else { return Ok(Vec::new()) };
    let projects = index.projects()?.into_iter();
    let is_here = |project: &IndexedProject| project.root.git_common_directory.as_deref().map(Path::new) == Some(&*common);
    Ok(projects.filter(is_here).map(|project| project.id).collect())
}

/// Does what [`StoreReader::projects_with_content`] says, by the index as it is.
pub(crate) fn projects_with_content(index: &StoreIndex, root: &Path, tree: TreeDigest) -> Result<Vec<ProjectId>, ProjectError> {
    let mut found = projects_of_repository(index, root)?;
    let mut others = index.projects_on_tree(tree)?;
    others.retain(|other| !found.contains(other));
    let commit = if others.is_empty() { None } else { checked_out_commit(root) };
    for other in others {
        if index.project(&other)?.is_some_and(|known| is_clone(Path::new(&known.root.path), commit.as_deref())) {
            found.push(other);
        }
    }
    Ok(found)
}

/// Returns whether the repository of a directory has the commit that is checked out in another one.
fn is_clone(root: &Path, commit: Option<&str>) -> bool {
    let has = |commit| Some(ProjectRepository::open(root).ok()??.storage.peel(ObjectId::parse(commit?)?).is_ok());
    has(commit) == Some(true)
}

/// Returns the directory of a project in git's working tree, empty for the root of the working tree; `None` outside of a repository.
pub fn directory_in_repository(root: &Path) -> Option<String> {
    let location = proctor_git::find_git_location(root)?;
    let below = root.strip_prefix(location.work_tree).ok()?;
    Some(below.to_string_lossy().into_owned())
}

/// Returns the id of the commit that is checked out; `None` outside of a repository, and before its first commit.
pub fn checked_out_commit(root: &Path) -> Option<String> {
    let repository = ProjectRepository::open(root).ok()??;
    Some(repository.storage.resolve("HEAD").ok()?.hex())
}
