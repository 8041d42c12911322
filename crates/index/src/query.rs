//! Turns rows of the index into values.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Params, Row, params};

use crate::IndexError;
use crate::tables::Tables;
use crate::words::from_integer;
use proctor_model::{
    CheckCounts, CheckCoverage, CommandExit, Digest, IsolationLevel, LedgerLine, OverallResult, OverallStatus, ProjectId,
    RouteEntry, RunId, RunLine, Sequence, Serving, TaskId, TddState, TestedPlace, Timestamp, TreeDigest, TreeFormat,
    ViolationRecord,
};

const RUN_COLUMNS: &str = "sequence, run_id, task, started, ended, status, result, blocking, tree_digest, environment_digest, \
                           plan_digest, report_hash, manifest_hash, route, exit, tree_format, tested, isolation, coverage, changed_rules";

/// Which runs a question is about. A run compares itself only with [`RunsJudgedBy::ApprovedRules`]: a run by rules that were not approved
/// is shown to people, and has no effect on later runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsJudgedBy {
    AnyRules,
    ApprovedRules,
}

/// The hashes that the ledger recorded when a run's evidence was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealedHashes {
    /// The hash of the report without its own hash, as the report itself states it (`authenticity`).
    pub report: Digest,
    /// The hash of `SHA256SUMS`.
    pub manifest: Digest,
}

/// What the index stores about a run. Everything else is in the run's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedRun {
    /// The number of the ledger line that records the run.
    pub sequence: Sequence,
    pub run_id: RunId,
    pub task: TaskId,
    pub started: Timestamp,
    /// When the last process of the run had ended; `None` for a superseded run.
    pub ended: Option<Timestamp>,
    pub status: OverallStatus,
    /// The verdict; `None` if the run has no verdict.
    pub result: Option<OverallResult>,
    /// How many results make the verdict FAILED.
    pub blocking: u32,
    pub tree_digest: Option<TreeDigest>,
    /// The format of the tree's digest.
    pub tree_format: TreeFormat,
    /// Where the checks worked; `None` if the ledger's line does not name it.
    pub tested: Option<TestedPlace>,
    pub environment_digest: Option<Digest>,
    pub plan_digest: Option<Digest>,
    /// The hashes of the run's evidence; `None` for a superseded run, whose evidence was deleted.
    pub sealed: Option<SealedHashes>,
    /// Where the run sent the task; `None` if the run was not routed.
    pub route: Option<RouteEntry>,
    /// The exit code of a command that ends with this run; `None` if the ledger's line does not name it.
    pub exit: Option<CommandExit>,
    /// The isolation level of the run if it was weaker than namespaces.
    pub weaker_isolation: Option<IsolationLevel>,
    /// Whether the run covers every check of its plan; `None` if the ledger's line does not name its checks.
    pub coverage: Option<CheckCoverage>,
    /// How many checks the run proved. Only the ledger's line says it: `None` in a row of the index, and for a line that does not
    /// name its checks.
    pub checks: Option<CheckCounts>,
    /// Whether the run was judged by rules that were not approved.
    pub by_changed_rules: bool,
}

impl RunsJudgedBy {
    /// Returns the largest value of the column `changed_rules` that the rows of these runs have.
    pub(super) fn to_flag(self) -> bool {
        self == Self::AnyRules
    }
}

impl IndexedRun {
    /// Returns what a ledger line says about a run; `None` for a line about something else.
    pub fn of_line(line: &LedgerLine) -> Option<Self> {
        match line.body.about_runs()? {
            RunLine::Sealed(record) => Some(Self {
                sequence: line.sequence,
                run_id: record.run_id.clone(),
                task: record.task.clone(),
                started: record.started,
                ended: Some(record.ended),
                status: record.overall_status,
                result: record.overall_result,
                blocking: record.blocking,
                tree_digest: record.tree_digest,
                tree_format: record.tree_format,
                tested: record.tested,
                environment_digest: record.environment_digest,
                plan_digest: record.plan_digest,
                sealed: Some(SealedHashes { report: record.report_hash, manifest: record.manifest_hash }),
                route: record.route.clone(),
                exit: record.exit,
                weaker_isolation: record.isolation,
                coverage: record.results.as_deref().map(CheckCoverage::of),
                checks: record.results.as_deref().map(CheckCounts::of),
                by_changed_rules: record.is_by_changed_rules(),
            }),
            RunLine::Superseded(record) => Some(Self {
                sequence: line.sequence,
                run_id: record.run_id.clone(),
                task: record.task.clone(),
                started: record.started,
                ended: None,
                status: OverallStatus::Superseded,
                result: None,
                blocking: 0,
                tree_digest: Some(record.tree_digest),
                tree_format: TreeFormat::default(),
                tested: None,
                environment_digest: None,
                plan_digest: None,
                sealed: None,
                route: None,
                exit: None,
                weaker_isolation: None,
                coverage: None,
                checks: None,
                by_changed_rules: false,
            }),
            RunLine::Pruned(_) => None,
        }
    }
}

