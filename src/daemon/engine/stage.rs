//! The stage of the engine. Each variant holds the data that is valid only in that stage.

use crate::daemon::burst::Burst;

#[derive(Debug)]
pub(super) enum Stage {
    Idle,
    /// A run is ordered but has not begun, because the tree is scanned first.
    Looking(LookPurpose),
    /// More changes came during the scan of the tree. The scan was cancelled but has not ended yet.
    Recalling,
    Running(StopProgress),
}

/// Why the tree is scanned.
#[derive(Debug)]
pub(super) enum LookPurpose {
    /// For a burst of changes. The burst continues if more changes come during the scan.
    Burst(Burst),
    /// For the periodic sweep. If nothing has changed, nothing is shown.
    Sweep(Burst),
    /// For a requested run. Changes during the scan do not cancel it.
    Request,
}

/// The strongest reaction that a group of hints requires.
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
