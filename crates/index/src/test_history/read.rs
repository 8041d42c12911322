//! Turns rows of the index of tests into values.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::FromSql;
use rusqlite::{Row, params};

use crate::IndexError;
use crate::tables::Tables;
use crate::test_history::codec::{NotPassed, decode_durations, decode_not_passed, decode_roster, place_in_roster};
use crate::test_history::write::read_position;
use crate::words::{from_integer, to_integer};
use proctor_model::{
    DurationMs, NamedTest, OverallResult, OverallStatus, ProjectId, ProofState, ResultType, RunId, Sequence, TaskId, TestCounts,
    TestKey, TestOutcome, Timestamp, TreeDifference, TreeDigest,
};

/// The columns of [`PastRun`]. A run without a row of its own in `runs`, or with one in `pruned`, has no evidence any more.
const RUN_COLUMNS: &str = "h.sequence, h.run_id, h.task, h.started, h.duration, h.status, h.result, h.tree, h.passed, h.failed, h.skipped, \
                           EXISTS (SELECT 1 FROM runs r WHERE r.project = h.project AND r.sequence = h.sequence) AND NOT EXISTS \
                           (SELECT 1 FROM pruned p WHERE p.project = h.project AND p.run_id = h.run_id)";
/// The columns of [`CheckRun`].
const CHECK_COLUMNS: &str = "c.sequence, c.attempt, c.status, c.blocks, c.duration, c.passed, c.failed, c.skipped, c.reused, c.roster, \
                             c.complete, c.outcomes, h.run_id, h.started, h.tree, h.status";

/// Which results of a check are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewestTests {
    /// The most results, counted from the newest on.
    pub limit: u32,
    /// How many of the newest results are left out.
    pub skip: u32,
    /// Whether the durations of the tests are read too.
    pub durations: bool,
    /// Whether results are wanted too that a run took from an earlier one.
    pub reused: bool,
}

/// A run in the index of tests.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRun {
    /// The number of the ledger line that records the run.
    pub sequence: Sequence,
    pub run_id: RunId,
    pub task: TaskId,
    pub started: Timestamp,
    pub duration: Option<DurationMs>,
    pub status: OverallStatus,
    pub result: Option<OverallResult>,
    pub tree: Option<TreeDigest>,
    /// The counts over all checks; `None` if no test report could be read.
    pub counts: Option<TestCounts>,
}

/// A run, and whether it was pruned. Evidence that another program removed is not noticed here.
pub type ProvedRun = (PastRun, ProofState);

/// A check in the index of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedCheck {
    /// The number of the check in this index.
    pub number: u32,
    pub task: TaskId,
    pub name: String,
}

/// One attempt of a check in a run, with the tests that did not pass.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckRun {
    pub sequence: Sequence,
    pub run_id: RunId,
    pub started: Timestamp,
    pub tree: Option<TreeDigest>,
    /// How the run ended.
    pub run_status: OverallStatus,
    pub attempt: u32,
    pub status: ResultType,
    /// Whether the result makes the verdict FAILED.
    pub blocks: bool,
    pub duration: Option<DurationMs>,
    pub counts: Option<TestCounts>,
    /// The earlier run whose result is used; `None` if this run carried the check out.
    pub reused: Option<RunId>,
    /// The number of the list of tests; `None` if the check has no record of tests.
    pub roster: Option<u32>,
    /// Whether the list has every test.
    pub is_complete: bool,
    /// The tests that did not pass, by their place in the list.
    pub not_passed: Vec<NotPassed>,
    /// The durations of the tests in microseconds, by their place in the list; empty if they are not known, or were not wanted.
    pub durations: Vec<Option<u64>>,
}

/// A name that a test had before it was renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerName {
    /// The number of the test, which it keeps.
    pub number: u32,
    /// The ledger line of the first run in which the test had another name.
    pub until: Sequence,
    pub key: TestKey,
    /// The tool's own id of the test at that time.
    pub former_id: String,
    pub report_name: Option<String>,
}

/// All checks of a run, each with its number in this index.
pub type RunChecks = Vec<(IndexedCheck, CheckRun)>;

/// The tests of a check in one or more runs, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    tests: Vec<u32>,
    /// Each test with its place, sorted by test.
    places: Vec<(u32, u32)>,
}

