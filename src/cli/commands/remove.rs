//! `proctor remove`: the service stops watching a project. Its evidence, id and approvals are kept (S7).

use std::path::{Path, PathBuf};

use crate::api::{MethodV1, ProjectV1};
use crate::cli::commands::opening;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::service::{self, MARGIN};
use crate::cli::service_arguments::RemoveOptions;
use crate::config::Configuration;
use crate::model::{CommandExit, Serving};
use crate::project::{ProjectScope, RegisteredProject, discard_snapshots, record_serving};

pub(crate) fn execute(options: &RemoveOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let project = find(environment, options.named.as_ref().unwrap_or(&options.project))?;
    // The project's own `lock_wait` is not read: the directory and its configuration may no longer exist.
    let lock_wait = Configuration::default().evidence.lock_wait;
    if project.serving == Serving::NotServed {
        discard_snapshots(environment.state_root(), &project.id, lock_wait).map_err(|error| super::from_run_error(&error))?;
        render::line(&format!("{} was not watched", project.id));
        return Ok(CommandExit::Proceed);
    }
    if let Some((client, _)) = service::listening(environment) {
        let path = format!("/v1/projects/{}", project.id);
        let _removed: ProjectV1 =
            client.ask(MethodV1::Delete, &path, lock_wait + MARGIN).map_err(|error| service::from_client_error(&error))?;
    } else {
        let scope = ProjectScope { project: project.id.clone(), root: PathBuf::from(&project.path), asker: environment.asker() };
        record_serving(environment.state_root(), &scope, Serving::NotServed, lock_wait)
            .map_err(|error| super::from_run_error(&error))?;
    }
    render::line(&format!("{} is left alone from here on; its evidence stays", project.id));
    Ok(CommandExit::Proceed)
}

/// Finds a registered project by its id or by its directory. The directory may no longer exist.
fn find(environment: &Environment, wanted: &Path) -> Result<RegisteredProject, CommandError> {
    let mut archive = opening::open_archive(environment)?;
    let projects = archive.projects().map_err(|error| super::from_run_error(&error))?;
    let absolute = environment.absolute(wanted);
    let root = absolute.canonicalize().unwrap_or(absolute);
    let is_it = |project: &RegisteredProject| Path::new(project.id.as_str()) == wanted || Path::new(&project.path) == root;
    // Several projects may have been registered at the same path. Prefer a project that the service watches.
    let mut found: Vec<_> = projects.into_iter().filter(is_it).collect();
    found.sort_by_key(|project| project.serving == Serving::NotServed);
    found.into_iter().next().ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("`{}` is no registered project", wanted.display()))
            .hint("`proctor list` shows the projects with their ids")
    })
}
