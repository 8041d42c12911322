//! The seal of a project's rows: a signature that proves that proctor itself wrote them from checked ledger lines.
//!
//! The index is a file that any program can edit. So whoever reads it compares the rows with their seal first
//! ([`StoreIndex::check_seal`]), and whoever applies further lines does so too, in the same transaction, because otherwise the
//! new seal would cover rows that somebody edited.
//!
//! # What the seal covers
//!
//! The position in the ledger, the last applied line, all rows of the small tables, and of the table of runs the rows that
//! decide: for each task its last run that counts, by any rules and by approved ones, and its two newest runs, and the two newest sealed
//! runs of the project by approved rules. All
//! other rows of runs, and the rows about reusable inputs and pruned runs, are not covered, because reading them all would
//! take longer than an answer may take. Readers of such a row use it only to find the ledger line, and check that line.
//!
//! An older state of the file with its own seal is no danger: the lines after its position are applied again.

use std::path::PathBuf;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Params, Statement, params};

use crate::tables::Tables;
use crate::{CheckedState, IndexError, StoreIndex};
use proctor_model::{Digest, LedgerLine, ProjectId, Sequence};

/// The tables that a seal covers as a whole, with the column that has the project's id, in the order of the signed bytes.
const WHOLE_TABLES: [(&str, &str); 9] = [
    ("projects", "id"),
    ("tdd", "project"),
    ("prerequisites", "project"),
    ("configuration", "project"),
    ("served", "project"),
    ("approvals", "project"),
    ("task_lists", "project"),
    ("violations", "project"),
    ("checks", "project"),
];
/// Selects the tasks of a project. It jumps from task to task in the database's index of runs, so its time does not grow with
/// the number of runs.
const TASKS: &str = "WITH RECURSIVE known (task) AS (SELECT min(task) FROM runs WHERE project = ?1 UNION ALL \
                     SELECT (SELECT min(task) FROM runs WHERE project = ?1 AND runs.task > known.task) FROM known \
                     WHERE known.task IS NOT NULL) SELECT task FROM known WHERE task IS NOT NULL";
/// Select a task's last run that counts, as `last_run` does: by any rules, and by approved ones.
const LAST_RUN: &str = "SELECT * FROM runs WHERE project = ?1 AND task = ?2 AND counts = 1 \
                        AND NOT (status = 'SPECIFICATION_ERROR' AND plan_digest IS NULL) ORDER BY sequence DESC LIMIT 1";
const LAST_APPROVED_RUN: &str = "SELECT * FROM runs WHERE project = ?1 AND task = ?2 AND counts = 1 AND changed_rules = 0 \
                                 AND NOT (status = 'SPECIFICATION_ERROR' AND plan_digest IS NULL) \
                                 ORDER BY sequence DESC LIMIT 1";
const NEWEST_RUNS: &str = "SELECT * FROM runs WHERE project = ?1 AND task = ?2 ORDER BY sequence DESC LIMIT 2";
const NEWEST_SEALED: &str = "SELECT sequence FROM runs WHERE project = ?1 AND report_hash IS NOT NULL AND changed_rules = 0 \
                             ORDER BY sequence DESC LIMIT 2";

type SignRows = Box<dyn Fn(&[u8]) -> Option<String> + Send>;
type VerifyRows = Box<dyn Fn(&[u8], &str) -> bool + Send>;
type TellUnreadable = Box<dyn Fn(&ProjectId, &str) + Send>;

/// The functions by which rows are sealed, and a seal is checked.
pub struct IndexSealing {
    /// Signs bytes with the store's key. `None` if the store has no key, or the key cannot be read.
    pub sign: SignRows,
    /// Returns whether a text is a signature of these bytes by one of the store's keys.
    pub verify: VerifyRows,
    /// Tells the user that the rows of a project were changed by another program and are made anew.
    pub changed: Box<dyn Fn(&ProjectId) + Send>,
    /// Tells the user why the ledger of a project cannot be read, once for each project.
    pub unreadable: TellUnreadable,
}

/// What a check of a project's seal found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealCheck {
    /// No line of the project's ledger is applied.
    Empty,
    /// The rows are the ones that proctor wrote.
    Sealed(AppliedLine),
    /// Another program changed the rows, or took their seal away.
    Changed,
    /// The store had no key when the rows were written, so a change of the rows cannot be detected.
    Unsigned,
}

