//! Reads what is asked about many runs at once: durations of checks, and which results were reused. No row's outcomes are decoded.

use rusqlite::{Row, params};

use crate::IndexError;
use crate::tables::Tables;
use crate::words::{from_integer, to_integer};
use proctor_model::{DurationMs, ProjectId, RunId, Sequence};

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
