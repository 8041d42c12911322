//! The settings of a matcher.
//!
//! Where an input lies, and the name by which it is digested.
//!
//! The links that proctor itself makes in the roots of projects (S1). They belong to no tree: neither to that of their own project nor to
//! that of a project around it. Any other entry of such a name does.
//!
//! The ignored outputs that checks see all the same, and which ignored entries are inputs of checks. Pure.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ignore::always::is_never_shown;
use crate::ignore::class::{IgnoredClass, class_of, is_product};
use crate::ignore::matcher::{is_at_or_below, name_of};
use proctor_model::TreePath;

/// The settings and names that decide, together with the rules files, what belongs to the tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatcherSettings {
    /// `watch.ignore`: patterns relative to the project's root.
    pub ignore: Vec<String>,
    /// `watch.include`: patterns relative to the project's root.
    pub include: Vec<String>,
    /// The links that proctor makes and that lead to the evidence (S1); `None` where no store is known.
    pub own_link: Option<OwnLink>,
    /// The directory in which proctor keeps its evidence, relative to the root, if it lies in the project.
    pub store: Option<TreePath>,
    /// The path of the task list that proctor writes, relative to the root, if there is one.
    pub task_list: Option<String>,
    pub selects: Selects,
    /// The ignored outputs of builds that checks see all the same, because a prerequisite makes them.
    pub outputs: ShownOutputs,
    /// The files and directories beside the tree by whose content its digest is named too.
    pub inputs: Vec<InputPlace>,
}

/// The entries that a matcher selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Selects {
    /// The entries that belong to the tree.
    #[default]
    Tree,
    /// The ignored entries that checks may read. Installed packages, caches and outputs are not among them.
    IgnoredInputs,
}

impl MatcherSettings {
    /// Returns the settings for watching files. The task list does not belong to the tree, but it is watched, so that
    /// an edit by hand is noticed at once. Such an edit starts no run, because it does not change the tree digest.
    pub fn for_watching(&self) -> Self {
        Self { task_list: None, ..self.clone() }
    }
}

/// A file or directory beside the tree that checks may read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputPlace {
    /// The name that is digested: relative to the root (`../shared`), below HOME (`~/.gitconfig`) or absolute.
    pub name: String,
    /// The path of the input: absolute, with all links resolved. Nothing need exist at it.
    pub path: PathBuf,
}

impl InputPlace {
    /// Returns where the input lies in the repository of a project, from the repository's root; `None` if it does not lie in it. `below`
    /// is the project's directory in the repository.
    pub fn in_repository(&self, below: &TreePath) -> Option<TreePath> {
        let mut way: Vec<&[u8]> = below.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
        if !self.name.starts_with("../") {
            return None;
        }
        for name in self.name.as_bytes().split(|byte| *byte == b'/') {
            match name {
                b".." => drop(way.pop()?),
                name => way.push(name),
            }
        }
        TreePath::try_from(way.join(&b'/').as_slice()).ok()
    }
}

/// Returns inputs in the order in which they are digested.
pub(super) fn in_order(inputs: &[InputPlace]) -> Arc<[InputPlace]> {
    let mut inputs = inputs.to_vec();
    inputs.sort();
    inputs.dedup_by(|left, right| left.name == right.name);
    inputs.into()
}

/// A link by which people reach a project's evidence. Its target alone tells it from other links, because a project in a subdirectory
/// has a link of its own, whose name its own settings say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnLink {
    /// The directory of the store that contains the evidence of all projects. The link's target lies directly in it.
    pub leads_into: PathBuf,
}

impl OwnLink {
    /// Returns whether a link with this target was made by proctor. The target of a link that was copied together with its
    /// project is the evidence of another project, and counts too: the next run replaces it.
    pub fn has_target(&self, target: &[u8]) -> bool {
        let target = Path::new(OsStr::from_bytes(target));
        // `..` has no file name, so `EVIDENCE/..` does not count.
        target.file_name().is_some() && target.parent() == Some(self.leads_into.as_path())
    }
}

/// The ignored outputs that checks see.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShownOutputs {
    /// The outputs that are named one by one, as paths relative to the root. A directory stands for everything below
    /// it.
    pub paths: Vec<TreePath>,
    /// Whether checks also see every directory or file named `dist` or `build`, the usual names for what a build makes.
    pub products: bool,
    /// The outputs that tools' own configuration files name, whatever they are called. Checks see them as they see `dist`.
    pub configured: Vec<TreePath>,
    /// The reports that checks name, or the directories in which they lie. A check never sees an old one.
    pub reports: Vec<TreePath>,
}

impl ShownOutputs {
    /// Returns whether an ignored input is an output that prerequisites make, or lies in one.
    pub fn contains(&self, path: &TreePath) -> bool {
        let is_product_of_build =
            || path.as_bytes().split(|byte| *byte == b'/').any(is_product) || self.is_configured(path.as_bytes());
        let is_made = self.products && is_product_of_build();
        is_made || self.is_shown(path.as_bytes())
    }

    /// Returns whether an ignored entry of a directory that is not ignored itself is an input of checks.
    pub(super) fn is_input(&self, path: &[u8], is_directory: bool) -> bool {
        let name = name_of(path);
        if self.is_report(path) {
            return false;
        }
        match class_of(name) {
            IgnoredClass::Input => self.products || !self.is_configured(path) || self.is_shown(path),
            // Directories of installed packages are not copied: checks see the real ones. A symbolic link or a single
            // file with such a name is an input and is copied.
            IgnoredClass::Environment => !is_directory,
            IgnoredClass::Output if self.products && is_product(name) => true,
            IgnoredClass::Output | IgnoredClass::Cache => self.is_shown(path),
        }
    }

    /// Returns whether a check names an entry, or a directory that contains it, as its report.
    pub(super) fn is_report(&self, path: &[u8]) -> bool {
        self.reports.iter().any(|report| is_at_or_below(path, report.as_bytes()))
    }

    /// Returns whether a tool's configuration names an entry, or a directory that contains it, as an output.
    fn is_configured(&self, path: &[u8]) -> bool {
        self.configured.iter().any(|output| is_at_or_below(path, output.as_bytes()))
    }

    /// Returns whether `paths` names an entry or a directory that contains it. Below a named directory, bytecode and
    /// version control data stay out.
    pub(super) fn is_shown(&self, path: &[u8]) -> bool {
        let is_out = is_never_shown(name_of(path));
        self.paths.iter().map(TreePath::as_bytes).any(|shown| shown == path || (!is_out && is_at_or_below(path, shown)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_link_into_the_evidence_of_this_store_is_proctors_own() {
        let own = OwnLink { leads_into: PathBuf::from("/state/proctor/evidence") };
        for (target, expected) in [
            ("/state/proctor/evidence/shop-00000001", true),
            ("/state/proctor/evidence", false),
            ("/state/proctor/evidence/..", false),
            ("/state/proctor/evidence/shop-00000001/../..", false),
            ("/state/proctor/evidence/shop-00000001/default", false),
            ("/elsewhere/shop-00000001", false),
            ("own", false),
            ("", false),
        ] {
            assert_eq!(own.has_target(target.as_bytes()), expected, "{target}");
        }
    }
}
