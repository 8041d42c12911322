//! The engine's state. Each variant holds the data that is valid only in this state.

use crate::daemon::burst::Burst;

#[derive(Debug)]
pub(super) enum Stage {
    Idle,
    /// A run is ordered, but has not begun: the tree is looked at first.
    Looking(LookPurpose),
    /// More changes came during the look. It was cancelled, but has not ended yet.
    Recalling,
    Running(StopProgress),
}

/// What a look is for.
#[derive(Debug)]
pub(super) enum LookPurpose {
    /// For a burst of changes. The burst continues if more changes come before the look is over.
    Burst(Burst),
    /// For the sweep. If nothing has changed, nothing is shown.
    Sweep(Burst),
    /// For a requested run. Changes that come during the look do not cancel it.
    Request,
}

/// The most that a group of hints calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HintEffect {
    Nothing,
    Sweep,
    Change,
}

/// Whether the engine has decided how the run under way is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopProgress {
    Going,
    LetFinish,
    Stopping,
}
