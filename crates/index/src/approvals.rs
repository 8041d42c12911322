//! Stores the valid approval of each task: the newest approval that counts. Whether an approval counts is decided by a
//! function that the caller passes when the index is opened.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::IndexError;
use crate::tables::Tables;
use crate::words::{from_integer, to_integer, to_json};
use proctor_model::{CurrentApproval, LedgerBody, LedgerLine, ProjectId, Sequence, TaskId};

/// Decides whether a line of the ledger that approves a plan counts. The second argument is the approval of the task
/// that is valid so far.
pub type ApprovalJudge = fn(&ProjectId, &CurrentApproval, &LedgerBody) -> bool;

pub(super) struct Approved<'a> {
    pub(super) task: &'a TaskId,
    pub(super) approval: CurrentApproval,
}

/// A row of the table `approvals`: plan digest, terms, protected files, sequence number.
type Row = (String, String, Option<String>, i64);

impl Tables {
    /// Returns the approval of a task that is valid now, or `None` if the task was never approved.
    pub(super) fn approval(&self, project: &ProjectId, task: &TaskId) -> Result<Option<CurrentApproval>, IndexError> {
        let row = self.read(|index| read_row(&index.connection, project, task))?;
        let Some((digest, terms, protected, sequence)) = row else { return Ok(None) };
        Ok(Some(CurrentApproval {
            sequence: Sequence(from_integer(sequence)),
            plan_digest: self.reader.word("digest", digest)?,
            terms: self.reader.json("plan terms", terms)?,
            protected: protected.map(|text| self.reader.json("protected files", text)).transpose()?,
        }))
    }
}

impl Tables {
    /// Returns, of the approvals of all tasks of a project, the newest one that holds settings; `None` if no approval
    /// holds settings.
    pub(super) fn approved_settings(&self, project: &ProjectId) -> Result<Option<CurrentApproval>, IndexError> {
        let statement = "SELECT task FROM approvals WHERE project = ?1 AND json_extract(terms, '$.settings') IS NOT NULL \
                         ORDER BY sequence DESC LIMIT 1";
        let task = self.read(|index| {
            index.connection.query_row(statement, params![project.as_str()], |row| row.get::<_, String>(0)).optional()
        })?;
        let Some(task) = task else { return Ok(None) };
        self.approval(project, &self.reader.word("task", task)?)
    }

    /// Returns the tasks of a project that have an approval, sorted.
    pub(super) fn approved_tasks(&self, project: &ProjectId) -> Result<Vec<TaskId>, IndexError> {
        let statement = "SELECT task FROM approvals WHERE project = ?1 ORDER BY task";
        let tasks = self.read_rows(statement, params![project.as_str()], |row| row.get::<_, String>(0))?;
        tasks.into_iter().map(|task| self.reader.word("task", task)).collect()
    }
}

/// Stores an approval if it counts. The first approval of a task always counts.
pub(super) fn write_approval(
    connection: &Connection,
    project: &ProjectId,
    line: &LedgerLine,
    approved: &Approved<'_>,
    judge: ApprovalJudge,
) -> rusqlite::Result<()> {
    let held = read_row(connection, project, approved.task)?.map(to_held).transpose()?;
    if held.as_ref().is_some_and(|held| !judge(project, held, &line.body)) {
        return Ok(());
    }
    let statement = "INSERT OR REPLACE INTO approvals (project, task, plan_digest, terms, sequence, protected) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let Approved { task, approval } = approved;
    // If the line that approves names no protected files, the files of the earlier approval stay approved.
    let protected = approval.protected.as_ref().or_else(|| held.as_ref()?.protected.as_ref());
    let (digest, terms, protected) = (approval.plan_digest.hex(), to_json(&approval.terms), protected.map(to_json));
    let sequence = to_integer(approval.sequence.0);
    connection.execute(statement, params![project.as_str(), task.as_str(), digest, terms, sequence, protected]).map(|_| ())
}

fn read_row(connection: &Connection, project: &ProjectId, task: &TaskId) -> rusqlite::Result<Option<Row>> {
    let statement = "SELECT plan_digest, terms, protected, sequence FROM approvals WHERE project = ?1 AND task = ?2";
    let row = connection.query_row(statement, params![project.as_str(), task.as_str()], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    });
    row.optional()
}

fn to_held((digest, terms, protected, sequence): Row) -> rusqlite::Result<CurrentApproval> {
    let unreadable =
        |error: serde_json::Error| rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error));
    Ok(CurrentApproval {
        sequence: Sequence(from_integer(sequence)),
        plan_digest: serde_json::from_value(serde_json::Value::String(digest)).map_err(unreadable)?,
        terms: serde_json::from_str(&terms).map_err(unreadable)?,
        protected: protected.map(|text| serde_json::from_str(&text)).transpose().map_err(unreadable)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestIndex, approval, project, task};

    #[test]
    fn the_newest_approval_that_counts_holds() {
        let mut test = TestIndex::judging(|_, held, body| {
            let LedgerBody::Approval(record) = body else { return true };
            record.weakened.is_empty() || held.sequence == Sequence(1)
        });
        let held =
            |test: &TestIndex| test.index.approval(&project("shop-00000001"), &task("T1")).unwrap().map(|held| held.sequence.0);
        for (weakened, expected) in [(&[][..], 1), (&["a check less"], 2), (&["another"], 2), (&[], 4)] {
            test.append("shop-00000001", approval("T1", "a", weakened));
            assert_eq!(held(&test), Some(expected), "{weakened:?}");
        }
        assert_eq!(test.index.approved_tasks(&project("shop-00000001")).unwrap(), [task("T1")]);
    }
}
