//! Decides which files belong to a project's tree. The tree digest and the trigger of runs both use this matcher (S5).
//!
//! Every file belongs to the tree unless its name is in [`ALWAYS_OUT`], or a rules file of the project or the setting
//! `watch.ignore` excludes it. Rules files are `.gitignore` and `.ignore`, in every directory. A deeper rules file
//! overrides a higher one, and `.ignore` overrides `.gitignore` of the same directory. Git's global rules, rules files
//! above the project and `.git/info/exclude` are not used, so that the same tree gives the same answer on every
//! machine. A file that git tracks belongs to the tree although a rule excludes it; the caller says what is tracked
//! ([`proctor_git`]). `watch.include` puts excluded paths back. Neither it nor git puts back the names of
//! [`ALWAYS_OUT`], proctor's own link to the evidence and the task list. Whether an entry is that link depends on its
//! target, which the caller reads ([`Matcher::is_own_link`]).
//!
//! This module does not read files: the caller passes the text of the rules files.
//!
//! # How far `watch.include` reaches
//!
//! * A path that matches a pattern belongs to the tree although a rule excludes it. A directory that is put back this
//!   way brings its contents with it: rules files above the directory do not apply to its contents, but `watch.ignore`
//!   and the rules files in it do.
//! * A pattern that names directories (`secrets/*.env`, `build/**/schema.json`) makes a walk enter excluded directories
//!   that can lead to a match. Files there that do not match stay excluded, and rules files there are not read.
//! * A pattern without a directory (`.env`), or one that begins with `**/`, only puts back files in directories that
//!   belong to the tree. It opens no excluded directory. Otherwise `.env` would make every walk read all of `build/`.
//! * No pattern reaches into a directory that is always excluded.
//!
//! # Where this differs from git
//!
//! Patterns are written as in `gitignore(5)`, in which braces are plain characters. But named classes (`[[:alpha:]]`)
//! do not work. A malformed pattern in a rules file matches nothing, as in git, and [`Matcher::add_rules`] returns it
//! as a problem. In the settings it is an error.

mod always;
mod attributes;
mod caches;
mod class;
mod decision;
mod include;
mod matcher;
mod pattern;
mod rules;
mod scope;
mod settings;
#[cfg(test)]
mod tests;
mod why;

pub use always::{ALWAYS_OUT, AlwaysOut, is_always_out, is_never_shown};
pub use attributes::{ATTRIBUTES_FILE, AttributesFile, CheckoutChange, checkout_changes};
pub use caches::{CACHES_IN_ENVIRONMENTS, CacheKind, cache_kind, hidden_caches, is_hidden_cache, is_never_kept};
pub use class::{IgnoredClass, VIRTUAL_ENVIRONMENT, class_of, is_by_product, may_be_input};
pub use decision::{IgnoreDecision, IgnoreRule, IgnoreVerdict, RuleSource};
pub use matcher::Matcher;
pub use pattern::{IgnorePatternProblem, PatternSource};
pub use proctor_model::NameRule;
pub(crate) use rules::RulesAbove;
pub use rules::{DirectoryRules, RulesFile};
pub use scope::{RulesScope, TreeMembership};
pub use settings::{InputPlace, MatcherSettings, OwnLink, Selects, ShownOutputs};
pub use why::Explanation;
