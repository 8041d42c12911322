//! The service stops watching a project, whose evidence, id and approvals are kept (S7). A purge removes the evidence too; the ledger and
//! the keys stay.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::opening;
use crate::serving::{self, MARGIN};
use proctor_api::{MethodV1, ProjectV1};
use proctor_evidence::PurgePlan;
use proctor_model::{CommandExit, Serving};
use proctor_plan::config::Configuration;
use proctor_project::{ProjectScope, RegisteredProject, discard_snapshots, make_room, record_serving, survey_purge};

/// Finds a registered project by its id or by its directory. The directory may no longer exist.
///
/// # Errors
/// When there is no such project, or the store cannot be read.
pub fn find(environment: &Environment, wanted: &Path) -> Result<RegisteredProject, CommandError> {
    let projects = opening::open_archive(environment)?.projects()?;
    let absolute = environment.absolute(wanted);
    let root = absolute.canonicalize().unwrap_or(absolute);
    let is_it = |project: &RegisteredProject| Path::new(project.id.as_str()) == wanted || Path::new(&project.path) == root;
    // Several projects may have been registered at the same path. Prefer a project that the service watches.
    let mut found: Vec<_> = projects.into_iter().filter(is_it).collect();
    found.sort_by_key(|project| project.serving == Serving::NotServed);
    found.into_iter().next().ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("`{}` is no registered project", wanted.display()))
            .hint("`proctor service list` shows the projects with their ids")
    })
}

/// Has the service leave the project alone, and removes its snapshots and caches. Returns whether the service watched it.
///
/// # Errors
/// When the store cannot be written, or the service does not answer.
pub fn leave_alone(environment: &Environment, project: &RegisteredProject) -> Result<bool, CommandError> {
    let lock_wait = lock_wait();
    if project.serving == Serving::NotServed {
        discard_snapshots(environment.state_root(), &project.id, lock_wait)?;
        return Ok(false);
    }
    if let Some(client) = serving::listening(environment) {
        let path = format!("/v1/projects/{}", project.id);
        let _removed: ProjectV1 =
            client.ask(MethodV1::Delete, &path, lock_wait + MARGIN).map_err(|error| serving::from_client_error(&error))?;
    } else {
        record_serving(environment.state_root(), &scope(environment, project), Serving::NotServed, lock_wait)?;
    }
    Ok(true)
}

/// Returns what a purge of the project would remove.
///
/// # Errors
/// When the store cannot be read.
pub fn survey(environment: &Environment, project: &RegisteredProject) -> Result<PurgePlan, CommandError> {
    Ok(survey_purge(environment.state_root(), &project.id)?)
}

/// Has the service leave the project alone, and removes its evidence. Returns what was removed.
///
/// # Errors
/// When the project has other runs than `plan` says: nothing is removed then. When the store cannot be written.
pub fn purge(environment: &Environment, project: &RegisteredProject, plan: &PurgePlan) -> Result<PurgePlan, CommandError> {
    // On a full disk nothing of this may end half done. The reserve is written again when this value is dropped.
    let _reserve = make_room(environment.state_root())?;
    let was_watched = leave_alone(environment, project)?;
    let purged = proctor_project::purge(environment.state_root(), &scope(environment, project), plan, lock_wait())?;
    purged.ok_or_else(|| {
        let watched = if was_watched { ", and the service leaves it alone" } else { "" };
        CommandError::new(CommandExit::PersonNeeded, format!("{} has other runs now: nothing was purged{watched}", project.id))
            .hint("run the command again: it shows what is there")
    })
}

/// Returns how long a lock is waited for. The project's own `lock_wait` is not read: the directory and its configuration may no longer
/// exist.
fn lock_wait() -> Duration {
    Configuration::default().evidence.lock_wait
}

fn scope(environment: &Environment, project: &RegisteredProject) -> ProjectScope {
    ProjectScope { project: project.id.clone(), root: PathBuf::from(&project.path), asker: environment.asker() }
}
