//! The requests of agents (agent protocol of seed document 004). The service answers if it watches the project; otherwise this process
//! computes the same answer. An agent's claim about its task is logged, and the answer is computed without the claim.

use std::path::Path;

use crate::caller::RunControl;
use crate::client::ClientError;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::opening::{self, RunResources};
use crate::project::setup::{self, LoadedProject};
use crate::project::specification_files::{self, FoundPlan};
use crate::run::{self, LONGEST_RUN, MadeRun, RunWish};
use crate::serving::{self, ServedProject};
use crate::status;
use proctor_api::{AgentAnswerV1, AgentRequestV1, MethodV1};
use proctor_evidence::report::ExecutionReportV2;
use proctor_model::{CommandExit, CompletionStatus, Freshness, Plan, ProjectStatus, TaskId};
use proctor_project::DescribedProject;
use proctor_run::collaboration::{self, Proposal, review_specification};
use proctor_sandbox::process::LauncherHandle;

/// A retest that was granted, and what it needs to be made in this process.
pub struct OpenedRetest {
    pub loaded: LoadedProject,
    pub opened: RunResources,
    /// How many retests were granted since the task last passed, this one included.
    pub number: u32,
    /// The most that are granted.
    pub budget: u32,
}

/// Returns the task that a request names.
///
/// # Errors
/// When it is no task's id.
pub fn read_task(text: &str) -> Result<TaskId, CommandError> {
    TaskId::try_from(text)
        .map_err(|error| CommandError::of(CommandExit::Usage, &error).hint("the task of a project's own checks is `default`"))
}

/// Asks the service that watches the project; `None` if this process must answer.
///
/// # Errors
/// When the service refuses the request, or its answer does not arrive.
pub fn ask_service(
    environment: &Environment,
    root: &Path,
    request: &AgentRequestV1,
) -> Result<Option<(ServedProject, AgentAnswerV1)>, CommandError> {
    // The service knows no values of this command line.
    let served = serving::serving(environment, root).filter(|_| environment.values().is_empty());
    let Some(served) = served else { return Ok(None) };
    match ask(&served, request) {
        Ok(answer) => Ok(Some((served, answer))),
        // No service listens, so this process answers. After any other error the service may have begun to act on
        // the request; answering here as well could act on the request twice.
        Err(error @ ClientError::Absent { .. }) => {
            serving::say_unusable(environment, &error);
            Ok(None)
        }
        Err(error) => Err(serving::from_client_error(&error)),
    }
}

/// Asks a service that watches the project.
///
/// # Errors
/// When the service refuses the request, or its answer does not arrive.
pub fn ask(served: &ServedProject, request: &AgentRequestV1) -> Result<AgentAnswerV1, ClientError> {
    let path = format!("/v1/projects/{}/requests", served.project.id);
    served.client.send(MethodV1::Post, &path, request, LONGEST_RUN)
}

/// Returns the errors of a task's specification, and which of its rules nobody approved. With a proposed specification, returns those of
/// the proposal instead.
///
/// # Errors
/// When the project or the specification cannot be read.
pub fn review(
    environment: &Environment,
    root: &Path,
    task_id: TaskId,
    proposal: Option<&Proposal>,
) -> Result<AgentAnswerV1, CommandError> {
    // Only the settings are read. The plan of the project's own checks is not needed, so it may be missing.
    let (mut configuration, _) = setup::configuration(environment, root)?;
    configuration.specification.set(environment.values());
    let settings = opening::settings_of(environment, root, &configuration)?;
    let described = (&settings, &configuration);
    let reviewed = review_specification(root, described, &task_id, proposal)?;
    answer_review(environment, root, task_id, reviewed)
}

fn answer_review(
    environment: &Environment,
    root: &Path,
    task_id: TaskId,
    reviewed: Result<Box<Plan>, Vec<String>>,
) -> Result<AgentAnswerV1, CommandError> {
    let compared = match reviewed {
        Ok(plan) => {
            let difference = opening::open_archive(environment)?.rule_difference(root, &plan);
            Ok(difference?)
        }
        Err(errors) => Err(errors),
    };
    Ok(AgentAnswerV1::from_review(task_id, compared))
}

/// Returns the errors of a task's plan and of the project's settings, as this process reads them.
///
/// # Errors
/// When something else is wrong than the specification or the configuration.
pub fn check_here(environment: &Environment, root: &Path, task_id: TaskId) -> Result<AgentAnswerV1, CommandError> {
    let loaded = specification_files::reload(environment, root, &task_id);
    let loaded = loaded.and_then(|loaded| opening::settings(environment, &loaded).map(|_| loaded));
    let reviewed = match loaded {
        Err(error) if error.exit() != CommandExit::SpecificationWrong => return Err(error),
        Err(error) => Err(error.lines()),
        Ok(loaded) => Ok(Box::new(loaded.plan)),
    };
    answer_review(environment, root, task_id, reviewed)
}

