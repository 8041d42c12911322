//! Services: prerequisites that keep running during the checks. Each service has its own launcher (the process that
//! starts an action's processes) and a thread that supervises the service.
//!
//! A service takes a turn in the machine-wide queue for its start only, because the queue relies on actions that end.
//! proctor stops a service after the checks and before the cleanup. So a service that ends by itself always ends too
//! early: the run gets a stop request, which stops the current check.

use std::collections::BTreeSet;
use std::fs::File;
use std::time::Duration;

use crate::flow::{skip_reason, stop_reasons_for};
use crate::health::{Health, HealthCheckBounds, check_port, check_url};
use crate::perform::running_service::{RunningService, SLICE, ServiceLaunch};
use crate::perform::{Attempts, JudgedAttempt, Performer, TimeBudget, ended_not_started, limits_of};
use crate::queue::{AwaitedTurn, QueueTurn};
use proctor_evidence::OutputDirectory;
use proctor_evidence::report::{ActionDisposition, ActionFiles, ActionResult, ExecutedAction};
use proctor_model::{
    Action, ActionEnd, ActionLimits, ActionPhase, CategoryCode, CommandLine, DurationMs, EndedAction, HealthObservation,
    HealthResult, Observation, PortObservation, ReadyCheck, ReportFileHistory, ResultType, Sandbox, Service, ServiceObservation,
    SpawnFailure, StopReason, ToolReport,
};
use proctor_project::{Progress, ProjectError};
use proctor_sandbox::process::clock::{self, Monotonic};
use proctor_sandbox::process::{LaunchRequest, RunNetwork, Sinks, SuperviseError, read_port_holders, supervise};
use proctor_tools::{self as tools, ServiceInput, ServiceLife};

/// The time limit for checking, before a service starts, whether its port is already in use. It can be short, because a
/// connection within one machine is accepted or refused at once.
const FIRST_LOOK: Duration = Duration::from_millis(500);

/// The limit on the output of a readiness command in bytes. A command that prints more is stopped.
const LOOK_OUTPUT: u64 = 1024 * 1024;

/// The result of starting a service: either it runs and is ready, or the start has failed.
pub(crate) enum ServiceStart {
    Ready(Box<RunningService>),
    /// The service has ended, or was not started.
    Over(Box<ActionResult>),
}

impl Performer<'_, '_> {
    /// Waits for a turn in the machine-wide queue, then starts a service. Returns when the service is ready or has ended.
    pub(crate) fn start_service(&mut self, action: &Action, service: &Service) -> Result<ServiceStart, ProjectError> {
        let AwaitedTurn { turn, waited } = self.next_turn(action)?;
        let _slot = match turn {
            QueueTurn::Given(slot) => slot,
            QueueTurn::Stopped => {
                return Ok(over(ActionResult { waited, ..self.skip(action, skip_reason(self.context.request.control)) }));
            }
        };
        (self.show)(Progress::ActionStarted(Box::new(action.clone())));
        let output = OutputDirectory::create(self.lock, &self.context.run_id, &action.id)?;
        let environment = self.environment(action, output.path());
        let names = ActionFiles::of(action);
        let left = self.time_budget(action).timeout;
        let service = Service { timeout: service.timeout.min(left), ..service.clone() };
        let mut scene = ServiceLaunch { action: action.clone(), service, names, environment, program: None, waited };
        let sinks = self.sinks_of(&scene)?;
        let request =
            self.launch_request(action, action.command.argv.clone(), &Attempts::default(), &scene.environment, &output)?;
        let network = |request: &LaunchRequest| request.network.clone().filter(|network| !network.is_passed_by());
        let request = request.and_then(|request| match held_port(&scene.service, network(&request).as_deref()) {
            Some(failure) => Err(failure),
            None => Ok(request),
        });
        let mut request = match request {
            Ok(request) => request,
            Err(failure) => return self.service_over(scene, ended_not_started(failure), &ServiceLife::EndedBefore).map(over),
        };
        self.put_on_snapshot(action, &mut request)?;
        scene.program = Some(request.child.program.clone());
        self.directory.begin_sync();
        let mut running = RunningService::spawn(scene, request, sinks, self.runner.executable(), self.context.request.control)?;
        let begun = clock::monotonic();
        let life = self.await_ready(&mut running, &output)?;
        if life != ServiceLife::Ready {
            return self.end_service(running, &life).map(over);
        }
        let after = DurationMs::from(clock::monotonic().since(begun));
        running.ready_after = Some(after);
        running.note_foreign_listeners();
        (self.show)(Progress::ServiceReady { action: Box::new(action.clone()), after });
        Ok(ServiceStart::Ready(Box::new(running)))
    }

