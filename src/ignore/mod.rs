//! Decides which files belong to a project's tree. The tree digest and the trigger of runs both use this matcher (S5).
//!
//! Everything belongs to the tree except what is excluded by the project's own `.gitignore` and `.ignore` files (on every level; a
//! deeper file overrides a higher one, `.ignore` overrides `.gitignore` of the same directory) or by `watch.ignore`. Global rules,
//! those of parent directories and `.git/info/exclude` are not used, so that the same tree gives the same answer on every machine.
//! What git tracks belongs to the tree although a rule excludes it; the caller says what is tracked ([`crate::git`]).
//! `watch.include` puts paths back. Neither puts back the names of [`ALWAYS_OUT`] and proctor's own link to the evidence. Whether an
//! entry is that link depends on its target, which the caller reads ([`Matcher::is_own_link`]).
//!
//! This module may not touch files: the caller passes the text of the rules files. It may not know what a path is used for.
//!
//! # How far `watch.include` reaches
//!
//! * A path that matches a pattern itself belongs to the tree although a rule excludes it. A directory that is put back this way
//!   brings its contents with it: rules files above it do not apply below it, rules files in it and `watch.ignore` do.
//! * A pattern with a path (`secrets/*.env`, `build/**/schema.json`) makes a walk enter excluded directories that can lead to a
//!   match. What does not match there stays excluded, and rules files there are not read.
//! * A pattern without a directory (`.env`), or one that begins with `**/`, only puts back what lies in directories that belong to
//!   the tree. It opens no excluded directory; otherwise `.env` would make every walk read all of `build/`.
//! * No pattern reaches into what is always excluded.
//!
//! # Where this differs from git
//!
//! Patterns are those of `gitignore(5)`, where braces are plain characters. Named classes (`[[:alpha:]]`) are not known. A
//! malformed pattern matches nothing, as in git, and is named by [`Matcher::add_rules`]; in the settings it is an error.

mod always;
mod class;
mod decision;
mod include;
mod matcher;
mod own_link;
mod pattern;
mod rules;
mod scope;
#[cfg(test)]
mod tests;
mod why;

pub use crate::model::NameRule;
pub use always::{ALWAYS_OUT, AlwaysOut};
pub use class::{IgnoredClass, class_of, is_by_product};
pub use decision::{IgnoreDecision, IgnoreRule, IgnoreVerdict, RuleSource};
pub use matcher::{Matcher, MatcherSettings, Selects};
pub use own_link::OwnLink;
pub use pattern::{IgnorePatternProblem, PatternSource};
pub use rules::{DirectoryRules, RulesFile};
pub use scope::{RulesScope, TreeMembership};
pub use why::Explanation;
