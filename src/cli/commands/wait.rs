//! `proctor wait --fresh`: waits for a verdict on the present tree. It asks the service, or runs the checks itself.

use crate::cli::environment;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::service_arguments::WaitOptions;
use proctor_api::{AnswerV1, ProjectStatusV1};
use proctor_app::project::setup;
use proctor_app::wait::{Patience, Waited, wait};
use proctor_app::{CommandError, Environment, indented};
use proctor_model::{CommandExit, ServiceTrouble};
use proctor_sandbox::process::clock;

pub(crate) fn execute(options: &WaitOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let environment = &environment.with_values(&options.values.set);
    let root = setup::project_root(environment, options.place.path())?;
    let patience = Patience { timeout: options.timeout, grace: None };
    Ok(match wait(environment, &root, options.verdict.task.as_deref(), patience)? {
        Waited::Answered(answer) => show(&answer, None, options.json, environment),
        Waited::Troubled(answer, trouble) => show(&answer, Some(&trouble), options.json, environment),
        Waited::Ended { exit, report } => {
            report.iter().flat_map(|report| screen::own_fault(report, exit)).for_each(|line| render::note(&line));
            exit
        }
    })
}

/// Shows the answer, and the problem for which this process could not run the checks, if there is one.
fn show(answer: &AnswerV1, trouble: Option<&ServiceTrouble>, json: bool, environment: &Environment) -> CommandExit {
    if json {
        render::document(answer);
        return CommandExit::from_code(answer.exit_code);
    }
    let style = environment::style(environment);
    // A service says that it tries again by itself; this process does not.
    let project =
        ProjectStatusV1 { health: answer.project.health.clone().filter(|_| trouble.is_none()), ..answer.project.clone() };
    screen::project_status(&project, clock::now(), style).iter().for_each(render::line);
    project.tasks.iter().flat_map(|task| screen::task_failures(task, style)).for_each(|line| render::line(&line));
    let lines = trouble.into_iter().flat_map(ServiceTrouble::lines_without_service);
    lines.flat_map(|line| indented(&line)).for_each(|line| render::line(&line));
    CommandExit::from_code(answer.exit_code)
}
