//! Reads what `proctor gate` judges from: the commit and the trusted commit from git's objects, and the runs on the commit's tree from
//! the ledger.

use std::cmp::Reverse;
use std::path::Path;

use crate::evidence::{self, LedgerLookup};
use crate::git::{GitEntryKind, GitReadError, GitStorage, ObjectId};
use crate::model::{EntryKind, ProjectId, RunLine, RunRecord, TreeDigest, TreeFormat, TreePath};
use crate::project::approval::CONFIGURATION_FILE;
use crate::project::checked_index::{catch_up, catch_up_and_name};
use crate::project::error::ProjectError;
use crate::project::store_reader::StoreReader;
use crate::store::IndexedProject;

/// The repository that contains a project, and the project's place in it.
#[derive(Debug)]
pub struct ProjectRepository {
    pub storage: GitStorage,
    /// The project's directory, relative to the root of the repository's working tree.
    pub below: TreePath,
}

/// The sealed runs on one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsOnTree {
    /// The runs, newest first.
    pub runs: Vec<RunRecord>,
    /// Whether the newest run of the project names its tree in an earlier format, which cannot be compared.
    pub has_other_format: bool,
}

impl ProjectRepository {
    /// Opens the repository that contains a project; `None` if the project is in no git repository.
    ///
    /// # Errors
    /// When the repository cannot be read or has a format that is not supported.
    pub fn open(root: &Path) -> Result<Option<Self>, GitReadError> {
        let Some(location) = evidence::find_git_location(root) else { return Ok(None) };
        let Some((git_directory, common)) = evidence::find_git_directories(root) else { return Ok(None) };
        let Ok(below) = TreePath::below(&location.work_tree, root) else { return Ok(None) };
        Ok(Some(Self { storage: GitStorage::open(&git_directory, &common)?, below }))
    }

    /// Returns the name of the blob of a file in a commit, by its path from the project's root; `None` if the commit has no such file.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn blob_of(&self, commit: ObjectId, path: &str) -> Result<Option<ObjectId>, GitReadError> {
        let mut at = self.storage.tree_of(commit)?;
        let names = self.below.as_bytes().split(|byte| *byte == b'/').chain(path.as_bytes().split(|byte| *byte == b'/'));
        let names: Vec<&[u8]> = names.filter(|name| !name.is_empty() && *name != b".").collect();
        for (position, name) in names.iter().enumerate() {
            let is_last = position + 1 == names.len();
            let Some(entry) = self.storage.entries(at)?.into_iter().find(|entry| entry.name == *name) else { return Ok(None) };
            let kind = entry.kind();
            if is_last && matches!(kind, Some(GitEntryKind::Own(EntryKind::File | EntryKind::Executable))) {
                return Ok(Some(entry.id));
            }
            if is_last || kind != Some(GitEntryKind::Own(EntryKind::Directory)) {
                return Ok(None);
            }
            at = entry.id;
        }
        Ok(None)
    }

    /// Returns the content of the project's `proctor.toml` in a commit; `None` if the commit has none.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn configuration_of(&self, commit: ObjectId) -> Result<Option<Vec<u8>>, GitReadError> {
        let blob = self.blob_of(commit, CONFIGURATION_FILE)?;
        blob.map(|blob| self.storage.blob(blob)).transpose()
    }
}

impl StoreReader {
    /// Returns the registered projects whose directories are in the repository that contains `root`, such as its other worktrees.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn projects_of_repository(&mut self, root: &Path) -> Result<Vec<ProjectId>, ProjectError> {
        let Some(common) = evidence::git_common_directory(root) else { return Ok(Vec::new()) };
        catch_up_and_name(&self.store, &mut self.index)?;
        let projects = self.index.projects().map_err(ProjectError::Index)?.into_iter();
        let is_here = |project: &IndexedProject| project.root.git_common_directory.as_deref().map(Path::new) == Some(&*common);
        Ok(projects.filter(is_here).map(|project| project.id).collect())
    }

    /// Returns the sealed runs of some projects on a tree, newest first. Each line of a ledger is checked that is read.
    ///
    /// The index tells only how far back a ledger must be read. Another program that removes rows from it can so hide runs, and the
    /// tree then counts as not tested; it cannot hide a failure and leave an older success of the same project.
    ///
    /// # Errors
    /// When a ledger or the index cannot be read, or a line is not as proctor wrote it.
    pub fn runs_on_tree(&mut self, projects: &[ProjectId], tree: TreeDigest) -> Result<RunsOnTree, ProjectError> {
        let mut found = RunsOnTree { runs: Vec::new(), has_other_format: false };
        for project in projects {
            self.add_runs(project, tree, &mut found)?;
        }
        if projects.len() > 1 {
            found.runs.sort_by_key(|run| Reverse(run.ended));
        }
        Ok(found)
    }

    fn add_runs(&mut self, project: &ProjectId, tree: TreeDigest, found: &mut RunsOnTree) -> Result<(), ProjectError> {
        catch_up(&self.store, &mut self.index, project)?;
        let oldest = self.index.oldest_run_on_tree(project, tree).map_err(ProjectError::Index)?;
        let ledger = LedgerLookup::open(&self.store, project).map_err(ProjectError::Evidence)?;
        let mut is_newest = true;
        for line in ledger.newest() {
            let line = line.map_err(ProjectError::Evidence)?;
            // Without a run on this tree, only the newest run is of interest, for its format.
            if oldest.map_or(!is_newest, |oldest| line.sequence < oldest) {
                break;
            }
            let Some(RunLine::Sealed(record)) = line.body.about_runs() else { continue };
            if is_newest {
                found.has_other_format |= record.tree_format != TreeFormat::CURRENT && record.tree_digest.is_some();
                is_newest = false;
            }
            if record.tree_digest == Some(tree) && record.tree_format == TreeFormat::CURRENT {
                found.runs.push(record.clone());
            }
        }
        Ok(())
    }
}