impl Roster {
    /// Makes a list of these tests, given by their numbers.
    pub fn new(tests: Vec<u32>) -> Self {
        let mut places: Vec<(u32, u32)> = tests.iter().copied().zip(0..).collect();
        places.sort_unstable();
        Self { tests, places }
    }

    /// Returns the numbers of the tests, in the order of the list.
    pub fn tests(&self) -> &[u32] {
        &self.tests
    }

    /// Returns the place of a test in the list; `None` if the list does not have it.
    pub fn place(&self, test: u32) -> Option<u32> {
        let found = self.places.binary_search_by_key(&test, |(number, _)| *number).ok()?;
        Some(self.places[found].1)
    }
}

impl CheckRun {
    /// Returns how the test at a place of the list ended, and the number of its failure's first line.
    pub fn outcome(&self, place: u32) -> (TestOutcome, Option<u32>) {
        match self.not_passed.binary_search_by_key(&place, |test| test.position) {
            Ok(found) => (self.not_passed[found].outcome, self.not_passed[found].message),
            Err(_) => (TestOutcome::Passed, None),
        }
    }

    /// Returns the duration of the test at a place of the list, in microseconds.
    pub fn duration_of(&self, place: u32) -> Option<u64> {
        self.durations.get(place as usize).copied().flatten()
    }

    /// Returns whether the result is about the tree of the run. A run that was cut short or that the tree moved under says nothing
    /// certain about its tree.
    pub fn is_about_its_tree(&self) -> bool {
        self.run_status.counts()
    }
}

impl Tables {
    pub(super) fn runs_without_tests(&self, project: &ProjectId, limit: u32) -> Result<Vec<Sequence>, IndexError> {
        let statement = "SELECT sequence FROM runs WHERE project = ?1 AND report_hash IS NOT NULL AND sequence > \
                         COALESCE((SELECT sequence FROM history_positions WHERE project = ?1), 0) AND NOT EXISTS \
                         (SELECT 1 FROM pruned p WHERE p.project = runs.project AND p.run_id = runs.run_id) \
                         ORDER BY sequence LIMIT ?2";
        let rows = self.read_rows(statement, params![project.as_str(), limit], |row| row.get::<_, i64>(0))?;
        Ok(rows.into_iter().map(|sequence| Sequence(from_integer(sequence))).collect())
    }

    pub(super) fn tests_are_foreign(&self, project: &ProjectId) -> Result<bool, IndexError> {
        // No seal covers these rows, so another program may have written any number. A position or a row beyond the ledger also
        // comes from a ledger that was replaced by an older copy; with a row beyond the position no run could be added.
        let numbers = "WITH position AS (SELECT sequence, bytes FROM history_positions WHERE project = ?1), \
                       applied AS (SELECT COALESCE((SELECT applied_sequence FROM positions WHERE project = ?1), 0) AS sequence) \
                       SELECT 1 WHERE EXISTS (SELECT 1 FROM position, applied WHERE position.sequence < 0 OR position.bytes < 0 \
                       OR position.sequence > applied.sequence) OR EXISTS (SELECT 1 FROM history_runs WHERE project = ?1 AND sequence < 0) \
                       OR EXISTS (SELECT 1 FROM history_runs WHERE project = ?1 AND sequence > COALESCE((SELECT sequence FROM position), 0))";
        // After a ledger was replaced by an older copy, its next lines are about other runs than the newest rows.
        let others = "SELECT 1 FROM (SELECT * FROM history_runs WHERE project = ?1 ORDER BY sequence DESC LIMIT 20) h JOIN runs r \
                      USING (project, sequence) WHERE h.run_id != r.run_id LIMIT 1";
        let finds = |statement| self.read_rows(statement, params![project.as_str()], |_| Ok(())).map(|rows| !rows.is_empty());
        Ok(finds(numbers)? || finds(others)?)
    }

    pub(super) fn bytes_of_tests(&self, project: &ProjectId) -> Result<u64, IndexError> {
        self.read(|index| read_position(&index.connection, project)).map(|(_, bytes)| bytes)
    }

