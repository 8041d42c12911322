//! Whether two words of a command start the same program in the environment of an action (S7). Reads the file system, and
//! starts nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::model::{Action, ActionId, Plan};
use crate::process::resolve_program;
use crate::sandbox::{ChildEnvironment, EnvironmentAdditions};

/// Where the programs of a plan are searched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProgramSearch<'a> {
    pub(crate) root: &'a Path,
    /// The environment of proctor itself.
    pub(crate) ambient: &'a BTreeMap<OsString, OsString>,
    /// What the settings add to the environment of every action; `None` if the settings cannot be read. No two words
    /// name the same program then.
    pub(crate) additions: Option<&'a EnvironmentAdditions>,
}

impl ProgramSearch<'_> {
    /// Returns whether an action of the plan starts the same program by either word: the same file under the same path. Both
    /// words must be paths. Where a plain name leads depends on the search path of whoever runs proctor now, and not of the
    /// person who approved it: whoever can edit the file could also begin proctor with another search path.
    ///
    /// Paths are compared as they are written, not after links are resolved. A Python program finds its packages by its
    /// path, so another path to the same file may lead to other packages.
    pub(crate) fn is_same(&self, plan: &Plan, id: &ActionId, old: &str, new: &str) -> bool {
        if !(old.contains('/') && new.contains('/')) {
            return false;
        }
        let Some(action) = plan.steps.iter().find(|action| action.id == *id) else { return false };
        let (Some(old), Some(new)) = (self.resolve(action, old), self.resolve(action, new)) else { return false };
        old == new
    }

    fn resolve(&self, action: &Action, program: &str) -> Option<PathBuf> {
        let environment = ChildEnvironment::build(self.ambient, self.additions?, action, Path::new("/"));
        resolve_program(program, &self.root.join(&action.directory), &environment.search_path()).ok()
    }
}
