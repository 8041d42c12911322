//! Decides how a save affects the run under way. Pure.

use crate::effect::{Effect, Notice};
use crate::engine::Engine;
use crate::engine::stage::{Stage, StopProgress};
use crate::event::SavedContent;
use proctor_model::{OnChange, StopReason, TaskId};

/// How a burst of saves affects the run under way. In every case the newest tree is tested next, so no save is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SaveDuringRun {
    /// The run is stopped, and a new run on the changed tree begins.
    Restart,
    /// The run continues to its end, because saves have stopped it too often or because it makes the saves itself.
    LetFinish,
    /// The run continues to its end, because the settings say so.
    Queue,
}

/// Whether the run under way wrote the saved files itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SavedBy {
    /// A person or another program, as far as is known.
    Outside,
    /// The run under way.
    Run,
}

/// Decides how a save affects the run under way. `stopped_before` is the number of runs in a row that saves have
/// stopped.
pub(super) fn decide(on_change: OnChange, stopped_before: u32, max_restarts: u32, saved_by: SavedBy) -> SaveDuringRun {
    match (on_change, saved_by) {
        (OnChange::Queue, _) => SaveDuringRun::Queue,
        (OnChange::Restart, SavedBy::Outside) if stopped_before < max_restarts => SaveDuringRun::Restart,
        // A run that makes the saves itself would make them again after every restart, so stopping it would not help.
        (OnChange::Restart, SavedBy::Outside | SavedBy::Run) => SaveDuringRun::LetFinish,
    }
}

/// The most saved files that are compared with the tested tree. More files count as changed without a comparison,
/// because so many are hardly ever saved without a change.
const COMPARED: usize = 64;

impl Engine {
    /// Has the saved files compared with the tree that the run tests, because a save that changes no content stops nothing. If
    /// the saved files are too many or not all known, the run is restarted or let finish at once, without a comparison.
    pub(super) fn compare_saved_files(&mut self) -> Vec<Effect> {
        let known = self.burst.as_ref().and_then(|burst| burst.all_paths()).filter(|paths| paths.len() <= COMPARED);
        match known {
            Some(paths) => vec![Effect::Compare(paths)],
            None => self.on_save_during_run(),
        }
    }

    /// Forgets a save whose content the run under way tests too, unless that run leaves something open: a run of named checks gives no
    /// verdict, and another task may have no verdict, or a plan that was refused. Then the save waits for the next run. After a save of another
    /// content, the run is restarted or may finish.
    pub(super) fn on_compared(&mut self, content: SavedContent) -> Vec<Effect> {
        match (content, &self.stage) {
            (SavedContent::Same, _) => {
                self.burst = self.burst.take().filter(|_| self.is_of_named_checks || self.do_others_need_saves());
                Vec::new()
            }
            (SavedContent::Different, Stage::Running(StopProgress::Going)) => self.on_save_during_run(),
            (SavedContent::Different, _) => Vec::new(),
        }
    }

    /// Returns whether a verdict of the current task would not show that another task needs a run.
    fn do_others_need_saves(&self) -> bool {
        let needs = |task: &TaskId| self.known.get(task).is_none_or(|known| known.last_tree.is_none() || known.is_held);
        self.settings.tasks.iter().any(|task| *task != self.current && needs(task))
    }

    /// Restarts the run under way or lets it finish, because a burst of saves has ended.
    pub(super) fn on_save_during_run(&mut self) -> Vec<Effect> {
        let paths = self.burst.as_ref().map(|burst| burst.paths()).unwrap_or_default();
        let is_own = !paths.is_empty() && self.repetitions.are_written_by_run(&paths);
        let saved_by = if is_own { SavedBy::Run } else { SavedBy::Outside };
        let stopped_before = self.of_current().restarts;
        match decide(self.settings.on_change, stopped_before, self.settings.max_restarts, saved_by) {
            SaveDuringRun::Restart => {
                self.of_current().restarts += 1;
                self.stage = Stage::Running(StopProgress::Stopping);
                let path = paths.into_iter().next();
                vec![Effect::Show(Notice::Restarting { path }), Effect::Stop(StopReason::Superseded)]
            }
            SaveDuringRun::LetFinish => {
                self.stage = Stage::Running(StopProgress::LetFinish);
                vec![Effect::Show(Notice::LettingFinish)]
            }
            SaveDuringRun::Queue => {
                self.stage = Stage::Running(StopProgress::LetFinish);
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_save_stops_a_run_only_so_often_and_never_one_that_makes_it_itself() {
        for (on_change, stopped_before, saved_by, expected) in [
            (OnChange::Restart, 0, SavedBy::Outside, SaveDuringRun::Restart),
            (OnChange::Restart, 2, SavedBy::Outside, SaveDuringRun::Restart),
            (OnChange::Restart, 3, SavedBy::Outside, SaveDuringRun::LetFinish),
            (OnChange::Restart, 0, SavedBy::Run, SaveDuringRun::LetFinish),
            (OnChange::Queue, 0, SavedBy::Outside, SaveDuringRun::Queue),
            (OnChange::Queue, 0, SavedBy::Run, SaveDuringRun::Queue),
        ] {
            let decided = decide(on_change, stopped_before, 3, saved_by);
            assert_eq!(decided, expected, "{on_change:?}, {stopped_before}, {saved_by:?}");
        }
    }
}