/// The last line of a ledger that is applied to the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedLine {
    pub sequence: Sequence,
    /// The offset in the ledger at which the line ends.
    pub end: u64,
    /// Identifies the line ([`line_mark`]).
    pub mark: Digest,
}

/// Returns a digest that identifies a signed line: its number, the hash of the line before, and its signature, which covers
/// everything else.
pub fn line_mark(line: &LedgerLine) -> Digest {
    let signature = line.signature.as_deref().unwrap_or_default();
    Digest::of(format!("{} {} {signature}", line.sequence.0, line.previous.hex()).as_bytes())
}

impl StoreIndex {
    /// From now on, rows that are written are sealed, and rows without a valid seal are not changed further.
    pub fn seal_with(&mut self, sealing: IndexSealing) {
        self.sealing = Some(sealing);
    }

    /// Compares the rows of projects with their seals. Each project comes with the path of its ledger. With each answer comes the state
    /// in which the files were before, for [`StoreIndex::note_checked`].
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn check_seals(&self, projects: &[(ProjectId, PathBuf)]) -> Result<Vec<(SealCheck, CheckedState)>, IndexError> {
        let sealing = self.sealing.as_ref();
        self.query(|tables| {
            let refused = |source| tables.reader.refused("read", source);
            // All queries have to see the same state of the file.
            let transaction = tables.connection.unchecked_transaction().map_err(refused)?;
            let mut covered = None;
            let mut check = |(project, ledger): &(ProjectId, PathBuf)| {
                let before = tables.state(ledger)?;
                Ok((tables.check_seal(project, sealing, &mut covered)?, CheckedState(before)))
            };
            let checks = projects.iter().map(&mut check).collect();
            drop(covered);
            transaction.finish().map_err(refused)?;
            checks
        })
    }

    /// Tells the user why the ledger of a project cannot be read, once for each project.
    pub fn say_unreadable(&self, project: &ProjectId, why: &str) {
        self.sealing.iter().for_each(|sealing| (sealing.unreadable)(project, why));
    }

    /// Tells the user that the rows of a project were changed by another program.
    pub fn say_changed(&self, project: &ProjectId) {
        self.sealing.iter().for_each(|sealing| (sealing.changed)(project));
    }
}

impl Tables {
    /// Compares the rows of a project with their seal. The caller has begun a transaction.
    pub(super) fn check_seal<'c>(
        &'c self,
        project: &ProjectId,
        sealing: Option<&IndexSealing>,
        covered: &mut Option<CoveredRows<'c>>,
    ) -> Result<SealCheck, IndexError> {
        match self.compare_with_seal(project, sealing, covered) {
            // proctor writes no such value, so another program did.
            Err(IndexError::Foreign { .. } | IndexError::Value { .. }) => Ok(SealCheck::Changed),
            check => check,
        }
    }

    fn compare_with_seal<'c>(
        &'c self,
        project: &ProjectId,
        sealing: Option<&IndexSealing>,
        covered: &mut Option<CoveredRows<'c>>,
    ) -> Result<SealCheck, IndexError> {
        let Some((sequence, end)) = self.position(project)? else { return Ok(SealCheck::Empty) };
        let Some(sealing) = sealing else { return Ok(SealCheck::Unsigned) };
        let statement = "SELECT line, signature FROM seals WHERE project = ?1";
        let read = |index: &Self| {
            let columns = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
            index.connection.query_row(statement, params![project.as_str()], columns).optional()
        };
        let Some((mark, signature)) = self.read(read)? else { return Ok(SealCheck::Changed) };
        if signature.is_empty() {
            return Ok(SealCheck::Unsigned);
        }
        let mark = self.reader.word::<Digest>("digest", mark)?;
        let applied = AppliedLine { sequence, end, mark };
        let message = self.message(project, &applied, covered)?;
        Ok(if (sealing.verify)(&message, &signature) { SealCheck::Sealed(applied) } else { SealCheck::Changed })
    }

    /// Seals the rows of a project after lines were applied. Without a key the seal is empty.
    pub(super) fn write_seal(
        &self,
        project: &ProjectId,
        applied: &AppliedLine,
        sealing: &IndexSealing,
    ) -> Result<(), IndexError> {
        let signature = (sealing.sign)(&self.message(project, applied, &mut None)?).unwrap_or_default();
        let statement = "INSERT OR REPLACE INTO seals (project, line, signature) VALUES (?1, ?2, ?3)";
        let values = params![project.as_str(), applied.mark.hex(), signature];
        self.connection.execute(statement, values).map(drop).map_err(|source| self.reader.refused("write", source))
    }

    /// Returns the bytes that a seal signs.
    fn message<'c>(
        &'c self,
        project: &ProjectId,
        applied: &AppliedLine,
        covered: &mut Option<CoveredRows<'c>>,
    ) -> Result<Vec<u8>, IndexError> {
        let rows = self.connection_rows(project, covered).map_err(|source| self.reader.refused("read", source))?;
        let AppliedLine { sequence, end, mark } = applied;
        let text = format!("proctor-index-v1 {project} {} {end} {} {}", sequence.0, mark.hex(), Digest::of(&rows).hex());
        Ok(text.into_bytes())
    }

    fn connection_rows<'c>(&'c self, project: &ProjectId, covered: &mut Option<CoveredRows<'c>>) -> rusqlite::Result<Vec<u8>> {
        match covered {
            Some(covered) => covered.read(project),
            None => covered.insert(CoveredRows::prepare(&self.connection)?).read(project),
        }
    }
}

