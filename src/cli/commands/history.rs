//! `proctor history`: tells the past of a test. Also says for other commands which test a word means.

use crate::cli::commands::opening;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::history_arguments::HistoryOptions;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::setup;
use crate::cli::specification_files;
use proctor_api::TestPastV1;
use proctor_model::{CommandExit, NamedTest, ProjectId};
use proctor_run::project::{StoreReader, TestSearch};

/// At most this many tests are named where a word may mean several.
const SHOWN: usize = 10;
/// A note is printed if at least this many runs had to be read for the index of tests.
const MANY: usize = 100;

pub(crate) fn execute(options: &HistoryOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let task = options.task.as_deref().map(specification_files::read_task).transpose()?;
    let (mut archive, project) = opening::open_registered(environment, &root)?;
    catch_up(&mut archive, &project)?;
    let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
    let past = archive.about_tests(&project, |archive| match archive.find_test(&project, task.as_ref(), &options.test)? {
        TestSearch::Found(found) => archive.test_past(&project, &found, limit).map(Ok),
        search @ (TestSearch::Several(_) | TestSearch::Nothing) => Ok(Err(search)),
    });
    let past = past.map_err(|error| super::from_run_error(&error))?.map_err(|search| not_one(&options.test, &search))?;
    note_taken(&options.test, &past.test);
    if options.json {
        render::document(&TestPastV1::new(project, past));
    } else {
        screen::past_lines(&past, opening::style(environment)).iter().for_each(render::line);
    }
    Ok(CommandExit::Proceed)
}

/// Brings the index of tests up to date, and says so if that took long.
pub(crate) fn catch_up(archive: &mut StoreReader, project: &ProjectId) -> Result<(), CommandError> {
    let added = archive.catch_up_tests(project).map_err(|error| super::from_run_error(&error))?;
    if added >= MANY {
        render::note(&format!("note: the tests of {added} runs were added to the index; that is done once"));
    }
    Ok(())
}

/// Says which test was taken, if the word is only a part of its names.
pub(super) fn note_taken(wanted: &str, test: &NamedTest) {
    if !test.is_named(wanted) {
        render::note(&format!("note: no test is named `{wanted}`; this is about {} · {} · {}", test.key, test.check, test.id));
    }
}

/// Returns the error that a word means no test, or several.
pub(crate) fn not_one(wanted: &str, search: &TestSearch) -> CommandError {
    let tests = match search {
        TestSearch::Found(found) => std::slice::from_ref(&found.test),
        TestSearch::Several(tests) => tests,
        TestSearch::Nothing => {
            return CommandError::new(CommandExit::Usage, format!("no known test is named `{wanted}`"))
                .hint("name a part of its id; tests are known since the oldest run whose evidence was there");
        }
    };
    let named = |test: &NamedTest| format!("{} · {} · {}", test.key, test.check, test.id);
    let error = CommandError::new(CommandExit::Usage, format!("`{wanted}` may mean {} tests", tests.len()));
    let error = tests.iter().take(SHOWN).map(named).fold(error, CommandError::detail);
    let hidden = tests.len().saturating_sub(SHOWN);
    let error = if hidden > 0 { error.detail(format!("{hidden} more")) } else { error };
    error.hint("name one by its key, the first word of its line")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{TaskId, TestKey};

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
