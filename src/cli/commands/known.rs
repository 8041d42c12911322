//! `--known`: takes the verdict of a run that judged just the present files, or says why none counts.

use crate::cli::arguments::RunOptions;
use crate::cli::commands::run::RunOutput;
use crate::cli::environment;
use crate::cli::render;
use crate::cli::screen::{self, ActionLook};
use crate::cli::terminal;
use proctor_app::known::{KnownOutcome, KnownReport, known_files};
use proctor_app::project::LoadedProject;
use proctor_app::{CommandError, Environment};
use proctor_evidence::report;
use proctor_model::{CommandExit, Plan, Reuse};

/// Shows the verdict that is known of the present files, if the command line asks for it; at a terminal it is named otherwise. Returns
/// `None` if the checks are to be run.
pub(super) fn take_known(
    options: &RunOptions,
    environment: &Environment,
    loaded: &LoadedProject,
) -> Result<Option<CommandExit>, CommandError> {
    let output = RunOutput::of(options);
    let is_named = output == RunOutput::Screen && terminal::is_output_terminal();
    // The known verdict is about all checks, in the phase that the task is in.
    let is_about_all = options.checks.is_empty() && options.phase.is_none() && !options.fresh_caches;
    let takes = options.known || is_taken_by_settings(&loaded.plan);
    if !is_about_all || !takes && !is_named {
        return Ok(None);
    }
    match known_files(environment, loaded, &loaded.plan.task)? {
        KnownOutcome::Known(known) if takes => {
            show(options, environment, loaded, &known);
            Ok(Some(known.exit))
        }
        KnownOutcome::Attested { source, tree, .. } if takes && output == RunOutput::Screen => {
            let style = environment::style(environment);
            if let Some(tree) = &tree {
                render::line(&screen::header(&loaded.plan.project_name, tree, style));
            }
            for check in &loaded.plan.steps {
                render::line(&screen::attested_check(&check.name, &source, style));
            }
            render::line(&screen::attested_verdict(&source, style));
            Ok(Some(CommandExit::Proceed))
        }
        // The report of an attested run is in another store.
        KnownOutcome::Attested { source, answer, .. } if options.known && output == RunOutput::Report => {
            render::document(&*answer);
            render::note(&format!(
                "note: nothing was run; these files are {source}, and the answer is that of `proctor wait --json`"
            ));
            Ok(Some(CommandExit::Proceed))
        }
        KnownOutcome::Attested { source, .. } if takes => {
            render::note(&format!("note: these files are {source}, and there is no report of it here, so the checks run"));
            Ok(None)
        }
        KnownOutcome::Attested { source, .. } => {
            render::note(&format!("note: these files are {source}; `proctor run --known` takes that verdict and runs nothing"));
            Ok(None)
        }
        KnownOutcome::Known(known) => {
            render::note(&format!(
                "note: these files are {}; `proctor run --known` takes that verdict and runs nothing",
                known.source
            ));
            Ok(None)
        }
        KnownOutcome::Unknown(why) if options.known => {
            render::note(&format!("note: nothing is known of these files, so the checks run: {}", why.join("; ")));
            Ok(None)
        }
        KnownOutcome::Unknown(_) => Ok(None),
    }
}

/// Returns whether every check may take what is known (`reuse = "attested"`).
fn is_taken_by_settings(plan: &Plan) -> bool {
    !plan.steps.is_empty() && plan.steps.iter().all(|check| check.reuse == Reuse::Attested)
}

fn show(options: &RunOptions, environment: &Environment, loaded: &LoadedProject, known: &KnownReport) {
    if RunOutput::of(options) != RunOutput::Screen {
        render::stored_document(&report::to_bytes(&known.report));
        render::note(&format!("note: nothing was run; this report is {}", known.source));
        return;
    }
    let style = environment::style(environment);
    if let Some(tree) = &known.report.tree {
        render::line(&screen::header(&loaded.plan.project_name, &tree.before, style));
    }
    let look = ActionLook::of(&loaded.plan.task, options.failures, style);
    for result in screen::results(&known.report) {
        let mut lines = screen::action(result, look);
        // The first line of a check is its result.
        lines.iter_mut().take(1).for_each(|line| *line = screen::with_source(line.clone(), &known.source));
        lines.iter().for_each(render::line);
    }
    render::line(&screen::verdict(&known.report, &known.source, style));
}

/// Says what is known of the present files of a project, or why nothing is.
pub(super) fn why_known(environment: &Environment, loaded: &LoadedProject) -> Result<CommandExit, CommandError> {
    match known_files(environment, loaded, &loaded.plan.task)? {
        KnownOutcome::Known(known) => {
            render::line(&known.source);
            Ok(CommandExit::Proceed)
        }
        KnownOutcome::Attested { source, .. } => {
            render::line(&source);
            Ok(CommandExit::Proceed)
        }
        KnownOutcome::Unknown(why) => {
            render::line("nothing is known of these files:");
            why.iter().for_each(|reason| render::line(&format!("  {reason}")));
            Ok(CommandExit::NoFreshVerdict)
        }
    }
}
