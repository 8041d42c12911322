//! Runs an action in parallel with others, with a launcher and a thread of its own. A launcher is the process that
//! starts and isolates the processes of an action.
//!
//! Each such action needs its own launcher, because a launcher searches for and kills remaining processes as if its
//! action were the only one. The action's thread only supervises the processes. The run's own thread prepares the
//! action and judges the result.

use std::io::{PipeWriter, Write as _};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use crate::flow::stop_reasons_for;
use crate::perform::elsewhere::RemoteLaunch;
use proctor_model::{Action, ActionLimits, ActionPhase, EndedAction, StopReason};
use proctor_project::ProjectError;
use proctor_sandbox::process::{Control, ControlHandle, LaunchRequest, LauncherHandle, Sinks, SuperviseError, supervise};

/// What is needed to start an action in parallel with others.
pub(crate) struct BackgroundActionOrder {
    /// The step's position in the order of execution.
    pub(crate) place: usize,
    pub(crate) request: LaunchRequest,
    /// What the server is given that carries the action out; `None` for this machine.
    pub(crate) remote: Option<Box<RemoteLaunch>>,
    pub(crate) limits: ActionLimits,
    pub(crate) sinks: Sinks,
}

/// The message that an action that ran in parallel with others is over: none of its processes is left, or its launcher
/// was lost.
pub(crate) struct BackgroundActionEnd {
    pub(crate) place: usize,
    /// The process that started the action. It can start the next action too.
    pub(crate) launcher: LauncherHandle,
    pub(crate) outcome: Result<EndedAction, SuperviseError>,
}

/// Where a lane (a thread with its own launcher) sends the message that its action is over.
#[derive(Debug, Clone)]
pub(crate) struct EndReceiver {
    pub(crate) ends: Sender<BackgroundActionEnd>,
    /// A pipe that the receiver waits for together with stop requests. It gets one byte after each message.
    pub(crate) bell: Arc<PipeWriter>,
}

/// A running action that a thread with its own launcher supervises. Dropping it kills the action and waits for its end.
pub(crate) struct BackgroundAction {
    control: ControlHandle,
    thread: Option<thread::JoinHandle<()>>,
}

impl BackgroundAction {
    /// Starts an action on a thread of its own. When the action has ended, the thread sends a message to `receiver`.
    pub(crate) fn start(
        action: &Action,
        order: BackgroundActionOrder,
        launcher: LauncherHandle,
        receiver: EndReceiver,
    ) -> Result<Self, ProjectError> {
        let failed = |source| ProjectError::LaneThread { action: action.name.clone(), source };
        let (own, control) = Control::new().map_err(|source| failed(std::io::Error::other(source)))?;
        let BackgroundActionOrder { place, request, remote, limits, sinks } = order;
        let mut launcher = launcher;
        let supervising = move || {
            let reasons = stop_reasons_for(ActionPhase::Step);
            let outcome = match &remote {
                Some(remote) => remote.carry_out(&limits, sinks, &own, reasons),
                None => supervise(&mut launcher, &request, &limits, sinks, &own, reasons),
            };
            let _nobody_waits = receiver.ends.send(BackgroundActionEnd { place, launcher, outcome });
            let _nobody_waits = receiver.bell.as_ref().write_all(b".");
        };
        let thread = thread::Builder::new().name("lane".to_owned()).spawn(supervising).map_err(failed)?;
        Ok(Self { control, thread: Some(thread) })
    }

    /// Asks the action to stop. A second request kills it.
    pub(crate) fn stop(&self, reason: StopReason) {
        self.control.stop(reason);
    }
}

impl Drop for BackgroundAction {
    fn drop(&mut self) {
        // Two requests kill the action. If it has already ended, they have no effect.
        self.control.stop(StopReason::Terminated);
        self.control.stop(StopReason::Terminated);
        let _panicked = self.thread.take().map(thread::JoinHandle::join);
    }
}
