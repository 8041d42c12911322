//! The past of a test, the comparison of two runs, and which test a word means.

use std::path::Path;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::opening::open_registered;
use proctor_api::{ComparisonV1, TestPastV1};
use proctor_model::{CommandExit, NamedTest, OverallResult, ProjectId, RunId, TaskId};
use proctor_project::{RecordedRun, RunFilter, StoreReader, TestSearch};

/// At most this many tests are named where a word may mean several.
const SHOWN: usize = 10;
/// A note is printed if at least this many runs had to be read for the index of tests.
const MANY: usize = 100;

/// At most this many runs are looked at for the last one that passed.
const LOOKED_BACK: u32 = 10_000;

/// At most this many runs of a test are told where nobody names another number.
pub const TOLD: usize = 20;

/// Returns the past of the test that a word means, with at most `limit` of its runs.
///
/// # Errors
/// When the word means no test, or several, or the store cannot be read.
pub fn past(
    environment: &Environment,
    root: &Path,
    task: Option<&TaskId>,
    (wanted, limit): (&str, usize),
) -> Result<TestPastV1, CommandError> {
    let (mut archive, project) = open_registered(environment, root)?;
    catch_up(environment, &mut archive, &project)?;
    let past = archive.about_tests(&project, |archive| match archive.find_test(&project, task, wanted)? {
        TestSearch::Found(found) => archive.test_past(&project, &found, limit).map(Ok),
        search @ (TestSearch::Several(_) | TestSearch::Nothing) => Ok(Err(search)),
    });
    let past = past?.map_err(|search| not_one(wanted, &search))?;
    Ok(TestPastV1::new(project, past))
}

/// Which two runs are compared.
#[derive(Debug, Clone, Copy)]
pub enum ComparedRuns<'w> {
    /// The newest run and the one of its task before it.
    LastTwo,
    /// The newest run, and the last one of its task before it that passed.
    SinceGreen,
    /// Two runs by id or number. Without the second, the newest run of the task of the first.
    Named { from: &'w str, to: Option<&'w str> },
}

/// Compares two runs.
///
/// # Errors
/// When there is no such run, the runs cannot be compared, or the store cannot be read.
pub fn compare(environment: &Environment, root: &Path, runs: ComparedRuns<'_>) -> Result<ComparisonV1, CommandError> {
    let (mut archive, project) = open_registered(environment, root)?;
    catch_up(environment, &mut archive, &project)?;
    let (from, to) = match runs {
        ComparedRuns::Named { from, to: Some(to) } => {
            (find(&archive, &project, from)?.run.run_id, find(&archive, &project, to)?.run.run_id)
        }
        ComparedRuns::Named { from, to: None } => {
            let from = find(&archive, &project, from)?.run;
            let newest = runs_of_task(&mut archive, &project, Some(from.task), 1)?.into_iter().next();
            (from.run_id.clone(), newest.map_or(from.run_id, |newest| newest.run.run_id))
        }
        ComparedRuns::LastTwo => {
            newest_and_earlier(&mut archive, &project, |_| true, "there is no earlier run of its task to compare it with")?
        }
        ComparedRuns::SinceGreen => {
            let is_green = |run: &RecordedRun| run.result == Some(OverallResult::Passed);
            newest_and_earlier(&mut archive, &project, is_green, "no run before the last one passed by approved rules")?
        }
    };
    let compared = archive.about_tests(&project, |archive| archive.compare_runs(&project, &from, &to));
    let compared = compared?;
    let comparison = compared.map_err(|error| {
        CommandError::of(CommandExit::Usage, &error).hint("`proctor log --task TASK` lists the runs of a task")
    })?;
    Ok(ComparisonV1::new(project, comparison))
}

/// Brings the index of tests up to date, and says so if that took long.
pub fn catch_up(environment: &Environment, archive: &mut StoreReader, project: &ProjectId) -> Result<(), CommandError> {
    let added = archive.catch_up_tests(project)?;
    if added >= MANY {
        environment.note(&format!("note: the tests of {added} runs were added to the index; that is done once"));
    }
    Ok(())
}

