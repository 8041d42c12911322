//! Turns lines of the ledger into rows of the index.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Params, Transaction, TransactionBehavior, params};

use crate::IndexError;
use crate::approvals::{ApprovalJudge, Approved, write_approval};
use crate::checks::write_checks;
use crate::schema::{SEALS_TABLE, TABLES};
use crate::seal::{AppliedLine, IndexSealing, SealCheck, line_mark};
use crate::tables::Tables;
use crate::test_history::forget_before;
use crate::words::{from_integer, to_integer, to_json, to_word};
use proctor_model::{
    CheckCoverage, CurrentApproval, Digest, LedgerBody, LedgerLine, OverallStatus, ProjectId, PrunedRun, RegistrationRecord,
    RunRecord, Sequence, Serving, SupersededRecord, TaskId, TaskListRecord, TddState, ViolationRecord,
};

/// The statements of [`fold_pruned`]. The second one leaves the newest 50 runs of each task. The third one deletes the rows about
/// pruned runs that have no row of their own any more.
const FOLDS: [&str; 3] = [
    "DELETE FROM inputs WHERE project = ?1 AND sequence IN \
     (SELECT runs.sequence FROM pruned JOIN runs USING (project, run_id) WHERE pruned.project = ?1)",
    "DELETE FROM runs WHERE project = ?1 AND run_id IN (SELECT run_id FROM pruned WHERE project = ?1) AND sequence < \
     (SELECT newest.sequence FROM runs AS newest WHERE newest.project = ?1 AND newest.task = runs.task \
      ORDER BY newest.sequence DESC LIMIT 1 OFFSET 49)",
    "DELETE FROM pruned WHERE project = ?1 AND NOT EXISTS \
     (SELECT 1 FROM runs WHERE runs.project = pruned.project AND runs.run_id = pruned.run_id)",
];

impl Tables {
    /// Applies lines of a project's ledger in one transaction. Each line comes with the offset in the ledger at which
    /// it ends.
    ///
    /// Lines that were applied before are skipped. A line that does not follow the last applied line is an error, and
    /// then no line is applied. With `sealing`, rows without a valid seal are an error, and the new rows are sealed.
    pub(super) fn apply(
        &mut self,
        project: &ProjectId,
        lines: &[(u64, LedgerLine)],
        sealing: Option<&IndexSealing>,
    ) -> Result<(), IndexError> {
        let refused = |source| self.reader.refused("write", source);
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate).map_err(refused)?;
        self.prepare_rows(&transaction, project, sealing)?;
        self.apply_to_prepared_rows(transaction, project, lines, sealing)
    }

    /// Deletes all rows of a project and makes them from the lines of its ledger, in one transaction: no other process
    /// sees a project without rows.
    pub(super) fn apply_anew(
        &mut self,
        project: &ProjectId,
        lines: &[(u64, LedgerLine)],
        sealing: Option<&IndexSealing>,
    ) -> Result<(), IndexError> {
        let refused = |source| self.reader.refused("write", source);
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate).map_err(refused)?;
        delete_rows(&transaction, project).map_err(refused)?;
        self.apply_to_prepared_rows(transaction, project, lines, sealing)
    }

    /// Checks the seal of a project's rows before lines are applied, and deletes rows without a position.
    fn prepare_rows(
        &self,
        transaction: &Transaction<'_>,
        project: &ProjectId,
        sealing: Option<&IndexSealing>,
    ) -> Result<(), IndexError> {
        match self.check_seal(project, sealing, &mut None)? {
            SealCheck::Sealed(_) => {}
            // A program that edits rows could remove their seal too, so a store that has a key does not sign rows without a seal.
            SealCheck::Unsigned if sealing.is_some_and(|sealing| (sealing.sign)(b"proctor-index-probe").is_some()) => {
                return Err(IndexError::Changed { path: self.reader.path.clone(), project: project.clone() });
            }
            SealCheck::Unsigned => {}
            // Rows without a position are left by an older version, or by another program.
            SealCheck::Empty => {
                delete_rows(transaction, project).map_err(|source| self.reader.refused("write", source))?;
            }
            SealCheck::Changed => {
                return Err(IndexError::Changed { path: self.reader.path.clone(), project: project.clone() });
            }
        }
        Ok(())
    }

    fn apply_to_prepared_rows(
        &self,
        transaction: Transaction<'_>,
        project: &ProjectId,
        lines: &[(u64, LedgerLine)],
        sealing: Option<&IndexSealing>,
    ) -> Result<(), IndexError> {
        let refused = |source| self.reader.refused("write", source);
        let (mut applied, mut end) = read_position(&transaction, project).map_err(refused)?.unwrap_or((Sequence(0), 0));
        let before = applied;
        let mut mark = None;
        for (offset, line) in lines {
            if line.sequence <= applied {
                continue;
            }
            if line.sequence.0 != applied.0 + 1 {
                return Err(IndexError::Gap { project: project.clone(), applied, found: line.sequence });
            }
            apply_line(&transaction, project, line, self.judge).map_err(refused)?;
            (applied, end) = (line.sequence, *offset);
            mark = Some(line_mark(line));
        }
        if applied != before {
            write_position(&transaction, project, applied, end).map_err(refused)?;
        }
        if let (Some(sealing), Some(mark)) = (sealing, mark) {
            self.write_seal(project, &AppliedLine { sequence: applied, end, mark }, sealing)?;
        }
        transaction.commit().map_err(refused)
    }

    /// Deletes all rows of a project, so that its ledger can be applied again from the beginning.
    pub(super) fn forget(&mut self, project: &ProjectId) -> Result<(), IndexError> {
        let refused = |source| self.reader.refused("write", source);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(refused)?;
        delete_rows(&transaction, project).map_err(refused)?;
        transaction.commit().map_err(refused)
    }

    /// Returns a number that is another one after another connection has written to the index.
    pub(super) fn changes_by_others(&self) -> Result<i64, IndexError> {
        self.read(|index| index.connection.query_row("PRAGMA data_version", [], |row| row.get(0)))
    }

    /// Returns, for each project of which lines are applied, the offset in its ledger at which the last applied line ends.
    pub(super) fn applied_lengths(&self) -> Result<BTreeMap<ProjectId, u64>, IndexError> {
        let columns = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
        let rows = self.read_rows("SELECT project, applied_offset FROM positions", params![], columns)?;
        rows.into_iter().map(|(id, end)| Ok((self.reader.word("project id", id)?, from_integer(end)))).collect()
    }

    /// Returns the number of the last applied line of a project's ledger, and the offset at which that line ends.
    pub(super) fn position(&self, project: &ProjectId) -> Result<Option<(Sequence, u64)>, IndexError> {
        read_position(&self.connection, project).map_err(|source| self.reader.refused("read", source))
    }
}

