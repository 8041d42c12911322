//! How the tests of a task ended in its last runs: a letter for each test and run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::error::ProjectError;
use crate::store_reader::StoreReader;
use crate::test_history::RECENT;
use crate::test_history::flaky::{flips_of_tests, rosters_in};
use crate::test_history::logged::RunFilter;
use proctor_index::{CheckRun, NewestTests, Roster};
use proctor_model::{LoggedRun, MatrixTest, ProjectId, RunId, Sequence, TaskId, TestOutcome, Timestamp};

/// The letter for a run that did not have the test.
const ABSENT: u8 = b'.';

/// The columns of the runs: each by the run's line in the ledger.
type Columns = BTreeMap<Sequence, usize>;

/// What is known about one test while the results are read, newest first.
struct Row {
    cells: Vec<u8>,
    /// How it ended in the last attempt of each run.
    ends: Vec<Option<TestOutcome>>,
    /// How it ended in the newest run that has no column, and the beginning of the oldest run of the unbroken row of results that ended
    /// so.
    older: Option<(TestOutcome, Timestamp)>,
    /// Whether an older result than those ended in another way.
    is_closed: bool,
    /// How many runs that are newer than its last result have a whole list of tests, without it.
    runs_without_it: u64,
}

/// The tests of a check, each with its place in `rows`.
#[derive(Default)]
struct Rows {
    places: HashMap<u32, usize>,
    rows: Vec<Row>,
    numbers: Vec<u32>,
    /// The columns of the runs that have a whole list of the check's tests.
    whole: BTreeSet<usize>,
}

impl StoreReader {
    /// Returns the last runs of a task, newest first, at most `runs`, and how its tests ended in them: those that passed and failed on equal
    /// trees first, then those that fail now and are still there, at most `tests`. For a reused result, it is the one of the run that
    /// carried the check out.
    ///
    /// # Errors
    /// When the ledger or the index cannot be read.
    pub fn test_matrix(
        &self,
        project: &ProjectId,
        task: &TaskId,
        (runs, tests): (u32, u32),
    ) -> Result<(Vec<LoggedRun>, Vec<MatrixTest>), ProjectError> {
        let filter = RunFilter { of_task: Some(task.clone()), most: runs, ..RunFilter::default() };
        let logged = self.logged_runs(project, &filter)?;
        let columns: Columns = logged.iter().enumerate().map(|(place, (run, _))| (run.sequence, place)).collect();
        let runs: Vec<LoggedRun> = logged.into_iter().map(|(_, run)| LoggedRun { failed_tests: Vec::new(), ..run }).collect();
        let Some(oldest) = columns.keys().next().copied() else { return Ok((runs, Vec::new())) };
        let known = self.tests_by_number(project)?;
        let starts: Vec<Timestamp> = runs.iter().map(|run| run.started).collect();
        let reused = self.index.reused_results(project, oldest)?;
        let mut found = Vec::new();
        for check in self.index.indexed_checks(project)? {
            if check.task != *task {
                continue;
            }
            let reused = reused.iter().filter(|(_, number, _)| *number == check.number).map(|(line, _, run)| (*line, run));
            for (test, flips, row) in self.rows_of_check(project, check.number, &columns, &reused.collect::<Vec<_>>())? {
                let Some(last) = row.cells.iter().position(|cell| *cell != ABSENT) else { continue };
                let (Some(test), Some((outcome, since))) = (known.get(&test), row.end(&starts)) else { continue };
                found.push((
                    outcome.is_failure() && row.runs_without_it == 0,
                    MatrixTest {
                        test: test.clone(),
                        flips_on_equal_trees: flips,
                        since,
                        last_run: runs[last].run_id.clone(),
                        runs_without_it: row.runs_without_it,
                        cells: String::from_utf8_lossy(&row.cells).into_owned(),
                    },
                ));
            }
        }
        found.sort_by(|(one_fails, one), (other_fails, other)| {
            let place = |fails: &bool, test: &MatrixTest| (std::cmp::Reverse(test.flips_on_equal_trees), !fails);
            let name = |test: &MatrixTest| (test.test.id.clone(), test.test.check.clone());
            place(one_fails, one).cmp(&place(other_fails, other)).then_with(|| name(one).cmp(&name(other)))
        });
        found.truncate(usize::try_from(tests).unwrap_or(usize::MAX));
        Ok((runs, found.into_iter().map(|(_, test)| test).collect()))
    }

