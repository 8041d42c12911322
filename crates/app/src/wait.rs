//! Waiting for a verdict on the present tree: the service is asked, or the checks are run in this process.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::caller::{LOOK_AGAIN, RunControl};
use crate::client::ClientError;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::opening::{self, RunResources};
use crate::project::setup;
use crate::project::specification_files::{self, EVERY_TASK};
use crate::serving::{self, ServedProject};
use crate::status;
use crate::work_trees::register_linked_work_tree;
use proctor_api::{AnswerV1, ErrorKindV1, InTimeV1, MethodV1, ProjectStatusV1, StateV1};
use proctor_evidence::LockError;
use proctor_evidence::report::ExecutionReportV2;
use proctor_model::{CommandExit, Freshness, ProjectStatus, ServiceTrouble, Serving, StopReason, TaskId, TriggerKind, WaitStep};
use proctor_project::{ProjectError, RunOutcome, RunRequest, SealedReport, Selection, Specifications, StoreReader};
use proctor_sandbox::process::{ControlHandle, LauncherHandle, clock};

/// One wait starts at most this many runs. If none of them gives a fresh verdict, for example because the tree
/// changes each time, it gives up.
const MOST_RUNS: u32 = 3;

/// How long a service that was stopped while this process waited for its answer may take to come back, as after an update.
const COMING_BACK: Duration = Duration::from_secs(10);
/// How much later than the time limit the service's answer may come.
const LATE_ANSWER: Duration = Duration::from_secs(10);

/// How long is waited.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long the verdict is waited for. Zero asks how the project stands now.
    pub timeout: Duration,
    /// How long after that a run may take to end by itself, before its processes are killed; `None` lets it end by itself.
    pub grace: Option<Duration>,
}

/// Waits for the verdict of the task that is named, or of the project: its own checks, or every task if it has none.
///
/// # Errors
/// When there is no answer.
pub fn wait(environment: &Environment, root: &Path, named: Option<&str>, patience: Patience) -> Result<Waited, CommandError> {
    let until = Until { begun: clock::monotonic(), patience };
    opening::note_lost_evidence(environment, root);
    register_linked_work_tree(environment, root)?;
    let mut place = WaitPlace { environment, root, opened: None };
    let waited = match awaited(environment, root, named)? {
        Awaited::One(task) => match place.wait_for(&task, &until)? {
            Waited::Answered(answer) => Waited::Answered(Box::new(without_others(*answer, &task))),
            other @ (Waited::Troubled(..) | Waited::Ended { .. }) => other,
        },
        Awaited::Every(specifications) => place.wait_for_every(&specifications, &until)?,
    };
    let shown = |answer: AnswerV1| {
        let project = status::with_failures(environment, answer.project.clone());
        Box::new(AnswerV1 { project, ..answer })
    };
    Ok(match waited {
        Waited::Answered(answer) => Waited::Answered(shown(*answer)),
        Waited::Troubled(answer, trouble) => Waited::Troubled(shown(*answer), trouble),
        ended @ Waited::Ended { .. } => ended,
    })
}

/// What is waited for.
enum Awaited {
    One(TaskId),
    /// Every task of the project's test specifications.
    Every(Specifications),
}

/// How a wait ended.
#[derive(Debug)]
pub enum Waited {
    Answered(Box<AnswerV1>),
    /// A problem of the machine kept this process from running the checks, such as a full disk. The project is shown as it
    /// is without a run.
    Troubled(Box<AnswerV1>, ServiceTrouble),
    /// A person stopped the run, or a helper process died: there is no answer.
    Ended {
        exit: CommandExit,
        /// The report of the run whose helper died.
        report: Option<Box<ExecutionReportV2>>,
    },
}

