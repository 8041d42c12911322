//! Which runs are removed: a pure function of the runs, the limits and the time.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::{Digest, PruneReason, PrunedRun, RetentionLimits, RunId, Sequence, TaskId, Timestamp};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Failed runs are kept this many times as long as other runs.
const FAILED_TIMES: i64 = 2;
/// A limit on the size removes none of this many newest runs of a task. Without this rule a few huge logs would push out
/// everything that happened lately.
const NEWEST_OF_TASK: usize = 50;

/// A run that has not been pruned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRun {
    pub run_id: RunId,
    pub task: TaskId,
    pub sequence: Sequence,
    pub manifest_hash: Digest,
    pub started: Timestamp,
    /// The size of the run's files in bytes; 0 if sizes were not measured.
    pub bytes: u64,
    pub result: KeptRunResult,
    pub significance: RunSignificance,
    /// Whether a person still has to decide something about the run.
    pub waits_for_person: bool,
    /// The runs whose results this run reused. Their files are evidence for this run's verdict, too.
    pub reused_runs: Vec<RunId>,
}

/// Whether a run says something about the code of its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunSignificance {
    /// The run has a verdict on the task, and may be `latest`.
    Verdict,
    /// The run's specification has errors, so nothing was tested. The run may be `latest`, but says nothing about the
    /// code (C78).
    Refused,
    /// The run says nothing about the task: it covered only some of the checks, was interrupted, or files changed while
    /// it went on.
    Nothing,
}

/// The result of a run, which decides how long the run is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptRunResult {
    Passed,
    Failed,
    /// The run ended without a verdict.
    Unjudged,
}

/// Returns the runs to remove, in the order in which they are removed.
///
/// Some runs are never removed. Of each task these are the last run, the last run that may be `latest`, the last
/// verdict ([`RunSignificance`]), the last run that passed, and the last verdict that passed. Runs that wait for a
/// person are not removed either. The other runs are removed in this order: first the runs that did not fail, then the
/// failed runs, each group from the oldest to the newest. The limit on the size also leaves the newest 50 runs of each
/// task.
///
/// A run over a limit whose results were reused stays while a run that is not over a limit has reused them. It stays for
/// its own files only: the runs whose results it has reused itself may go. A reused result names the run that carried
/// the check out, so the other run's files are complete without them. If such a run kept others in turn, two checks that are
/// reused alternately would keep all runs that there ever were.
pub fn plan_prune(runs: &[KeptRun], limits: &RetentionLimits, now: Timestamp) -> Vec<PrunedRun> {
    let protected = protected_runs(runs);
    let mut free: Vec<&KeptRun> = runs.iter().filter(|run| !run.waits_for_person && !protected.contains(&run.sequence)).collect();
    free.sort_by_key(|run| removal_order(run));
    let mut remaining = RemainingRuns::new(runs, limits, now);
    free.into_iter().for_each(|run| remaining.give_up(run));
    remaining.removed
}

/// Returns the key by which runs are removed: failed ones last, and the oldest first.
fn removal_order(run: &KeptRun) -> (bool, Sequence) {
    (run.result == KeptRunResult::Failed, run.sequence)
}

/// The runs that remain while runs are picked for removal.
struct RemainingRuns<'r> {
    limits: &'r RetentionLimits,
    now: Timestamp,
    runs: u64,
    bytes: u64,
    newest: BTreeSet<Sequence>,
    /// For each run, how many runs have reused its results, without the runs that were given up.
    reuse_counts: BTreeMap<&'r RunId, usize>,
    /// The runs over a limit that remain only as long as another run needs their files.
    given_up: BTreeMap<&'r RunId, &'r KeptRun>,
    removed: Vec<PrunedRun>,
}

impl<'r> RemainingRuns<'r> {
    fn new(runs: &'r [KeptRun], limits: &'r RetentionLimits, now: Timestamp) -> Self {
        let mut reuse_counts = BTreeMap::new();
        for name in runs.iter().flat_map(|run| &run.reused_runs) {
            *reuse_counts.entry(name).or_default() += 1;
        }
        Self {
            limits,
            now,
            runs: runs.len() as u64,
            bytes: runs.iter().map(|run| run.bytes).sum(),
            newest: newest_runs(runs),
            reuse_counts,
            given_up: BTreeMap::new(),
            removed: Vec::new(),
        }
    }

