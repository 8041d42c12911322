//! A lane: a launcher and a thread of its own, for an action that runs beside others.
//!
//! Each lane needs its own launcher, because a launcher searches for and kills remaining processes as if its action were the only
//! one. The thread only supervises; all work before and after happens in the run's own thread.

use std::sync::mpsc::Sender;
use std::thread;

use crate::model::{Action, ActionLimits, ActionPhase, Ended, StopReason};
use crate::process::{Control, ControlHandle, LaunchRequest, LauncherHandle, Sinks, SuperviseError, supervise};
use crate::project::ProjectError;
use crate::run::carry_out::heeded;

/// What is needed to start an action on a lane.
pub(crate) struct LaneOrder {
    /// The step's position in the order of execution.
    pub(crate) place: usize,
    pub(crate) request: LaunchRequest,
    pub(crate) limits: ActionLimits,
    pub(crate) sinks: Sinks,
}

/// The message that an action on a lane is over: none of its processes is left, or its launcher was lost.
pub(crate) struct LaneOver {
    pub(crate) place: usize,
    /// The launcher, which the next action can use.
    pub(crate) launcher: LauncherHandle,
    pub(crate) outcome: Result<Ended, SuperviseError>,
}

/// A running action on a lane. Dropping it kills the action and waits for its end.
pub(crate) struct Lane {
    control: ControlHandle,
    thread: Option<thread::JoinHandle<()>>,
}

impl Lane {
    /// Starts an action. Its end is sent to `tell`.
    pub(crate) fn start(
        action: &Action,
        order: LaneOrder,
        launcher: LauncherHandle,
        tell: Sender<LaneOver>,
    ) -> Result<Self, ProjectError> {
        let failed = |source| ProjectError::LaneThread { action: action.name.clone(), source };
        let (own, control) = Control::new().map_err(|source| failed(std::io::Error::other(source)))?;
        let LaneOrder { place, request, limits, sinks } = order;
        let mut launcher = launcher;
        let supervising = move || {
            let outcome = supervise(&mut launcher, &request, &limits, sinks, &own, heeded(ActionPhase::Step));
            let _nobody_waits = tell.send(LaneOver { place, launcher, outcome });
        };
        let thread = thread::Builder::new().name("lane".to_owned()).spawn(supervising).map_err(failed)?;
        Ok(Self { control, thread: Some(thread) })
    }

    /// Asks the action to stop. A second request kills it.
    pub(crate) fn stop(&self, reason: StopReason) {
        self.control.stop(reason);
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // Two requests kill the action. If it has already ended, they have no effect.
        self.control.stop(StopReason::Terminated);
        self.control.stop(StopReason::Terminated);
        let _panicked = self.thread.take().map(thread::JoinHandle::join);
    }
}