/// Returns what to wait for. In a project without checks of its own, the verdict of the project is that of all its tasks.
fn awaited(environment: &Environment, root: &Path, named: Option<&str>) -> Result<Awaited, CommandError> {
    match named {
        Some(EVERY_TASK) => Ok(Awaited::Every(specification_files::read_project(environment, root)?.specifications)),
        Some(task) => Ok(Awaited::One(specification_files::read_task(task)?)),
        None => Ok(match setup::describe(environment, root) {
            Ok((mut configuration, Err(planless))) => {
                configuration.specification.set(environment.values());
                match specification_files::specified(root, &configuration, &planless)? {
                    Some(specifications) => Awaited::Every(specifications),
                    None => Awaited::One(TaskId::default_task()),
                }
            }
            // An error of the configuration is part of the answer.
            Ok((_, Ok(_))) | Err(_) => Awaited::One(TaskId::default_task()),
        }),
    }
}

/// Where a command waits: the project, and what this process has opened to wait by itself.
struct WaitPlace<'a> {
    environment: &'a Environment,
    root: &'a Path,
    /// `None` as long as only the service was asked.
    opened: Option<OpenedStore>,
}

/// What this process needs to wait by itself, for however many tasks.
struct OpenedStore {
    archive: StoreReader,
    /// `None` as long as no run was needed.
    runner: Option<Runner>,
}

impl WaitPlace<'_> {
    /// Waits for every task in turn, and answers with what all of them come to at the end.
    fn wait_for_every(&mut self, specifications: &Specifications, until: &Until) -> Result<Waited, CommandError> {
        let tasks = specifications.tasks();
        let Some(first) = tasks.first() else { return Err(specification_files::without_tasks(specifications)) };
        let mut in_time = InTimeV1::Answered;
        for task in &tasks {
            match self.wait_for(task, until)? {
                Waited::Answered(answer) if answer.in_time == InTimeV1::TimedOut => in_time = InTimeV1::TimedOut,
                Waited::Answered(_) => {}
                // The other tasks would meet the same problem.
                ended @ (Waited::Troubled(..) | Waited::Ended { .. }) => return Ok(ended),
            }
        }
        // A save may have made earlier answers stale, so all of them are looked at once more.
        let now = Until { begun: clock::monotonic(), patience: Patience { timeout: Duration::ZERO, grace: None } };
        let answer = match self.wait_for(first, &now)? {
            Waited::Answered(answer) => answer,
            ended @ (Waited::Troubled(..) | Waited::Ended { .. }) => return Ok(ended),
        };
        let state = |task: &TaskId| answer.project.tasks.iter().find(|status| status.task == *task);
        let code =
            |task: &TaskId| state(task).map_or(CommandExit::NoFreshVerdict, |status| CommandExit::from_code(status.exit_code));
        let mut exits: Vec<CommandExit> = tasks.iter().map(code).collect();
        if !specifications.faults_without_task().is_empty() {
            exits.push(CommandExit::SpecificationWrong);
        }
        let shown = tasks.iter().filter_map(state).cloned().collect();
        let project = ProjectStatusV1 { tasks: shown, ..answer.project.clone() };
        Ok(Waited::Answered(Box::new(AnswerV1 { in_time, exit_code: CommandExit::of_tasks(&exits).code(), project })))
    }

    /// Waits until a service watches the project again; `None` if none does in time.
    fn served_again(&self, until: &Until) -> Option<ServedProject> {
        let begun = clock::monotonic();
        let bound = COMING_BACK.min(until.left());
        while clock::monotonic().since(begun) < bound && !self.environment.caller().is_stopped() {
            thread::sleep(LOOK_AGAIN);
            if let Ok(Some(served)) = serving::find_served(self.environment, self.root, LATE_ANSWER) {
                return Some(served);
            }
        }
        None
    }

    /// Waits for the verdict of a task.
    fn wait_for(&mut self, task: &TaskId, until: &Until) -> Result<Waited, CommandError> {
        // The service knows no values of this command line.
        let left = if until.patience.timeout.is_zero() { LATE_ANSWER } else { until.left() };
        let within = serving::AT_ONCE.min(left);
        let first = || match serving::find_served(self.environment, self.root, within) {
            Err(ClientError::Refused(refusal)) if refusal.kind == ErrorKindV1::Stopping => self.served_again(until),
            found => serving::or_say(self.environment, found).flatten(),
        };
        let mut served = self.environment.values().is_empty().then(first).flatten();
        if let Some(answer) = served.as_ref().and_then(|served| self.attested(served, task)) {
            return Ok(Waited::Answered(Box::new(answer)));
        }
        while let Some(asked) = served.take() {
            match ask(&asked, task, until) {
                Ok(answer) => return Ok(Waited::Answered(Box::new(answer))),
                // It was stopped, or starts its new program: then the next one answers.
                Err(error) if error.is_end_of_service() && !until.left().is_zero() => {
                    served = self.served_again(until);
                    if served.is_none() {
                        serving::say_unusable(self.environment, &error);
                    }
                }
                Err(error @ ClientError::Late { .. }) => {
                    return Err(serving::from_client_error(&error).hint(serving::hung_hint(self.environment)));
                }
                Err(error @ ClientError::Refused(_)) => return Err(serving::from_client_error(&error)),
                // The service stopped or closed the connection. This process waits without the service for the rest of the
                // time.
                Err(ClientError::Stopped) => return Ok(Waited::Ended { exit: CommandExit::Terminated, report: None }),
                Err(error) => serving::say_unusable(self.environment, &error),
            }
        }
        let opened = match &mut self.opened {
            Some(opened) => opened,
            none => match opening::open_archive(self.environment) {
                Ok(archive) => none.insert(OpenedStore { archive, runner: None }),
                Err(error) => return without_run(self.environment, (self.root, task), error),
            },
        };
        let (environment, place) = (self.environment, (self.root, task));
        wait_here(environment, place, until, opened).or_else(|error| without_run(environment, place, error))
    }

    /// Returns the answer by what others attested, where the service would have to run the checks.
    fn attested(&self, served: &ServedProject, task: &TaskId) -> Option<AnswerV1> {
        let now = Until { begun: clock::monotonic(), patience: Patience { timeout: Duration::ZERO, grace: None } };
        // Whatever is wrong with the service is met again, and told, by whoever waits for it.
        let asked = ask(served, task, &now).ok()?;
        let project = status::attested_instead(self.environment, self.root, Some(task), &asked.project)?;
        Some(AnswerV1 { in_time: InTimeV1::Answered, exit_code: project.exit_code_of(task), project })
    }
}

