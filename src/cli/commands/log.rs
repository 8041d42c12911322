//! `proctor log`: lists the runs of a project, newest first. The evidence link in the project is not used, because anybody can change that
//! link (S1). Every listed run has a line in the ledger, which is checked.

use crate::cli::history_arguments::LogOptions;
use crate::cli::local_time::LocalTime;
use crate::cli::{render, screen};
use proctor_api::RunListV1;
use proctor_app::project::{opening, setup, specification_files};
use proctor_app::{CommandError, Environment, history};
use proctor_model::{CommandExit, DurationMs, LoggedRun, Timestamp};
use proctor_plan::config::parse_duration;
use proctor_project::{RunFilter, TestSearch};
use proctor_sandbox::process::clock;

pub(crate) fn execute(options: &LogOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, options.place.path())?;
    let task = options.task.as_deref().map(specification_files::read_task).transpose()?;
    let since = options.since.as_deref().map(read_since).transpose()?;
    let (mut archive, project) = opening::open_registered(environment, &root)?;
    match history::catch_up(environment, &mut archive, &project) {
        // Without a filter the ledger says which runs there are, so they are listed also where nothing can be written.
        Err(error) if options.test.is_none() && since.is_none() && task.is_none() && !options.failed => {
            render::note(&format!("note: what is known about tests may be old: {}", error.lines().join("; ")));
        }
        caught_up => caught_up?,
    }
    let filter =
        RunFilter { of_task: task, only_failed: options.failed, not_before: since, with_test: None, most: options.limit };
    let answer = archive.about_tests(&project, |archive| {
        let Some(wanted) = options.test.as_deref() else { return Ok(Ok((archive.logged_runs(&project, &filter)?, None))) };
        match archive.find_test(&project, filter.of_task.as_ref(), wanted)? {
            TestSearch::Found(found) => {
                let taken = Some((wanted, found.test.clone()));
                let filter = RunFilter { with_test: Some(found), ..filter.clone() };
                Ok(Ok((archive.logged_runs(&project, &filter)?, taken)))
            }
            search @ (TestSearch::Several(_) | TestSearch::Nothing) => Ok(Err(history::not_one(wanted, &search))),
        }
    });
    let (runs, taken) = answer??;
    if let Some((wanted, test)) = &taken {
        history::note_taken(environment, wanted, test);
    }
    if options.json {
        let runs: Vec<LoggedRun> = runs.into_iter().map(|(_, logged)| logged).collect();
        render::document(&RunListV1::new(project, runs));
        return Ok(CommandExit::Proceed);
    }
    if runs.is_empty() {
        let is_filtered = taken.is_some() || filter != RunFilter { most: options.limit, ..RunFilter::default() };
        let of_task = RunFilter { of_task: filter.of_task.clone(), most: 1, ..RunFilter::default() };
        let unknown =
            filter.of_task.as_ref().filter(|_| archive.logged_runs(&project, &of_task).is_ok_and(|runs| runs.is_empty()));
        match unknown {
            Some(task) => render::note(&format!("no run of a task `{task}` is known: `proctor status` lists the tasks")),
            None => render::note(if is_filtered { "no run fits" } else { "no runs yet: `proctor run` makes the first" }),
        }
    }
    // The list of the runs is the answer; claims that cannot be read are left out of it.
    let oldest = runs.iter().map(|(run, _)| run.sequence).min();
    let claims = oldest.map(|oldest| archive.refuted_claims(&project, oldest).unwrap_or_default()).unwrap_or_default();
    let here = LocalTime::of_now();
    for (run, logged) in &runs {
        let name = if options.ids { run.run_id.to_string() } else { run.run_id.number().to_string() };
        render::line(&screen::log_line(&name, run, Some(logged), &here));
        logged.person.iter().for_each(|asked| render::line(&format!("  {}", asked.sentence())));
        let of_run = claims.iter().filter(|(_, claim)| claim.run_id == run.run_id && claim.task == run.task);
        of_run.for_each(|(time, claim)| render::line(&format!("  {}", screen::claim_line(*time, claim))));
    }
    Ok(CommandExit::Proceed)
}

/// Reads a point in time: a time, a day in UTC, or an age.
fn read_since(text: &str) -> Result<Timestamp, CommandError> {
    const DAY: u64 = 24 * 60 * 60 * 1000;
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u64>().ok()?.checked_mul(DAY));
    let age = days.or_else(|| parse_duration(text).map(|age| DurationMs::from(age).0));
    let before = |age: u64| Some(Timestamp::from_millis(clock::now().as_millis().checked_sub(i64::try_from(age).ok()?)?));
    let point = match age {
        Some(age) => before(age),
        None => [text.to_owned(), format!("{text}T00:00:00Z")].into_iter().find_map(|text| Timestamp::try_from(text).ok()),
    };
    point.ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("`--since {text}` is no time"))
            .hint("write a time such as 2026-03-04T09:30:00Z, a day such as 2026-03-04, or an age such as 90m, 12h or 7d")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_in_time_is_a_time_a_day_or_an_age() {
        let read = |text: &str| read_since(text).map(|time| time.to_string()).ok();
        assert_eq!(read("2026-03-04").as_deref(), Some("2026-03-04T00:00:00.000Z"));
        assert_eq!(read("2026-03-04T09:30:00+01:00").as_deref(), Some("2026-03-04T08:30:00.000Z"));
        let ago = |text: &str| {
            let since = read_since(text).expect("an age");
            clock::now().as_millis() - since.as_millis()
        };
        assert_eq!((ago("2h") / 60_000, ago("3d") / 3_600_000), (120, 72));
        for wrong in ["", "yesterday", "d", "-1d", "99999999999999999999d", "300000000000000d", "2026-13-04"] {
            assert!(read_since(wrong).is_err(), "{wrong}");
        }
    }
}
