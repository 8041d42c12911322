//! `proctor tdd`: the verbs of a red, green, refactor cycle. State is the ledger's (R5); only a person resolves (R9).

use crate::cli::arguments::{TddOptions, TddVerb};
use crate::cli::commands::opening;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::setup;
use crate::cli::terminal;
use crate::model::{CommandExit, TaskId, TddState};
use crate::run::CycleChange;

/// Carries the command out.
pub(crate) fn execute(options: &TddOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let (task, change) = match &options.verb {
        TddVerb::Show { task, json } => return show(options, environment, task, *json),
        TddVerb::Start { task, phase } => (task, CycleChange::Start((*phase).into())),
        TddVerb::Phase { phase, task } => (task, CycleChange::SetPhase((*phase).into())),
        TddVerb::Reset { task } => (task, CycleChange::Reset),
        TddVerb::Resolve { task, to, reason } => (task, CycleChange::Resolve { to: (*to).into(), reason: reason.clone() }),
    };
    let task = read_task(task)?;
    let launcher = opening::start_launcher(environment)?;
    let loaded = setup::load(environment, &options.project)?;
    if task != loaded.plan.task {
        return Err(CommandError::new(CommandExit::Usage, format!("there is no task `{task}`"))
            .hint(format!("the project's task is `{}`", loaded.plan.task)));
    }
    let opening = opening::open(environment, launcher, &loaded, None)?;
    let mut workspace = opening.workspace;
    let before = workspace.tdd(&opening.scope.project, &task).map_err(|error| super::of_run(&error))?;
    if needs_a_person(&change, &before) && !terminal::is_input_terminal() {
        return Err(CommandError::new(
            CommandExit::PersonNeeded,
            format!("task `{task}` waits for a person: only one can go on with it"),
        )
        .hint("run the command yourself on a terminal"));
    }
    let after =
        workspace.change_cycle(&opening.scope, &opening.settings, &task, &change).map_err(|error| super::of_run(&error))?;
    render::line(&screen::cycle_line(&task, &after));
    Ok(CommandExit::Proceed)
}

/// Ending a pause is a person's decision, by whatever verb (R9).
fn needs_a_person(change: &CycleChange, before: &TddState) -> bool {
    match change {
        CycleChange::Resolve { .. } => true,
        CycleChange::Reset => before.paused.is_some(),
        CycleChange::Start(_) | CycleChange::SetPhase(_) => false,
    }
}

fn show(options: &TddOptions, environment: &Environment, task: &str, json: bool) -> Result<CommandExit, CommandError> {
    let task = read_task(task)?;
    let root = setup::project_root(environment, &options.project)?;
    let (archive, project) = opening::open_registered(environment, &root)?;
    let state = archive.tdd(&project, &task).map_err(|error| super::of_run(&error))?;
    if json {
        let text = serde_json::to_string_pretty(&state).expect("a state has string keys only");
        render::line(&text);
        return Ok(CommandExit::Proceed);
    }
    screen::cycle(&task, &state).iter().for_each(|line| render::line(line));
    Ok(CommandExit::Proceed)
}

fn read_task(text: &str) -> Result<TaskId, CommandError> {
    TaskId::try_from(text)
        .map_err(|error| CommandError::of(CommandExit::Usage, &error).hint("the task of a project's own checks is `default`"))
}