    /// Stops the services in reverse order of their start, and returns their results in the order of their start. All
    /// are stopped even if one fails to stop; the first failure is returned at the end.
    pub(crate) fn end_services(&mut self, running: Vec<RunningService>) -> Result<Vec<ActionResult>, ProjectError> {
        let mut running = running;
        running.iter_mut().for_each(RunningService::check_health_at_end);
        let ended: Vec<_> = running.into_iter().rev().map(|one| self.end_service(one, &ServiceLife::Ready)).collect();
        ended.into_iter().rev().collect()
    }

    fn end_service(&mut self, mut running: RunningService, life: &ServiceLife) -> Result<ActionResult, ProjectError> {
        let ended = running.stop(self.context.request.control)?;
        let (notes, sandbox) = (std::mem::take(&mut running.notes), running.sandbox.take());
        let ready_after = running.ready_after;
        self.judge_service(&running.scene, ended, life, ready_after, sandbox.as_ref())
            .map(|performed| ActionResult { notes: [notes, performed.notes].concat(), ..performed })
    }

    fn service_over(
        &mut self,
        scene: ServiceLaunch,
        ended: EndedAction,
        life: &ServiceLife,
    ) -> Result<ActionResult, ProjectError> {
        self.judge_service(&scene, ended, life, None, None)
    }

    fn sinks_of(&self, scene: &ServiceLaunch) -> Result<Sinks, ProjectError> {
        let create = |name: &str| self.directory.create_file(name).map_err(ProjectError::Evidence);
        let (log, frames) = (create(&scene.names.log.name)?, create(&scene.names.frames.name)?);
        Ok(Sinks { log, frames, masked: self.secrets().bytes() })
    }

    /// Checks a service until it is ready, has ended, or runs out of time, or until a stop is requested.
    fn await_ready(&mut self, running: &mut RunningService, output: &OutputDirectory) -> Result<ServiceLife, ProjectError> {
        let (begun, service) = (clock::monotonic(), running.scene.service.clone());
        let mut last = None;
        loop {
            let left = service.timeout.saturating_sub(clock::monotonic().since(begun));
            let health = self.look_at(running, service.attempt_timeout.min(left), output)?;
            // If the service has ended, another process gave the answer.
            if running.has_ended(Duration::ZERO) {
                return Ok(ServiceLife::EndedBefore);
            }
            if let Some(reason) = self.stop_request() {
                return Ok(ServiceLife::Stopped(reason));
            }
            match (health, &last) {
                (Health::Healthy, _) => return Ok(ServiceLife::Ready),
                // If the time limit of the start cut this check short, the previous check says more about the service.
                (Health::Unhealthy(_), Some(_)) if left < service.attempt_timeout && is_late(begun, &service) => {}
                (Health::Unhealthy(why), _) => last = Some(why),
            }
            let looked = clock::monotonic();
            while clock::monotonic().since(looked) < service.interval && self.stop_request().is_none() {
                if is_late(begun, &service) {
                    return Ok(ServiceLife::NotReady(last.unwrap_or_default()));
                }
                let rest = service.interval.saturating_sub(clock::monotonic().since(looked));
                if running.has_ended(rest.min(SLICE)) {
                    return Ok(ServiceLife::EndedBefore);
                }
            }
        }
    }

    /// Returns the run's stop request, if it should end the start of a service. Whether the service itself has ended is
    /// asked elsewhere, with `has_ended`.
    fn stop_request(&self) -> Option<StopReason> {
        let is_heeded = |reason: &StopReason| stop_reasons_for(ActionPhase::Prerequisite).contains(reason);
        self.context.request.control.requested().filter(is_heeded)
    }