    /// Returns the tests of a check by number, each with the count of trees on which it both passed and failed.
    fn rows_of_check(
        &self,
        project: &ProjectId,
        check: u32,
        columns: &Columns,
        reused: &[(Sequence, &RunId)],
    ) -> Result<Vec<(u32, u64, Row)>, ProjectError> {
        let Some(oldest) = columns.keys().next() else { return Ok(Vec::new()) };
        let before = Sequence(oldest.0.saturating_sub(1));
        let shown = self.index.results_after(project, check, before)?;
        let wanted = NewestTests { limit: shown.max(RECENT), skip: 0, durations: false, reused: false };
        let results = self.index.check_runs(project, check, wanted)?;
        let mut rosters = self.index.rosters(project, &rosters_in(&results))?;
        let recent = &results[results.len().saturating_sub(RECENT as usize)..];
        let flips = flips_of_tests(recent, &rosters);
        let mut rows = Rows::default();
        for result in results.iter().rev() {
            rows.add(result, &rosters, columns.len(), columns.get(&result.sequence).copied());
        }
        let mut sources: BTreeMap<&RunId, Vec<CheckRun>> = BTreeMap::new();
        for (sequence, run) in reused {
            let Some(column) = columns.get(sequence) else { continue };
            if !sources.contains_key(run) {
                let read: Vec<CheckRun> = results.iter().filter(|result| result.run_id == **run).cloned().collect();
                let read = if read.is_empty() { self.results_of(project, check, run)? } else { read };
                rosters.extend(self.index.rosters(project, &rosters_in(&read))?);
                sources.insert(run, read);
            }
            for result in sources.get(run).into_iter().flatten() {
                rows.mark(result, &rosters, columns.len(), *column);
            }
        }
        rows.count_runs_without();
        let flips_of = |test: &u32| flips.get(test).map_or(0, |flips| flips.trees);
        Ok(rows.numbers.into_iter().zip(rows.rows).map(|(test, row)| (test, flips_of(&test), row)).collect())
    }

    /// Returns the results of a check in a run that is older than those that were read.
    fn results_of(&self, project: &ProjectId, check: u32, run: &RunId) -> Result<Vec<CheckRun>, ProjectError> {
        let Some((past, _)) = self.index.past_run(project, run)? else { return Ok(Vec::new()) };
        let results = self.index.checks_of_run(project, past.sequence)?;
        Ok(results.into_iter().filter(|(other, _)| other.number == check).map(|(_, result)| result).collect())
    }
}

impl Rows {
    /// Adds a result that is older than those that were added, or as old.
    fn add(&mut self, result: &CheckRun, rosters: &BTreeMap<u32, Roster>, columns: usize, column: Option<usize>) {
        self.note_list(result, column);
        self.each(result, rosters, columns, |row, outcome| {
            if let Some(column) = column {
                row.cells[column] = merged(row.cells[column], outcome);
                row.ends[column] = row.ends[column].or(Some(outcome));
                return;
            }
            match &mut row.older {
                None => row.older = Some((outcome, result.started)),
                Some((end, since)) if *end == outcome && !row.is_closed => *since = result.started,
                Some(_) => row.is_closed = true,
            }
        });
    }

    /// Notes how the tests ended in a run that reused this result.
    fn mark(&mut self, result: &CheckRun, rosters: &BTreeMap<u32, Roster>, columns: usize, column: usize) {
        self.note_list(result, Some(column));
        self.each(result, rosters, columns, |row, outcome| {
            row.cells[column] = merged(row.cells[column], outcome);
            // The attempts come in their order here, so the last one stays.
            row.ends[column] = Some(outcome);
        });
    }

    fn note_list(&mut self, result: &CheckRun, column: Option<usize>) {
        if result.roster.is_some() && result.is_complete {
            self.whole.extend(column);
        }
    }

    /// Counts the runs without each test, after all results were added. The first column is that of the newest run.
    fn count_runs_without(&mut self) {
        for row in &mut self.rows {
            let last = row.cells.iter().position(|cell| *cell != ABSENT).unwrap_or(row.cells.len());
            row.runs_without_it = self.whole.range(..last).count() as u64;
        }
    }

