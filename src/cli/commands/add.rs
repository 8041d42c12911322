//! `proctor service add`: the service begins to watch a project. The ledger records this, and a running service is told.

use crate::cli::render;
use crate::cli::service_arguments::AddOptions;
use proctor_api::{AddRequestV1, AddedV1, MethodV1};
use proctor_app::project::{opening, setup, specification_files};
use proctor_app::serving::MARGIN;
use proctor_app::{CommandError, Environment, serving};
use proctor_evidence::watching_process;
use proctor_model::{CommandExit, Serving};
use proctor_project::record_serving;

pub(crate) fn execute(options: &AddOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    // The launcher must be started while the process has a single thread.
    let launcher = opening::start_launcher(environment)?;
    let loaded = specification_files::load_project(environment, &setup::project_root(environment, options.place.path())?)?;
    // If it is unclear which project the directory is, the person is asked here: the service cannot ask.
    let opened = opening::open(environment, launcher, &loaded, options.identity.map(Into::into))?;
    let project = &opened.scope.project;
    let watch = watching_process(environment.state_root(), project);
    if let Some(client) = serving::listening(environment) {
        let request = AddRequestV1 { root: loaded.root.display().to_string() };
        let within = opened.settings.lock_wait + MARGIN;
        let added: AddedV1 =
            client.send(MethodV1::Post, "/v1/projects", &request, within).map_err(|error| serving::from_client_error(&error))?;
        added.notes.iter().for_each(render::note);
        render::line(&format!("{project} is watched by the service"));
        if let Some(pid) = watch {
            render::note(&format!(
                "note: `proctor watch` (process {pid}) runs them too: start it again, and it shows the service's runs"
            ));
        }
        return Ok(CommandExit::Proceed);
    }
    record_serving(environment.state_root(), &opened.scope, Serving::Served, opened.settings.lock_wait)?;
    render::line(&format!(
        "{project} is watched when the service runs: `proctor service install` starts it, now and at each login"
    ));
    if let Some(pid) = watch {
        render::line(&format!("until then `proctor watch` (process {pid}) runs the checks at each save"));
    }
    Ok(CommandExit::Proceed)
}
