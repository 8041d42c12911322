//! The stage of the engine. Each variant holds the data that is valid only in that stage.

use crate::burst::Burst;

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
    /// A burst of changes has ended. If more changes come during the scan, the scan is cancelled and the burst
    /// continues.
    Burst(Burst),
    /// The periodic sweep compares the whole tree. If the tree has not changed, no notice is shown.
    Sweep(Burst),
    /// A person or program requested a run. Changes during the scan do not cancel the scan.
    Request,
}

/// The strongest reaction that the hints of one event require.
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
    /// Something was saved, and the run goes on to its end. Its result is for an older tree.
    LetFinish,
    /// The checks are over, so that a save cannot stop them any more. The result is only being sealed.
    ChecksOver,
    Stopping,
}
