//! `proctor add`: the service begins to watch a project. The ledger records this, and a running service is told.

use crate::cli::commands::opening;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::service::{self, MARGIN};
use crate::cli::service_arguments::AddOptions;
use crate::cli::setup;
use crate::cli::specification_files;
use proctor_api::{AddRequestV1, AddedV1, MethodV1};
use proctor_model::{CommandExit, Serving};
use proctor_run::project::record_serving;

pub(crate) fn execute(options: &AddOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    // The launcher must be started while the process has a single thread.
    let launcher = opening::start_launcher(environment)?;
    let loaded =
        specification_files::load_project(&setup::project_root(environment, options.place.path())?, environment.values())?;
    // If it is unclear which project the directory is, the person is asked here: the service cannot ask.
    let opened = opening::open(environment, launcher, &loaded, options.identity)?;
    let project = &opened.scope.project;
    if let Some((client, _)) = service::listening(environment) {
        let request = AddRequestV1 { root: loaded.root.display().to_string() };
        let within = opened.settings.lock_wait + MARGIN;
        let added: AddedV1 =
            client.send(MethodV1::Post, "/v1/projects", &request, within).map_err(|error| service::from_client_error(&error))?;
        added.notes.iter().for_each(render::note);
        render::line(&format!("{project} is watched by the service"));
        return Ok(CommandExit::Proceed);
    }
    record_serving(environment.state_root(), &opened.scope, Serving::Served, opened.settings.lock_wait)
        .map_err(|error| super::from_run_error(&error))?;
    render::line(&format!("{project} is watched when the service runs: `proctor daemon`"));
    Ok(CommandExit::Proceed)
}
