//! The settings of a project's workflows, and the paths that they use.

use std::fs;
use std::path::{Path, PathBuf};

use crate::governance::{Slug, WorkflowLimits, done_directory};
use proctor_evidence::{Store, TrailDirectory};
use proctor_git::GitLocation;
use proctor_model::ProjectId;

/// The settings of a project's workflows: programs, limits, models, and where audit trails and issues go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowSettings {
    /// The editor's program and arguments. The files to edit are appended.
    pub editor: Vec<String>,
    /// Program and arguments of the tracker's command line, such as `gh`. Each call's own arguments are appended.
    pub tracker: Vec<String>,
    /// The configured repository for issues; `None` if the tracker's command line is to choose one.
    pub repo: Option<String>,
    /// The repository for issues that was named on the command line of this command; `None` if the workflow keeps the
    /// repository that it began with.
    pub repo_override: Option<String>,
    /// The directory of the audit trails, relative to the project.
    pub trail: String,
    pub limits: WorkflowLimits,
    pub models: WorkflowModels,
}

/// The two models of a workflow: one drafts the issue, the other reviews the draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowModels {
    pub drafter: ModelCommand,
    pub reviewer: ModelCommand,
}

/// A model: its name, and the command that asks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCommand {
    /// The model's name in messages and questions.
    pub name: String,
    /// Program and arguments. The prompt is the program's standard input.
    pub command: Vec<String>,
}

/// The project that a workflow belongs to.
#[derive(Debug, Clone)]
pub struct WorkflowProject {
    pub store: Store,
    pub id: ProjectId,
    /// The project's directory.
    pub root: PathBuf,
    pub git: GitLocation,
}

/// Returns the path of the database of checkpoints in the evidence store.
pub(super) fn checkpoints_file(store: &Store) -> PathBuf {
    store.root().join("checkpoints.db")
}

impl WorkflowProject {
    pub(super) fn trail_root(&self, settings: &WorkflowSettings) -> PathBuf {
        self.root.join(&settings.trail)
    }

    /// Returns the directory of the audit trail of a workflow that is not over.
    pub(super) fn active_trail(&self, settings: &WorkflowSettings, slug: &Slug) -> TrailDirectory {
        TrailDirectory::new(self.trail_root(settings).join("active").join(slug.as_str()))
    }

    /// Returns the directory of the audit trail of a workflow that is over.
    pub(super) fn done_trail(&self, settings: &WorkflowSettings, issue: u64, slug: &Slug) -> TrailDirectory {
        TrailDirectory::new(self.trail_root(settings).join("done").join(done_directory(issue, slug)))
    }

    /// Returns the audit trail of the newest finished workflow with this slug: the trail with the highest issue number.
    /// The path is relative to the project. `None` if no finished workflow has this slug.
    pub(super) fn latest_done_trail(&self, settings: &WorkflowSettings, slug: &Slug) -> Option<PathBuf> {
        let done = Path::new(&settings.trail).join("done");
        let entries = fs::read_dir(self.root.join(&done)).ok()?.flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let number = |name: &String| name.strip_suffix(slug.as_str())?.strip_suffix('-')?.parse::<u64>().ok();
        let last = names.filter_map(|name| Some((number(&name)?, name))).max()?;
        Some(done.join(last.1))
    }

    /// Returns the path of the models' copy of the project. The copy is in the repository's `.git` directory: no check
    /// can write there, and a model can write only to its own copy.
    pub(super) fn model_copy(&self, slug: &Slug) -> PathBuf {
        self.git.common_directory.join("proctor-sandboxes").join(slug.as_str())
    }

    /// Returns the project's path relative to the root of its repository.
    pub(super) fn path_in_repository(&self) -> &Path {
        self.root.strip_prefix(&self.git.work_tree).unwrap_or(Path::new(""))
    }
}
