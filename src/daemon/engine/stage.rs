//! What the engine is in the middle of: one state, each with what is valid in it.

use crate::daemon::burst::Burst;

#[derive(Debug)]
pub(super) enum Stage {
    Idle,
    /// A run is ordered, and the tree is looked at first: nothing has begun yet.
    Looking(LookPurpose),
    /// More came before the look was over: it is called off, and has not ended yet.
    Recalling,
    Running(StopProgress),
}

/// What a look is for.
#[derive(Debug)]
pub(super) enum LookPurpose {
    /// For a burst, which goes on if more comes before the look is over.
    Burst(Burst),
    /// For the sweep: where nothing changed, nothing is said.
    Sweep(Burst),
    /// For a run that was asked for, whatever comes.
    Request,
}

/// What hints amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HintEffect {
    Nothing,
    Sweep,
    Change,
}

/// How far the run under way is from its end, as far as we had a hand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopProgress {
    Going,
    LetFinish,
    Stopping,
}
