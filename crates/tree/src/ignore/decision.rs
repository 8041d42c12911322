//! The matcher's decision whether a path belongs to the tree, and the rule that decided.

use crate::ignore::rules::RulesFile;
use proctor_model::TreePath;

/// Whether a path belongs to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreVerdict {
    In,
    Out,
}

/// Whether a path belongs to the tree, and which rule decided that. `proctor why` prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoreDecision {
    pub verdict: IgnoreVerdict,
    /// The rule that decided; `None` if no rule matches the path, which then belongs to the tree.
    pub rule: Option<IgnoreRule>,
}

/// A rule as it was written, and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoreRule {
    /// Where the rule is written.
    pub source: RuleSource,
    /// The line of the file or the position in the setting, counted from 1; `None` for the built-in rules.
    pub line: Option<u32>,
    pub pattern: String,
}

/// Where a rule is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleSource {
    /// The built-in table [`crate::ignore::ALWAYS_OUT`]. The text is the row's reason.
    AlwaysOut(&'static str),
    /// A link that proctor made and that leads to the evidence (S1), of this project or of one in a subdirectory.
    EvidenceLink,
    /// The built-in rule for the task list that proctor writes.
    TaskList,
    /// The built-in rule for the directory in which proctor keeps its evidence.
    Store,
    /// The setting `watch.ignore`.
    Ignore,
    /// The setting `watch.include`.
    Include,
    /// Git's index: git tracks the path, so it belongs to the tree although this rule excludes it.
    Tracked(Box<IgnoreRule>),
    /// A rules file of the project.
    File {
        /// The directory of the rules file.
        directory: TreePath,
        file: RulesFile,
    },
}
