//! Lets the service carry out a run, and shows the result as if the run had been made here (S2).

use crate::cli::arguments::RunOptions;
use crate::cli::commands::run::{RunEnd, RunOutput, RunView, show_places, wish};
use crate::cli::environment;
use crate::cli::live_line::LiveLine;
use crate::cli::render;
use crate::cli::screen::{self, ActionLook};
use crate::cli::terminal;
use proctor_api::RunAnswerV1;
use proctor_app::project::LoadedProject;
use proctor_app::run::{ServiceRun, read_made_run};
use proctor_app::{CommandError, Environment};
use proctor_model::OverallStatus;
use proctor_project::ProjectSettings;

/// Lets the service run the checks. Returns `None` if this process must run them itself.
pub(super) fn hand_over(
    options: &RunOptions,
    environment: &Environment,
    loaded: &LoadedProject,
    output: RunOutput,
) -> Result<Option<RunEnd>, CommandError> {
    let of_service = ServiceRun::find(environment, &wish(options), options.identity.is_some(), loaded)?;
    let Some(run) = of_service else { return Ok(None) };
    let is_live = output == RunOutput::Screen && terminal::is_output_terminal() && !environment.has_dumb_terminal();
    let live = is_live.then(|| LiveLine::begin(&run.served, environment::style(environment))).flatten();
    let answered = run.make(environment);
    if let Some(live) = live {
        live.end();
    }
    let Some(answer) = answered? else { return Ok(None) };
    show(RunView { output, failures: options.failures }, environment, loaded, &run.settings, &answer).map(Some)
}

/// Shows a run that the service or another command has made.
pub(super) fn show(
    view: RunView,
    environment: &Environment,
    loaded: &LoadedProject,
    settings: &ProjectSettings,
    answer: &RunAnswerV1,
) -> Result<RunEnd, CommandError> {
    let RunView { output, failures } = view;
    let made = read_made_run(environment, loaded, answer)?;
    let (exit, report) = (made.exit, made.report);
    let is_latest = report.execution_summary.overall_status.counts();
    let path = screen::report_path(&loaded.root, settings.link.as_deref(), &made.task, &made.report_path, is_latest);
    if output == RunOutput::Report {
        render::stored_document(&made.bytes);
    }
    if output == RunOutput::Places {
        show_places(environment, &loaded.root, &report);
    }
    if output != RunOutput::Screen {
        return Ok(RunEnd { exit, report: Some((Box::new(report), path)) });
    }
    let style = environment::style(environment);
    if let Some(tree) = &report.tree {
        render::line(&screen::header(&loaded.plan.project_name, &tree.before, style));
    }
    let look = ActionLook::of(&made.task, failures, style);
    for result in screen::results(&report) {
        screen::action(result, look).iter().for_each(render::line);
    }
    screen::unmet(&report).iter().for_each(render::line);
    screen::notes(&report, &made.told).iter().for_each(render::line);
    screen::logs(&report, None).iter().for_each(render::line);
    render::line(&screen::verdict(&report, &path, style));
    answer.problems.iter().for_each(render::note);
    if let Some(hint) = screen::pause_hint(&report) {
        render::note(&format!("hint: {hint}"));
    }
    if report.execution_summary.overall_status == OverallStatus::Moved {
        screen::ignore_hints(&report, &loaded.root, settings).iter().for_each(render::note);
    }
    Ok(RunEnd { exit, report: Some((Box::new(report), path)) })
}
