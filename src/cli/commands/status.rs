//! `proctor status`: shows whether each project's last verdict is for the tree as it is now. Nothing is run.

use std::path::{Path, PathBuf};

use crate::cli::commands::gate_run::is_checkout;
use crate::cli::commands::opening;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::service::{self, AT_ONCE};
use crate::cli::service_arguments::StatusOptions;
use crate::cli::setup::{self, Planless};
use crate::cli::specification_files;
use crate::cli::style::Style;
use crate::cli::terminal;
use proctor_api::{AnswerV1, MethodV1, ProjectStatusV1, RefutedClaimV1, StatusV1, TaskStatusV1, failure_names};
use proctor_model::{ClaimRecord, CommandExit, OverallResult, ProjectStatus, Serving, TaskId};
use proctor_run::project::{DescribedProject, PlanlessProject, PlanlessReason, StoreReader};
use proctor_sandbox::process::clock;

pub(crate) fn execute(options: &StatusOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let environment = &environment.with_values(&options.values.set);
    let wanted = if options.scope.all { None } else { Some(setup::project_root(environment, options.scope.place.path())?) };
    // The service knows no values of this command line.
    let of_service = if environment.values().is_empty() { service::ask_if_listening(environment, "/v1/status") } else { None };
    let mut status = of_service.unwrap_or(StatusV1 { service: None, projects: Vec::new() });
    let roots = match wanted {
        Some(root) => vec![root],
        None => registered_roots(environment)?,
    };
    let task = options.scope.task.as_deref().map(specification_files::read_task).transpose()?;
    let mut answered = std::mem::take(&mut status.projects);
    let (is_one, mut failure) = (roots.len() == 1, None);
    for root in roots {
        let shown = root.display().to_string();
        let looked = match answered.iter().position(|project| project.root == shown) {
            Some(position) => Ok(narrow_to_task(environment, answered.swap_remove(position), task.as_ref())),
            None => look(environment, &root, task.as_ref()),
        };
        match looked {
            Ok(project) => status.projects.push(only(project, task.as_ref())),
            Err(error) if is_one => return Err(error),
            // One project that cannot be read must not hide the others.
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    status.projects = status.projects.into_iter().map(|project| with_claims(environment, project)).collect();
    if options.json {
        // What people read here has one line for each task, so no report is read for it.
        status.projects = status.projects.into_iter().map(|project| with_failures(environment, project)).collect();
    }
    show(&status, options.json, environment);
    failure.map_or(Ok(CommandExit::Proceed), Err)
}

fn registered_roots(environment: &Environment) -> Result<Vec<PathBuf>, CommandError> {
    let mut archive = opening::open_archive(environment);
    let read = |archive: &mut StoreReader| archive.projects().map_err(|error| super::from_run_error(&error));
    let (projects, _full) = opening::read_despite_full_disk(environment, archive.as_mut().map_err(|error| error.clone()), read)?;
    let roots = projects.into_iter().map(|project| PathBuf::from(project.path));
    Ok(roots.filter(|root| !is_checkout(environment, root)).collect())
}

/// Asks the service again about a task that is missing from its first answer, because the task was never run.
fn narrow_to_task(environment: &Environment, project: ProjectStatusV1, task: Option<&TaskId>) -> ProjectStatusV1 {
    let (Some(task), Some(id)) = (task, &project.id) else { return project };
    if project.tasks.iter().any(|status| status.task == *task) {
        return project;
    }
    let Some((client, _)) = service::listening(environment) else { return project };
    match client.ask::<AnswerV1>(MethodV1::Get, &format!("/v1/projects/{id}/verdict?task={task}"), AT_ONCE) {
        Ok(answer) => answer.project,
        Err(error) => {
            service::say_unusable(&error);
            project
        }
    }
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
        let standing = stand(archive, root, task.map(std::slice::from_ref).unwrap_or_default(), environment.values())?;
        let serving = match &standing.project {
            Some(project) => archive.serving(project).map_err(|error| super::from_run_error(&error))?,
            None => Serving::NotServed,
        };
        Ok(ProjectStatusV1::new(&standing, serving, clock::now()))
    };
    let mut archive = opening::open_archive(environment);
    let (project, full) = opening::read_despite_full_disk(environment, archive.as_mut().map_err(|error| error.clone()), read)?;
    Ok(if full.is_some() { project.with_health(full.as_ref()) } else { project })
}

/// Computes the freshness of a project's verdicts without the service. The result also has the tasks in `wanted`. `values` are
/// those of the command line for placeholders of test specifications.
pub(super) fn stand(
    archive: &mut StoreReader,
    root: &Path,
    wanted: &[TaskId],
    values: &[(String, String)],
) -> Result<ProjectStatus, CommandError> {
    let read = setup::describe(root).and_then(|(mut configuration, plan)| {
        configuration.specification.set(values);
        let settings = opening::settings_of(archive.state_root(), root, &configuration)?;
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
    archive.project_status(root, described, wanted).map_err(|error| super::from_run_error(&error))
}

/// Adds the claims of agents that the last verdicts contradict. Claims that cannot be read are left out.
fn with_claims(environment: &Environment, project: ProjectStatusV1) -> ProjectStatusV1 {
    let is_red = |task: &TaskStatusV1| task.verdict.as_ref().is_some_and(|verdict| verdict.result == Some(OverallResult::Failed));
    let Some(id) = project.id.as_ref().filter(|_| project.tasks.iter().any(is_red)) else { return project };
    let Ok(archive) = opening::open_archive(environment) else { return project };
    let is_of_last = |claim: &ClaimRecord| {
        project.tasks.iter().any(|task| task.verdict.as_ref().is_some_and(|verdict| verdict.run_id == claim.run_id))
    };
    let claims = archive.refuted_claims(id).unwrap_or_default().into_iter().filter(|(_, claim)| is_of_last(claim));
    let refuted_claims = claims.take(RefutedClaimV1::SHOWN).map(|(time, claim)| RefutedClaimV1 { time, claim }).collect();
    ProjectStatusV1 { refuted_claims, ..project }
}

/// Adds what failed to the verdicts that lack it. The store is opened only where a verdict has failures; where it cannot be, each of
/// these verdicts says so.
pub(super) fn with_failures(environment: &Environment, project: ProjectStatusV1) -> ProjectStatusV1 {
    if !project.lacks_failures() {
        return project;
    }
    let mut archive = opening::open_archive(environment);
    project.with_failures(&environment.outgoing_redactor(), |project, run| match &mut archive {
        Ok(archive) => {
            archive.failed_run(project, run, failure_names).map_err(|error| super::from_run_error(&error).lines().join("; "))
        }
        Err(error) => Err(error.lines().join("; ")),
    })
}

fn show(status: &StatusV1, json: bool, environment: &Environment) {
    if json {
        render::document(status);
        return;
    }
    let style = Style::decide(environment.refuses_colours(), environment.has("CLICOLOR_FORCE"), terminal::is_output_terminal());
    if status.projects.is_empty() {
        render::note("no project is registered: `proctor run` or `proctor add` registers one");
    }
    for project in &status.projects {
        screen::project_status(project, style).iter().for_each(render::line);
        if let Some(newest) = project.refuted_claims.first() {
            render::line(&format!("  {}", screen::claim_line(newest.time, &newest.claim)));
        }
    }
}