impl Tables {
    /// Returns the last runs of a project, or of one of its tasks, newest first.
    pub(super) fn runs(
        &self,
        project: &ProjectId,
        task: Option<&TaskId>,
        judged_by: RunsJudgedBy,
        limit: u32,
    ) -> Result<Vec<IndexedRun>, IndexError> {
        let statement = format!(
            "SELECT {RUN_COLUMNS} FROM runs WHERE project = ?1 AND (?2 IS NULL OR task = ?2) AND changed_rules <= ?3 \
             ORDER BY sequence DESC LIMIT ?4"
        );
        self.read_runs(&statement, params![project.as_str(), task.map(TaskId::as_str), judged_by.to_flag(), limit])
    }

    /// Returns the last run of a task that counts. Interrupted, superseded and moved runs do not count (E17). A run
    /// that was refused because its specification has errors does not count either (C78): it had no plan and says
    /// nothing about the code.
    pub(super) fn last_run(
        &self,
        project: &ProjectId,
        task: &TaskId,
        judged_by: RunsJudgedBy,
    ) -> Result<Option<IndexedRun>, IndexError> {
        let statement = format!(
            "SELECT {RUN_COLUMNS} FROM runs WHERE project = ?1 AND task = ?2 AND changed_rules <= ?3 AND counts = 1 \
             AND NOT (status = 'SPECIFICATION_ERROR' AND plan_digest IS NULL) ORDER BY sequence DESC LIMIT 1"
        );
        let values = params![project.as_str(), task.as_str(), judged_by.to_flag()];
        self.read_runs(&statement, values).map(|runs| runs.into_iter().next())
    }

    /// Returns the newest run of a task in which a check was executed on inputs with this digest and had a result that
    /// may be reused.
    pub(super) fn run_on_inputs(
        &self,
        project: &ProjectId,
        task: &TaskId,
        check: &str,
        inputs: Digest,
    ) -> Result<Option<IndexedRun>, IndexError> {
        let statement = format!(
            "SELECT {RUN_COLUMNS} FROM runs WHERE project = ?1 AND task = ?2 AND sequence = \
             (SELECT sequence FROM inputs WHERE project = ?1 AND task = ?2 AND name = ?3 AND digest = ?4)"
        );
        let values = params![project.as_str(), task.as_str(), check, inputs.hex()];
        self.read_runs(&statement, values).map(|runs| runs.into_iter().next())
    }

    /// Returns the number of the oldest line about a run on a tree; `None` if no run was on this tree.
    pub(super) fn oldest_run_on_tree(&self, project: &ProjectId, tree: TreeDigest) -> Result<Option<Sequence>, IndexError> {
        let statement = "SELECT sequence FROM runs WHERE project = ?1 AND tree_digest = ?2 ORDER BY sequence LIMIT 1";
        let rows = self.read_rows(statement, params![project.as_str(), tree.0.hex()], |row| row.get::<_, i64>(0))?;
        Ok(rows.first().map(|sequence| Sequence(from_integer(*sequence))))
    }

    /// Returns the projects that have a run on a tree.
    pub(super) fn projects_on_tree(&self, tree: TreeDigest) -> Result<Vec<ProjectId>, IndexError> {
        let statement = "SELECT DISTINCT project FROM runs WHERE tree_digest = ?1";
        let rows = self.read_rows(statement, params![tree.0.hex()], |row| row.get::<_, String>(0))?;
        rows.into_iter().map(|id| self.reader.word("project id", id)).collect()
    }

    /// Returns the TDD state of a task. A task without a state in the ledger has the state of a task that never
    /// started.
    pub(super) fn tdd(&self, project: &ProjectId, task: &TaskId) -> Result<TddState, IndexError> {
        let text: Option<String> = self.read(|index| {
            let mut statement = index.connection.prepare("SELECT state FROM tdd WHERE project = ?1 AND task = ?2")?;
            statement.query_row(params![project.as_str(), task.as_str()], |row| row.get(0)).optional()
        })?;
        text.map_or_else(|| Ok(TddState::default()), |text| self.reader.json("TDD state", text))
    }