    fn each(
        &mut self,
        result: &CheckRun,
        rosters: &BTreeMap<u32, Roster>,
        columns: usize,
        mut note: impl FnMut(&mut Row, TestOutcome),
    ) {
        let Some(roster) = result.roster.and_then(|number| rosters.get(&number)) else { return };
        let mut others = result.not_passed.iter().peekable();
        for (position, test) in (0_u32..).zip(roster.tests()) {
            let other = others.next_if(|other| other.position == position);
            let outcome = other.map_or(TestOutcome::Passed, |other| other.outcome);
            let place = *self.places.entry(*test).or_insert_with(|| {
                let (cells, ends) = (vec![ABSENT; columns], vec![None; columns]);
                self.rows.push(Row { cells, ends, older: None, is_closed: false, runs_without_it: 0 });
                self.numbers.push(*test);
                self.rows.len() - 1
            });
            note(&mut self.rows[place], outcome);
        }
    }
}

impl Row {
    /// Returns how the test ended in the newest run that had it, and since when it ends so; nothing if it always did. `starts` has the
    /// beginnings of the runs, newest first.
    fn end(&self, starts: &[Timestamp]) -> Option<(TestOutcome, Option<Timestamp>)> {
        let mut seen = self.ends.iter().zip(starts).filter_map(|(end, start)| Some(((*end)?, *start)));
        let (last, mut since) = seen.next()?;
        for (end, start) in seen {
            if end != last {
                return Some((last, Some(since)));
            }
            since = start;
        }
        let since = match self.older {
            None => None,
            Some((end, _)) if end != last => Some(since),
            Some((_, begun)) => self.is_closed.then_some(begun),
        };
        Some((last, since))
    }
}

/// Returns the letter for a run in which a test ended so, and as the letter says before: several attempts are one run.
fn merged(before: u8, outcome: TestOutcome) -> u8 {
    let now = match outcome {
        TestOutcome::Passed => b'p',
        TestOutcome::Failed => b'f',
        TestOutcome::Error => b'e',
        TestOutcome::Skipped => b's',
    };
    match (before, now) {
        (ABSENT | b's', now) => now,
        (before, b's') => before,
        (before, now) if before == now => before,
        (b'f' | b'e', b'f' | b'e') => b'f',
        (_, _) => b'x',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_ends_as_in_its_newest_run_also_where_that_reused_a_result() {
        use TestOutcome::{Failed, Passed};
        let starts = [30, 20, 10].map(Timestamp::from_millis);
        let at = |time| Some(Timestamp::from_millis(time));
        let five = Timestamp::from_millis(5);
        for (ends, older, is_closed, expected) in [
            // The tree of the newest run is that of the first: it passes again, and the failure between is over.
            ([Some(Passed), Some(Failed), Some(Passed)], None, false, Some((Passed, at(30)))),
            ([Some(Failed), Some(Failed), Some(Passed)], None, false, Some((Failed, at(20)))),
            ([None, Some(Failed), Some(Failed)], None, false, Some((Failed, None))),
            ([None, Some(Failed), Some(Failed)], Some((Passed, five)), false, Some((Failed, at(10)))),
            ([Some(Failed); 3], Some((Failed, five)), true, Some((Failed, at(5)))),
            ([Some(Failed); 3], Some((Failed, five)), false, Some((Failed, None))),
            ([None; 3], Some((Failed, five)), true, None),
        ] {
            let row = Row { cells: Vec::new(), ends: ends.to_vec(), older, is_closed, runs_without_it: 0 };
            assert_eq!(row.end(&starts), expected, "{ends:?} {older:?}");
        }
    }

    #[test]
    fn attempts_of_a_run_are_one_letter() {
        use TestOutcome::{Error, Failed, Passed, Skipped};
        let rows = [
            (vec![Passed], 'p'),
            (vec![Failed, Passed], 'x'),
            (vec![Passed, Error], 'x'),
            (vec![Failed, Error], 'f'),
            (vec![Error, Error], 'e'),
            (vec![Skipped, Passed], 'p'),
            (vec![Failed, Skipped], 'f'),
            (vec![Failed, Passed, Failed], 'x'),
            (vec![Skipped], 's'),
            (vec![], '.'),
        ];
        for (outcomes, letter) in rows {
            assert_eq!(
                char::from(outcomes.iter().fold(ABSENT, |before, outcome| merged(before, *outcome))),
                letter,
                "{outcomes:?}"
            );
        }
    }
}
