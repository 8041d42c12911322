//! Gives the run's actions layers for what is dropped when they have ended, and drops it.

use std::path::PathBuf;

use crate::check_place::CheckPlace;
use crate::dropped_writes::{add_layers, drop_layers};
use crate::perform::Performer;

use proctor_model::{Action, ActionPhase, DroppedWrites, PlanNote};
use proctor_project::{ProjectError, environments_in_project};
use proctor_sandbox::process::LaunchRequest;

impl Performer<'_, '_> {
    /// Gives an action that is no prerequisite layers for what it writes to package caches, and a check in the project itself layers for
    /// what it writes to installed packages. Weaker levels than namespaces have no layers.
    pub(super) fn drop_writes(&mut self, action: &Action, request: &mut LaunchRequest) -> Result<(), ProjectError> {
        // A typed command is there to change the project. The snapshot has layers of its own for installed packages.
        let is_check = action.phase == ActionPhase::Step && !self.context.request.is_typed();
        let environments = if is_check && self.place.snapshot_for(action).is_none() { self.environments() } else { Vec::new() };
        let directory = self.evidence.store.snapshot_directory(&self.context.request.scope.project);
        let layers = match &mut *self.place {
            CheckPlace::Snapshot(snapshot) => Ok(snapshot.layers()),
            CheckPlace::Project | CheckPlace::InPlace(_) => {
                self.in_place.layers(&directory).map(|layers| (layers, directory.as_path()))
            }
        };
        layers.and_then(|layers| add_layers(layers, &environments, action, request)).map_err(ProjectError::Snapshot)
    }

    /// Returns the directories of installed packages in the project, as they were when the first check started.
    fn environments(&mut self) -> Vec<PathBuf> {
        let find = || {
            let found = environments_in_project(self.index, self.context.request.plan, &self.runner.path_variable());
            found.into_iter().collect()
        };
        self.in_place.environments.get_or_insert_with(find).clone()
    }

    /// Removes the layers with the writes of an action that are dropped. The action must have ended. Returns a note if it changed
    /// installed packages.
    pub(super) fn drop_layers(&mut self, action: &Action, dropped: Option<&DroppedWrites>) -> Option<PlanNote> {
        let environments = self.in_place.environments.clone().unwrap_or_default();
        let layers = match &mut *self.place {
            CheckPlace::Snapshot(snapshot) => Some(snapshot.layers().0),
            CheckPlace::Project | CheckPlace::InPlace(_) => self.in_place.begun(),
        };
        drop_layers(layers?, &environments, action, dropped?)
    }
}
