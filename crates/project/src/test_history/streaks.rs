//! The last runs of each check, for the row of blocks that `proctor watch` shows.

use crate::error::ProjectError;
use crate::store_reader::StoreReader;
use crate::test_history::flaky::{flips_of_check, has_passed};
use crate::test_history::{AFTER_A_RUN, catch_up_tests};
use proctor_index::{CheckRun, NewestTests, RunsJudgedBy, StoreIndex};
use proctor_model::{CheckEnd, CheckStreak, ProjectId, TaskId};

/// How many of the last runs of a check are shown.
const SHOWN: usize = 20;
/// How many results are read, so that the beginning of a row of failures is found.
const LOOKED_AT: u32 = 200;

impl StoreReader {
    /// Adds the last run to the index of tests and returns the last runs of a task's checks, in the order of its plan.
    ///
    /// # Errors
    /// When the evidence or the index cannot be read.
    pub fn check_streaks(&mut self, project: &ProjectId, task: &TaskId) -> Result<Vec<CheckStreak>, ProjectError> {
        catch_up_tests(&self.store, &mut self.index, project, Some(AFTER_A_RUN))?;
        match streaks(&self.index, project, task) {
            Err(ProjectError::Index(error)) if error.is_damage() => {
                self.index.forget_tests(project)?;
                catch_up_tests(&self.store, &mut self.index, project, Some(AFTER_A_RUN))?;
                streaks(&self.index, project, task)
            }
            streaks => streaks,
        }
    }
}

fn streaks(index: &StoreIndex, project: &ProjectId, task: &TaskId) -> Result<Vec<CheckStreak>, ProjectError> {
    let indexed = index.indexed_checks(project)?;
    let mut streaks = Vec::new();
    for planned in index.checks(project, task, RunsJudgedBy::AnyRules)? {
        let Some(check) = indexed.iter().find(|check| check.task == *task && check.name == planned.name) else { continue };
        let wanted = NewestTests { limit: LOOKED_AT, skip: 0, durations: false, reused: true };
        let runs = index.check_runs(project, check.number, wanted)?;
        streaks.push(streak(&check.name, &runs));
    }
    Ok(streaks)
}

/// Returns the last runs of a check. `runs` are its results, oldest first, of every attempt. A result that was taken from an earlier run
/// ends a row of failures, and says nothing about chance.
pub(super) fn streak(check: &str, runs: &[CheckRun]) -> CheckStreak {
    let carried_out: Vec<CheckRun> = runs.iter().filter(|run| run.reused.is_none()).cloned().collect();
    let flips = flips_of_check(&carried_out);
    // Only the last attempt of a run is its result.
    let is_last = |place: &usize| runs.get(place + 1).is_none_or(|next| next.sequence != runs[*place].sequence);
    let last: Vec<&CheckRun> = (0..runs.len()).filter(is_last).map(|place| &runs[place]).collect();
    let clear = |run: &CheckRun| has_passed(run.status).filter(|_| run.is_about_its_tree());
    let end = |run: &&CheckRun| match clear(run) {
        None => CheckEnd::Unclear,
        Some(is_passed) if (is_passed || run.blocks) && flips.failures.contains(&run.sequence) => CheckEnd::Flaky,
        Some(true) => CheckEnd::Passed,
        Some(false) if !run.blocks => CheckEnd::Warned,
        Some(false) => CheckEnd::Failed,
    };
    let ends: Vec<CheckEnd> = last.iter().skip(last.len().saturating_sub(SHOWN)).map(end).collect();
    // A run that says nothing about its tree does not end a row of failures.
    let results = last.iter().filter_map(|run| Some((run, clear(run)? || !run.blocks)));
    let known = results.clone().count();
    let failing: Vec<_> = results.rev().take_while(|(_, passed)| !passed).map(|(run, _)| run).collect();
    CheckStreak {
        check: check.to_owned(),
        flaky: ends.iter().filter(|end| **end == CheckEnd::Flaky).count() as u64,
        ends,
        is_failing_longer: failing.len() == known && runs.len() >= LOOKED_AT as usize,
        failing: failing.last().map(|first| (first.started, failing.len() as u64)),
    }
}