    /// Returns the prerequisites of a project that need not run again, by name, each with the digest of its inputs and
    /// outputs.
    pub(super) fn prerequisites(&self, project: &ProjectId) -> Result<BTreeMap<String, Digest>, IndexError> {
        self.read_digests("SELECT name, digest FROM prerequisites WHERE project = ?1", params![project.as_str()])
    }

    /// Returns, by path, the digests of the configuration files that the last complete run of a task read.
    pub(super) fn configuration(&self, project: &ProjectId, task: &TaskId) -> Result<BTreeMap<String, Digest>, IndexError> {
        let statement = "SELECT path, digest FROM configuration WHERE project = ?1 AND task = ?2";
        self.read_digests(statement, params![project.as_str(), task.as_str()])
    }

    /// Returns the tasks of a project that have a run or a TDD state, sorted.
    pub(super) fn tasks(&self, project: &ProjectId) -> Result<Vec<TaskId>, IndexError> {
        let statement = "SELECT task FROM runs WHERE project = ?1 UNION SELECT task FROM tdd WHERE project = ?1 ORDER BY 1";
        let names = self.read_rows(statement, params![project.as_str()], |row| row.get::<_, String>(0))?;
        names.into_iter().map(|name| self.reader.word("task id", name)).collect()
    }

    /// Returns the digest of a task list's marked blocks as proctor last wrote them; `None` if proctor never wrote
    /// them.
    pub(super) fn task_list(&self, project: &ProjectId, path: &str) -> Result<Option<Digest>, IndexError> {
        let statement = "SELECT path, digest FROM task_lists WHERE project = ?1 AND path = ?2";
        self.read_digests(statement, params![project.as_str(), path]).map(|mut rows| rows.remove(path))
    }

    /// Returns, in order, the violations that were recorded after a sealed run by approved rules. The run is counted backwards:
    /// `runs_ago` 0 means the last one.
    pub(super) fn violations_since(&self, project: &ProjectId, runs_ago: u32) -> Result<Vec<ViolationRecord>, IndexError> {
        let statement = "SELECT record FROM violations WHERE project = ?1 AND sequence > COALESCE((SELECT sequence FROM runs \
                         WHERE project = ?1 AND report_hash IS NOT NULL AND changed_rules = 0 ORDER BY sequence DESC LIMIT 1 OFFSET ?2), 0) \
                         ORDER BY sequence";
        let rows = self.read_rows(statement, params![project.as_str(), runs_ago], |row| row.get::<_, String>(0))?;
        rows.into_iter().map(|text| self.reader.json("violation", text)).collect()
    }

    /// Returns the number of the ledger line that prunes a run; `None` if the run was not pruned.
    pub(super) fn pruning_line(&self, project: &ProjectId, run_id: &RunId) -> Result<Option<Sequence>, IndexError> {
        let statement = "SELECT sequence FROM pruned WHERE project = ?1 AND run_id = ?2";
        let rows = self.read_rows(statement, params![project.as_str(), run_id.as_str()], |row| row.get::<_, i64>(0))?;
        Ok(rows.first().map(|sequence| Sequence(from_integer(*sequence))))
    }

    pub(super) fn sealed_runs(&self, project: &ProjectId) -> Result<u64, IndexError> {
        let statement = "SELECT count(*) FROM runs WHERE project = ?1 AND report_hash IS NOT NULL";
        let counts = self.read_rows(statement, params![project.as_str()], |row| row.get::<_, i64>(0))?;
        Ok(counts.into_iter().map(from_integer).sum())
    }

    pub(super) fn serving(&self, project: &ProjectId) -> Result<Serving, IndexError> {
        let rows = self.read_rows("SELECT 1 FROM served WHERE project = ?1", params![project.as_str()], |_| Ok(()))?;
        Ok(if rows.is_empty() { Serving::NotServed } else { Serving::Served })
    }

