//! `proctor history`: tells the past of a test, names the tests that are flaky or became slower, and compares two runs.

use std::path::Path;

use crate::cli::history_arguments::{DiffOptions, FlakyOptions, HistoryOptions, HistoryVerb, SlowOptions};
use crate::cli::{environment, render, screen};
use proctor_api::{FlakyTestsV1, SlowTestsV1};
use proctor_app::history::{ComparedRuns, catch_up, compare, past};
use proctor_app::project::{opening, setup, specification_files};
use proctor_app::{CommandError, Environment};
use proctor_model::{CommandExit, ProjectId};
use proctor_project::StoreReader;

pub(crate) fn execute(options: &HistoryOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let test = match &options.verb {
        None => options.test.as_deref().expect("clap asks for a test where no other command is named"),
        Some(HistoryVerb::Flaky(options)) => return name_flaky(options, environment),
        Some(HistoryVerb::Slow(options)) => return name_slow(options, environment),
        Some(HistoryVerb::Diff(options)) => return compare_runs(options, environment),
    };
    let root = setup::project_root(environment, &options.project)?;
    let task = options.task.as_deref().map(specification_files::read_task).transpose()?;
    let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
    let past = past(environment, &root, task.as_ref(), (test, limit))?;
    if options.json {
        render::document(&past);
    } else {
        screen::past_lines(&past.past, environment::style(environment)).iter().for_each(render::line);
    }
    Ok(CommandExit::Proceed)
}

fn compare_runs(options: &DiffOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let runs = match &options.from {
        Some(from) => ComparedRuns::Named { from, to: options.to.as_deref() },
        None if options.since_green => ComparedRuns::SinceGreen,
        None => ComparedRuns::LastTwo,
    };
    if options.json {
        render::document(&compare(environment, &root, runs)?);
        return Ok(CommandExit::Proceed);
    }
    show_difference(environment, &root, runs)
}

/// Shows how two runs differ.
pub(crate) fn show_difference(
    environment: &Environment,
    root: &Path,
    runs: ComparedRuns<'_>,
) -> Result<CommandExit, CommandError> {
    let compared = compare(environment, root, runs)?;
    screen::comparison_lines(&compared.comparison, environment::style(environment)).iter().for_each(render::line);
    Ok(CommandExit::Proceed)
}

fn name_flaky(options: &FlakyOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let (mut archive, project) = open_index(options.place.path(), environment)?;
    let tests = archive.about_tests(&project, |archive| archive.flaky_tests(&project))?;
    if options.json {
        render::document(&FlakyTestsV1::new(project, tests));
        return Ok(CommandExit::Proceed);
    }
    if tests.is_empty() {
        render::note("no test is known to have passed and failed on equal trees");
    }
    tests.iter().flat_map(screen::flaky_lines).for_each(|line| render::line(&line));
    Ok(CommandExit::Proceed)
}

fn name_slow(options: &SlowOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let (mut archive, project) = open_index(options.place.path(), environment)?;
    let tests = archive.about_tests(&project, |archive| archive.slow_tests(&project))?;
    if options.json {
        render::document(&SlowTestsV1::new(project, tests));
        return Ok(CommandExit::Proceed);
    }
    if tests.slowest.is_empty() {
        render::note("no durations of tests are known");
    }
    screen::slow_lines(&tests).iter().for_each(render::line);
    Ok(CommandExit::Proceed)
}

/// Opens the index of a registered project's tests, with the results of every sealed run in it.
fn open_index(place: &Path, environment: &Environment) -> Result<(StoreReader, ProjectId), CommandError> {
    let root = setup::project_root(environment, place)?;
    let (mut archive, project) = opening::open_registered(environment, &root)?;
    catch_up(environment, &mut archive, &project)?;
    Ok((archive, project))
}
