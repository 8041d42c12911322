//! Linked working trees of git: one that belongs to a registered project is guarded like the main working tree, without a person.

use std::path::Path;

use crate::environment::Environment;
use crate::error::{CommandError, from_run_error};
use crate::gate::is_checkout;
use crate::project::{opening, specification_files};
use crate::serving::{self, MARGIN};
use proctor_api::{AddRequestV1, AddedV1, MethodV1};
use proctor_git::directory_in_main_work_tree;
use proctor_model::Serving;
use proctor_project::{Registration, Workspace, record_serving};

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
    let find = |error| from_run_error(&error);
    if archive.find_project(root).map_err(find)?.is_some() {
        return Ok(false);
    }
    let Some(project) = archive.find_project(&main).map_err(find)? else { return Ok(false) };
    let serving = archive.serving(&project).map_err(find)?;
    drop(archive);
    let loaded = specification_files::load_project(environment, root)?;
    let settings = opening::settings(environment, &loaded)?;
    let variables = environment.variables().clone();
    let mut workspace =
        Workspace::open(environment.state_root(), environment.executable(), None, variables, environment.observer())
            .map_err(find)?;
    let registered = workspace.register(&loaded.root, &loaded.plan, &settings, &environment.asker(), None).map_err(find)?;
    drop(workspace);
    let scope = match registered {
        Registration::New { scope, notes } => {
            notes.iter().for_each(|line| environment.note(line));
            scope
        }
        // Another process was faster.
        Registration::Known(scope) => scope,
        Registration::Doubtful(_) => return Ok(false),
    };
    match (serving, serving::listening(environment)) {
        (Serving::NotServed, _) => {}
        (Serving::Served, Some(client)) => {
            let request = AddRequestV1 { root: loaded.root.display().to_string() };
            let added = client.send::<AddedV1>(MethodV1::Post, "/v1/projects", &request, settings.lock_wait + MARGIN);
            added.map_err(|error| serving::from_client_error(&error))?.notes.iter().for_each(|line| environment.note(line));
        }
        (Serving::Served, None) => {
            record_serving(environment.state_root(), &scope, Serving::Served, settings.lock_wait).map_err(find)?;
        }
    }
    Ok(true)
}
