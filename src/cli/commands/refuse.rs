//! `proctor run` for a task whose specification has errors: nothing is run, and the refusal is sealed as a run (C78).

use crate::cli::arguments::RunOptions;
use crate::cli::commands::opening::{self, RunResources};
use crate::cli::commands::run::{RunOutput, audience};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::setup::{self, LoadedProject};
use crate::cli::show_progress::ProgressScreen;
use crate::cli::specification_files::WrongSpecification;
use proctor_model::{CommandExit, TaskId, Trigger, TriggerKind};
use proctor_plan::config::Configuration;
use proctor_plan::spec;
use proctor_run::RefusedRequest;
use proctor_run::project::SealedReport;
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
    let WrongSpecification { root, configuration, task, error } = wrong;
    let plan = spec::plan_without_checks(&configuration, &setup::directory_name(&root));
    let loaded = LoadedProject { root, configuration, plan };
    let mut resources = opening::open(environment, launcher, &loaded, options.identity)?;
    resources.workspace.expect_one_run();
    let output = RunOutput::of(options);
    let sealed = seal(options, environment, &mut resources, (&task, &loaded.configuration), output)?;
    let Some(sealed) = sealed else { return Err(error) };
    if output == RunOutput::Report {
        render::stored_document(&proctor_evidence::report::to_bytes(&sealed.report));
        return Ok(sealed.exit);
    }
    show(&loaded, &resources, &task, &sealed);
    Err(error)
}

/// Seals the refusal of a task's run. Returns `None` if the task's specification has no errors any more.
pub(super) fn seal(
    options: &RunOptions,
    environment: &Environment,
    resources: &mut RunResources,
    (task, configuration): (&TaskId, &Configuration),
    output: RunOutput,
) -> Result<Option<SealedReport>, CommandError> {
    let RunResources { workspace, scope, settings, style } = resources;
    let trigger = Trigger { kind: TriggerKind::Request, paths: Vec::new() };
    let refusal = RefusedRequest { task, scope, settings, configuration, trigger };
    let mut progress = ProgressScreen::new(*style, options.failures, audience(output, environment));
    workspace.refuse(&refusal, &mut |step| progress.show(&step)).map_err(|error| super::from_run_error(&error))
}

/// Shows the last line of a refused run. Returns the path of its report as people see it.
fn show(loaded: &LoadedProject, resources: &RunResources, task: &TaskId, sealed: &SealedReport) -> String {
    let link = resources.settings.link.as_deref();
    let path = screen::report_path(&loaded.root, link, task, &sealed.report_path, true);
    render::line(&screen::verdict(&sealed.report, &path, resources.style));
    path
}
