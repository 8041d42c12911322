//! A lane: a launcher and a thread beside the run's own, for an action that goes on beside others.
//!
//! A launcher of its own, as a service has one: what is left of an action is looked for and killed as if it were the only one. The thread
//! supervises and nothing else; what comes before and after is done where the run is.

use std::sync::mpsc::Sender;
use std::thread;

use crate::model::{Action, ActionLimits, ActionPhase, Ended, StopReason};
use crate::process::{Control, ControlHandle, LaunchRequest, LauncherHandle, Sinks, SuperviseError, supervise};
use crate::project::ProjectError;
use crate::run::carry_out::heeded;

/// What an action is started with on a lane.
pub(crate) struct LaneOrder {
    /// Which step it is, by its place in the order of execution.
    pub(crate) place: usize,
    pub(crate) request: LaunchRequest,
    pub(crate) limits: ActionLimits,
    pub(crate) sinks: Sinks,
}

/// An action on a lane is over: nothing of it is alive, or its launcher is lost.
pub(crate) struct LaneOver {
    pub(crate) place: usize,
    /// The launcher, for the next action.
    pub(crate) launcher: LauncherHandle,
    pub(crate) outcome: Result<Ended, SuperviseError>,
}

/// An action that goes on. Dropped, it is killed, and waited for.
pub(crate) struct Lane {
    control: ControlHandle,
    thread: Option<thread::JoinHandle<()>>,
}

impl Lane {
    /// Starts an action; its end is told to `tell`.
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

    /// Asks it to stop; a further request kills.
    pub(crate) fn stop(&self, reason: StopReason) {
        self.control.stop(reason);
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // Where it has ended by itself nobody hears these.
        self.control.stop(StopReason::Terminated);
        self.control.stop(StopReason::Terminated);
        let _panicked = self.thread.take().map(thread::JoinHandle::join);
    }
}
