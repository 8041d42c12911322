//! Why the tree digest of a commit cannot be told, with a word for each reason.

use proctor_git::{GitReadError, ObjectProblem};
use proctor_model::TreePath;

/// Why the tree digest of a commit cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum CommitRefusal {
    #[error("the commit has no directory `{path}`, in which the project is")]
    NoProject { path: TreePath },
    /// The submodule's repository is not found, or lacks an object.
    #[error("`{path}` is a submodule, and the objects of its commit are not here")]
    Submodule { path: TreePath },
    #[error("the commit has more than {most} submodules, or they are nested more than {deepest} deep")]
    TooManySubmodules { most: u64, deepest: u32 },
    /// Of a submodule, the tree of a checkout has only what no rule excludes: the submodule's index is not read.
    #[error("`{path}` is committed in a submodule, and a rule excludes it from the tree, so no verdict is about its content")]
    LeftOutOfSubmodule { path: TreePath },
    #[error("`{path}` is a pointer of git LFS in place of the file's content")]
    LargeFilePointer { path: TreePath },
    /// Git gives the file another content in the working tree.
    #[error("git checks `{path}` out with another content than the commit has (attribute `{attribute}`)")]
    Converted {
        path: TreePath,
        /// The name of the attribute.
        attribute: &'static str,
    },
    #[error("`{path}` lies below more than 256 directories")]
    TooDeep { path: TreePath },
    #[error("the commit has more than five million entries")]
    TooManyEntries,
    #[error("the files of the commit have more than {most} bytes")]
    TooManyBytes { most: u64 },
    #[error("the `.gitattributes` of the directory `{path}` is longer than 256 KiB")]
    LongAttributes { path: TreePath },
    /// Two commits that differ there would have one tree digest.
    #[error("`{path}` is committed, and entries with this name belong to no tree, so no verdict is about its content")]
    LeftOut { path: TreePath },
    /// A run follows the link, and so has other settings than those that the commit is compared by.
    #[error("`{name}` of commit {commit} is no regular file, so its settings are not known")]
    OddConfiguration {
        name: &'static str,
        /// The beginning of the hash of the judged or the trusted commit.
        commit: String,
    },
    /// The repository was cloned without all of its objects.
    #[error("the clone is shallow or partial and lacks object {id}")]
    LackingClone {
        /// The object's hash in hexadecimal digits.
        id: String,
    },
    /// A tree object has a name or a mode that git does not write.
    #[error("the directory `{path}` of the commit has an entry that git does not write")]
    OddEntry { path: TreePath },
    #[error(transparent)]
    Git(#[from] GitReadError),
}

impl CommitRefusal {
    /// Returns the word for the reason in documents that programs read.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoProject { .. } => "no-project",
            Self::Submodule { .. } => "submodule",
            Self::TooManySubmodules { .. } => "too-many-submodules",
            Self::LargeFilePointer { .. } => "lfs-pointer",
            Self::Converted { attribute, .. } => attribute,
            Self::TooDeep { .. } => "too-deep",
            Self::TooManyEntries => "too-many-entries",
            Self::LongAttributes { .. } | Self::TooManyBytes { .. } => "too-large",
            Self::LeftOut { .. } | Self::LeftOutOfSubmodule { .. } => "left-out",
            Self::OddConfiguration { .. } => "odd-configuration",
            Self::LackingClone { .. } => "lacking-clone",
            Self::OddEntry { .. } => "odd-entry",
            Self::Git(error) => match error {
                GitReadError::Object { problem, .. } => match problem {
                    ObjectProblem::Missing => "missing-object",
                    ObjectProblem::Damaged => "damaged-object",
                    ObjectProblem::Kind => "wrong-kind",
                    ObjectProblem::TooLarge => "too-large",
                    ObjectProblem::TooManyPacks => "too-many-packs",
                    ObjectProblem::Linked => "linked",
                },
                GitReadError::NoObjects { .. } | GitReadError::Name(_) => "no-repository",
                GitReadError::Format { .. } => "format",
                GitReadError::Linked { .. } | GitReadError::NotAFile { .. } => "linked",
                GitReadError::TooLong { .. } => "too-large",
                GitReadError::Unreadable { .. } => "unreadable",
            },
        }
    }
}
