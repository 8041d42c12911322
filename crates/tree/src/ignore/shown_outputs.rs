//! The ignored outputs that checks see all the same, and which ignored entries are inputs of checks. Pure.

use crate::ignore::always::is_never_shown;
use crate::ignore::class::{IgnoredClass, class_of, is_product};
use crate::ignore::matcher::{is_at_or_below, name_of};
use proctor_model::TreePath;

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
