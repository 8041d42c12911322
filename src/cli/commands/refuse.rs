//! `proctor run` for a task whose specification has errors: nothing is run, and the refusal is sealed as a run (C78).

use crate::cli::arguments::RunOptions;
use crate::cli::commands::run::{RunOutput, audience};
use crate::cli::environment;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::show_progress::ProgressScreen;
use proctor_app::project::specification_files::WrongSpecification;
use proctor_app::project::{LoadedProject, RunResources, opening};
use proctor_app::run::{seal_refusal, without_checks};
use proctor_app::{CommandError, Environment};
use proctor_model::{CommandExit, TaskId};
use proctor_plan::config::Configuration;
use proctor_project::SealedReport;
use proctor_sandbox::process::LauncherHandle;

/// Seals the refusal and shows the errors.
///
/// A new project is registered by that. No plan is approved then, because a wrong specification has none.
pub(super) fn refuse(
    options: &RunOptions,
    environment: &Environment,
    launcher: LauncherHandle,
    wrong: WrongSpecification,
) -> Result<CommandExit, CommandError> {
    let loaded = without_checks(&wrong);
    let WrongSpecification { task, error, .. } = wrong;
    let mut resources = opening::open(environment, launcher, &loaded, options.identity.map(Into::into))?;
    resources.workspace.expect_one_run();
    let output = RunOutput::of(options);
    let sealed = seal(options, environment, &mut resources, (&task, &loaded.configuration), output)?;
    let Some(sealed) = sealed else { return Err(error) };
    if output == RunOutput::Report {
        render::stored_document(&proctor_evidence::report::to_bytes(&sealed.report));
        return Ok(sealed.exit);
    }
    if output == RunOutput::Screen {
        show(environment, &loaded, &resources, &task, &sealed);
    }
    Err(error)
}

/// Seals the refusal of a task's run. Returns `None` if the task's specification has no errors any more.
pub(super) fn seal(
    options: &RunOptions,
    environment: &Environment,
    resources: &mut RunResources,
    refused: (&TaskId, &Configuration),
    output: RunOutput,
) -> Result<Option<SealedReport>, CommandError> {
    let style = environment::style(environment);
    let mut progress = ProgressScreen::new(style, options.failures, audience(output, environment));
    seal_refusal(resources, refused, &mut |step| progress.show(&step))
}

/// Shows the last line of a refused run.
fn show(environment: &Environment, loaded: &LoadedProject, resources: &RunResources, task: &TaskId, sealed: &SealedReport) {
    let link = resources.settings.link.as_deref();
    let path = screen::report_path(&loaded.root, link, task, &sealed.report_path, true);
    render::line(&screen::verdict(&sealed.report, &path, environment::style(environment)));
}