/// Returns what is wrong with a task's specification, or with the project's configuration if the task is its own checks.
///
/// # Errors
/// When the project cannot be read, or the service refuses the request.
pub fn find_faults(environment: &Environment, root: &Path, task_id: TaskId) -> Result<AgentAnswerV1, CommandError> {
    if task_id != TaskId::default_task() {
        return review(environment, root, task_id, None);
    }
    let request = AgentRequestV1::FixSpecification { task_id: task_id.clone(), specification: None, path: None };
    match ask_service(environment, root, &request)? {
        Some((_, answer)) => Ok(answer),
        None => check_here(environment, root, task_id),
    }
}

/// Computes in this process whether a task is complete.
///
/// # Errors
/// When there is no such task, or the store cannot be read.
pub fn compute_here(
    environment: &Environment,
    root: &Path,
    task: &TaskId,
    asked: CompletionStatus,
) -> Result<AgentAnswerV1, CommandError> {
    let mut archive = opening::open_archive(environment)?;
    let standing = status::stand(environment, &mut archive, root, std::slice::from_ref(task))?.with_first(task);
    refuse_unknown(root, task, &standing, environment)?;
    let completion = collaboration::completion(&archive.store, environment.variables(), &standing, task);
    let completion = completion?;
    tracing::info!("REQUEST_STATUS_UPDATE {} for {task}: computed {}", asked.word(), completion.status.word());
    Ok(AgentAnswerV1::from_completion(asked, completion))
}

/// Refuses a task that does not exist: no readable specification has the task, and the task never had a verdict.
fn refuse_unknown(root: &Path, task: &TaskId, standing: &ProjectStatus, environment: &Environment) -> Result<(), CommandError> {
    match standing.of(task).map(|task| (&task.freshness, &task.verdict)) {
        Some((Freshness::SpecificationWrong, None)) => specification_files::reload(environment, root, task).map(drop),
        Some(_) | None => Ok(()),
    }
}

/// Opens the project, and grants a retest of a task. The retest is then to be made.
///
/// # Errors
/// When the retest is refused, or the project cannot be opened.
pub fn grant_retest(
    environment: &Environment,
    launcher: LauncherHandle,
    loaded: LoadedProject,
) -> Result<OpenedRetest, CommandError> {
    let mut opened = opening::open(environment, launcher, &loaded, None)?;
    let RunResources { workspace, scope, settings } = &mut opened;
    let described = DescribedProject { plan: &loaded.plan, settings, configuration: &loaded.configuration };
    let granted = collaboration::grant_retest(workspace, scope, described)?;
    let (number, budget) = (granted.number, granted.budget);
    Ok(OpenedRetest { loaded, opened, number, budget })
}

/// Has a task's checks run once more, by the service or in this process, and returns the report.
///
/// # Errors
/// When the retest is refused, or there is no report.
pub fn retest(environment: &Environment, root: &Path, task_id: TaskId) -> Result<ExecutionReportV2, CommandError> {
    let request = AgentRequestV1::RequestRetest { task_id: task_id.clone() };
    if let Some((_, answer)) = ask_service(environment, root, &request)? {
        let AgentAnswerV1::Retested { run, .. } = answer else {
            return Err(CommandError::new(CommandExit::OwnFault, "the service's answer is about something else than a retest"));
        };
        let loaded = specification_files::reload(environment, root, &run.task)?;
        return run::read_made_run(environment, &loaded, &run).map(|made| made.report);
    }
    let launcher = opening::start_launcher(environment)?;
    let loaded = match specification_files::find_in(environment, root, &task_id)? {
        FoundPlan::Planned(loaded) => *loaded,
        FoundPlan::Wrong(wrong) => {
            let loaded = run::without_checks(&wrong);
            let mut opened = opening::open(environment, launcher, &loaded, None)?;
            let sealed = run::seal_refusal(&mut opened, (&wrong.task, &loaded.configuration), &mut |_| ())?;
            return sealed.map(|sealed| sealed.report).ok_or(wrong.error);
        }
    };
    let OpenedRetest { loaded, mut opened, .. } = grant_retest(environment, launcher, loaded)?;
    opened.workspace.expect_one_run();
    let RunControl { control, .. } = &RunControl::begin(environment.caller())?;
    let made = run::run_or_share(environment, &RunWish::default(), &loaded, (&mut opened, control), &mut |_| ())?;
    let sealed = match made {
        MadeRun::Shared(answer) => return run::read_made_run(environment, &loaded, &answer).map(|made| made.report),
        MadeRun::Own(outcome) => run::sealed_of(environment, &task_id, outcome)?,
    };
    let sealed =
        sealed.ok_or_else(|| CommandError::new(CommandExit::NoFreshVerdict, "the retest was granted, and nothing was judged"))?;
    run::finish(&mut opened.workspace, control);
    Ok(sealed.report)
}
