//! What a walk carries down: where an entry stands, and which rules apply in a directory.

use std::sync::Arc;

use crate::ignore::rules::DirectoryRules;

/// Where an entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It belongs to the tree.
    In,
    /// It belongs to the tree because `watch.include` says so, against a rule.
    PutBack,
    /// A directory that does not belong to the tree and has to be looked into: a pattern of `watch.include` leads through it.
    Leads,
    /// It does not belong to the tree; a walk does not look into it.
    Out,
}

/// What holds in a directory: made by [`crate::ignore::Matcher::root_scope`], narrowed by [`crate::ignore::Matcher::enter`].
#[derive(Debug, Clone)]
pub struct Scope {
    pub(super) ground: Ground,
    /// The rules of the directories from the top down.
    pub(super) rules: Vec<Arc<DirectoryRules>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    Inside,
    Leading,
}

impl Standing {
    /// Returns whether the entry belongs to the tree.
    pub fn belongs(self) -> bool {
        match self {
            Self::In | Self::PutBack => true,
            Self::Leads | Self::Out => false,
        }
    }

    /// Returns whether a walk looks into a directory that stands so.
    pub fn is_walked(self) -> bool {
        match self {
            Self::In | Self::PutBack | Self::Leads => true,
            Self::Out => false,
        }
    }

    /// Returns whether the rules files of a directory that stands so count.
    pub fn reads_rules(self) -> bool {
        self.belongs()
    }
}

impl Scope {
    /// Returns whether the rules files of the directory count.
    pub fn reads_rules(&self) -> bool {
        self.ground == Ground::Inside
    }
}
