//! The programs that the runs of a project started: rows that are written from the lines of runs.

use rusqlite::{Connection, params};

use crate::IndexError;
use crate::tables::Tables;
use crate::words::to_word;
use proctor_model::{ProgramHistory, ProgramRecord, ProjectId};

/// The word in the column `ending` of a row that stands for a run of which the programs are not known.
const UNKNOWN: &str = "unknown";

/// Stores what a run's line says about its programs; `None` if the line does not say it.
pub(super) fn write_programs(
    connection: &Connection,
    project: &ProjectId,
    programs: Option<&[ProgramRecord]>,
) -> rusqlite::Result<()> {
    let write = |name: &str, program: &str, tool: &str, ending: &str| {
        let statement = "INSERT OR IGNORE INTO programs (project, name, program, tool, ending) VALUES (?1, ?2, ?3, ?4, ?5)";
        connection.execute(statement, params![project.as_str(), name, program, tool, ending]).map(drop)
    };
    match programs {
        None => write("", "", "", UNKNOWN),
        Some(programs) => {
            programs.iter().try_for_each(|one| write(&one.name, &one.program, &to_word(&one.tool), &to_word(&one.ending)))
        }
    }
}

impl Tables {
    /// Returns what the lines of all runs of a project, of all tasks and under all plans, say about programs.
    pub(super) fn programs(&self, project: &ProjectId) -> Result<ProgramHistory, IndexError> {
        let statement = "SELECT name, program, tool, ending FROM programs WHERE project = ?1";
        let rows = self.read_rows(statement, params![project.as_str()], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get::<_, String>(3)?))
        })?;
        let mut history = ProgramHistory::default();
        for (name, program, tool, ending) in rows {
            if ending == UNKNOWN {
                history.has_unknown = true;
                continue;
            }
            let (tool, ending) = (self.reader.word("tool", tool)?, self.reader.word("ending of a program", ending)?);
            history.records.insert(ProgramRecord { name, program, tool, ending });
        }
        Ok(history)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TestIndex, project, run_record};
    use proctor_model::{OverallStatus, ProgramEnding, ProgramHistory, ProgramRecord, RunRecord, Tool};

    const SHOP: &str = "shop-00000001";

    fn run(number: u64, task: &str, programs: Option<Vec<ProgramRecord>>) -> RunRecord {
        RunRecord { programs, ..run_record(number, task, OverallStatus::Failed) }
    }

    fn record(ending: ProgramEnding) -> ProgramRecord {
        ProgramRecord { name: "tests".to_owned(), program: "pytest".to_owned(), tool: Tool::Pytest, ending }
    }

    #[test]
    fn the_programs_of_all_tasks_are_known_until_a_line_does_not_name_them() {
        let mut test = TestIndex::new();
        let found = |test: &TestIndex| test.index.programs(&project(SHOP)).unwrap();
        assert_eq!(found(&test), ProgramHistory::default());
        test.append_run(SHOP, run(1, "default", Some(vec![record(ProgramEnding::NotFound)])));
        test.append_run(SHOP, run(2, "other", Some(vec![record(ProgramEnding::Ran), record(ProgramEnding::NotFound)])));
        test.append_run(SHOP, run(3, "default", Some(Vec::new())));
        let records = [record(ProgramEnding::NotFound), record(ProgramEnding::Ran)];
        assert_eq!(found(&test), ProgramHistory { records: records.into(), has_unknown: false });
        test.append_run(SHOP, run(4, "default", None));
        assert!(found(&test).has_unknown);
    }
}
