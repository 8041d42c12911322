//! An answer of the matcher, with the rule that gave it.

use crate::ignore::rules::RulesFile;
use crate::model::TreePath;

/// Whether a path belongs to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    In,
    /// It does not.
    Out,
}

/// An answer of the matcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether the path belongs to the tree.
    pub verdict: Verdict,
    /// The rule that decided; none where nothing speaks of the path, which is then in.
    pub rule: Option<Rule>,
}

/// A rule that decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Where it is written.
    pub source: RuleSource,
    /// The line of the file or the position in the setting, from 1; none for what is always out.
    pub line: Option<u32>,
    /// The pattern as it is written.
    pub pattern: String,
}

/// Where a rule is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleSource {
    /// The table [`crate::ignore::ALWAYS_OUT`], with its reason.
    AlwaysOut(&'static str),
    /// The evidence link of the project (S1).
    EvidenceLink,
    /// The task list that proctor writes into.
    TaskList,
    /// `watch.ignore`.
    Ignore,
    /// `watch.include`.
    Include,
    /// A rules file of the project.
    File {
        /// The directory it lies in.
        directory: TreePath,
        /// Which of the two.
        file: RulesFile,
    },
}
