//! What ends a run without a verdict, so that it is made once more: a helper process of proctor died, or the snapshot could not be mounted
//! although an earlier process could.

use crate::perform::Performer;
use proctor_model::{Action, ActionEnd, HelperDeath, SpawnFailure, StopReason};
use proctor_sandbox::snapshot::MountConditions;

impl Performer<'_, '_> {
    /// Notes how an action ended. If a helper process of proctor died meanwhile, the run has no verdict, so its other actions
    /// are stopped, except the cleanup.
    pub(crate) fn note_end(&mut self, action: &Action, end: &ActionEnd) {
        let why = if let ActionEnd::Lost { why } = end { Some(why.clone()) } else { self.unexpected_mount_failure(action, end) };
        if let Some(why) = why {
            let death = || HelperDeath { action: action.name.clone(), why };
            self.helper_death.get_or_insert_with(death);
            self.context.request.control.handle().stop(StopReason::HelperDied);
        }
    }

    /// Returns why the snapshot of an action could not be mounted, where no trial told of it before the run: an earlier process had mounted
    /// it under the same conditions, so none was made.
    fn unexpected_mount_failure(&mut self, action: &Action, end: &ActionEnd) -> Option<String> {
        self.place.snapshot_for(action)?;
        let (project, why) = (&self.context.request.scope.project, not_isolated(end));
        if !self.runner.note_mount(project, why.is_none()) {
            return None;
        }
        MountConditions::forget(&self.evidence.store.snapshot_directory(project));
        Some(format!("its snapshot could not be mounted: {}", why?))
    }

    /// Returns the first death of a helper process while an action of the run went on; `None` if there was none.
    pub(crate) fn helper_death(&self) -> Option<&HelperDeath> {
        self.helper_death.as_ref()
    }
}

/// Returns why an action was not started, if its isolation is the reason.
fn not_isolated(end: &ActionEnd) -> Option<&str> {
    if let ActionEnd::NotStarted(SpawnFailure::NotIsolated { why }) = end { Some(why) } else { None }
}
