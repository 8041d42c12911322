//! `proctor status`: how verdicts stand to the trees as they are now. Runs nothing.

use std::path::{Path, PathBuf};

use crate::api::{MethodV1, ProjectStatusV1, StatusV1};
use crate::cli::commands::opening;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::service::{self, AT_ONCE};
use crate::cli::service_arguments::StatusOptions;
use crate::cli::setup;
use crate::cli::style::Style;
use crate::cli::terminal;
use crate::model::{CommandExit, ProjectStanding, Serving};
use crate::run::{Archive, Described};

/// Carries the command out.
pub(crate) fn execute(options: &StatusOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let wanted = if options.all { None } else { Some(setup::project_root(environment, &options.directory)?) };
    let mut status = of_service(environment).unwrap_or(StatusV1 { service: None, projects: Vec::new() });
    let roots = match wanted {
        Some(root) => vec![root],
        None => registered_roots(environment)?,
    };
    let mut answered = std::mem::take(&mut status.projects);
    for root in roots {
        let shown = root.display().to_string();
        let project = match answered.iter().position(|project| project.root == shown) {
            Some(position) => answered.swap_remove(position),
            None => look(environment, &root)?,
        };
        status.projects.push(project);
    }
    show(&status, options.json, environment);
    Ok(CommandExit::Proceed)
}

fn of_service(environment: &Environment) -> Option<StatusV1> {
    let (client, _) = service::listening(environment)?;
    match client.ask::<StatusV1>(MethodV1::Get, "/v1/status", AT_ONCE) {
        Ok(status) => Some(status),
        Err(error) => {
            service::say_unusable(&error);
            None
        }
    }
}

fn registered_roots(environment: &Environment) -> Result<Vec<PathBuf>, CommandError> {
    let mut archive = Archive::open(environment.state_root()).map_err(|error| super::of_run(&error))?;
    let projects = archive.projects().map_err(|error| super::of_run(&error))?;
    Ok(projects.into_iter().map(|project| PathBuf::from(project.path)).collect())
}

fn look(environment: &Environment, root: &Path) -> Result<ProjectStatusV1, CommandError> {
    let mut archive = Archive::open(environment.state_root()).map_err(|error| super::of_run(&error))?;
    archive.take_notes().iter().for_each(|line| render::note(&format!("note: {line}")));
    let standing = stand(&mut archive, root)?;
    let serving = match &standing.project {
        Some(project) => archive.serving(project).map_err(|error| super::of_run(&error))?,
        None => Serving::NotServed,
    };
    Ok(ProjectStatusV1::new(&standing, serving))
}

/// Looks at a project without the service.
pub(super) fn stand(archive: &mut Archive, root: &Path) -> Result<ProjectStanding, CommandError> {
    let loaded = setup::reload(root).and_then(|loaded| opening::settings(&loaded).map(|settings| (loaded, settings)));
    let problems = loaded.as_ref().err().map(CommandError::lines).unwrap_or_default();
    let described = match &loaded {
        Ok((loaded, settings)) => Ok(Described { plan: &loaded.plan, settings }),
        Err(_) => Err(problems.as_slice()),
    };
    archive.standing(root, described).map_err(|error| super::of_run(&error))
}

fn show(status: &StatusV1, json: bool, environment: &Environment) {
    if json {
        render::document(status);
        return;
    }
    let style = Style::decide(environment.has("NO_COLOR"), environment.has("CLICOLOR_FORCE"), terminal::is_output_terminal());
    if status.projects.is_empty() {
        render::note("no project is registered: `proctor run` or `proctor add` registers one");
    }
    for project in &status.projects {
        screen::standing(project, style).iter().for_each(|line| render::line(line));
    }
}
