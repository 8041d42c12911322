//! A running service: its thread, its launcher, and how it is stopped.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nix::unistd::Pid;

use crate::flow::stop_reasons_for;
use crate::health::{Health, HealthCheckBounds, check_port};
use crate::perform::{ended_without_launcher, limits_of};
use proctor_evidence::report::ActionFiles;
use proctor_model::{Action, ActionEnd, ActionPhase, DurationMs, EndedAction, PlanNote, Sandbox, Service, StopReason};
use proctor_project::ProjectError;
use proctor_sandbox::ChildEnvironment;
use proctor_sandbox::process::{
    Control, ControlHandle, LaunchRequest, LauncherHandle, RunNetwork, Sinks, SuperviseError, clock, read_port_strangers,
    supervise,
};

/// How long proctor waits between two looks for a stop request.
pub(super) const SLICE: Duration = Duration::from_millis(20);

/// The time limit of the last health check after the checks. A service that no longer answers gets the same time to
/// end.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// A service that is still running this long after its `grace` cannot be stopped, and the run fails.
const STOP_MARGIN: Duration = Duration::from_secs(20);

/// The only reason that stops a service directly. Other stop requests go to the run, which then ends its services.
const HEEDED: &[StopReason] = &[StopReason::ChecksOver];

/// A service from its start to its end, with its thread and its files.
pub(crate) struct RunningService {
    pub(super) scene: ServiceLaunch,
    control: ControlHandle,
    ended: Receiver<Result<EndedAction, SuperviseError>>,
    outcome: Option<Result<EndedAction, SuperviseError>>,
    thread: Option<thread::JoinHandle<()>>,
    launcher: Pid,
    network: Option<Arc<RunNetwork>>,
    pub(super) sandbox: Option<Sandbox>,
    pub(super) ready_after: Option<DurationMs>,
    pub(super) notes: Vec<PlanNote>,
}

/// The files and settings that a service was started with.
pub(super) struct ServiceLaunch {
    pub(super) action: Action,
    pub(super) service: Service,
    pub(super) names: ActionFiles,
    pub(super) environment: ChildEnvironment,
    /// The path of the service's program; `None` if the service was not started.
    pub(super) program: Option<PathBuf>,
    pub(super) waited: Option<DurationMs>,
}

impl RunningService {
    /// Starts a service with a launcher of its own (the process that starts an action's processes), because the run's
    /// launcher handles one action at a time.
    pub(super) fn spawn(
        scene: ServiceLaunch,
        request: LaunchRequest,
        sinks: Sinks,
        executable: &Path,
        run: &Control,
    ) -> Result<Self, ProjectError> {
        let mut launcher = LauncherHandle::execute(executable)?;
        let process = launcher.process_id();
        let failed = |source| ProjectError::ServiceThread { action: scene.action.name.clone(), source };
        let (own, control) = Control::new().map_err(|source| failed(std::io::Error::other(source)))?;
        let (alarm, limits) = (run.handle(), limits_of(&scene.action, scene.action.timeout));
        let (sandbox, network) = (request.child.isolation.sandbox.clone(), request.network.clone());
        let (tell, ended) = channel();
        let supervising = move || {
            let outcome = supervise(&mut launcher, &request, &limits, sinks, &own, HEEDED);
            // When the end is reported, no process of the service may be left. Dropping the launcher ends all of them.
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
            network,
            sandbox,
            ready_after: None,
            notes: Vec::new(),
        })
    }

    /// Returns the network of the run that the service is in; `None` if it is in that of the machine.
    pub(super) fn network(&self) -> Option<&RunNetwork> {
        self.network.as_deref().filter(|network| !network.is_passed_by())
    }

    /// Adds a note about processes that listen on the service's port but do not belong to the service, such as a
    /// container's proxy.
    pub(super) fn note_foreign_listeners(&mut self) {
        let Some(port) = self.scene.service.ready.port().filter(|_| self.network().is_none()) else { return };
        let strangers = read_port_strangers(port, self.launcher);
        if !strangers.is_empty() {
            let names = strangers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            self.note(format!("port {port} is answered by {names}, which the service did not start itself"));
        }
    }

    fn note(&mut self, message: String) {
        self.notes.push(PlanNote { subject: self.scene.action.name.clone(), message });
    }

    /// Waits up to `wait` for the end of the service, and returns whether the service has ended.
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

    /// Checks the service once more after the checks. A service that no longer answers is probably ending by itself,
    /// which the checks may notice before proctor does. Stopping the service now would hide that.
    pub(super) fn check_health_at_end(&mut self) {
        let ready = &self.scene.service.ready;
        let look = HealthCheckBounds { network: self.network(), timeout: LAST_LOOK, is_stopped: &|| false };
        let is_gone = ready.port().is_some() && check_port(&ready.addresses(), &look) != Health::Healthy;
        if is_gone && !self.has_ended(LAST_LOOK) {
            self.note("it did not accept connections any more when the checks were over".to_owned());
        }
    }

    /// Stops the service if it is running, and returns how it ended. If no stop request was in force and a person
    /// makes one meanwhile, the service is killed at once.
    pub(super) fn stop(&mut self, run: &Control) -> Result<EndedAction, ProjectError> {
        let (begun, action) = (clock::monotonic(), &self.scene.action);
        let (bound, name) = (action.grace + STOP_MARGIN, action.name.clone());
        let mut may_insist = run.requested().is_none();
        if !self.has_ended(Duration::ZERO) {
            self.control.stop(StopReason::ChecksOver);
        }
        while !self.has_ended(SLICE) {
            let insists = || run.requested().is_some_and(|reason| stop_reasons_for(ActionPhase::Cleanup).contains(&reason));
            if may_insist && insists() {
                may_insist = false;
                self.control.stop(StopReason::ChecksOver);
            }
            if clock::monotonic().since(begun) > bound {
                return Err(ProjectError::ServiceStuck { action: name });
            }
        }
        // If the service ends early, the thread sends the run a stop request after it has handed over the result. Once
        // the thread has ended, no such request can come any more.
        if let Some(thread) = self.thread.take() {
            thread.join().map_err(|_panicked| ProjectError::ServiceStuck { action: name.clone() })?;
        }
        let outcome = match self.outcome.take().expect("it has ended") {
            Err(SuperviseError::LauncherGone) => Ok(ended_without_launcher()),
            outcome => outcome,
        };
        outcome.map_err(|source| ProjectError::Supervise { action: name, source })
    }
}

impl Drop for RunningService {
    /// Without a regular stop the run has failed. The service is killed, and its launcher ends together with this
    /// process.
    fn drop(&mut self) {
        self.control.stop(StopReason::ChecksOver);
        self.control.stop(StopReason::ChecksOver);
    }
}
