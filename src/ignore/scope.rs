//! The facts that a walk passes from a directory to its entries: their membership and the rules that apply.

use std::sync::Arc;

use crate::git::TrackedPaths;
use crate::ignore::rules::DirectoryRules;

/// Whether an entry belongs to the tree, and whether a walk enters it.
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
    /// The entry is not selected, and a walk does not enter it.
    Out,
}

/// The rules that apply in a directory: from [`crate::ignore::Matcher::root_scope`], narrowed by
/// [`crate::ignore::Matcher::enter`].
#[derive(Debug, Clone)]
pub struct RulesScope {
    pub(super) ground: SurroundingTree,
    /// The rules files of the directories from the root down.
    pub(super) rules: Vec<Arc<DirectoryRules>>,
    /// The paths that git tracks in the whole project. They belong to the tree although a rule excludes them.
    pub(super) tracked: Arc<TrackedPaths>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SurroundingTree {
    Inside,
    Leading,
    /// The walk selects ignored inputs and is inside an ignored directory, so every entry is ignored.
    Ignored,
}

impl TreeMembership {
    /// Returns whether the entry belongs to the tree.
    pub fn belongs(self) -> bool {
        match self {
            Self::In | Self::PutBack | Self::Tracked => true,
            Self::Leads | Self::Passed | Self::Out => false,
        }
    }

    /// Returns whether a walk enters the directory.
    pub fn is_walked(self) -> bool {
        match self {
            Self::In | Self::PutBack | Self::Leads | Self::Passed => true,
            // No directory is tracked.
            Self::Tracked | Self::Out => false,
        }
    }

    /// Returns whether the rules files in the directory count.
    pub fn reads_rules(self) -> bool {
        self.belongs() || self == Self::Passed
    }
}

impl RulesScope {
    /// Returns whether the rules files in the directory count.
    pub fn reads_rules(&self) -> bool {
        self.ground == SurroundingTree::Inside
    }
}