    /// Runs a query and converts each row of its result with the given function.
    pub(super) fn read_rows<T>(
        &self,
        statement: &str,
        values: impl Params,
        to_value: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, IndexError> {
        self.read(|index| index.connection.prepare(statement)?.query_map(values, to_value)?.collect())
    }

    pub(super) fn read<T>(&self, query: impl FnOnce(&Self) -> rusqlite::Result<T>) -> Result<T, IndexError> {
        query(self).map_err(|source| self.reader.refused("read", source))
    }

    fn read_digests(&self, statement: &str, values: impl Params) -> Result<BTreeMap<String, Digest>, IndexError> {
        let rows = self.read_rows(statement, values, |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        rows.into_iter().map(|(name, digest)| Ok((name, self.reader.word("digest", digest)?))).collect()
    }

    fn read_runs(&self, statement: &str, values: impl Params) -> Result<Vec<IndexedRun>, IndexError> {
        self.read_rows(statement, values, |row| Ok(self.to_run(row)))?.into_iter().collect()
    }

    /// Converts a row with the columns [`RUN_COLUMNS`] into a run.
    fn to_run(&self, row: &Row<'_>) -> Result<IndexedRun, IndexError> {
        let reader = &self.reader;
        let refused = |source| reader.refused("read", source);
        let text = |column: usize| row.get::<_, String>(column).map_err(refused);
        let optional = |column: usize| row.get::<_, Option<String>>(column).map_err(refused);
        let number = |column: usize| row.get::<_, i64>(column).map_err(refused);
        let report_hash: Option<Digest> = reader.optional_word("digest", optional(11)?)?;
        let manifest_hash: Option<Digest> = reader.optional_word("digest", optional(12)?)?;
        Ok(IndexedRun {
            sequence: Sequence(from_integer(number(0)?)),
            run_id: reader.word("run id", text(1)?)?,
            task: reader.word("task id", text(2)?)?,
            started: Timestamp::from_millis(number(3)?),
            ended: row.get::<_, Option<i64>>(4).map_err(refused)?.map(Timestamp::from_millis),
            status: reader.word("status", text(5)?)?,
            result: reader.optional_word("verdict", optional(6)?)?,
            blocking: row.get(7).map_err(refused)?,
            tree_digest: reader.optional_word("digest", optional(8)?)?,
            environment_digest: reader.optional_word("digest", optional(9)?)?,
            plan_digest: reader.optional_word("digest", optional(10)?)?,
            sealed: report_hash.zip(manifest_hash).map(|(report, manifest)| SealedHashes { report, manifest }),
            route: optional(13)?.map(|text| reader.json("route", text)).transpose()?,
            exit: reader.optional_word("exit code", optional(14)?)?,
            tree_format: reader.optional_word("tree format", optional(15)?)?.unwrap_or_default(),
            tested: reader.optional_word("tested place", optional(16)?)?,
            weaker_isolation: reader.optional_word("isolation level", optional(17)?)?,
            coverage: reader.optional_word("coverage", optional(18)?)?,
            checks: None,
            by_changed_rules: row.get(19).map_err(refused)?,
        })
    }
}

// Caches digests of files that belong to tools, so that an interpreter is not hashed again for every run. The cache
// can be lost without harm.

impl Tables {
    /// Returns all cached rows: path, stamp (size, inode and times) and digest. An unreadable row is left out; the
    /// caller then hashes the file again.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub(super) fn file_digests(&self) -> Result<Vec<(String, String, Digest)>, IndexError> {
        let refused = |source| self.reader.refused("read", source);
        let mut statement = self.connection.prepare("SELECT path, stamp, digest FROM file_digests").map_err(refused)?;
        let rows = statement
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)))
            .map_err(refused)?;
        let rows = rows.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let read = rows.into_iter().filter_map(|(path, stamp, digest)| Some((path, stamp, Digest::try_from(digest).ok()?)));
        Ok(read.collect())
    }

    /// Caches digests of files: path, stamp (size, inode and times) and digest. Only the newest row of each file is
    /// kept.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub(super) fn remember_file_digests(&mut self, rows: &[(String, String, Digest)]) -> Result<(), IndexError> {
        let refused = |source| self.reader.refused("write", source);
        let transaction = self.connection.transaction().map_err(refused)?;
        for (path, stamp, digest) in rows {
            let statement = "INSERT OR REPLACE INTO file_digests (path, stamp, digest) VALUES (?1, ?2, ?3)";
            transaction.execute(statement, params![path, stamp, digest.hex()]).map_err(refused)?;
        }
        transaction.commit().map_err(refused)
    }
}

#[cfg(test)]
mod file_digests_tests {
    use super::*;
    use crate::StoreIndex;

    #[test]
    fn a_file_has_the_digest_of_its_last_stamp() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut index =
            StoreIndex::open(&directory.path().join("state.db"), crate::testing::everything_counts).expect("an index").index;
        let row = |stamp: &str, text: &[u8]| ("/usr/bin/python".to_owned(), stamp.to_owned(), Digest::of(text));
        index.remember_file_digests(&[row("1", b"old")]).expect("written");
        index.remember_file_digests(&[row("2", b"new")]).expect("written");
        assert_eq!(index.file_digests().expect("read"), [row("2", b"new")]);
    }
}