/// The statements that read the rows which a seal covers. Preparing them takes longer than reading a project's rows, so they are prepared
/// once for all projects that are asked about.
pub(super) struct CoveredRows<'c> {
    whole_tables: Vec<Statement<'c>>,
    tasks: Statement<'c>,
    of_tasks: Vec<Statement<'c>>,
    newest_sealed: Statement<'c>,
}

impl<'c> CoveredRows<'c> {
    fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let whole = WHOLE_TABLES.map(|(table, column)| format!("SELECT * FROM {table} WHERE {column} = ?1"));
        Ok(Self {
            whole_tables: whole.iter().map(|statement| connection.prepare(statement)).collect::<Result<_, _>>()?,
            tasks: connection.prepare(TASKS)?,
            of_tasks: [LAST_RUN, LAST_APPROVED_RUN, NEWEST_RUNS]
                .map(|it| connection.prepare(it))
                .into_iter()
                .collect::<Result<_, _>>()?,
            newest_sealed: connection.prepare(NEWEST_SEALED)?,
        })
    }

    /// Returns the rows of a project, one after the other, so that different rows never give the same bytes.
    fn read(&mut self, project: &ProjectId) -> rusqlite::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let own = params![project.as_str()];
        for statement in &mut self.whole_tables {
            add_rows(statement, own, &mut bytes)?;
        }
        let tasks: Vec<String> = self.tasks.query_map(own, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        for statement in &mut self.of_tasks {
            for task in &tasks {
                add_rows(statement, params![project.as_str(), task], &mut bytes)?;
            }
        }
        add_rows(&mut self.newest_sealed, own, &mut bytes)?;
        Ok(bytes)
    }
}

/// Appends the rows of a query. Each value has its type and length in front.
fn add_rows(statement: &mut Statement<'_>, values: impl Params, bytes: &mut Vec<u8>) -> rusqlite::Result<()> {
    let columns = statement.column_count();
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        bytes.push(b'r');
        for column in 0..columns {
            add_value(row.get_ref(column)?, bytes);
        }
    }
    bytes.push(b'.');
    Ok(())
}

fn add_value(value: ValueRef<'_>, bytes: &mut Vec<u8>) {
    let mut add = |mark: u8, content: &[u8]| {
        bytes.push(mark);
        bytes.extend_from_slice(&(content.len() as u64).to_be_bytes());
        bytes.extend_from_slice(content);
    };
    match value {
        ValueRef::Null => add(b'n', &[]),
        ValueRef::Integer(number) => add(b'i', &number.to_be_bytes()),
        ValueRef::Real(number) => add(b'f', &number.to_bits().to_be_bytes()),
        ValueRef::Text(text) => add(b't', text),
        ValueRef::Blob(blob) => add(b'b', blob),
    }
}

#[cfg(test)]
mod tests;