/// Deletes all rows of a project, and their seal.
fn delete_rows(connection: &Connection, project: &ProjectId) -> rusqlite::Result<()> {
    for (table, column) in TABLES.into_iter().chain([(SEALS_TABLE, "project")]) {
        execute(connection, &format!("DELETE FROM {table} WHERE {column} = ?1"), params![project.as_str()])?;
    }
    Ok(())
}

fn read_position(connection: &Connection, project: &ProjectId) -> rusqlite::Result<Option<(Sequence, u64)>> {
    let statement = "SELECT applied_sequence, applied_offset FROM positions WHERE project = ?1";
    connection
        .query_row(statement, params![project.as_str()], |row| {
            Ok((Sequence(from_integer(row.get(0)?)), from_integer(row.get(1)?)))
        })
        .optional()
}

fn write_position(connection: &Connection, project: &ProjectId, applied: Sequence, end: u64) -> rusqlite::Result<()> {
    execute(
        connection,
        "INSERT OR REPLACE INTO positions (project, applied_sequence, applied_offset) VALUES (?1, ?2, ?3)",
        params![project.as_str(), to_integer(applied.0), to_integer(end)],
    )
}

fn apply_line(connection: &Connection, project: &ProjectId, line: &LedgerLine, judge: ApprovalJudge) -> rusqlite::Result<()> {
    let sequence = line.sequence;
    match &line.body {
        LedgerBody::Registered(record) => {
            // Registering a project anew makes its prerequisites run again.
            write_prerequisites(connection, project, &BTreeMap::new(), sequence)?;
            if let Some(terms) = &record.terms {
                let task = &TaskId::default_task();
                let (plan_digest, terms) = (record.plan_digest, (**terms).clone());
                let approved = Approved { task, approval: CurrentApproval { sequence, plan_digest, terms, protected: None } };
                write_approval(connection, project, line, &approved, judge)?;
            }
            write_project(connection, project, record, sequence)
        }
        LedgerBody::Run(record) => {
            write_run(connection, project, record, sequence)?;
            if let Some(state) = &record.tdd {
                write_tdd(connection, project, &record.task, state, sequence)?;
            }
            write_prerequisites(connection, project, &record.prerequisites, sequence)?;
            if record_says_configuration(record) {
                write_configuration(connection, project, record)?;
            }
            write_inputs(connection, project, record, sequence)?;
            write_checks(connection, project, record, sequence)
        }
        LedgerBody::Superseded(record) => {
            write_prerequisites(connection, project, &record.prerequisites, sequence)?;
            write_superseded(connection, project, record, sequence)
        }
        LedgerBody::Phase(record) => write_tdd(connection, project, &record.task, &record.tdd, sequence),
        LedgerBody::Override(record) => write_tdd(connection, project, &record.task, &record.tdd, sequence),
        LedgerBody::Serving(record) => write_serving(connection, project, record.serving, sequence),
        // The index stores no retests. They are counted from the ledger, because the count is rarely needed.
        LedgerBody::Retest(_) => Ok(()),
        // The state of a workflow is in its checkpoint, so the index needs no row for its records.
        LedgerBody::Governance(_) | LedgerBody::KeyReplaced(_) => Ok(()),
        // Claims are shown from the ledger, because nothing is decided by them.
        LedgerBody::Claim(_) | LedgerBody::Proof(_) => Ok(()),
        LedgerBody::TaskList(record) => write_task_list(connection, project, record, sequence),
        LedgerBody::Pruned(_) | LedgerBody::Purged(_) | LedgerBody::Archived(_) => {
            line.body.pruned_runs().iter().try_for_each(|run| write_pruned(connection, project, run, sequence))?;
            if matches!(line.body, LedgerBody::Purged(_)) {
                forget_before(connection, project, sequence)?;
            }
            fold_pruned(connection, project)
        }
        LedgerBody::Violation(record) => write_violation(connection, project, record, sequence),
        LedgerBody::Approval(record) => {
            let (plan_digest, terms, protected) = (record.plan_digest, record.terms.clone(), record.protected.clone());
            let approval = CurrentApproval { sequence, plan_digest, terms, protected };
            write_approval(connection, project, line, &Approved { task: &record.task, approval }, judge)
        }
    }
}

