//! What the ledger records of the program of each action that a run started, so that the command of a check that never
//! worked can be corrected without a question (S7).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Tool;

/// The program of one action in a run, and whether it did any work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramRecord {
    /// The name of the action.
    pub name: String,
    /// The first word of the action's command.
    pub program: String,
    /// The tool whose output was interpreted.
    pub tool: Tool,
    pub ending: ProgramEnding,
}

/// Whether a program did any work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ProgramEnding {
    /// proctor found no such program, so nothing was started.
    NotFound,
    /// The tool refused its command line or its configuration, or a launcher said that what it should start is not there.
    UsageError,
    /// Anything else, also a program that was stopped.
    Ran,
}

/// What all runs of a project recorded of programs, under all plans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramHistory {
    pub records: BTreeSet<ProgramRecord>,
    /// Whether there is a run of which the programs are not known: a line of an older version, or a run whose process died.
    /// Any program may have run there.
    pub has_unknown: bool,
}

impl ProgramHistory {
    /// Returns whether every action with this name, this program or this tool ended in one of these ways, and at least one
    /// action with exactly this program ended in the first of these ways. Names are compared, because a check keeps its
    /// name when its program changes. Programs and tools are compared, because a check may be renamed without a question.
    pub fn only_ended(&self, name: &str, program: &str, tool: Tool, ways: &[ProgramEnding]) -> bool {
        let is_related = |record: &&ProgramRecord| {
            record.name == name || file_name(&record.program) == file_name(program) || (record.tool == tool && tool.is_known())
        };
        let is_first = |record: &ProgramRecord| record.program == program && ways.first() == Some(&record.ending);
        !self.has_unknown
            && self.records.iter().any(is_first)
            && self.records.iter().filter(is_related).all(|record| ways.contains(&record.ending))
    }

    /// Returns whether no action with this name did any work, and one of them ended in a usage error of this program. Other actions may
    /// use the same program: Python, a package manager or a tool with subcommands starts many things.
    pub fn never_worked(&self, name: &str, program: &str) -> bool {
        let is_refusal = |record: &&ProgramRecord| record.program == program && record.ending == ProgramEnding::UsageError;
        let of_name = || self.records.iter().filter(|record| record.name == name);
        !self.has_unknown
            && of_name().any(|record| is_refusal(&record))
            && of_name().all(|record| record.ending != ProgramEnding::Ran)
    }
}

/// Returns the last part of a program's path: `.venv/bin/pytest` and `pytest` may be the same program.
fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::ProgramEnding::{NotFound, Ran, UsageError};
    use super::*;

    fn history(rows: &[(&str, &str, Tool, ProgramEnding)]) -> ProgramHistory {
        let record = |&(name, program, tool, ending): &(&str, &str, Tool, ProgramEnding)| ProgramRecord {
            name: name.to_owned(),
            program: program.to_owned(),
            tool,
            ending,
        };
        ProgramHistory { records: rows.iter().map(record).collect(), has_unknown: false }
    }

    #[test]
    fn a_program_that_ran_under_any_name_or_path_was_found() {
        let (pytest, generic) = (Tool::Pytest, Tool::Generic);
        let missing = ("tests", "pytest", pytest, NotFound);
        let rows = [
            (history(&[]), false),
            (history(&[missing]), true),
            (history(&[("renamed", "pytest", pytest, NotFound)]), true),
            (history(&[missing, ("lint", "ruff", Tool::Ruff, Ran)]), true),
            (history(&[("tests", "pytets", generic, NotFound)]), false),
            (history(&[missing, ("tests", "pytest", pytest, Ran)]), false),
            (history(&[missing, ("tests", "pytest", pytest, UsageError)]), false),
            (history(&[missing, ("tests", "other", generic, Ran)]), false),
            (history(&[missing, ("before", ".venv/bin/pytest", generic, Ran)]), false),
            (history(&[missing, ("before", "python", pytest, Ran)]), false),
        ];
        for (history, expected) in rows {
            assert_eq!(history.only_ended("tests", "pytest", pytest, &[NotFound]), expected, "{history:?}");
        }
        let unknown = ProgramHistory { has_unknown: true, ..history(&[missing]) };
        assert!(!unknown.only_ended("tests", "pytest", pytest, &[NotFound]));
    }

    #[test]
    fn commands_of_no_known_tool_have_nothing_in_common() {
        let history = history(&[("tests", "pytets", Tool::Generic, NotFound), ("build", "./build", Tool::Generic, Ran)]);
        assert!(history.only_ended("tests", "pytets", Tool::Generic, &[NotFound]));
    }
}
