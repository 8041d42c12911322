//! A service while it goes on: its thread, its launcher, how it is stopped.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nix::unistd::Pid;

use crate::model::{Action, ActionEnd, ActionPhase, DurationMs, Ended, PlanNote, Sandbox, Service, StopReason};
use crate::process::{
    Control, ControlHandle, LaunchRequest, LauncherHandle, Sinks, SuperviseError, clock, read_port_strangers, supervise,
};
use crate::project::RunError;
use crate::report::ActionFiles;
use crate::run::carry_out::heeded;
use crate::run::health::{Health, Look, look_at_port};
use crate::run::perform::limits_of;
use crate::sandbox::ChildEnvironment;

/// So long nobody looks whether the run was stopped.
pub(super) const SLICE: Duration = Duration::from_millis(20);

/// How long a look after the checks takes at most, and how long a service that is not there any more gets to end.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// Stopping a service takes its `grace`, and this long beside it before it is given up.
const STOP_MARGIN: Duration = Duration::from_secs(20);

/// What only the end of the checks stops: everything else is asked of the run, which then ends the service itself.
const HEEDED: &[StopReason] = &[StopReason::ChecksOver];

/// A service that goes on.
pub(crate) struct RunningService {
    pub(super) scene: Scene,
    control: ControlHandle,
    ended: Receiver<Result<Ended, SuperviseError>>,
    outcome: Option<Result<Ended, SuperviseError>>,
    thread: Option<thread::JoinHandle<()>>,
    launcher: Pid,
    pub(super) sandbox: Option<Sandbox>,
    pub(super) ready_after: Option<DurationMs>,
    pub(super) notes: Vec<PlanNote>,
}

/// What a service is started with, and what is kept of it.
pub(super) struct Scene {
    pub(super) action: Action,
    pub(super) service: Service,
    pub(super) names: ActionFiles,
    pub(super) environment: ChildEnvironment,
    /// What it was started with; none: it was not started.
    pub(super) program: Option<PathBuf>,
    pub(super) waited: Option<DurationMs>,
}

impl RunningService {
    /// Starts a service through a launcher of its own: the run's own launcher is asked for one action at a time.
    pub(super) fn spawn(
        scene: Scene,
        request: LaunchRequest,
        sinks: Sinks,
        executable: &Path,
        run: &Control,
    ) -> Result<Self, RunError> {
        let mut launcher = LauncherHandle::execute(executable).map_err(RunError::Launcher)?;
        let process = launcher.process_id();
        let failed = |source| RunError::ServiceThread { action: scene.action.name.clone(), source };
        let (own, control) = Control::new().map_err(|source| failed(std::io::Error::other(source)))?;
        let (alarm, limits) = (run.handle(), limits_of(&scene.action, scene.action.timeout));
        let sandbox = request.child.isolation.sandbox.clone();
        let (tell, ended) = channel();
        let supervising = move || {
            let outcome = supervise(&mut launcher, &request, &limits, sinks, &own, HEEDED);
            // Nothing of it is alive when its end is told: the launcher takes everything with it.
            drop(launcher);
            let was_asked = outcome.as_ref().is_ok_and(|ended| matches!(ended.end, ActionEnd::Stopped { .. }));
            let _nobody_waits = tell.send(outcome);
            if !was_asked {
                alarm.stop(StopReason::ServiceEnded);
            }
        };
        let thread = thread::Builder::new().name("service".to_owned()).spawn(supervising).map_err(failed)?;
        Ok(Self {
            scene,
            control,
            ended,
            outcome: None,
            thread: Some(thread),
            launcher: process,
            sandbox,
            ready_after: None,
            notes: Vec::new(),
        })
    }

    /// Notes whoever listens on its port and is none of its processes: a container's proxy, for example.
    pub(super) fn note_strangers(&mut self) {
        let Some(port) = self.scene.service.ready.port() else { return };
        let strangers = read_port_strangers(port, self.launcher);
        if !strangers.is_empty() {
            let names = strangers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            self.note(format!("port {port} is answered by {names}, which the service did not start itself"));
        }
    }

    fn note(&mut self, message: String) {
        self.notes.push(PlanNote { subject: self.scene.action.name.clone(), message });
    }

    /// Returns whether it has ended, waiting for that.
    pub(super) fn has_ended(&mut self, wait: Duration) -> bool {
        if self.outcome.is_none() {
            match self.ended.recv_timeout(wait) {
                Ok(outcome) => self.outcome = Some(outcome),
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => self.outcome = Some(Err(SuperviseError::LauncherGone)),
            }
        }
        true
    }

    /// Takes a last look at where it was ready. One that is not there any more is ending: the check that was its end may be heard of
    /// before its own, and stopping it now would hide that it ended by itself.
    pub(super) fn take_last_look(&mut self) {
        let ready = &self.scene.service.ready;
        let look = Look { timeout: LAST_LOOK, is_stopped: &|| false };
        let is_gone = ready.port().is_some() && look_at_port(&ready.addresses(), &look) != Health::Healthy;
        if is_gone && !self.has_ended(LAST_LOOK) {
            self.note("it did not accept connections any more when the checks were over".to_owned());
        }
    }

    /// Stops it, if it goes on, and returns how it ended. A person who asks again has it killed at once.
    pub(super) fn stop(&mut self, run: &Control) -> Result<Ended, RunError> {
        let (begun, action) = (clock::monotonic(), &self.scene.action);
        let (bound, name) = (action.grace + STOP_MARGIN, action.name.clone());
        let mut may_insist = run.requested().is_none();
        if !self.has_ended(Duration::ZERO) {
            self.control.stop(StopReason::ChecksOver);
        }
        while !self.has_ended(SLICE) {
            let insists = || run.requested().is_some_and(|reason| heeded(ActionPhase::Cleanup).contains(&reason));
            if may_insist && insists() {
                may_insist = false;
                self.control.stop(StopReason::ChecksOver);
            }
            if clock::monotonic().since(begun) > bound {
                return Err(RunError::ServiceStuck { action: name });
            }
        }
        // It tells of its end after it has handed it over: nothing may be told after this.
        if let Some(thread) = self.thread.take() {
            thread.join().map_err(|_panicked| RunError::ServiceStuck { action: name.clone() })?;
        }
        let outcome = self.outcome.take().expect("it has ended");
        outcome.map_err(|source| RunError::Supervise { action: name, source })
    }
}

impl Drop for RunningService {
    /// Where the run failed nobody has stopped it: it is killed, and its launcher ends with this process at the latest.
    fn drop(&mut self) {
        self.control.stop(StopReason::ChecksOver);
        self.control.stop(StopReason::ChecksOver);
    }
}