/// Answers for a wait that failed of a problem of the machine: with the state of the project, and the problem. Any other
/// error is returned.
fn without_run(environment: &Environment, (root, task): (&Path, &TaskId), error: CommandError) -> Result<Waited, CommandError> {
    let Some(trouble) = error.trouble().cloned() else { return Err(error) };
    let state = || -> Result<AnswerV1, CommandError> {
        // A run of which only the ledger knows is not over: the next one brings the rest up to it.
        let mut archive = opening::open_archive(environment)?;
        let standing = status::stand(environment, &mut archive, root, std::slice::from_ref(task))?.with_first(task);
        answer(&archive, &standing, task, InTimeV1::Answered)
    };
    match state() {
        Ok(answer) => {
            let project = answer.project.with_health(Some(&trouble));
            Ok(Waited::Troubled(Box::new(AnswerV1 { project, ..answer }), trouble))
        }
        // The same problem keeps the state from being read.
        Err(_) => {
            let [what, mend] = trouble.lines_without_service();
            let error = CommandError::new(CommandExit::NoFreshVerdict, what);
            Err(error.hint(mend.strip_prefix("hint: ").unwrap_or(&mend).to_owned()))
        }
    }
}

/// The start and the time limit of a wait.
struct Until {
    begun: clock::Monotonic,
    patience: Patience,
}