/// Says which test was taken, if the word is only a part of its names.
pub fn note_taken(environment: &Environment, wanted: &str, test: &NamedTest) {
    if !test.is_named(wanted) {
        environment.note(&format!("note: this is about `{}` of {}", test.id, test.check));
    }
}

/// Returns the error that a word means no test, or several.
pub fn not_one(wanted: &str, search: &TestSearch) -> CommandError {
    let tests = match search {
        TestSearch::Found(found) => std::slice::from_ref(&found.test),
        TestSearch::Several(tests) => tests,
        TestSearch::Nothing => {
            return CommandError::new(CommandExit::Usage, format!("no known test is named `{wanted}`"))
                .hint("name a part of its name, as the tool prints it; only tests of runs that `proctor log` lists are known");
        }
    };
    let named = |test: &NamedTest| format!("{} · {} · {}", test.key, test.check, test.id);
    let error = CommandError::new(CommandExit::Usage, format!("`{wanted}` may mean {} tests", tests.len()));
    let error = tests.iter().take(SHOWN).map(named).fold(error, CommandError::detail);
    let hidden = tests.len().saturating_sub(SHOWN);
    let error = if hidden > 0 { error.detail(format!("{hidden} more")) } else { error };
    error.hint("name one by its key, the first word of its line")
}

fn find(archive: &StoreReader, project: &ProjectId, wanted: &str) -> Result<RecordedRun, CommandError> {
    let found = archive.find(project, Some(wanted))?;
    found.ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("there is no finished run `{wanted}`")).hint("`proctor log` lists the runs")
    })
}

/// Returns the newest runs of a task, newest first.
fn runs_of_task(
    archive: &mut StoreReader,
    project: &ProjectId,
    task: Option<TaskId>,
    most: u32,
) -> Result<Vec<RecordedRun>, CommandError> {
    let filter = RunFilter { of_task: task, most, ..RunFilter::default() };
    let runs = archive.about_tests(project, |archive| archive.logged_runs(project, &filter));
    Ok(runs?.into_iter().map(|(run, _)| run).collect())
}

/// Returns the newest run, and the latest one of its task before it that is wanted.
fn newest_and_earlier(
    archive: &mut StoreReader,
    project: &ProjectId,
    is_wanted: impl Fn(&RecordedRun) -> bool,
    otherwise: &str,
) -> Result<(RunId, RunId), CommandError> {
    let none = || CommandError::new(CommandExit::Usage, otherwise).hint("`proctor log` lists the runs");
    // A run that was stopped has nothing to compare, and the tests of a run by rules that nobody approved are not known.
    let mut runs = runs_of_task(archive, project, None, LOOKED_BACK)?;
    runs.retain(|run| run.status.counts() && !run.by_changed_rules);
    let mut runs = runs.into_iter();
    let newest = runs.next().ok_or_else(none)?;
    let earlier = runs.find(|run| run.task == newest.task && is_wanted(run)).ok_or_else(none)?;
    Ok((earlier.run.run_id, newest.run.run_id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::TestKey;

    #[test]
    fn each_test_that_a_word_may_mean_has_a_line_of_its_own() {
        let test = |number: usize| {
            let (task, check, id) = (TaskId::default_task(), "unit".to_owned(), format!("tests/test_a.py::test_{number}"));
            NamedTest { key: TestKey::from_bits(number as u64), task, check, id, report_name: None }
        };
        let tests: Vec<NamedTest> = (0..12).map(test).collect();
        let lines = not_one("test", &TestSearch::Several(tests.clone())).lines();
        assert_eq!((lines.len(), lines[0].as_str()), (13, "error: `test` may mean 12 tests"));
        assert_eq!(lines[1], format!("  {} · unit · tests/test_a.py::test_0", tests[0].key));
        assert_eq!(lines[11..], ["  2 more", "  hint: name one by its key, the first word of its line"]);
    }
}
