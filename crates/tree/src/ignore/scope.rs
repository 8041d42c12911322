//! What a walk of the project passes on from a directory to its entries: whether the directory belongs to the tree, and
//! the rules that apply in it.

use std::sync::Arc;

use crate::ignore::rules::DirectoryRules;
use proctor_git::TrackedPaths;

/// Whether an entry belongs to the tree, and whether a walk enters it. In a matcher that selects ignored inputs,
/// "belongs to the tree" means here that the entry is an ignored input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeMembership {
    /// The entry belongs to the tree.
    In,
    /// The entry belongs to the tree because `watch.include` puts it back although a rule excludes it.
    PutBack,
    /// The file belongs to the tree because git tracks it, although a rule excludes it or a directory above it.
    Tracked,
    /// An excluded directory that a walk must enter, because a pattern of `watch.include` may match something in it, or because git
    /// tracks something in it.
    Leads,
    /// A directory that is not selected but may contain selected entries. A walk enters it and reads its rules files.
    Passed,
    /// A directory of installed packages, in a matcher that selects ignored inputs. It is not copied: checks see the real
    /// one. A walk notes it and does not enter it.
    Environment,
    /// The entry is not selected, and a walk does not enter it.
    Out,
}

/// The rules that apply in a directory. A walk begins at the root with the rules of
/// [`crate::ignore::Matcher::root_scope`], and [`crate::ignore::Matcher::enter`] changes them for each subdirectory.
#[derive(Debug, Clone)]
pub struct RulesScope {
    /// Whether the directory belongs to the tree.
    pub(super) ground: SurroundingTree,
    /// The rules files that apply, those of the root first, those of the directory itself last.
    pub(super) rules: Vec<Arc<DirectoryRules>>,
    /// The paths that git tracks in the whole project. They belong to the tree although a rule excludes them.
    pub(super) tracked: Arc<TrackedPaths>,
}

/// Whether the directory that a walk is in belongs to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SurroundingTree {
    /// The directory belongs to the tree.
    Inside,
    /// The directory is excluded. The walk is in it because something in it may be selected: by a pattern of
    /// `watch.include`, because git tracks it, or because a prerequisite makes it.
    Leading,
    /// The walk selects ignored inputs and is inside an ignored directory, so every entry is ignored.
    Ignored,
}

impl TreeMembership {
    /// Returns whether the matcher selects the entry: as a part of the tree, or in a matcher for ignored inputs as an
    /// ignored input.
    pub fn belongs(self) -> bool {
        match self {
            Self::In | Self::PutBack | Self::Tracked => true,
            Self::Leads | Self::Passed | Self::Environment | Self::Out => false,
        }
    }

    /// Returns whether a walk enters the entry if it is a directory.
    pub fn is_walked(self) -> bool {
        match self {
            Self::In | Self::PutBack | Self::Leads | Self::Passed => true,
            // git tracks only files, so a directory is never `Tracked`.
            Self::Tracked | Self::Environment | Self::Out => false,
        }
    }

    /// Returns whether the rules files in the entry apply to its contents, if the entry is a directory. In an excluded
    /// directory they do not apply.
    pub fn reads_rules(self) -> bool {
        self.belongs() || self == Self::Passed
    }
}

impl RulesScope {
    /// Returns whether the rules files in this directory apply to its contents. In an excluded directory they do not
    /// apply.
    pub fn reads_rules(&self) -> bool {
        self.ground == SurroundingTree::Inside
    }
}