impl Until {
    fn left(&self) -> Duration {
        self.patience.timeout.saturating_sub(clock::monotonic().since(self.begun))
    }
}

fn ask(served: &ServedProject, task: &TaskId, until: &Until) -> Result<AnswerV1, ClientError> {
    let left = until.left();
    let path = format!("/v1/projects/{}/verdict?task={task}&wait=fresh&timeout={}ms", served.project.id, left.as_millis());
    served.client.ask(MethodV1::Get, &path, left + LATE_ANSWER)
}

fn wait_here(
    environment: &Environment,
    (root, task): (&Path, &TaskId),
    until: &Until,
    OpenedStore { archive, runner }: &mut OpenedStore,
) -> Result<Waited, CommandError> {
    let mut runs = 0;
    loop {
        // The tree is read in every round, so that the answer is for a tree that existed after the command began.
        let standing = status::stand_with_attested(environment, archive, root, std::slice::from_ref(task))?.with_first(task);
        let freshness = standing.tasks.first().map(|task| &task.freshness);
        let step = freshness.map_or(WaitStep::Answer, Freshness::wait_step);
        let in_time = match step {
            WaitStep::Answer => Some(InTimeV1::Answered),
            // A time limit of zero asks for the present state.
            WaitStep::GoOn | WaitStep::Run if until.patience.timeout.is_zero() => Some(InTimeV1::Answered),
            WaitStep::GoOn | WaitStep::Run if until.left().is_zero() => Some(InTimeV1::TimedOut),
            WaitStep::Run if runs == MOST_RUNS => Some(InTimeV1::Answered),
            WaitStep::GoOn | WaitStep::Run => None,
        };
        if let Some(in_time) = in_time {
            return Ok(Waited::Answered(Box::new(answer(archive, &standing, task, in_time)?)));
        }
        match step {
            _ if environment.caller().is_stopped() => return Ok(Waited::Ended { exit: CommandExit::Terminated, report: None }),
            WaitStep::Answer | WaitStep::GoOn => thread::sleep(LOOK_AGAIN.min(until.left())),
            WaitStep::Run => {
                runs += 1;
                if runner.is_none() {
                    *runner = Some(Runner::open(environment)?);
                }
                let Some(runner) = runner else { continue };
                match runner.run(environment, (root, task), until)? {
                    RunStep::LookAgain => {}
                    // Another run would wait for the same tasks.
                    RunStep::Waits => runs = MOST_RUNS,
                    RunStep::Ended { exit, report } => return Ok(Waited::Ended { exit, report }),
                }
            }
        }
    }
}

/// What follows from a run.
enum RunStep {
    /// The state is looked at again.
    LookAgain,
    /// Nothing was run, because what the task depends on is not complete.
    Waits,
    /// There is no answer.
    Ended { exit: CommandExit, report: Option<Box<ExecutionReportV2>> },
}

/// Runs the checks in this process. A wait that needs no run never makes a `Runner`.
struct Runner {
    /// The process that starts actions; `None` after the first run has handed it to `opening`.
    launcher: Option<LauncherHandle>,
    opening: Option<RunResources>,
    control: RunControl,
}

impl Runner {
    fn open(environment: &Environment) -> Result<Self, CommandError> {
        let launcher = Some(opening::start_launcher(environment)?);
        Ok(Self { launcher, opening: None, control: RunControl::begin(environment.caller())? })
    }