fn write_task_list(
    connection: &Connection,
    project: &ProjectId,
    record: &TaskListRecord,
    sequence: Sequence,
) -> rusqlite::Result<()> {
    execute(
        connection,
        "INSERT OR REPLACE INTO task_lists (project, path, digest, sequence) VALUES (?1, ?2, ?3, ?4)",
        params![project.as_str(), record.path, record.digest.hex(), to_integer(sequence.0)],
    )
}

fn write_pruned(connection: &Connection, project: &ProjectId, run: &PrunedRun, sequence: Sequence) -> rusqlite::Result<()> {
    execute(
        connection,
        "INSERT OR IGNORE INTO pruned (project, run_id, why, sequence) VALUES (?1, ?2, ?3, ?4)",
        params![project.as_str(), run.run_id.as_str(), to_word(&run.why), to_integer(sequence.0)],
    )
}

/// Deletes the rows of pruned runs that no answer needs, so that the index does not grow with the number of runs that ever were:
/// `log` and `show` read these runs from the ledger. The newest runs of each task keep their rows, because their results and
/// states are compared with those of the next run. Nothing of a pruned run can be reused, so the digests of its inputs go at
/// once.
fn fold_pruned(connection: &Connection, project: &ProjectId) -> rusqlite::Result<()> {
    for statement in FOLDS {
        execute(connection, statement, params![project.as_str()])?;
    }
    Ok(())
}

fn write_violation(
    connection: &Connection,
    project: &ProjectId,
    record: &ViolationRecord,
    sequence: Sequence,
) -> rusqlite::Result<()> {
    execute(
        connection,
        "INSERT INTO violations (project, sequence, record) VALUES (?1, ?2, ?3)",
        params![project.as_str(), to_integer(sequence.0), to_json(record)],
    )
}

fn write_serving(connection: &Connection, project: &ProjectId, serving: Serving, sequence: Sequence) -> rusqlite::Result<()> {
    match serving {
        Serving::Served => execute(
            connection,
            "INSERT OR REPLACE INTO served (project, sequence) VALUES (?1, ?2)",
            params![project.as_str(), to_integer(sequence.0)],
        ),
        Serving::NotServed => execute(connection, "DELETE FROM served WHERE project = ?1", params![project.as_str()]),
    }
}

/// Returns whether the next run compares its configuration files with those of this run. A run that was cut short or never began may
/// not have read all the files that its plan is made from.
fn record_says_configuration(record: &RunRecord) -> bool {
    record.overall_status.counts() && record.overall_status != OverallStatus::SpecificationError && !record.is_by_changed_rules()
}

fn write_project(
    connection: &Connection,
    project: &ProjectId,
    record: &RegistrationRecord,
    sequence: Sequence,
) -> rusqlite::Result<()> {
    execute(
        connection,
        "INSERT OR REPLACE INTO projects (id, path, device, inode, git_common_directory, plan_digest, registered_sequence) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            project.as_str(),
            record.path,
            to_integer(record.device),
            to_integer(record.inode),
            record.git_common_directory,
            record.plan_digest.hex(),
            to_integer(sequence.0),
        ],
    )
}