    /// If the run is over a limit, removes it as soon as no run needs its files; this may be now. Runs that only this run
    /// kept are removed too, if they are over a limit.
    fn give_up(&mut self, run: &'r KeptRun) {
        if self.why_remove(run).is_none() {
            return;
        }
        self.given_up.insert(&run.run_id, run);
        self.remove_if_unneeded(run);
        for name in &run.reused_runs {
            self.reuse_counts.entry(name).and_modify(|count| *count -= 1);
        }
        let mut bases: Vec<&KeptRun> = run.reused_runs.iter().filter_map(|name| self.given_up.get(name).copied()).collect();
        bases.sort_by_key(|base| removal_order(base));
        bases.dedup_by_key(|base| base.sequence);
        bases.into_iter().for_each(|base| self.remove_if_unneeded(base));
    }

    fn remove_if_unneeded(&mut self, run: &'r KeptRun) {
        if self.reuse_counts.get(&run.run_id).is_some_and(|count| *count > 0) {
            return;
        }
        let Some(why) = self.why_remove(run) else { return };
        self.given_up.remove(&run.run_id);
        self.runs -= 1;
        self.bytes -= run.bytes;
        self.removed.push(PrunedRun {
            run_id: run.run_id.clone(),
            task: run.task.clone(),
            manifest_hash: run.manifest_hash,
            why,
        });
    }

    fn why_remove(&self, run: &KeptRun) -> Option<PruneReason> {
        let RetentionLimits { runs, bytes, days } = *self.limits;
        if days.is_some_and(|days| is_too_old(run, days, self.now)) {
            Some(PruneReason::Days)
        } else if runs.is_some_and(|limit| self.runs > u64::from(limit)) {
            Some(PruneReason::Runs)
        } else if bytes.is_some_and(|limit| self.bytes > limit.0) && !self.newest.contains(&run.sequence) {
            Some(PruneReason::Bytes)
        } else {
            None
        }
    }
}

/// Returns the sequence numbers of the newest runs of each task, which a limit on the size does not remove.
fn newest_runs(runs: &[KeptRun]) -> BTreeSet<Sequence> {
    let mut by_task: BTreeMap<&TaskId, Vec<Sequence>> = BTreeMap::new();
    for run in runs {
        by_task.entry(&run.task).or_default().push(run.sequence);
    }
    let newest = |mut sequences: Vec<Sequence>| {
        sequences.sort_unstable();
        sequences.into_iter().rev().take(NEWEST_OF_TASK)
    };
    by_task.into_values().flat_map(newest).collect()
}

/// If the clock was set back, a run looks young and is kept.
fn is_too_old(run: &KeptRun, days: u32, now: Timestamp) -> bool {
    let times = if run.result == KeptRunResult::Failed { FAILED_TIMES } else { 1 };
    now.as_millis().saturating_sub(run.started.as_millis()) > i64::from(days) * DAY_MS * times
}

