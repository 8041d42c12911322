//! `proctor service list`: shows every registered project. The service describes the projects that it watches. The other
//! projects are described from their ledgers.

use std::path::Path;

use crate::cli::service_arguments::ListOptions;
use crate::cli::{render, screen};
use proctor_api::{ProjectV1, ProjectsV1};
use proctor_app::gate::is_checkout;
use proctor_app::project::opening;
use proctor_app::{CommandError, Environment, serving};
use proctor_model::CommandExit;
use proctor_project::{RegisteredProject, StoreReader};
use proctor_service::list_by_ledger;

pub(crate) fn execute(options: &ListOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    // A service of another store may answer at the usual socket.
    let of_service = serving::list_projects(environment).filter(|_| serving::serves_store(environment));
    let (mut listed, mut failure) = (of_service.unwrap_or_default(), None);
    // What the service described needs no look here.
    if listed.is_empty() || listed.iter().any(|project| project.standing.is_none()) {
        let mut archive = opening::open_archive(environment);
        let read = |archive: &mut StoreReader| archive.projects().map_err(CommandError::from);
        let (mut registered, _full) =
            opening::read_despite_full_disk(environment, archive.as_mut().map_err(|error| error.clone()), read)?;
        registered.retain(|project| !is_checkout(environment, Path::new(&project.path)) && !project.was_removed_by_git());
        let mut described = std::mem::take(&mut listed);
        described.retain(|project| project.standing.is_some());
        for project in registered {
            listed.push(match described.iter().position(|described| described.id == project.id) {
                Some(position) => described.swap_remove(position),
                // One project that cannot be read must not hide the others.
                None => describe(environment, &mut archive, &project).unwrap_or_else(|error| {
                    failure.get_or_insert(error);
                    ProjectV1::new(project.id, Path::new(&project.path), project.serving)
                }),
            });
        }
    }
    let projects: Vec<_> = listed.into_iter().filter(|project| !is_checkout(environment, Path::new(&project.root))).collect();
    if options.json {
        render::document(&ProjectsV1 { projects, editor: None });
    } else {
        if projects.is_empty() {
            render::note("no project is registered: `proctor run` or `proctor service add` registers one");
        }
        projects.iter().flat_map(screen::project_lines).for_each(|line| render::line(&line));
    }
    failure.map_or(Ok(CommandExit::Proceed), Err)
}

/// Describes a project from its ledger. On a full disk, this problem is part of the description.
fn describe(
    environment: &Environment,
    archive: &mut Result<StoreReader, CommandError>,
    project: &RegisteredProject,
) -> Result<ProjectV1, CommandError> {
    let read = |archive: &mut StoreReader| list_by_ledger(archive, project).map_err(CommandError::from);
    let (listed, full) = opening::read_despite_full_disk(environment, archive.as_mut().map_err(|error| error.clone()), read)?;
    let standing = listed.standing.map(|standing| standing.with_health(full.as_ref()));
    Ok(ProjectV1 { standing, ..listed })
}