fn write_run(connection: &Connection, project: &ProjectId, record: &RunRecord, sequence: Sequence) -> rusqlite::Result<()> {
    execute(
        connection,
        "INSERT INTO runs (project, sequence, run_id, task, started, ended, status, counts, result, blocking, tree_digest, \
         environment_digest, plan_digest, report_hash, manifest_hash, route, exit, tree_format, tested, isolation, coverage, \
         changed_rules) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
        params![
            project.as_str(),
            to_integer(sequence.0),
            record.run_id.as_str(),
            record.task.as_str(),
            record.started.as_millis(),
            record.ended.as_millis(),
            to_word(&record.overall_status),
            record.leads_latest(),
            record.overall_result.as_ref().map(to_word),
            record.blocking,
            record.tree_digest.as_ref().map(to_word),
            record.environment_digest.as_ref().map(to_word),
            record.plan_digest.as_ref().map(to_word),
            record.report_hash.hex(),
            record.manifest_hash.hex(),
            record.route.as_ref().map(to_json),
            record.exit.as_ref().map(to_word),
            (!record.tree_format.is_unnamed()).then(|| to_word(&record.tree_format)),
            record.tested.as_ref().map(to_word),
            record.isolation.as_ref().map(to_word),
            record.results.as_ref().map(|results| to_word(&CheckCoverage::of(results))),
            record.is_by_changed_rules(),
        ],
    )
}

fn write_superseded(
    connection: &Connection,
    project: &ProjectId,
    record: &SupersededRecord,
    sequence: Sequence,
) -> rusqlite::Result<()> {
    execute(
        connection,
        "INSERT INTO runs (project, sequence, run_id, task, started, status, counts, blocking, tree_digest) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8)",
        params![
            project.as_str(),
            to_integer(sequence.0),
            record.run_id.as_str(),
            record.task.as_str(),
            record.started.as_millis(),
            to_word(&OverallStatus::Superseded),
            OverallStatus::Superseded.counts(),
            to_word(&record.tree_digest),
        ],
    )
}

fn write_tdd(
    connection: &Connection,
    project: &ProjectId,
    task: &TaskId,
    state: &TddState,
    sequence: Sequence,
) -> rusqlite::Result<()> {
    // The state inside a line of the ledger does not name the line's own sequence number. The number is added here,
    // because readers of the state need it.
    let state = TddState { sequence: Some(sequence), ..state.clone() };
    execute(
        connection,
        "INSERT OR REPLACE INTO tdd (project, task, state, sequence) VALUES (?1, ?2, ?3, ?4)",
        params![project.as_str(), task.as_str(), to_json(&state), to_integer(sequence.0)],
    )
}

/// Replaces the stored prerequisites of a project by `met`, the prerequisites that need not run again, each with the
/// digest of its inputs and outputs. A prerequisite that is not in `met` has failed or may have failed.
fn write_prerequisites(
    connection: &Connection,
    project: &ProjectId,
    met: &BTreeMap<String, Digest>,
    sequence: Sequence,
) -> rusqlite::Result<()> {
    execute(connection, "DELETE FROM prerequisites WHERE project = ?1", params![project.as_str()])?;
    for (name, digest) in met {
        execute(
            connection,
            "INSERT INTO prerequisites (project, name, digest, sequence) VALUES (?1, ?2, ?3, ?4)",
            params![project.as_str(), name, digest.hex(), to_integer(sequence.0)],
        )?;
    }
    Ok(())
}

fn write_configuration(connection: &Connection, project: &ProjectId, record: &RunRecord) -> rusqlite::Result<()> {
    let task = record.task.as_str();
    execute(connection, "DELETE FROM configuration WHERE project = ?1 AND task = ?2", params![project.as_str(), task])?;
    for (path, digest) in &record.configuration {
        execute(
            connection,
            "INSERT INTO configuration (project, task, path, digest) VALUES (?1, ?2, ?3, ?4)",
            params![project.as_str(), task, path, digest.hex()],
        )?;
    }
    Ok(())
}

/// Stores the digests of the inputs of a run's checks. If several runs had the same inputs, only the newest run is
/// kept.
fn write_inputs(connection: &Connection, project: &ProjectId, record: &RunRecord, sequence: Sequence) -> rusqlite::Result<()> {
    for (name, digest) in &record.inputs {
        execute(
            connection,
            "INSERT OR REPLACE INTO inputs (project, task, name, digest, sequence) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![project.as_str(), record.task.as_str(), name, digest.hex(), to_integer(sequence.0)],
        )?;
    }
    Ok(())
}

fn execute(connection: &Connection, statement: &str, values: impl Params) -> rusqlite::Result<()> {
    connection.execute(statement, values).map(drop)
}

#[cfg(test)]
mod tests;
