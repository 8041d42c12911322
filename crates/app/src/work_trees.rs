//! Working trees that are registered when a verdict is asked for, before any run, because a person has already decided which rules hold
//! there: linked working trees and clones of a registered project, and clones of a branch that the user's own configuration follows.

use std::path::Path;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::gate::is_checkout;
use crate::project::setup::{self, LoadedProject};
use crate::project::{opening, specification_files};
use crate::serving::{self, MARGIN};
use proctor_api::{AddRequestV1, AddedV1, MethodV1};
use proctor_git::directory_in_main_work_tree;
use proctor_model::Serving;
use proctor_plan::config::FOLLOW;
use proctor_project::{
    FollowedCommit, ProjectRepository, ProjectScope, ProjectSettings, Registration, StoreReader, Workspace, record_serving,
};

/// Registers a directory of a linked working tree if the same directory of the main working tree is registered, as the first run in it
/// would: what was approved there holds here (S7). If the service watches that project, it watches this one too. Returns whether the
/// directory was registered now.
///
/// # Errors
/// When the store, or the project's configuration, cannot be read or written.
pub fn register_linked_work_tree(environment: &Environment, root: &Path) -> Result<bool, CommandError> {
    let main = directory_in_main_work_tree(root).filter(|main| main.is_dir() && !is_checkout(environment, root));
    let Some(main) = main else { return Ok(false) };
    let mut archive = opening::open_archive(environment)?;
    if archive.find_project(root)?.is_some() {
        return Ok(false);
    }
    let Some(project) = archive.find_project(&main)? else { return Ok(false) };
    let serving = archive.serving(&project)?;
    drop(archive);
    let loaded = specification_files::load_project(environment, root)?;
    let Some((scope, settings)) = register(environment, &loaded)? else { return Ok(false) };
    match (serving, serving::listening(environment)) {
        (Serving::NotServed, _) => {}
        (Serving::Served, Some(client)) => {
            let request = AddRequestV1 { root: loaded.root.display().to_string() };
            let added = client.send::<AddedV1>(MethodV1::Post, "/v1/projects", &request, settings.lock_wait + MARGIN);
            added.map_err(|error| serving::from_client_error(&error))?.notes.iter().for_each(|line| environment.note(line));
        }
        (Serving::Served, None) => {
            record_serving(environment.state_root(), &scope, Serving::Served, settings.lock_wait)?;
        }
    }
    Ok(true)
}

/// Registers a directory for whose verdict is asked, if it is unknown, and a clone of a registered project, which begins with what was approved
/// there (S7), or a clone in which a fetch brought just these rules on the branch that the user's own configuration follows (`gate.follow`
/// under `[[allow]]`).
///
/// # Errors
/// When the store cannot be read or written.
pub(crate) fn register_clone(environment: &Environment, archive: &mut StoreReader, root: &Path) -> Result<(), CommandError> {
    if !root.is_dir() || archive.find_project(root)?.is_some() || is_checkout(environment, root) {
        return Ok(());
    }
    // What is wrong with the settings is told by whoever asks.
    let Ok((configuration, _)) = setup::configuration(environment, root) else { return Ok(()) };
    let Ok(Some(repository)) = ProjectRepository::open(root) else { return Ok(()) };
    let Ok(loaded) = specification_files::load_project(environment, root) else { return Ok(()) };
    let follows = configuration.allowed.values.contains_key(FOLLOW);
    let followed = if follows { archive.followed_commit(&repository, &configuration.allowed)? } else { None };
    let has_rules = |commit: FollowedCommit| commit.has_rules_of(&repository, &loaded.plan);
    if followed.is_some_and(has_rules) || archive.is_clone_of_registered(root)? {
        register(environment, &loaded)?;
    }
    Ok(())
}

/// Registers a directory, and says so. `None` if it is unclear which project it is.
fn register(environment: &Environment, loaded: &LoadedProject) -> Result<Option<(ProjectScope, ProjectSettings)>, CommandError> {
    let settings = opening::settings(environment, loaded)?;
    let (store, variables) = (environment.state_root(), environment.variables().clone());
    let mut workspace = Workspace::open(store, environment.executable(), None, variables, environment.observer())?;
    let registered = workspace.register(&loaded.root, &loaded.plan, &settings, &environment.asker(), None)?;
    Ok(match registered {
        Registration::New { scope, notes } => {
            notes.iter().for_each(|line| environment.note(line));
            Some((scope, settings))
        }
        // Another process was faster.
        Registration::Known(scope) => Some((scope, settings)),
        Registration::Doubtful(_) => None,
    })
}
