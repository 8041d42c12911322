//! What ends a run without a verdict, so that it is made once more: a helper process of proctor died, or the snapshot could not be mounted
//! although an earlier process could. And what ends it without a word about the code: a full disk.

use std::io;

use crate::perform::Performer;
use proctor_evidence::is_disk_full;
use proctor_model::{Action, ActionEnd, EndedAction, HelperDeath, SpawnFailure, StopReason};
use proctor_project::ProjectError;
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

    /// Refuses to judge a failure of an action whose writes have filled our disk: its layer and its `/tmp` lie beside the evidence.
    pub(super) fn refuse_full_disk(&self, action: &Action, ended: &EndedAction) -> Result<(), ProjectError> {
        let store = self.lock.store();
        if matches!(ended.end, ActionEnd::Exited { code: 0 }) || !is_disk_full(store) {
            return Ok(());
        }
        let source = io::Error::from(io::ErrorKind::StorageFull);
        Err(ProjectError::NoRoom { action: action.name.clone(), store: store.root().to_owned(), source })
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
