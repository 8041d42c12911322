//! `proctor wait --fresh`: waits for a verdict on the present tree. It asks the service, or runs the checks itself.

use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use crate::cli::commands::opening::{self, RunResources};
use crate::cli::commands::run_all::EVERY_TASK;
use crate::cli::commands::{run, status};
use crate::cli::environment::Environment;
use crate::cli::error::{CommandError, indented};
use crate::cli::render;
use crate::cli::screen::{self, FailuresShown};
use crate::cli::service::{self, MARGIN, ServedProject};
use crate::cli::service_arguments::WaitOptions;
use crate::cli::setup;
use crate::cli::show_progress::{Audience, ProgressScreen};
use crate::cli::specification_files;
use crate::cli::style::Style;
use crate::cli::terminal;
use proctor_api::{AnswerV1, HealthV1, InTimeV1, MethodV1, ProjectStatusV1, StateV1};
use proctor_app::client::ClientError;
use proctor_model::{CommandExit, Freshness, ProjectStatus, ServiceTrouble, Serving, StopReason, TaskId, TriggerKind, WaitStep};
use proctor_run::project::{ProjectError, RunOutcome, RunRequest, Selection, Specifications, StoreReader};
use proctor_sandbox::process::{Control, ControlHandle, clock};

/// How often the state is read again while another process runs the checks.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// One `proctor wait` starts at most this many runs. If none of them gives a fresh verdict, for example because the tree
/// changes each time, the command gives up.
const MOST_RUNS: u32 = 3;

pub(crate) fn execute(options: &WaitOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let environment = &environment.with_values(&options.values.set);
    let root = setup::project_root(environment, options.place.path())?;
    let until = Until { begun: clock::monotonic(), timeout: options.timeout };
    let mut place = WaitPlace { environment, root: &root, opened: None };
    let waited = match awaited(&root, options.verdict.task.as_deref(), environment.values())? {
        Awaited::One(task) => match place.wait_for(&task, &until)? {
            Waited::Answered(answer) => Waited::Answered(Box::new(without_others(*answer, &task))),
            other @ (Waited::Troubled(..) | Waited::Ended(_)) => other,
        },
        Awaited::Every(specifications) => place.wait_for_every(&specifications, &until)?,
    };
    Ok(match waited {
        Waited::Answered(answer) => show(&answer, None, options.json, environment),
        Waited::Troubled(answer, trouble) => show(&answer, Some(&trouble), options.json, environment),
        Waited::Ended(exit) => exit,
    })
}

/// What is waited for.
enum Awaited {
    One(TaskId),
    /// Every task of the project's test specifications.
    Every(Specifications),
}

/// How a wait ended.
enum Waited {
    Answered(Box<AnswerV1>),
    /// A problem of the machine kept this process from running the checks, such as a full disk. The project is shown as it
    /// is without a run.
    Troubled(Box<AnswerV1>, ServiceTrouble),
    /// A person stopped the run, or a helper process died. The whole command ends.
    Ended(CommandExit),
}

