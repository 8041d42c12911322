//! How projects stand: whether each project's last verdict is for the tree as it is now. Nothing is run.

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::error::CommandError;
use crate::gate::is_checkout;
use crate::known::{add_attested, may_be_attested};
use crate::project::opening;
use crate::project::setup::{self, Planless};
use crate::serving::{self, AT_ONCE};
use crate::work_trees::{register_clone, register_linked_work_tree};
use proctor_api::{AnswerV1, MethodV1, ProjectStatusV1, StateV1, StatusV1, TaskStatusV1, failure_names};
use proctor_evidence::watching_process;
use proctor_model::{ProjectStatus, Serving, TaskId};
use proctor_project::{DescribedProject, PlanlessProject, PlanlessReason, StoreReader};
use proctor_sandbox::process::clock;

/// How the projects that were asked about stand.
#[derive(Debug)]
pub struct Standing {
    pub status: StatusV1,
    /// Why a project could not be read, beside others that could.
    pub failure: Option<CommandError>,
}

/// Returns how a project stands, or every registered one if none is named; of the task `task` alone if one is named.
///
/// # Errors
/// When the only project, or the list of projects, cannot be read.
pub fn status(environment: &Environment, root: Option<PathBuf>, task: Option<&TaskId>) -> Result<Standing, CommandError> {
    if let Some(root) = &root {
        opening::note_lost_evidence(environment, root);
        register_linked_work_tree(environment, root)?;
    }
    // The service knows no values of this command line.
    let question = root.as_ref().map_or_else(|| "/v1/status".to_owned(), |root| serving::at_root("/v1/status", root));
    let of_service = if environment.values().is_empty() { serving::ask_if_listening(environment, &question) } else { None };
    let mut status = of_service.unwrap_or(StatusV1 { service: None, projects: Vec::new() });
    let roots = match root {
        Some(root) => vec![root],
        None => registered_roots(environment)?,
    };
    let mut answered = std::mem::take(&mut status.projects);
    let (is_one, mut failure) = (roots.len() == 1, None);
    for root in roots {
        let shown = root.display().to_string();
        let looked = match answered.iter().position(|project| project.root == shown) {
            Some(position) => {
                let project = narrow_to_task(environment, answered.swap_remove(position), task);
                Ok(attested_instead(environment, &root, task, &project).unwrap_or(project))
            }
            None => look(environment, &root, task),
        };
        match looked {
            Ok(project) => {
                let watched_by = project.id.as_ref().and_then(|id| watching_process(environment.state_root(), id));
                status.projects.push(ProjectStatusV1 { watched_by, ..only(project, task) });
            }
            Err(error) if is_one => return Err(error),
            // One project that cannot be read must not hide the others.
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    Ok(Standing { status, failure })
}

fn registered_roots(environment: &Environment) -> Result<Vec<PathBuf>, CommandError> {
    let mut archive = opening::open_archive(environment);
    let read = |archive: &mut StoreReader| archive.projects().map_err(CommandError::from);
    let (projects, _full) = opening::read_despite_full_disk(environment, archive.as_mut().map_err(|error| error.clone()), read)?;
    let listed = projects.into_iter().filter(|project| !project.was_removed_by_git());
    let roots = listed.map(|project| PathBuf::from(project.path));
    Ok(roots.filter(|root| !is_checkout(environment, root)).collect())
}

/// Asks the service again about a task that is missing from its first answer, because the task was never run.
fn narrow_to_task(environment: &Environment, project: ProjectStatusV1, task: Option<&TaskId>) -> ProjectStatusV1 {
    let (Some(task), Some(id)) = (task, &project.id) else { return project };
    if project.tasks.iter().any(|status| status.task == *task) {
        return project;
    }
    let Some(client) = serving::listening(environment) else { return project };
    match client.ask::<AnswerV1>(MethodV1::Get, &format!("/v1/projects/{id}/verdict?task={task}"), AT_ONCE) {
        Ok(answer) => answer.project,
        Err(error) => {
            serving::say_unusable(environment, &error);
            project
        }
    }
}

/// Returns how the project stands by what others attested, where the service has no fresh verdict of the task: it takes no time for that.
pub(crate) fn attested_instead(
    environment: &Environment,
    root: &Path,
    task: Option<&TaskId>,
    project: &ProjectStatusV1,
) -> Option<ProjectStatusV1> {
    let waits = |state| matches!(state, StateV1::NoVerdict | StateV1::Stale | StateV1::Queued);
    if !project.tasks.iter().any(|task| waits(task.state)) {
        return None;
    }
    let mut archive = opening::open_archive(environment).ok()?;
    if !may_be_attested(environment, &mut archive, root) {
        return None;
    }
    let is_attested = |task: &TaskStatusV1| task.known.as_ref().is_some_and(|known| known.attested.is_some());
    // What cannot be read here leaves the service's answer.
    let is_asked = |one: &&TaskStatusV1| task.is_none_or(|task| one.task == *task);
    look(environment, root, task).ok().filter(|found| found.tasks.iter().filter(is_asked).any(is_attested))
}

/// Keeps only the task that the command line names; keeps all tasks if it names none.
fn only(mut project: ProjectStatusV1, task: Option<&TaskId>) -> ProjectStatusV1 {
    if let Some(task) = task {
        project.tasks.retain(|status| status.task == *task);
    }
    project
}

fn look(environment: &Environment, root: &Path, task: Option<&TaskId>) -> Result<ProjectStatusV1, CommandError> {
    let read = |archive: &mut StoreReader| {
        let wanted = task.map(std::slice::from_ref).unwrap_or_default();
        let standing = stand_with_attested(environment, archive, root, wanted)?;
        let serving = match &standing.project {
            Some(project) => archive.serving(project)?,
            None => Serving::NotServed,
        };
        Ok(ProjectStatusV1::new(&standing, serving, clock::now()))
    };
    let mut archive = opening::open_archive(environment);
    let (project, full) = opening::read_despite_full_disk(environment, archive.as_mut().map_err(|error| error.clone()), read)?;
    Ok(if full.is_some() { project.with_health(full.as_ref()) } else { project })
}

/// Does what [`stand`] says, for an unknown clone of a registered project too, and takes runs that trusted keys attested, where nothing else is
/// known of the present files.
///
/// # Errors
/// When the project or the store cannot be read.
pub(crate) fn stand_with_attested(
    environment: &Environment,
    archive: &mut StoreReader,
    root: &Path,
    wanted: &[TaskId],
) -> Result<ProjectStatus, CommandError> {
    register_clone(environment, archive, root)?;
    stand_and(environment, archive, (root, wanted), |archive, described, status| {
        add_attested(environment, archive, (root, described), status);
    })
}

/// Computes the freshness of a project's verdicts without the service. The result also has the tasks in `wanted`.
///
/// # Errors
/// When the project or the store cannot be read.
pub fn stand(
    environment: &Environment,
    archive: &mut StoreReader,
    root: &Path,
    wanted: &[TaskId],
) -> Result<ProjectStatus, CommandError> {
    stand_and(environment, archive, (root, wanted), |_, _, _| ())
}

fn stand_and(
    environment: &Environment,
    archive: &mut StoreReader,
    (root, wanted): (&Path, &[TaskId]),
    add: impl FnOnce(&mut StoreReader, &DescribedProject<'_>, &mut ProjectStatus),
) -> Result<ProjectStatus, CommandError> {
    let read = setup::describe(environment, root).and_then(|(mut configuration, plan)| {
        configuration.specification.set(environment.values());
        let settings = opening::settings_of(environment, root, &configuration)?;
        Ok((configuration, settings, plan.map_err(Planless::into_missing_plan)))
    });
    let problems = read.as_ref().err().map(CommandError::lines).unwrap_or_default();
    let described = match &read {
        Ok((configuration, settings, Ok(plan))) => Ok(DescribedProject { plan, settings, configuration }),
        Ok((configuration, settings, Err(missing))) => {
            Err(PlanlessProject { reason: missing.reason, problems: &missing.lines, readable: Some((settings, configuration)) })
        }
        Err(_) => Err(PlanlessProject { reason: PlanlessReason::Wrong, problems: &problems, readable: None }),
    };
    let mut status = archive.project_status(root, described, wanted)?;
    if let Ok(described) = &described {
        add(archive, described, &mut status);
    }
    Ok(status)
}

/// Adds what failed to the verdicts that lack it. The store is opened only where a verdict has failures; where it cannot be, each of
/// these verdicts says so.
pub fn with_failures(environment: &Environment, project: ProjectStatusV1) -> ProjectStatusV1 {
    if !project.lacks_failures() {
        return project;
    }
    let mut archive = opening::open_archive(environment);
    project.with_failures(|project, run| match &mut archive {
        Ok(archive) => {
            archive.failed_run(project, run, failure_names).map_err(|error| CommandError::from(error).lines().join("; "))
        }
        Err(error) => Err(error.lines().join("; ")),
    })
}

/// Returns the line about a `proctor watch` with this process id.
pub fn watched_by(pid: u32) -> String {
    format!("  `proctor watch` (process {pid}) runs the checks at each save")
}