    pub(super) fn past_runs(
        &self,
        project: &ProjectId,
        task: Option<&TaskId>,
        failed: bool,
        since: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<ProvedRun>, IndexError> {
        let statement = format!(
            "SELECT {RUN_COLUMNS} FROM history_runs h WHERE h.project = ?1 AND (?2 IS NULL OR h.task = ?2) AND \
             (NOT ?3 OR h.result IS NOT 'PASSED') AND (?4 IS NULL OR h.started >= ?4) ORDER BY h.sequence DESC LIMIT ?5"
        );
        let values = params![project.as_str(), task.map(TaskId::as_str), failed, since.map(Timestamp::as_millis), limit];
        self.read_past_runs(&statement, values)
    }

    pub(super) fn fitting_runs(
        &self,
        project: &ProjectId,
        task: Option<&TaskId>,
        failed: bool,
        since: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<(Sequence, RunId, ProofState)>, IndexError> {
        // The tables that the ledger fills lack the oldest pruned runs, and the index of tests the runs without readable evidence.
        let statement = "SELECT sequence, run_id, kept FROM \
                         (SELECT r.sequence, r.run_id, r.task, r.started, r.result, NOT EXISTS \
                         (SELECT 1 FROM pruned p WHERE p.project = r.project AND p.run_id = r.run_id) AS kept \
                         FROM runs r WHERE r.project = ?1 AND r.report_hash IS NOT NULL UNION ALL \
                         SELECT h.sequence, h.run_id, h.task, h.started, h.result, 0 FROM history_runs h WHERE h.project = ?1 AND \
                         NOT EXISTS (SELECT 1 FROM runs r WHERE r.project = h.project AND r.sequence = h.sequence)) \
                         WHERE (?2 IS NULL OR task = ?2) AND (NOT ?3 OR result IS NOT 'PASSED') AND (?4 IS NULL OR started >= ?4) \
                         ORDER BY sequence DESC LIMIT ?5";
        let values = params![project.as_str(), task.map(TaskId::as_str), failed, since.map(Timestamp::as_millis), limit];
        let columns = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?));
        let fitting = |(sequence, run_id, kept)| {
            let proof = if kept { ProofState::Kept } else { ProofState::Pruned };
            Ok((Sequence(from_integer(sequence)), self.reader.word("run id", run_id)?, proof))
        };
        self.read_rows(statement, values, columns)?.into_iter().map(fitting).collect()
    }

    pub(super) fn past_run(&self, project: &ProjectId, run_id: &RunId) -> Result<Option<ProvedRun>, IndexError> {
        let statement = format!("SELECT {RUN_COLUMNS} FROM history_runs h WHERE h.project = ?1 AND h.run_id = ?2");
        Ok(self.read_past_runs(&statement, params![project.as_str(), run_id.as_str()])?.into_iter().next())
    }

    pub(super) fn run_at(&self, project: &ProjectId, sequence: Sequence) -> Result<Option<RunId>, IndexError> {
        let statement = "SELECT run_id FROM history_runs WHERE project = ?1 AND sequence = ?2";
        let rows = self.read_rows(statement, params![project.as_str(), to_integer(sequence.0)], |row| row.get::<_, String>(0))?;
        rows.into_iter().next().map(|run_id| self.reader.word("run id", run_id)).transpose()
    }

