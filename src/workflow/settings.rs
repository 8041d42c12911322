//! What a workflow is carried out with.

use std::fs;
use std::path::{Path, PathBuf};

use crate::evidence::{GitPlace, Store, TrailDirectory};
use crate::governance::{Limits, Slug, done_directory};
use crate::model::ProjectId;

/// The settings of the workflows of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowSettings {
    /// The editor: program and arguments, the files follow.
    pub editor: Vec<String>,
    /// The tracker's command line.
    pub tracker: Vec<String>,
    /// Where issues are filed; none: where the tracker's command line says.
    pub repo: Option<String>,
    /// Where this workflow's issue is filed, as it was just said; none: where it was to be when the workflow began.
    pub named_repo: Option<String>,
    /// The directory of the trails, relative to the project.
    pub trail: String,
    /// The limits.
    pub limits: Limits,
    /// Who drafts.
    pub drafter: ModelSettings,
    /// Who reviews.
    pub reviewer: ModelSettings,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// What people read.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
}

/// Where a workflow is carried out.
#[derive(Debug, Clone)]
pub struct Place {
    /// The store.
    pub store: Store,
    /// The project.
    pub project: ProjectId,
    /// Its root.
    pub root: PathBuf,
    /// Its repository.
    pub git: GitPlace,
}

/// Returns the file of the checkpoints, in the store.
pub(super) fn checkpoints_file(store: &Store) -> PathBuf {
    store.root().join("checkpoints.db")
}

impl Place {
    pub(super) fn audit(&self, settings: &WorkflowSettings) -> PathBuf {
        self.root.join(&settings.trail)
    }

    /// Returns the trail of a workflow that is not over.
    pub(super) fn active(&self, settings: &WorkflowSettings, slug: &Slug) -> TrailDirectory {
        TrailDirectory::new(self.audit(settings).join("active").join(slug.as_str()))
    }

    /// Returns the trail of one that is.
    pub(super) fn done(&self, settings: &WorkflowSettings, issue: u64, slug: &Slug) -> TrailDirectory {
        TrailDirectory::new(self.audit(settings).join("done").join(done_directory(issue, slug)))
    }

    /// Returns the trail of the issue with the highest number that was filed under this name, relative to the project; none: none was.
    pub(super) fn done_under(&self, settings: &WorkflowSettings, slug: &Slug) -> Option<PathBuf> {
        let done = Path::new(&settings.trail).join("done");
        let entries = fs::read_dir(self.root.join(&done)).ok()?.flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let number = |name: &String| name.strip_suffix(slug.as_str())?.strip_suffix('-')?.parse::<u64>().ok();
        let last = names.filter_map(|name| Some((number(&name)?, name))).max()?;
        Some(done.join(last.1))
    }

    /// Returns the copy of the project that models get: in the repository's own directory, which no check and no model can write to.
    pub(super) fn copy(&self, slug: &Slug) -> PathBuf {
        self.git.common_directory.join("proctor-sandboxes").join(slug.as_str())
    }

    /// Returns where the project lies in a working tree of its repository.
    pub(super) fn below(&self) -> &Path {
        self.root.strip_prefix(&self.git.work_tree).unwrap_or(Path::new(""))
    }
}
