//! What a save does to the run under way. Pure.

use crate::daemon::effect::{Effect, Notice};
use crate::daemon::engine::Engine;
use crate::daemon::engine::stage::{Stage, StopProgress};
use crate::model::{OnChange, StopReason};

/// What a save that has settled does to the run under way. The save is never lost: in every case the newest tree is tested next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SaveDuringRun {
    /// The run is stopped, and the next one begins.
    Restart,
    /// The run goes on to its end, because it was stopped too often already or because it makes the saves itself.
    LetFinish,
    /// The run goes on to its end, as the settings say.
    Queue,
}

/// Who makes a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SavedBy {
    /// Somebody else, as far as is known.
    Outside,
    /// The run under way.
    Run,
}

/// Decides what a save does to the run under way. `stopped_before` is how many runs in a row before it were stopped by saves.
pub(super) fn decide(on_change: OnChange, stopped_before: u32, max_restarts: u32, saved_by: SavedBy) -> SaveDuringRun {
    match (on_change, saved_by) {
        (OnChange::Queue, _) => SaveDuringRun::Queue,
        (OnChange::Restart, SavedBy::Outside) if stopped_before < max_restarts => SaveDuringRun::Restart,
        // A run that makes the saves itself would make them again after every restart, so stopping it is of no use.
        (OnChange::Restart, SavedBy::Outside | SavedBy::Run) => SaveDuringRun::LetFinish,
    }
}

impl Engine {
    /// Restarts the run under way or lets it finish, because a burst of saves has settled.
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