    pub(super) fn indexed_checks(&self, project: &ProjectId) -> Result<Vec<IndexedCheck>, IndexError> {
        let statement = "SELECT number, task, name FROM history_checks WHERE project = ?1 ORDER BY task, name";
        let columns = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?));
        let rows = self.read_rows(statement, params![project.as_str()], columns)?;
        let check = |(number, task, name)| Ok(IndexedCheck { number, task: self.reader.word("task id", task)?, name });
        rows.into_iter().map(check).collect()
    }

    pub(super) fn known_tests(&self, project: &ProjectId) -> Result<Vec<(u32, u32, NamedTest)>, IndexError> {
        let checks: BTreeMap<u32, IndexedCheck> =
            self.indexed_checks(project)?.into_iter().map(|check| (check.number, check)).collect();
        let statement = "SELECT number, check_number, key, id, report_name FROM history_tests WHERE project = ?1 ORDER BY number";
        let columns = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?, row.get(3)?, row.get(4)?));
        let rows: Vec<(u32, u32, i64, String, Option<String>)> = self.read_rows(statement, params![project.as_str()], columns)?;
        let named = |(number, check, key, id, report_name)| {
            let known = checks.get(&check)?;
            let (task, name) = (known.task.clone(), known.name.clone());
            Some((number, check, NamedTest { key: TestKey::from_bits(from_integer(key)), task, check: name, id, report_name }))
        };
        Ok(rows.into_iter().filter_map(named).collect())
    }

    pub(super) fn former_names(&self, project: &ProjectId) -> Result<Vec<FormerName>, IndexError> {
        let statement = "SELECT number, sequence, key, id, report_name FROM history_former_names WHERE project = ?1 ORDER BY sequence, number";
        self.read_rows(statement, params![project.as_str()], |row| {
            let (until, key) = (Sequence(from_integer(row.get(1)?)), TestKey::from_bits(from_integer(row.get(2)?)));
            Ok(FormerName { number: row.get(0)?, until, key, former_id: row.get(3)?, report_name: row.get(4)? })
        })
    }

    pub(super) fn check_runs(&self, project: &ProjectId, check: u32, wanted: NewestTests) -> Result<Vec<CheckRun>, IndexError> {
        let durations = if wanted.durations { "c.durations" } else { "x''" };
        let (index, carried_out) =
            if wanted.reused { ("", "") } else { ("INDEXED BY history_results_carried_out", "AND reused IS NULL") };
        // The results that are left out are counted in an index of a few bytes for each, and their rows are not read.
        let statement = format!(
            "SELECT {CHECK_COLUMNS}, {durations}, r.tests FROM \
             (SELECT sequence, attempt FROM history_results {index} \
             WHERE project = ?1 AND check_number = ?2 {carried_out} ORDER BY sequence DESC, attempt DESC LIMIT ?3 OFFSET ?4) k \
             CROSS JOIN history_results c ON c.project = ?1 AND c.check_number = ?2 AND c.sequence = k.sequence AND c.attempt = k.attempt \
             CROSS JOIN history_runs h ON h.project = ?1 AND h.sequence = c.sequence LEFT JOIN history_rosters r ON {} \
             ORDER BY c.sequence DESC, c.attempt DESC",
            roster_of(wanted.durations)
        );
        let values = params![project.as_str(), check, wanted.limit, wanted.skip];
        let mut runs = self.read_check_runs(&statement, values, 0)?;
        runs.reverse();
        Ok(runs.into_iter().map(|(_, run)| run).collect())
    }

    pub(super) fn checks_of_run(&self, project: &ProjectId, sequence: Sequence) -> Result<RunChecks, IndexError> {
        let statement = format!(
            "SELECT {CHECK_COLUMNS}, c.durations, r.tests, c.check_number FROM history_results c CROSS JOIN history_runs h \
             USING (project, sequence) LEFT JOIN history_rosters r ON {} WHERE c.project = ?1 AND c.sequence = ?2 \
             ORDER BY c.check_number, c.attempt",
            roster_of(true)
        );
        let runs = self.read_check_runs(&statement, params![project.as_str(), to_integer(sequence.0)], 18)?;
        let checks = self.indexed_checks(project)?;
        let named = |(number, run)| Some((checks.iter().find(|check| check.number == number)?.clone(), run));
        Ok(runs.into_iter().filter_map(named).collect())
    }

    pub(super) fn rosters(&self, project: &ProjectId, wanted: &BTreeSet<u32>) -> Result<BTreeMap<u32, Roster>, IndexError> {
        let statement = "SELECT tests FROM history_rosters WHERE project = ?1 AND number = ?2";
        let mut rosters = BTreeMap::new();
        for number in wanted {
            let lists = self.read_rows(statement, params![project.as_str(), number], |row| row.get::<_, Vec<u8>>(0))?;
            for list in lists {
                let tests = decode_roster(&list).ok_or_else(|| self.reader.unreadable("list of tests"))?;
                rosters.insert(*number, Roster::new(tests));
            }
        }
        Ok(rosters)
    }

    pub(super) fn places(&self, project: &ProjectId, check: u32, test: u32) -> Result<BTreeMap<u32, u32>, IndexError> {
        let statement = "SELECT number, tests FROM history_rosters WHERE project = ?1 AND check_number = ?2";
        // A check may have had thousands of lists, so none of them is kept.
        let columns = |row: &Row<'_>| Ok((row.get::<_, u32>(0)?, place_in_roster(row.get_ref(1)?.as_blob()?, test)));
        let rows = self.read_rows(statement, params![project.as_str(), check], columns)?;
        let mut places = BTreeMap::new();
        for (number, place) in rows {
            places.extend(place.ok_or_else(|| self.reader.unreadable("list of tests"))?.map(|place| (number, place)));
        }
        Ok(places)
    }

    pub(super) fn results_after(&self, project: &ProjectId, check: u32, sequence: Sequence) -> Result<u32, IndexError> {
        let statement = "SELECT count(*) FROM history_results INDEXED BY history_results_carried_out WHERE project = ?1 AND check_number = ?2 \
             AND reused IS NULL AND sequence > ?3";
        let values = params![project.as_str(), check, to_integer(sequence.0)];
        Ok(self.read_rows(statement, values, |row| row.get::<_, u32>(0))?.into_iter().sum())
    }

    pub(super) fn failure_message(&self, project: &ProjectId, number: u32) -> Result<Option<String>, IndexError> {
        let statement = "SELECT text FROM history_messages WHERE project = ?1 AND number = ?2";
        Ok(self.read_rows(statement, params![project.as_str(), number], |row| row.get(0))?.into_iter().next())
    }

    pub(super) fn tree_differences(
        &self,
        project: &ProjectId,
        task: &TaskId,
        after: Sequence,
        to: Sequence,
    ) -> Result<Vec<(RunId, Option<TreeDifference>)>, IndexError> {
        let statement = "SELECT run_id, status, paths FROM history_runs WHERE project = ?1 AND task = ?2 AND sequence > ?3 \
             AND sequence <= ?4 ORDER BY sequence";
        let values = params![project.as_str(), task.as_str(), to_integer(after.0), to_integer(to.0)];
        let rows = self.read_rows(statement, values, |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
        })?;
        let mut differences = Vec::new();
        for (run, status, difference) in rows {
            if self.reader.word::<OverallStatus>("status", status)?.counts() {
                let difference = difference.map(|text| self.reader.json("difference of trees", text)).transpose()?;
                differences.push((self.reader.word("run id", run)?, difference));
            }
        }
        Ok(differences)
    }

    fn read_past_runs(&self, statement: &str, values: impl rusqlite::Params) -> Result<Vec<ProvedRun>, IndexError> {
        self.read_rows(statement, values, |row| Ok(self.to_past_run(row)))?.into_iter().collect()
    }

    fn to_past_run(&self, row: &Row<'_>) -> Result<ProvedRun, IndexError> {
        let reader = &self.reader;
        let counts: (Option<i64>, Option<i64>, Option<i64>) = (self.cell(row, 8)?, self.cell(row, 9)?, self.cell(row, 10)?);
        let run = PastRun {
            sequence: Sequence(from_integer(self.cell(row, 0)?)),
            run_id: reader.word("run id", self.cell(row, 1)?)?,
            task: reader.word("task id", self.cell(row, 2)?)?,
            started: Timestamp::from_millis(self.cell(row, 3)?),
            duration: self.cell::<Option<i64>>(row, 4)?.map(|duration| DurationMs(from_integer(duration))),
            status: reader.word("status", self.cell(row, 5)?)?,
            result: reader.optional_word("verdict", self.cell(row, 6)?)?,
            tree: reader.optional_word("digest", self.cell(row, 7)?)?,
            counts: to_counts(counts),
        };
        Ok((run, if self.cell(row, 11)? { ProofState::Kept } else { ProofState::Pruned }))
    }

    /// Reads rows with the columns [`CHECK_COLUMNS`], the durations and the list of tests. `number` is the place of a column with
    /// the number of the check; 0 if there is none.
    fn read_check_runs(
        &self,
        statement: &str,
        values: impl rusqlite::Params,
        number: usize,
    ) -> Result<Vec<(u32, CheckRun)>, IndexError> {
        let to_run = |row: &Row<'_>| -> Result<(u32, CheckRun), IndexError> {
            let check = if number == 0 { 0 } else { self.cell(row, number)? };
            Ok((check, self.to_check_run(row)?))
        };
        self.read_rows(statement, values, |row| Ok(to_run(row)))?.into_iter().collect()
    }

    fn to_check_run(&self, row: &Row<'_>) -> Result<CheckRun, IndexError> {
        let reader = &self.reader;
        let counts: (Option<i64>, Option<i64>, Option<i64>) = (self.cell(row, 5)?, self.cell(row, 6)?, self.cell(row, 7)?);
        let (outcomes, durations): (Vec<u8>, Vec<u8>) = (self.cell(row, 11)?, self.cell(row, 16)?);
        let durations = if durations.is_empty() {
            Vec::new()
        } else {
            let tests = decode_roster(&self.cell::<Option<Vec<u8>>>(row, 17)?.unwrap_or_default());
            let decoded = tests.and_then(|tests| decode_durations(&durations, tests.len()));
            decoded.ok_or_else(|| reader.unreadable("list of durations"))?
        };
        Ok(CheckRun {
            sequence: Sequence(from_integer(self.cell(row, 0)?)),
            attempt: self.cell(row, 1)?,
            status: reader.word("result type", self.cell(row, 2)?)?,
            blocks: self.cell(row, 3)?,
            duration: self.cell::<Option<i64>>(row, 4)?.map(|duration| DurationMs(from_integer(duration))),
            counts: to_counts(counts),
            reused: reader.optional_word("run id", self.cell(row, 8)?)?,
            roster: self.cell(row, 9)?,
            is_complete: self.cell(row, 10)?,
            not_passed: decode_not_passed(&outcomes).ok_or_else(|| reader.unreadable("list of outcomes"))?,
            durations,
            run_id: reader.word("run id", self.cell(row, 12)?)?,
            started: Timestamp::from_millis(self.cell(row, 13)?),
            tree: reader.optional_word("digest", self.cell(row, 14)?)?,
            run_status: reader.word("status", self.cell(row, 15)?)?,
        })
    }

    fn cell<T: FromSql>(&self, row: &Row<'_>, column: usize) -> Result<T, IndexError> {
        row.get(column).map_err(|source| self.reader.refused("read", source))
    }
}

