//! The turns of a run's actions in the queue, and the launchers that start them.

use std::io;
use std::time::Duration;

use crate::flow::stop_reasons_for;
use crate::perform::Performer;
use crate::queue::{AwaitedTurn, QueueTurn, is_inside_action, take_turn, try_take_turn};
use proctor_evidence::is_disk_full;
use proctor_model::{Action, ActionEnd, EndedAction, HelperDeath, SpawnFailure, StopReason};
use proctor_project::ProjectError;
use proctor_sandbox::process::LauncherHandle;
use proctor_sandbox::snapshot::MountConditions;

impl Performer<'_, '_> {
    /// Takes a turn for an action that runs in parallel with others of this run, if a turn is free at once. A run that
    /// has a turn never waits for another one, because runs that wait in the queue come first.
    pub(crate) fn try_take_turn(&self) -> Result<Option<QueueTurn>, ProjectError> {
        try_take_turn(&self.evidence.store, &self.runner.ambient, self.queue)
    }

    /// Waits for a turn in the queue. The wait does not count against the run's time limit.
    pub(crate) fn next_turn(&mut self, action: &Action) -> Result<AwaitedTurn, ProjectError> {
        let answer = self.take_turn(action)?;
        self.clock.note_wait(answer.waited);
        Ok(answer)
    }

    /// Returns how many actions of this run may have a turn at the same time. A run inside of an action shares the turn of that
    /// action.
    pub(crate) fn turns(&self) -> u32 {
        if is_inside_action(&self.evidence.store, &self.runner.ambient) { 1 } else { self.queue.max_parallel }
    }

    /// Returns the run's own launcher for an action that runs in parallel with others. This launcher may have started a
    /// keeper in advance (the process that holds an action's processes together), so the action starts sooner. `None` if
    /// another action has the launcher, or the launcher has died.
    pub(crate) fn take_own_launcher(&mut self) -> Option<LauncherHandle> {
        self.runner.take_working_launcher()
    }

    /// Returns whether the run's own launcher is alive and no action has it.
    pub(crate) fn has_own_launcher(&self) -> bool {
        self.runner.has_working_launcher()
    }

    /// Gives a launcher back whose action has ended.
    pub(crate) fn give_back_launcher(&mut self, launcher: LauncherHandle) {
        self.runner.give_back_launcher(launcher);
    }

    /// Starts a launcher for actions that run in parallel with others.
    pub(crate) fn start_background_launcher(&self) -> Result<LauncherHandle, ProjectError> {
        LauncherHandle::execute(self.runner.executable()).map_err(ProjectError::Launcher)
    }

    /// Waits for a turn. This happens before any preparation, so that no project file is moved out of the way during
    /// the wait.
    fn take_turn(&mut self, action: &Action) -> Result<AwaitedTurn, ProjectError> {
        let (control, stop_reasons_for) = (self.context.request.control, stop_reasons_for(action.phase));
        let stopped = || control.requested().filter(|reason| stop_reasons_for.contains(reason));
        let answer = take_turn(&self.evidence.store, &self.runner.ambient, self.queue, &stopped, self.show);
        if let Err(ProjectError::Queue { .. }) = answer {
            // The wait for a turn has timed out, so the run has failed. Only the cleanup is left, which should not wait
            // that long again.
            self.queue.wait = Duration::ZERO;
        }
        answer
    }
}

// What ends a run without a verdict, so that it is made once more: a helper process of proctor died, or the snapshot could not be
// mounted although an earlier process could. And what ends it without a word about the code: a full disk.

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