    fn look_at(&mut self, running: &RunningService, timeout: Duration, output: &OutputDirectory) -> Result<Health, ProjectError> {
        let scene = &running.scene;
        let ready = &scene.service.ready;
        let is_stopped = || self.stop_request().is_some();
        let look = HealthCheckBounds { network: running.network(), timeout, is_stopped: &is_stopped };
        match ready {
            ReadyCheck::Url(url) => Ok(check_url(url, &ready.addresses(), &look)),
            ReadyCheck::Port(_) => Ok(check_port(&ready.addresses(), &look)),
            ReadyCheck::Command(command) => self.look_by_command(scene, command, timeout, output),
        }
    }

    /// Runs the readiness command, isolated like the service and in the same directory. Its output is shown if the
    /// service never becomes ready, and is not stored.
    fn look_by_command(
        &mut self,
        scene: &ServiceLaunch,
        command: &CommandLine,
        timeout: Duration,
        output: &OutputDirectory,
    ) -> Result<Health, ProjectError> {
        let name = &scene.action.name;
        let mut request =
            match self.launch_request(&scene.action, command.argv.clone(), &Attempts::default(), &scene.environment, output)? {
                Ok(request) => request,
                Err(failure) => return Ok(Health::Unhealthy(format!("`{}` cannot be started: {failure}", command.display))),
            };
        self.put_on_snapshot(&scene.action, &mut request)?;
        let nothing = || File::options().write(true).open("/dev/null");
        let lost = |source| ProjectError::Descriptor { action: name.clone(), source };
        let sinks = Sinks { log: nothing().map_err(lost)?, frames: nothing().map_err(lost)?, masked: self.secrets().bytes() };
        let limits = ActionLimits { idle: None, output: Some(LOOK_OUTPUT), timeout, ..limits_of(&scene.action, timeout) };
        let control = self.context.request.control;
        let stop_reasons_for = stop_reasons_for(scene.action.phase);
        let outcome = supervise(self.runner.launcher()?, &request, &limits, sinks, control, stop_reasons_for);
        if let (Some(mount), Some(snapshot)) = (&request.child.isolation.snapshot, self.place.snapshot_to_change(&scene.action)) {
            snapshot.drop_mount(mount);
        }
        let _unnoted = self.drop_layers(&scene.action, request.child.isolation.dropped.as_ref());
        match outcome {
            Ok(ended) => {
                self.note_end(&scene.action, &ended.end);
                Ok(tools::health_of_command(command, &ended).map_or(Health::Healthy, Health::Unhealthy))
            }
            // The command was not started. The next check starts a new launcher.
            Err(SuperviseError::LauncherGone) => Ok(Health::Unhealthy("the launcher was gone".to_owned())),
            Err(source) => Err(ProjectError::Supervise { action: name.clone(), source }),
        }
    }

    fn judge_service(
        &mut self,
        scene: &ServiceLaunch,
        mut ended: EndedAction,
        life: &ServiceLife,
        ready_after: Option<DurationMs>,
        sandbox: Option<&Sandbox>,
    ) -> Result<ActionResult, ProjectError> {
        let ServiceLaunch { action, service, names, environment, program, waited } = scene;
        self.note_end(action, &ended.end);
        self.secrets().mask_survivors(&mut ended.survivors);
        let captured = &ended.captured;
        let port = service.ready.port().or_else(|| tools::port_in_use(&captured.stdout, &captured.stderr));
        // The service has ended, so a process that holds the port now is another one.
        let holders =
            port.filter(|_| ended.end.is_of_its_own() && action.network.is_open()).map(|port| (port, read_port_holders(port)));
        let interpretation = tools::interpret_service(&ServiceInput {
            action: tools::Input {
                action,
                end: &ended.end,
                stdout: &captured.stdout,
                stderr: &captured.stderr,
                report: &ToolReport::NotRequested,
                coverage: &ToolReport::NotRequested,
                report_channel: None,
                report_file: ReportFileHistory::default(),
                last_output: None,
                project_root: &self.context.request.scope.root,
                names_in: |_| Vec::new(),
                source: |_, _| None,
                survivors: ended.survivors.len(),
                processes: self.context.request.settings.sandbox.processes,
                is_asked_behind: false,
            },
            service,
            life,
            held: holders.as_ref().map(|(port, holders)| (*port, &holders[..])),
        });
        let interpretation = self.secrets().mask_interpretation(interpretation);
        let time_budget = TimeBudget { timeout: action.timeout, of_the_run: None };
        let judgement = self.classify(action, &ended, &interpretation, time_budget);
        let mut files = self.keep_streams(action, &ended, names)?;
        files.extend(self.keep_records(JudgedAttempt {
            action,
            ended: &ended,
            interpretation: &interpretation,
            judgement: &judgement,
            environment,
            program: program.as_deref(),
            names,
            number: 1,
        })?);
        self.directory.begin_sync();
        let has_served = judgement.classification.category == ResultType::Success;
        let notes = if has_served {
            Vec::new()
        } else {
            let on_snapshot = self.place.snapshot_for(action).is_some();
            self.hints(action, &ended, environment, sandbox, on_snapshot)
        };
        let port = port.filter(|_| action.network.is_open());
        let observed = if has_served { Observation::Nothing } else { observed(service, life, &ended, port) };
        let code = judgement.classification.code;
        let executed = ExecutedAction { observed, ready_after, ..ExecutedAction::new(ended, interpretation, judgement) };
        let environment_names: BTreeSet<_> =
            environment.variables.keys().map(|name| name.to_string_lossy().into_owned()).collect();
        let disposition = ActionDisposition::Executed(Box::new(executed));
        let over =
            ActionResult { files, environment_names, notes, waited: *waited, ..ActionResult::new(action.clone(), disposition) };
        // A service that served until it was stopped was already reported when it became ready.
        if code != CategoryCode::Served {
            self.tell(&over);
        }
        Ok(over)
    }
}

