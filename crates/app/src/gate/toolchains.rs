//! Looks whether the toolchains and installed packages of runs are what the runs name. A run of a save compares the stamps of
//! directories; here the stamp of every file is compared, which a save does not wait for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::from_run_error;
use proctor_evidence::Store;
use proctor_model::{ClaimOrigin, ProjectId, RunId};
use proctor_project::{StoreReader, ToolchainNames, changed_toolchains};

/// The toolchains of runs, each looked at once.
pub(super) struct ToolchainsNow {
    store: Store,
    own: ToolchainNames,
    /// For runs of other working trees, which name their environments relative to those.
    elsewhere: BTreeMap<RunId, ToolchainNames>,
    changed: RefCell<BTreeMap<RunId, Vec<String>>>,
}

impl ToolchainsNow {
    /// Prepares to look at the toolchains of the runs of a project, and of other projects' runs. Nothing is looked at yet.
    ///
    /// # Errors
    /// When the registered projects cannot be read.
    pub(super) fn new(
        environment: &Environment,
        archive: &mut StoreReader,
        root: &Path,
        elsewhere: &BTreeMap<RunId, ProjectId>,
    ) -> Result<Self, CommandError> {
        let projects =
            if elsewhere.is_empty() { Vec::new() } else { archive.projects().map_err(|error| from_run_error(&error))? };
        let names = |root: &Path| ToolchainNames::new(root, environment.variables());
        let of_project = |id: &ProjectId| projects.iter().find(|project| project.id == *id);
        let of_run = |(run, id): (&RunId, &ProjectId)| Some((run.clone(), names(Path::new(&of_project(id)?.path))));
        Ok(Self {
            store: archive.store.clone(),
            own: names(root),
            elsewhere: elsewhere.iter().filter_map(of_run).collect(),
            changed: RefCell::default(),
        })
    }

    /// Returns the toolchains that have another content now than the run names, or were written since.
    pub(super) fn changed(&self, origin: &ClaimOrigin) -> Vec<String> {
        if let Some(known) = self.changed.borrow().get(&origin.run) {
            return known.clone();
        }
        let names = self.elsewhere.get(&origin.run).unwrap_or(&self.own);
        let changed = |conditions| changed_toolchains(&self.store, names, conditions);
        let changed = origin.conditions.as_ref().map(changed).unwrap_or_default();
        self.changed.borrow_mut().insert(origin.run.clone(), changed.clone());
        changed
    }
}
