//! `proctor run`: carries the plan out once and shows what came of it.

use crate::cli::arguments::RunOptions;
use crate::cli::commands::opening::{Opening, open};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::setup::{self, Loaded};
use crate::cli::show_progress::{Audience, ProgressScreen};
use crate::cli::style::Style;
use crate::cli::terminal;
use crate::model::{CommandExit, OverallStatus, Trigger, TriggerKind};
use crate::process::{Control, signal_controls};
use crate::run::{Carried, Checks, RunRequest, Sealed, Settings};

/// Carries the command out.
pub(crate) fn execute(options: &RunOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let loaded = setup::load(environment, &options.directory)?;
    check_names(&loaded, &options.checks)?;
    let quiet = options.json;
    let Opening { mut workspace, scope, settings, style } = open(environment, &loaded, options.identity, quiet)?;
    workspace.expect_one_run();
    let control = watch_signals()?;
    let request = RunRequest {
        plan: &loaded.plan,
        settings: &settings,
        scope: &scope,
        checks: selection(&options.checks),
        phase: options.phase.map(Into::into),
        trigger: Trigger { kind: TriggerKind::Request, paths: Vec::new() },
        unless_tree: None,
        lost_events: false,
        control: &control,
    };
    let mut screen = ProgressScreen::new(style, audience(quiet));
    let carried = workspace.carry_out(&request, &mut |progress| screen.show(&progress)).map_err(|error| super::of_run(&error))?;
    Ok(match carried {
        Carried::Judged(sealed) | Carried::Moved(sealed) | Carried::Interrupted(sealed) => {
            show(options, &loaded, &settings, &sealed, style);
            sealed.exit
        }
        Carried::Paused(pause) => {
            render::note(&screen::paused(&loaded.plan.task, &pause));
            CommandExit::PersonNeeded
        }
        Carried::Superseded | Carried::Unchanged | Carried::Untriggered => CommandExit::NoFreshVerdict,
    })
}

fn show(options: &RunOptions, loaded: &Loaded, settings: &Settings, sealed: &Sealed, style: Style) {
    if options.json {
        render::bytes(&crate::report::to_bytes(&sealed.report));
        return;
    }
    let path =
        screen::report_path(&loaded.root, settings.link.as_deref(), &loaded.plan.task, &sealed.report_path, is_latest(sealed));
    screen::notes(&sealed.report).iter().for_each(|note| render::line(note));
    render::line(&screen::verdict(&sealed.report, &path, style));
    if sealed.report.execution_summary.overall_status == OverallStatus::Moved {
        render::note("hint: add what the checks write themselves to `ignore` in `[watch]` of proctor.toml, then run again");
    }
}

fn audience(json: bool) -> Audience {
    match (json, terminal::is_output_terminal()) {
        (true, _) => Audience::Nobody,
        (false, true) => Audience::Terminal,
        (false, false) => Audience::Plain,
    }
}

fn is_latest(sealed: &Sealed) -> bool {
    sealed.report.execution_summary.overall_status.counts()
}

fn check_names(loaded: &Loaded, checks: &[String]) -> Result<(), CommandError> {
    let known: Vec<_> = loaded.plan.steps.iter().map(|step| step.name.as_str()).collect();
    match checks.iter().find(|check| !known.contains(&check.as_str())) {
        Some(unknown) => Err(CommandError::new(CommandExit::Usage, format!("there is no check `{unknown}`"))
            .hint(format!("the checks are: {}", known.join(", ")))),
        None => Ok(()),
    }
}

fn selection(names: &[String]) -> Checks {
    if names.is_empty() { Checks::All } else { Checks::Named(names.to_vec()) }
}

fn watch_signals() -> Result<Control, CommandError> {
    signal_controls().map_err(|error| {
        CommandError::caused(CommandExit::OwnFault, "failed to take over signals", &error).hint("run the command again")
    })
}
