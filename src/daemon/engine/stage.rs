//! What the engine is in the middle of: one state, each with what is valid in it.

use std::collections::BTreeSet;

use crate::daemon::burst::Burst;
use crate::daemon::engine::Moment;
use crate::model::{TaskId, TreePath};

#[derive(Debug)]
pub(super) enum Stage {
    Idle,
    /// A run is ordered, and the tree is looked at first: nothing has begun yet.
    Looking(Look),
    /// More came before the look was over: it is called off, and has not ended yet.
    Recalling,
    Running(Flow),
}

/// What a look is for.
#[derive(Debug)]
pub(super) enum Look {
    /// For a burst, which goes on if more comes before the look is over.
    Burst(Burst),
    /// For the sweep: where nothing changed, nothing is said.
    Sweep(Burst),
    /// For a run that was asked for, whatever comes.
    Request,
}

/// What hints amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum News {
    Nothing,
    Sweep,
    Change,
}

/// How far the run under way is from its end, as far as we had a hand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Going,
    LetFinish,
    Stopping,
}

/// A repetition that waits for quiet. A hint in between comes from outside and cancels it: nothing of ours is running.
#[derive(Debug)]
pub(super) struct Repetition {
    pub(super) task: TaskId,
    pub(super) paths: BTreeSet<TreePath>,
    pub(super) due: Moment,
    /// Until then hints of `paths` are late ones of the run itself.
    pub(super) late_until: Moment,
}

/// Whether the run under way repeats one whose tree moved (S6).
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    No,
    Of(BTreeSet<TreePath>),
}