/// Returns what was observed when a service failed; nothing if the service was stopped because the run was stopped.
fn observed(service: &Service, life: &ServiceLife, ended: &EndedAction, port: Option<u16>) -> Observation {
    let target = match &service.ready {
        ReadyCheck::Url(url) => url.as_str().to_owned(),
        ReadyCheck::Port(port) => format!("port {port}"),
        ReadyCheck::Command(command) => command.display.clone(),
    };
    let seen = |result, detail: &str| HealthObservation { target, result, detail: Some(detail.to_owned()), duration: None };
    let health = match (life, &ended.end) {
        (_, ActionEnd::NotStarted(_)) => seen(HealthResult::NotAttempted, "it was not started"),
        (ServiceLife::NotReady(why), _) => {
            HealthObservation { duration: Some(service.timeout.into()), ..seen(HealthResult::Timeout, why) }
        }
        (ServiceLife::EndedBefore, _) => seen(HealthResult::Unhealthy, "it ended before it was ready"),
        (ServiceLife::Ready, _) => seen(HealthResult::Unhealthy, "it ended after it had been ready"),
        (ServiceLife::Stopped(_), _) => return Observation::Nothing,
    };
    let port = match &ended.end {
        ActionEnd::NotStarted(SpawnFailure::PortHeld { port, holders }) => {
            Some(PortObservation { port: *port, holders: holders.clone() })
        }
        // The service has ended, so a process that listens on the port now is another one.
        ActionEnd::Exited { .. }
        | ActionEnd::Signalled { .. }
        | ActionEnd::TimedOut { .. }
        | ActionEnd::Stopped { .. }
        | ActionEnd::NotStarted(_)
        | ActionEnd::Lost { .. } => port.map(|port| PortObservation { port, holders: read_port_holders(port) }),
    };
    Observation::Service(ServiceObservation { timeout: service.timeout, duration: ended.duration, health, port })
}

fn over(performed: ActionResult) -> ServiceStart {
    ServiceStart::Over(Box::new(performed))
}

fn is_late(begun: Monotonic, service: &Service) -> bool {
    clock::monotonic().since(begun) >= service.timeout
}

/// Returns why a service may not be started: another process listens at its address and would answer instead. `network` is that of the run,
/// unless an earlier action has shown that actions are not in it. Before the level is known, nobody asks the service in the machine's network.
fn held_port(service: &Service, network: Option<&RunNetwork>) -> Option<SpawnFailure> {
    let port = service.ready.port()?;
    // In a network of the run's own only the run's own processes listen.
    let holders = if network.is_some() { Vec::new() } else { read_port_holders(port) };
    let look = HealthCheckBounds { network, timeout: FIRST_LOOK, is_stopped: &|| false };
    let is_held = !holders.is_empty() || check_port(&service.ready.addresses(), &look) == Health::Healthy;
    is_held.then_some(SpawnFailure::PortHeld { port, holders })
}
