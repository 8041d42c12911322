//! The turns of a run's actions in the queue, and the launchers that start them.

use std::time::Duration;

use crate::flow::stop_reasons_for;
use crate::perform::Performer;
use crate::queue::{AwaitedTurn, QueueTurn, is_inside_action, take_turn, try_take_turn};
use proctor_model::Action;
use proctor_project::ProjectError;
use proctor_sandbox::process::LauncherHandle;

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
