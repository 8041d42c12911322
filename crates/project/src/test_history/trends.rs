//! How long the last runs and their checks took, and how long tasks stayed red.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::ProjectError;
use crate::store_reader::StoreReader;
use proctor_index::PastRun;
use proctor_model::{CheckCost, OverallResult, ProjectId, RunTrends, TaskId, TimeToGreen, TimedRun, Timestamp};

impl StoreReader {
    /// Returns what the last runs, at most `runs`, took: of one task, or of every one.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn run_trends(&self, project: &ProjectId, task: Option<&TaskId>, runs: u32) -> Result<RunTrends, ProjectError> {
        let past = self.index.past_runs(project, task, false, None, runs)?;
        let past: Vec<PastRun> = past.into_iter().map(|(run, _)| run).collect();
        let mut checks = Vec::new();
        if let Some(oldest) = past.last() {
            let mut durations: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
            for (check, duration) in self.index.check_durations(project, oldest.sequence)? {
                durations.entry(check).or_default().push(duration.0);
            }
            for check in self.index.indexed_checks(project)? {
                let Some(durations) = durations.remove(&check.number).filter(|_| task.is_none_or(|task| check.task == *task))
                else {
                    continue;
                };
                checks.push(cost(check.task, check.name, durations));
            }
            checks.sort_by_key(|check| std::cmp::Reverse(check.total_ms));
        }
        let mut by_task: BTreeMap<TaskId, Vec<u64>> = BTreeMap::new();
        for run in past.iter().filter(|run| run.result.is_some()) {
            by_task.entry(run.task.clone()).or_default().extend(run.duration.map(|duration| duration.0));
        }
        by_task.values_mut().for_each(|durations| durations.sort_unstable());
        let part =
            |percent| by_task.iter().filter_map(|(task, sorted)| Some((task.clone(), percentile(sorted, percent)?))).collect();
        Ok(RunTrends {
            p50_ms: part(50),
            p95_ms: part(95),
            time_to_green: times_to_green(&past, (past.len() as u64) < u64::from(runs)),
            checks,
            runs: past.into_iter().map(timed).collect(),
        })
    }
}

fn cost(task: TaskId, check: String, mut durations: Vec<u64>) -> CheckCost {
    durations.sort_unstable();
    let part = |percent| percentile(&durations, percent).unwrap_or_default();
    CheckCost { task, check, runs: durations.len() as u64, p50_ms: part(50), p95_ms: part(95), total_ms: durations.iter().sum() }
}

fn timed(run: PastRun) -> TimedRun {
    let counts = run.counts;
    TimedRun {
        run_id: run.run_id,
        started: run.started,
        task: run.task,
        result: run.result,
        duration_ms: run.duration.map(|duration| duration.0),
        passed: counts.map(|counts| counts.passed),
        failed: counts.map(|counts| counts.failed),
        skipped: counts.map(|counts| counts.skipped),
    }
}

/// Returns how long tasks stayed red, newest first. `runs` are the runs, newest first; `are_all` says whether there are no older ones. Where
/// a task is red from the first of its runs on, older ones may have been red too, so nothing is told of that time, nor where the clock went
/// back meanwhile.
fn times_to_green(runs: &[PastRun], are_all: bool) -> Vec<TimeToGreen> {
    let mut red: BTreeMap<&TaskId, &PastRun> = BTreeMap::new();
    let mut known: BTreeSet<&TaskId> = BTreeSet::new();
    let mut times = Vec::new();
    for run in runs.iter().rev() {
        match run.result {
            Some(OverallResult::Failed) if are_all || known.contains(&run.task) => {
                red.entry(&run.task).or_insert(run);
            }
            Some(OverallResult::Passed) => {
                known.insert(&run.task);
                let Some(from) = red.remove(&run.task) else { continue };
                // Where the clock went back meanwhile, it is not known how long the task was red.
                let Ok(milliseconds) = u64::try_from(end(run).as_millis() - end(from).as_millis()) else { continue };
                let seconds = milliseconds / 1000;
                let (task, from, to) = (run.task.clone(), from.run_id.clone(), run.run_id.clone());
                times.push(TimeToGreen { task, from, to, seconds });
            }
            Some(OverallResult::Failed) | None => {}
        }
    }
    times.reverse();
    times
}

fn end(run: &PastRun) -> Timestamp {
    let took = run.duration.map_or(0, |duration| i64::try_from(duration.0).unwrap_or_default());
    Timestamp::from_millis(run.started.as_millis().saturating_add(took))
}

/// Returns the smallest value that so many percent of the values do not exceed. The values are sorted.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{DurationMs, OverallStatus, RunId, Sequence};

    fn run(number: u64, task: &str, result: Option<OverallResult>) -> PastRun {
        PastRun {
            sequence: Sequence(number),
            run_id: RunId::new(Timestamp::from_millis(0), number),
            task: TaskId::try_from(task).unwrap(),
            started: Timestamp::from_millis(i64::try_from(number).unwrap() * 10_000),
            duration: Some(DurationMs(1000)),
            status: OverallStatus::Success,
            result,
            tree: None,
            counts: None,
        }
    }

    #[test]
    fn a_task_is_red_from_its_first_failure_to_its_next_pass() {
        let (passed, failed) = (Some(OverallResult::Passed), Some(OverallResult::Failed));
        let mut runs = vec![
            run(1, "default", passed),
            run(2, "default", failed),
            run(3, "other", failed),
            run(4, "default", None),
            run(5, "default", failed),
            run(6, "default", passed),
            run(7, "other", passed),
            run(8, "other", failed),
        ];
        runs.reverse();
        let times: Vec<(u64, u64, u64)> =
            times_to_green(&runs, true).iter().map(|time| (time.from.number(), time.to.number(), time.seconds)).collect();
        assert_eq!(times, [(3, 7, 40), (2, 6, 40)]);
        // Of the other task nothing is known before its first failure.
        let times: Vec<u64> = times_to_green(&runs, false).iter().map(|time| time.from.number()).collect();
        assert_eq!(times, [2]);
    }

    #[test]
    fn a_red_over_which_the_clock_went_back_has_no_duration() {
        let (passed, failed) = (Some(OverallResult::Passed), Some(OverallResult::Failed));
        let back = PastRun { started: Timestamp::from_millis(0), ..run(3, "default", passed) };
        let mut runs =
            [run(1, "default", passed), run(2, "default", failed), back, run(4, "default", failed), run(5, "default", passed)];
        runs.reverse();
        let times: Vec<u64> = times_to_green(&runs, true).iter().map(|time| time.from.number()).collect();
        assert_eq!(times, [4]);
    }

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let values: Vec<u64> = (1..=20).collect();
        assert_eq!((percentile(&values, 50), percentile(&values, 95)), (Some(10), Some(19)));
        assert_eq!((percentile(&[7], 50), percentile(&[7], 95), percentile(&[], 50)), (Some(7), Some(7), None));
    }
}