/// Returns what to wait for. In a project without checks of its own, the verdict of the project is that of all its tasks.
/// `values` are those of the command line for placeholders of test specifications.
fn awaited(root: &Path, named: Option<&str>, values: &[(String, String)]) -> Result<Awaited, CommandError> {
    match named {
        Some(EVERY_TASK) => Ok(Awaited::Every(specification_files::read_project(root, values)?.specifications)),
        Some(task) => Ok(Awaited::One(specification_files::read_task(task)?)),
        None => Ok(match setup::describe(root) {
            Ok((mut configuration, Err(planless))) => {
                configuration.specification.set(values);
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
                ended @ (Waited::Troubled(..) | Waited::Ended(_)) => return Ok(ended),
            }
        }
        // A save may have made earlier answers stale, so all of them are looked at once more.
        let now = Until { begun: clock::monotonic(), timeout: Duration::ZERO };
        let answer = match self.wait_for(first, &now)? {
            Waited::Answered(answer) => answer,
            ended @ (Waited::Troubled(..) | Waited::Ended(_)) => return Ok(ended),
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

    /// Waits for the verdict of a task.
    fn wait_for(&mut self, task: &TaskId, until: &Until) -> Result<Waited, CommandError> {
        // The service knows no values of this command line.
        if let Some(served) = service::serving(self.environment, self.root).filter(|_| self.environment.values().is_empty()) {
            match ask(&served, task, until) {
                Ok(answer) => return Ok(Waited::Answered(Box::new(answer))),
                Err(error @ (ClientError::Refused(_) | ClientError::Late { .. })) => {
                    return Err(service::from_client_error(&error));
                }
                // The service stopped or closed the connection. This process waits without the service for the rest of the
                // time.
                Err(error) => service::say_unusable(&error),
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
}

/// Answers for a wait that failed of a problem of the machine: with the state of the project, and the problem. Any other
/// error is returned.
fn without_run(environment: &Environment, (root, task): (&Path, &TaskId), error: CommandError) -> Result<Waited, CommandError> {
    let Some(trouble) = error.trouble().cloned() else { return Err(error) };
    let state = || -> Result<AnswerV1, CommandError> {
        // A run of which only the ledger knows is not over: the next one brings the rest up to it.
        let mut archive = opening::open_archive(environment)?;
        let standing = status::stand(&mut archive, root, std::slice::from_ref(task), environment.values())?.with_first(task);
        answer(&archive, &standing, task, InTimeV1::Answered)
    };
    match state() {
        Ok(answer) => {
            let project = answer.project.with_health(Some(&trouble));
            Ok(Waited::Troubled(Box::new(AnswerV1 { project, ..answer }), trouble))
        }
        // The same problem keeps the state from being read.
        Err(_) => {
            let [what, mend] = HealthV1::from(&trouble).lines_without_service();
            let error = CommandError::new(CommandExit::NoFreshVerdict, what);
            Err(error.hint(mend.strip_prefix("hint: ").unwrap_or(&mend).to_owned()))
        }
    }
}

/// The start and the time limit of a wait.
struct Until {
    begun: clock::Monotonic,
    timeout: Duration,
}

impl Until {
    fn left(&self) -> Duration {
        self.timeout.saturating_sub(clock::monotonic().since(self.begun))
    }
}

fn ask(served: &ServedProject, task: &TaskId, until: &Until) -> Result<AnswerV1, ClientError> {
    let left = until.left();
    let path = format!("/v1/projects/{}/verdict?task={task}&wait=fresh&timeout={}ms", served.project.id, left.as_millis());
    served.client.ask(MethodV1::Get, &path, left + MARGIN)
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
        let standing = status::stand(archive, root, std::slice::from_ref(task), environment.values())?.with_first(task);
        let freshness = standing.tasks.first().map(|task| &task.freshness);
        let step = freshness.map_or(WaitStep::Answer, Freshness::wait_step);
        let in_time = match step {
            WaitStep::Answer => Some(InTimeV1::Answered),
            // A time limit of zero asks for the present state.
            WaitStep::GoOn | WaitStep::Run if until.timeout.is_zero() => Some(InTimeV1::Answered),
            WaitStep::GoOn | WaitStep::Run if until.left().is_zero() => Some(InTimeV1::TimedOut),
            WaitStep::Run if runs == MOST_RUNS => Some(InTimeV1::Answered),
            WaitStep::GoOn | WaitStep::Run => None,
        };
        if let Some(in_time) = in_time {
            return Ok(Waited::Answered(Box::new(answer(archive, &standing, task, in_time)?)));
        }
        match step {
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
                    RunStep::Ended(exit) => return Ok(Waited::Ended(exit)),
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
    /// The whole command ends.
    Ended(CommandExit),
}

/// Runs the checks in this process. A wait that needs no run never makes a `Runner`.
struct Runner {
    /// The process that starts actions; `None` after the first run has handed it to `opening`.
    launcher: Option<proctor_sandbox::process::LauncherHandle>,
    opening: Option<RunResources>,
    control: Control,
}

impl Runner {
    fn open(environment: &Environment) -> Result<Self, CommandError> {
        let launcher = Some(opening::start_launcher(environment)?);
        Ok(Self { launcher, opening: None, control: run::watch_signals()? })
    }

    /// Runs the checks once, within the time that is left.
    fn run(&mut self, environment: &Environment, (root, task): (&Path, &TaskId), until: &Until) -> Result<RunStep, CommandError> {
        let loaded = specification_files::reload(root, task, environment.values())?;
        if let Some(launcher) = self.launcher.take() {
            self.opening = Some(opening::open(environment, launcher, &loaded, None)?);
        }
        let opening = self.opening.as_mut().expect("the launcher was taken for it");
        let mut settings = opening::settings(environment, &loaded)?;
        settings.lock_wait = until.left();
        let request = RunRequest {
            checks: Selection::Missing,
            ..RunRequest::new(&loaded.plan, &settings, &opening.scope, TriggerKind::Wait, &self.control)
        };
        let mut screen = ProgressScreen::new(opening.style, FailuresShown::None, Audience::Nobody);
        let alarm = Alarm::set(self.control.handle(), until.left())?;
        let carried = opening.workspace.run_plan(&request, &mut |progress| screen.show(&progress));
        alarm.cancel();
        match carried {
            // The run of another process took all the time that was left. The next round reads the state.
            Err(ProjectError::Lock(proctor_evidence::LockError::Busy { .. })) => Ok(RunStep::LookAgain),
            Err(ProjectError::StoppedWaiting(_)) if until.left().is_zero() => Ok(RunStep::LookAgain),
            Err(error) => Err(super::from_run_error(&error)),
            // Time is left, so the run was stopped by a person and not by the alarm. The whole command ends.
            Ok(RunOutcome::Interrupted(sealed)) if !until.left().is_zero() => Ok(RunStep::Ended(sealed.exit)),
            Ok(RunOutcome::HelperDied(sealed)) => {
                screen::own_fault(&sealed.report, sealed.exit).iter().for_each(render::note);
                Ok(RunStep::Ended(sealed.exit))
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
    fn set(handle: ControlHandle, after: Duration) -> Result<Self, CommandError> {
        let (cancel, cancelled) = channel();
        let wait = move || {
            if cancelled.recv_timeout(after) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
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

fn answer(archive: &StoreReader, standing: &ProjectStatus, task: &TaskId, in_time: InTimeV1) -> Result<AnswerV1, CommandError> {
    let serving = match &standing.project {
        Some(project) => archive.serving(project).map_err(|error| super::from_run_error(&error))?,
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

/// Shows the answer, and the problem for which this process could not run the checks, if there is one.
fn show(answer: &AnswerV1, trouble: Option<&ServiceTrouble>, json: bool, environment: &Environment) -> CommandExit {
    let answer = &AnswerV1 { project: status::with_failures(environment, answer.project.clone()), ..*answer };
    if json {
        render::document(answer);
        return CommandExit::from_code(answer.exit_code);
    }
    let style = Style::decide(environment.refuses_colours(), environment.has("CLICOLOR_FORCE"), terminal::is_output_terminal());
    let health = trouble.map(HealthV1::from);
    // A service says that it tries again by itself; this process does not.
    let project =
        ProjectStatusV1 { health: answer.project.health.clone().filter(|_| health.is_none()), ..answer.project.clone() };
    screen::project_status(&project, style).iter().for_each(render::line);
    project.tasks.iter().flat_map(|task| screen::task_failures(task, style)).for_each(|line| render::line(&line));
    let lines = health.iter().flat_map(HealthV1::lines_without_service);
    lines.flat_map(|line| indented(&line)).for_each(|line| render::line(&line));
    CommandExit::from_code(answer.exit_code)
}