/// Returns the condition that joins a result with its list of tests. The list says how many durations there are, so without
/// durations it is not needed.
fn roster_of(durations: bool) -> &'static str {
    if durations { "r.project = c.project AND r.number = c.roster" } else { "0" }
}

fn to_counts((passed, failed, skipped): (Option<i64>, Option<i64>, Option<i64>)) -> Option<TestCounts> {
    Some(TestCounts { passed: from_integer(passed?), failed: from_integer(failed?), skipped: from_integer(skipped?) })
}

// Reads what is asked about many runs at once: durations of checks, and which results were reused. No row's outcomes are decoded.

impl Tables {
    pub(super) fn check_durations(&self, project: &ProjectId, from: Sequence) -> Result<Vec<(u32, DurationMs)>, IndexError> {
        let statement = "SELECT check_number, duration FROM history_results INDEXED BY history_results_by_run \
                         WHERE project = ?1 AND sequence >= ?2 AND reused IS NULL AND duration IS NOT NULL";
        let columns = |row: &Row<'_>| Ok((row.get::<_, u32>(0)?, row.get::<_, i64>(1)?));
        let rows = self.read_rows(statement, params![project.as_str(), to_integer(from.0)], columns)?;
        Ok(rows.into_iter().map(|(check, duration)| (check, DurationMs(from_integer(duration)))).collect())
    }

    pub(super) fn reused_results(&self, project: &ProjectId, from: Sequence) -> Result<Vec<(Sequence, u32, RunId)>, IndexError> {
        let statement = "SELECT sequence, check_number, reused FROM history_results INDEXED BY history_results_by_run \
                         WHERE project = ?1 AND sequence >= ?2 AND reused IS NOT NULL";
        let columns = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?, row.get::<_, String>(2)?));
        let rows = self.read_rows(statement, params![project.as_str(), to_integer(from.0)], columns)?;
        let result = |(sequence, check, run): (i64, u32, String)| {
            Ok((Sequence(from_integer(sequence)), check, self.reader.word("run id", run)?))
        };
        rows.into_iter().map(result).collect()
    }
}