/// Returns the sequence numbers of the runs that must stay: `latest`, the state of a task, or a comparison with an
/// earlier failure depends on each of these runs.
pub(crate) fn protected_runs(runs: &[KeptRun]) -> BTreeSet<Sequence> {
    let kinds: [fn(&KeptRun) -> bool; 5] = [
        |_| true,
        |run| run.significance != RunSignificance::Nothing,
        |run| run.significance == RunSignificance::Verdict,
        |run| run.result == KeptRunResult::Passed,
        |run| run.result == KeptRunResult::Passed && run.significance == RunSignificance::Verdict,
    ];
    let mut protected = BTreeSet::new();
    for is_kind in kinds {
        let mut last: BTreeMap<&TaskId, Sequence> = BTreeMap::new();
        for run in runs.iter().filter(|run| is_kind(run)) {
            let newest = last.entry(&run.task).or_insert(run.sequence);
            *newest = run.sequence.max(*newest);
        }
        protected.extend(last.into_values());
    }
    protected
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use proctor_model::ByteSize;

    const NOW: i64 = 1_772_616_600_120;

    fn kept(number: u64, task: u8, days: i64, bytes: u64, standing: u8, weight: u8, is_awaited: bool) -> KeptRun {
        let started = Timestamp::from_millis(NOW - days * DAY_MS);
        KeptRun {
            run_id: RunId::new(started, number),
            task: TaskId::try_from(format!("T{task}")).unwrap(),
            sequence: Sequence(number),
            manifest_hash: Digest::of(&number.to_be_bytes()),
            started,
            bytes,
            result: [KeptRunResult::Passed, KeptRunResult::Failed, KeptRunResult::Unjudged][usize::from(standing % 3)],
            significance: [RunSignificance::Verdict, RunSignificance::Refused, RunSignificance::Nothing][usize::from(weight % 3)],
            waits_for_person: is_awaited,
            reused_runs: Vec::new(),
        }
    }

    fn reusing(run: KeptRun, on: &[&KeptRun]) -> KeptRun {
        KeptRun { reused_runs: on.iter().map(|run| run.run_id.clone()).collect(), ..run }
    }

    fn numbers(removed: &[PrunedRun]) -> Vec<u64> {
        removed.iter().map(|run| run.run_id.number()).collect()
    }

    fn now() -> Timestamp {
        Timestamp::from_millis(NOW)
    }

    #[test]
    fn passed_runs_are_removed_before_failed_ones_and_the_oldest_first() {
        let runs: Vec<_> = (1..=8)
            .map(|number| kept(number, 0, 10 - number as i64, 100, u8::from(number.is_multiple_of(2)), 0, false))
            .collect();
        let limits = |runs, days, bytes| RetentionLimits { runs, days, bytes };
        let plan = |limits: RetentionLimits| numbers(&plan_prune(&runs, &limits, now()));
        assert_eq!(plan(RetentionLimits::default()), [] as [u64; 0]);
        assert_eq!(plan(limits(Some(5), None, None)), [1, 3, 5]);
        assert_eq!(plan(limits(Some(3), None, None)), [1, 3, 5, 2, 4]);
        assert_eq!(plan(limits(Some(0), None, None)), [1, 3, 5, 2, 4, 6], "the last green and the last stay");
        assert_eq!(plan(limits(None, None, Some(ByteSize(650)))), [] as [u64; 0], "all are among the newest of the task");
        assert_eq!(plan(limits(None, Some(6), None)), [1, 3], "4 failed and is kept for 12 days");
        assert_eq!(plan(limits(None, Some(3), None)), [1, 3, 5, 2], "2 failed 8 days ago");
        let why: Vec<_> = plan_prune(&runs, &limits(Some(4), Some(6), None), now()).into_iter().map(|run| run.why).collect();
        assert_eq!(why, [PruneReason::Days, PruneReason::Days, PruneReason::Runs, PruneReason::Runs]);
    }

    #[test]
    fn a_limit_on_the_size_takes_green_runs_before_red_ones_and_leaves_the_newest_of_each_task() {
        let newest = NEWEST_OF_TASK as u64;
        // Of task 0 there are ten runs more than stay in any case; every second one failed. Task 1 has one run, the oldest.
        let of_task = |number: u64| kept(number, 0, 1, 100, u8::from(number.is_multiple_of(2)), 0, false);
        let runs: Vec<_> = std::iter::once(kept(1, 1, 1, 100, 1, 0, false)).chain((2..=newest + 11).map(of_task)).collect();
        let plan = |bytes| {
            let limits = RetentionLimits { bytes: Some(ByteSize(bytes)), ..Default::default() };
            numbers(&plan_prune(&runs, &limits, now()))
        };
        let all = 100 * (newest + 11);
        assert_eq!(plan(all), [] as [u64; 0]);
        assert_eq!(plan(all - 150), [3, 5]);
        assert_eq!(plan(all - 700), [3, 5, 7, 9, 11, 2, 4]);
        assert_eq!(plan(0), [3, 5, 7, 9, 11, 2, 4, 6, 8, 10], "the newest stay, however large they are");
    }

    #[test]
    fn a_run_stays_as_long_as_a_run_that_reused_its_results() {
        let plain = |number| kept(number, 0, 10, 100, 0, 0, false);
        let plan = |runs: &[KeptRun], limit| {
            numbers(&plan_prune(runs, &RetentionLimits { runs: Some(limit), ..Default::default() }, now()))
        };
        // Run 6 reused results of run 1, and run 4 reused results of runs 1 and 2.
        let mut runs: Vec<_> = (1..=6).map(plain).collect();
        runs[5] = reusing(plain(6), &[&plain(1)]);
        runs[3] = reusing(plain(4), &[&plain(1), &plain(2)]);
        assert_eq!(plan(&runs, 5), [3]);
        assert_eq!(plan(&runs, 4), [3, 4], "2 may go now, but nothing has to any more");
        assert_eq!(plan(&runs, 3), [3, 4, 2], "2 is older than 5");
        assert_eq!(plan(&runs, 2), [3, 4, 2, 5]);
        assert_eq!(plan(&runs, 0), [3, 4, 2, 5], "6 is the last one, and 1 its evidence");
        // Run 99 does not exist any more, so it protects nothing.
        runs[5] = reusing(plain(6), &[&plain(99)]);
        assert_eq!(plan(&runs, 0), [3, 4, 1, 2, 5]);
    }

    #[test]
    fn a_run_that_stays_only_for_its_own_files_keeps_no_other_run() {
        // Each run reused one result of the run before it, as two checks do that are triggered by turns.
        let plain = |number, days| kept(number, 0, days, 100, 0, 0, false);
        let chain = |number: u64| reusing(plain(number, 31 - number as i64), &[&plain(number - 1, 32 - number as i64)]);
        let runs: Vec<_> = std::iter::once(plain(1, 30)).chain((2..=31).map(chain)).collect();
        let rest = |limits: RetentionLimits| {
            let gone = numbers(&plan_prune(&runs, &limits, now()));
            (1..=31).filter(|number| !gone.contains(number)).collect::<Vec<u64>>()
        };
        let of_runs = |limit| rest(RetentionLimits { runs: Some(limit), ..Default::default() });
        assert_eq!(of_runs(10), (22..=31).collect::<Vec<_>>());
        assert_eq!(of_runs(3), [29, 30, 31]);
        assert_eq!(of_runs(0), [30, 31], "the last one and its evidence");
        let of_days = |limit| rest(RetentionLimits { days: Some(limit), ..Default::default() });
        assert_eq!(of_days(5), (25..=31).collect::<Vec<_>>(), "26 is not too old, and 25 is its evidence");
    }

    #[test]
    fn a_green_run_that_nothing_needs_any_more_is_removed_before_a_failed_one() {
        let of = |number, standing| kept(number, 0, 10, 100, standing, 0, false);
        let runs = [of(1, 0), of(2, 1), reusing(of(3, 0), &[&of(1, 0)]), of(4, 0), of(5, 0)];
        let limits = RetentionLimits { runs: Some(3), ..Default::default() };
        assert_eq!(numbers(&plan_prune(&runs, &limits, now())), [3, 1], "2 failed");
        // The failed run kept 1, which goes before the next failed run.
        let runs = [of(1, 0), reusing(of(2, 1), &[&of(1, 0)]), of(3, 1), of(4, 0), of(5, 0)];
        assert_eq!(numbers(&plan_prune(&runs, &RetentionLimits { runs: Some(2), ..limits }, now())), [4, 2, 1], "3 failed");
        // The last failed run kept both a failed one and a green one, which it names last.
        let runs = [of(1, 0), of(2, 1), reusing(of(3, 1), &[&of(2, 1), &of(1, 0)]), of(4, 0), of(5, 1)];
        assert_eq!(numbers(&plan_prune(&runs, &RetentionLimits { runs: Some(3), ..limits }, now())), [3, 1], "2 failed");
    }

    #[test]
    fn a_clock_that_was_put_back_removes_nothing() {
        let runs = [kept(1, 0, -5, 1, 0, 0, false), kept(2, 0, -5, 1, 0, 0, false)];
        assert_eq!(plan_prune(&runs, &RetentionLimits { days: Some(0), ..Default::default() }, now()), []);
    }

    fn any_run() -> impl Strategy<Value = (u8, i64, u64, u8, u8, bool)> {
        (0_u8..4, 0_i64..60, 0_u64..1000, 0_u8..3, 0_u8..3, prop::bool::weighted(0.1))
    }

    proptest! {
        #[test]
        fn no_protected_run_is_removed_and_limits_are_otherwise_kept(
            drawn in prop::collection::vec(any_run(), 0..60),
            drawn_bases in prop::collection::vec((0_usize..60, 0_usize..60), 0..20),
            limit_runs in prop::option::of(0_u32..40),
            limit_days in prop::option::of(0_u32..40),
            limit_bytes in prop::option::of(0_u64..20_000),
        ) {
            let of = |(number, (task, days, bytes, standing, weight, is_awaited)): (usize, (u8, i64, u64, u8, u8, bool))| {
                kept(number as u64 + 1, task, days, bytes, standing, weight, is_awaited)
            };
            let mut runs: Vec<_> = drawn.into_iter().enumerate().map(of).collect();
            let count = runs.len();
            for (run, base) in drawn_bases.into_iter().filter(|(run, base)| base < run && *run < count) {
                let base = runs[base].run_id.clone();
                runs[run].reused_runs.push(base);
            }
            let limits = RetentionLimits { runs: limit_runs, days: limit_days, bytes: limit_bytes.map(ByteSize) };
            let removed = plan_prune(&runs, &limits, now());
            let gone: BTreeSet<u64> = numbers(&removed).into_iter().collect();
            prop_assert_eq!(gone.len(), removed.len(), "each goes once");
            let rest: Vec<_> = runs.iter().filter(|run| !gone.contains(&run.sequence.0)).cloned().collect();
            for task in runs.iter().map(|run| &run.task) {
                let last = |is_kind: &dyn Fn(&&KeptRun) -> bool| {
                    runs.iter().rfind(|run| run.task == *task && is_kind(run)).map(|run| run.sequence.0)
                };
                for protected in [
                    last(&|_| true),
                    last(&|run| run.significance == RunSignificance::Verdict),
                    last(&|run| run.significance != RunSignificance::Nothing),
                    last(&|run| run.result == KeptRunResult::Passed),
                ] {
                    prop_assert!(protected.is_none_or(|protected| !gone.contains(&protected)));
                }
            }
            prop_assert!(runs.iter().all(|run| !(run.waits_for_person && gone.contains(&run.sequence.0))));
            let protected = super::protected_runs(&runs);
            let is_free = |run: &KeptRun| !run.waits_for_person && !protected.contains(&run.sequence);
            let is_too_old = |run: &KeptRun| limit_days.is_some_and(|days| is_too_old(run, days, now()));
            let is_base_of = |base: &KeptRun, run: &KeptRun| run.reused_runs.contains(&base.run_id);
            let newest = super::newest_runs(&runs);
            let bytes = rest.iter().map(|run| run.bytes).sum::<u64>();
            // A run that has lost its evidence was over a limit. It is there as the evidence of a run that has lost none, or because
            // it is over no limit any more since others were removed after it.
            let has_lost = |run: &KeptRun| {
                runs.iter().any(|base| gone.contains(&base.sequence.0) && is_base_of(base, run))
            };
            let is_over_limit = |run: &KeptRun| is_too_old(run)
                || limit_runs.is_some_and(|limit| rest.len() as u64 > u64::from(limit))
                || (limit_bytes.is_some_and(|limit| bytes > limit) && !newest.contains(&run.sequence));
            for run in rest.iter().filter(|run| has_lost(run)) {
                prop_assert!(is_free(run));
                prop_assert!(!is_over_limit(run) || rest.iter().any(|other| is_base_of(run, other) && !has_lost(other)));
            }
            // If a limit is still exceeded, only runs that must stay are left, and the evidence of these.
            let is_needed = |run: &KeptRun, stays: &dyn Fn(&KeptRun) -> bool| {
                stays(run) || rest.iter().any(|other| is_base_of(run, other) && stays(other))
            };
            prop_assert!(limit_runs.is_none_or(|limit| rest.len() as u64 <= u64::from(limit))
                || rest.iter().all(|run| is_needed(run, &|run| !is_free(run))));
            prop_assert!(limit_bytes.is_none_or(|limit| bytes <= limit)
                || rest.iter().all(|run| is_needed(run, &|run| !is_free(run) || newest.contains(&run.sequence))));
            prop_assert!(rest.iter().all(|run| is_needed(run, &|run| !is_free(run) || !is_too_old(run))));
            // For the limits of count and size, no failed run is removed while another run could be.
            for (position, removed_run) in removed.iter().enumerate() {
                let failed = &runs[removed_run.run_id.number() as usize - 1];
                if failed.result != KeptRunResult::Failed || removed_run.why == PruneReason::Days {
                    continue;
                }
                let before: BTreeSet<u64> = numbers(&removed[..position]).into_iter().collect();
                let there: Vec<_> = runs.iter().filter(|run| !before.contains(&run.sequence.0)).collect();
                let could_go = |run: &KeptRun| is_free(run)
                    && run.result != KeptRunResult::Failed
                    && (removed_run.why == PruneReason::Runs || !newest.contains(&run.sequence))
                    && !there.iter().any(|other| is_base_of(run, other));
                prop_assert!(!there.iter().any(|run| could_go(run)), "{:?}", removed_run);
            }
            prop_assert_eq!(plan_prune(&rest, &limits, now()), [], "the second time there is nothing to do");
        }
    }
}
