//! `proctor diff`: compares two runs.

use crate::cli::commands::{history, opening};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::history_arguments::DiffOptions;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::setup;
use proctor_api::ComparisonV1;
use proctor_model::{CommandExit, ProjectId, RunId};
use proctor_run::project::{RecordedRun, RunFilter, StoreReader};

pub(crate) fn execute(options: &DiffOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let (mut archive, project) = opening::open_registered(environment, &root)?;
    history::catch_up(&mut archive, &project)?;
    let from = find(&archive, &project, &options.from)?;
    let to = match &options.to {
        Some(to) => find(&archive, &project, to)?.run_id,
        None => newest_of_task(&mut archive, &project, &from)?,
    };
    let compared = archive.about_tests(&project, |archive| archive.compare_runs(&project, &from.run_id, &to));
    let compared = compared.map_err(|error| super::from_run_error(&error))?;
    let comparison = compared.map_err(|error| {
        CommandError::of(CommandExit::Usage, &error).hint("`proctor log --task TASK` lists the runs of a task")
    })?;
    if options.json {
        render::document(&ComparisonV1::new(project, comparison));
    } else {
        screen::comparison_lines(&comparison, opening::style(environment)).iter().for_each(render::line);
    }
    Ok(CommandExit::Proceed)
}

fn find(archive: &StoreReader, project: &ProjectId, wanted: &str) -> Result<RecordedRun, CommandError> {
    let found = archive.find(project, Some(wanted)).map_err(|error| super::from_run_error(&error))?;
    found.ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("there is no sealed run `{wanted}`")).hint("`proctor log` lists the runs")
    })
}

/// Returns the newest run of the same task.
fn newest_of_task(archive: &mut StoreReader, project: &ProjectId, run: &RecordedRun) -> Result<RunId, CommandError> {
    let filter = RunFilter { of_task: Some(run.task.clone()), most: 1, ..RunFilter::default() };
    let newest = archive.about_tests(project, |archive| archive.logged_runs(project, &filter));
    let newest = newest.map_err(|error| super::from_run_error(&error))?;
    Ok(newest.into_iter().next().map_or_else(|| run.run_id.clone(), |(newest, _)| newest.run_id))
}
