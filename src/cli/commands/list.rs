//! `proctor list`: shows every registered project. The service describes the projects that it watches. The other
//! projects are described from their ledgers.

use std::path::{Path, PathBuf};

use crate::api::{DoingV1, ListedV1, ProjectV1, ProjectsV1, WatchingV1};
use crate::cli::commands::gate_run::is_checkout;
use crate::cli::commands::opening;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::service;
use crate::cli::service_arguments::ListOptions;
use crate::model::{Activity, Approval, CommandExit};
use crate::process::clock;
use crate::project::{RegisteredProject, StoreReader};

pub(crate) fn execute(options: &ListOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let mut archive = opening::open_archive(environment)?;
    let mut registered = archive.projects().map_err(|error| super::from_run_error(&error))?;
    registered.retain(|project| !is_checkout(environment, Path::new(&project.path)));
    let mut watched = service::listening(environment).map(|(_, projects)| projects).unwrap_or_default();
    let (mut projects, mut failure) = (Vec::new(), None);
    for project in registered {
        let known = watched.iter().position(|watched| watched.id == project.id && watched.standing.is_some());
        projects.push(match known {
            Some(position) => watched.swap_remove(position),
            // One project that cannot be read must not hide the others.
            None => by_ledger(&mut archive, &project).unwrap_or_else(|error| {
                failure.get_or_insert(error);
                ProjectV1::new(project.id, Path::new(&project.path), project.serving)
            }),
        });
    }
    if options.json {
        render::document(&ProjectsV1 { projects });
    } else {
        if projects.is_empty() {
            render::note("no project is registered: `proctor run` or `proctor add` registers one");
        }
        projects.iter().flat_map(screen::project_lines).for_each(|line| render::line(&line));
    }
    failure.map_or(Ok(CommandExit::Proceed), Err)
}

/// Describes a project that the service does not watch, from the project's ledger.
fn by_ledger(archive: &mut StoreReader, project: &RegisteredProject) -> Result<ProjectV1, CommandError> {
    let root = PathBuf::from(&project.path);
    let standing = archive.last_known_status(Some(&project.id), &root, Approval::Approved, &[], Activity::Idle);
    let mut standing = standing.map_err(|error| super::from_run_error(&error))?;
    // The project's files are not read here. Own checks that never had a verdict are left out beside tasks that had one:
    // the project may have only test specifications.
    if standing.tasks.iter().any(|task| task.verdict.is_some()) {
        standing.tasks.retain(|task| task.verdict.is_some());
    }
    let listed = ListedV1::new(&standing, WatchingV1::NotWatched, DoingV1::Unknown, clock::now());
    Ok(ProjectV1 { standing: Some(listed), ..ProjectV1::new(project.id.clone(), Path::new(&project.path), project.serving) })
}
