//! The one matcher for what belongs to a project's tree, used by the digest and by the trigger alike (S5).
//!
//! Owns the rules: in is everything that the project's own `.gitignore` and `.ignore` files (every level, deeper wins, `.ignore`
//! beats `.gitignore` of the same directory) and `watch.ignore` do not exclude. Global, parent and `.git/info/exclude` rules are
//! never asked, so that the same tree gives the same answer on every machine; ignored means out even when git tracks the file.
//! `watch.include` puts paths back; the table of [`ALWAYS_OUT`] and the evidence link are out whatever anybody says.
//!
//! It may not touch files: whoever walks hands it the text of the rules files. It may not know what a path is used for.
//!
//! # How far `watch.include` reaches
//!
//! * A path that matches a pattern itself is in, although a rule excludes it. A directory that is put back this way brings its
//!   contents with it: rules files above it do not apply below it, rules files in it and `watch.ignore` do.
//! * A pattern that names its way (`secrets/*.env`, `build/**/schema.json`) makes a walk descend into excluded directories that
//!   can lead to a match. What does not match there stays out, and rules files there are not read.
//! * A pattern without a directory (`.env`) and one that begins with `**/` put back what lies in directories that belong to the
//!   tree; they reach into no excluded directory, or `.env` would make every walk read all of `build/`.
//! * Nothing reaches into what is always out.
//!
//! # Where this differs from git
//!
//! Patterns are those of `gitignore(5)`; braces are plain characters as there. Named classes (`[[:alpha:]]`) are not known. A
//! malformed pattern matches nothing, as in git, and is named by [`Matcher::add_rules`]; in the settings it is an error.

mod always;
mod decision;
mod include;
mod matcher;
mod pattern;
mod rules;
mod scope;
#[cfg(test)]
mod tests;
mod why;

pub use always::{ALWAYS_OUT, AlwaysOut, NameRule};
pub use decision::{Decision, Rule, RuleSource, Verdict};
pub use matcher::{Matcher, MatcherSettings};
pub use pattern::{PatternProblem, PatternSource};
pub use rules::{DirectoryRules, RulesFile};
pub use scope::{Scope, Standing};
pub use why::Explanation;
