//! `proctor run` for a task whose specification has errors: nothing is run. If the project is registered, the refusal is sealed
//! as a run (C78).

use crate::cli::arguments::RunOptions;
use crate::cli::commands::opening;
use crate::cli::commands::run::audience;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::show_progress::ProgressScreen;
use crate::cli::specification_files::WrongSpecification;
use crate::model::{CommandExit, Trigger, TriggerKind};
use crate::process::LauncherHandle;
use crate::run::RefusedRequest;

/// Seals the refusal and shows the errors.
///
/// A new project is not registered here. Registering approves a plan, and a wrong specification has no plan.
pub(super) fn refuse(
    options: &RunOptions,
    environment: &Environment,
    launcher: LauncherHandle,
    wrong: WrongSpecification,
) -> Result<CommandExit, CommandError> {
    let WrongSpecification { root, configuration, task, error } = wrong;
    let settings = opening::settings_of(environment.state_root(), &root, &configuration)?;
    let mut workspace = opening::open_store(environment, launcher)?;
    workspace.expect_one_run();
    let scope = workspace.find_registered(&root, &environment.asker()).map_err(|error| super::from_run_error(&error))?;
    let Some(scope) = scope else { return Err(error) };
    let trigger = Trigger { kind: TriggerKind::Request, paths: Vec::new() };
    let refusal = RefusedRequest { task: &task, scope: &scope, settings: &settings, configuration: &configuration, trigger };
    let mut progress = ProgressScreen::new(opening::style(environment), options.failures, audience(options.json, environment));
    let sealed = workspace.refuse(&refusal, &mut |step| progress.show(&step)).map_err(|error| super::from_run_error(&error))?;
    let Some(sealed) = sealed else { return Err(error) };
    if options.json {
        render::stored_document(&crate::report::to_bytes(&sealed.report));
        return Ok(sealed.exit);
    }
    let path = screen::report_path(&root, settings.link.as_deref(), &task, &sealed.report_path, true);
    render::line(&screen::verdict(&sealed.report, &path, opening::style(environment)));
    Err(error)
}
