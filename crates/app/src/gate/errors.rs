//! Errors of reading a git repository, as errors of commands.

use std::path::Path;

use crate::error::CommandError;
use proctor_git::{GitReadError, GitStorage, ObjectProblem, RevisionError};
use proctor_model::CommandExit;

/// What to do where a clone lacks objects.
pub(super) const WHOLE_CLONE: &str = "`git fetch --unshallow` fetches a whole history; or clone without `--depth` and `--filter`";

/// Returns the error that a project is in no git repository.
pub fn no_repository(root: &Path) -> CommandError {
    CommandError::new(CommandExit::Usage, format!("`{}` is in no git repository", root.display()))
        .hint("`proctor status` says whether the files as they are now are tested")
}

/// Converts an error of opening a repository into a command error.
pub(super) fn from_opening_error(error: &GitReadError) -> CommandError {
    let exit = match error {
        GitReadError::Object { .. } => CommandExit::EvidenceWrong,
        GitReadError::Unreadable { .. } => CommandExit::OwnFault,
        GitReadError::NoObjects { .. }
        | GitReadError::Format { .. }
        | GitReadError::Name(_)
        | GitReadError::Linked { .. }
        | GitReadError::NotAFile { .. }
        | GitReadError::TooLong { .. } => CommandExit::Usage,
    };
    CommandError::of(exit, error).hint(reading_hint(error))
}

/// Returns what to do where a repository cannot be read.
pub(super) fn reading_hint(error: &GitReadError) -> &'static str {
    match error {
        GitReadError::Format { .. } => {
            "`proctor status` judges a checkout; `git clone` from a repository with SHA-1 objects and plain references can be gated"
        }
        GitReadError::Linked { .. } => "name the project by a checkout whose `.git` has no links in it: --project DIR",
        GitReadError::Object { problem: ObjectProblem::Kind, .. } => {
            "name a commit, or a tag of one: `git cat-file -t REV` says what it is"
        }
        GitReadError::NoObjects { .. } | GitReadError::NotAFile { .. } => {
            "`git rev-parse --git-dir` says where the repository is"
        }
        GitReadError::Name(_) | GitReadError::TooLong { .. } | GitReadError::Object { .. } | GitReadError::Unreadable { .. } => {
            "`git fsck` says what is wrong with the repository"
        }
    }
}

/// Converts an error of reading a repository into a command error. What a shallow or partial clone lacks is no damage.
pub(super) fn from_git_read_error(storage: &GitStorage, error: &GitReadError) -> CommandError {
    if let GitReadError::Object { id, problem: ObjectProblem::Missing } = error
        && storage.lacks_objects_by_design()
    {
        return lacking(format!("the clone is shallow or partial and lacks object {id}"));
    }
    from_opening_error(error)
}

/// Converts an error about a revision into a command error.
pub(super) fn from_revision_error(storage: &GitStorage, error: &RevisionError) -> CommandError {
    let hint = match error {
        RevisionError::Git(error) => return from_git_read_error(storage, error),
        RevisionError::LackingClone { .. } => return lacking(error.to_string()),
        RevisionError::Unknown { .. } => "`git log --oneline --all` lists commits, `git branch --all` the branches",
        RevisionError::NothingCommitted => "commit something first",
        RevisionError::Syntax { .. } => "`git rev-parse REV` prints the full name of a commit, which can be used in its place",
        RevisionError::Ambiguous { .. } => "write more digits of the name",
        RevisionError::SeveralMeanings { .. } => "write the full name of the one that you mean; `git show-ref` lists them",
        RevisionError::NoParent { .. } => "`git log` shows the commits before it",
        RevisionError::NoUpstream { .. } => "`git branch --set-upstream-to=origin/BRANCH` sets one",
    };
    CommandError::of(CommandExit::Usage, error).hint(hint)
}

fn lacking(message: String) -> CommandError {
    CommandError::new(CommandExit::PersonNeeded, message).hint(WHOLE_CLONE)
}