    /// Runs the checks once, within the time that is left.
    fn run(&mut self, environment: &Environment, (root, task): (&Path, &TaskId), until: &Until) -> Result<RunStep, CommandError> {
        let loaded = specification_files::reload(environment, root, task)?;
        if let Some(launcher) = self.launcher.take() {
            self.opening = Some(opening::open(environment, launcher, &loaded, None)?);
        }
        let opening = self.opening.as_mut().expect("the launcher was taken for it");
        let mut settings = opening::settings(environment, &loaded)?;
        settings.lock_wait = until.left();
        let request = RunRequest {
            checks: Selection::Missing,
            ..RunRequest::new(&loaded.plan, &settings, &opening.scope, TriggerKind::Wait, &self.control.control)
        };
        let alarm = Alarm::set(self.control.control.handle(), until.left(), until.patience.grace)?;
        let carried = proctor_run::run_plan(&mut opening.workspace, &request, &mut |_| ());
        alarm.cancel();
        match carried {
            // The run of another process took all the time that was left. The next round reads the state.
            Err(ProjectError::Lock(LockError::Busy { .. })) => Ok(RunStep::LookAgain),
            Err(ProjectError::StoppedWaiting(_)) if until.left().is_zero() => Ok(RunStep::LookAgain),
            Err(error) => Err(CommandError::from(error)),
            // Time is left, so the run was stopped by a person and not by the alarm. The whole command ends.
            Ok(RunOutcome::Interrupted(sealed)) if !until.left().is_zero() => {
                Ok(RunStep::Ended { exit: sealed.exit, report: None })
            }
            Ok(RunOutcome::HelperDied(sealed)) => {
                let SealedReport { exit, report, .. } = *sealed;
                Ok(RunStep::Ended { exit, report: Some(Box::new(report)) })
            }
            Ok(
                RunOutcome::Interrupted(_)
                | RunOutcome::Judged(_)
                | RunOutcome::Moved(_)
                | RunOutcome::Superseded
                | RunOutcome::Withdrawn
                | RunOutcome::Unchanged
                | RunOutcome::Untriggered
                | RunOutcome::Paused(_)
                | RunOutcome::NotApproved(_),
            ) => Ok(RunStep::LookAgain),
            Ok(RunOutcome::Waits(_)) => Ok(RunStep::Waits),
        }
    }
}

/// Stops a run when the time is over. The alarm's thread ends when the alarm is cancelled or dropped.
struct Alarm {
    cancel: Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Alarm {
    fn set(handle: ControlHandle, after: Duration, grace: Option<Duration>) -> Result<Self, CommandError> {
        let (cancel, cancelled) = channel();
        let wait = move || {
            // A second request has the processes of the run killed at once.
            for pause in [Some(after), grace].into_iter().flatten() {
                if cancelled.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                handle.stop(StopReason::Interrupted);
            }
        };
        let thread = thread::Builder::new().name("alarm".to_owned()).spawn(wait).map_err(|error| {
            CommandError::caused(CommandExit::OwnFault, "failed to watch the time", &error)
                .hint("check the limit on processes (`ulimit -u`)")
        })?;
        Ok(Self { cancel, thread })
    }

    fn cancel(self) {
        drop(self.cancel);
        let _panicked = self.thread.join();
    }
}

/// Returns the answer about a task by how its project stands.
pub(crate) fn answer(
    archive: &StoreReader,
    standing: &ProjectStatus,
    task: &TaskId,
    in_time: InTimeV1,
) -> Result<AnswerV1, CommandError> {
    let serving = match &standing.project {
        Some(project) => archive.serving(project)?,
        None => Serving::NotServed,
    };
    let project = ProjectStatusV1::new(standing, serving, clock::now());
    Ok(AnswerV1 { in_time, exit_code: project.exit_code_of(task), project })
}

/// Returns the answer without the verdicts of other tasks, where the task that is asked about has no specification that can be read. They
/// are no answer to the question.
fn without_others(answer: AnswerV1, task: &TaskId) -> AnswerV1 {
    let is_unanswered =
        answer.project.tasks.iter().any(|status| status.task == *task && status.state == StateV1::SpecificationWrong);
    let mut project = answer.project;
    if is_unanswered {
        project.tasks.retain(|status| status.task == *task);
    }
    AnswerV1 { project, ..answer }
}
