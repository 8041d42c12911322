//! Which runs are removed: a pure function of what there is, the limits, and now.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Digest, PruneReason, PrunedRun, RetentionLimits, RunId, Sequence, TaskId, Timestamp};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Runs that failed are kept so many times as long as others.
const FAILED_TIMES: i64 = 2;

/// A run that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRun {
    /// Its id.
    pub run_id: RunId,
    /// Its task.
    pub task: TaskId,
    /// Its line of the ledger.
    pub sequence: Sequence,
    /// The hash of its manifest.
    pub manifest_hash: Digest,
    /// When it began.
    pub started: Timestamp,
    /// What its files have; 0 where nobody asks for it.
    pub bytes: u64,
    /// What came of it.
    pub standing: Standing,
    /// What it says about the task.
    pub weight: Weight,
    /// Whether somebody is asked about it.
    pub is_awaited: bool,
    /// The runs whose results it took over: their files are the evidence of its verdict too.
    pub rests_on: Vec<RunId>,
    /// How it is kept.
    pub form: RunForm,
}

/// How a run is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunForm {
    /// As its directory.
    Directory,
    /// As its archive alone.
    Archive,
}

/// What a run says about its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// It is a verdict on the task, and `latest` leads to it.
    Verdict,
    /// It was refused because its specification has errors: `latest` leads to it, and it says nothing about the code (C78).
    Refused,
    /// Nothing: it was of checks that somebody picked, interrupted, or moved.
    Nothing,
}

/// What came of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It has no verdict.
    Unjudged,
}

/// Returns the runs that are removed, those that go first at the beginning.
///
/// Never removed are, of each task, the last run, the last that says something about it ([`Weight`]), the last that passed, runs that
/// wait for a person's word, and whatever a run that stays took a result from. Of the others those that failed go last; otherwise the
/// oldest go first.
pub fn plan_prune(runs: &[KeptRun], limits: &RetentionLimits, now: Timestamp) -> Vec<PrunedRun> {
    let needed = needed(runs);
    let mut free: Vec<&KeptRun> = runs.iter().filter(|run| !run.is_awaited && !needed.contains(&run.sequence)).collect();
    free.sort_by_key(|run| (run.standing == Standing::Failed, run.sequence));
    let mut left = Left::of(runs);
    let mut removed = Vec::new();
    // A run that others rest on may go when the last of these has gone, and they are the younger ones.
    loop {
        let before = removed.len();
        free.retain(|run| {
            let Some(why) = left.why_remove(run, limits, now) else { return true };
            left.remove(run);
            removed.push(PrunedRun { run_id: run.run_id.clone(), task: run.task.clone(), manifest_hash: run.manifest_hash, why });
            false
        });
        if removed.len() == before {
            return removed;
        }
    }
}

/// What is left while runs are picked to be removed.
struct Left<'r> {
    runs: u64,
    bytes: u64,
    /// How many runs rest on one.
    resting: BTreeMap<&'r RunId, usize>,
}

impl<'r> Left<'r> {
    fn of(runs: &'r [KeptRun]) -> Self {
        let mut resting = BTreeMap::new();
        for name in runs.iter().flat_map(|run| &run.rests_on) {
            *resting.entry(name).or_default() += 1;
        }
        Self { runs: runs.len() as u64, bytes: runs.iter().map(|run| run.bytes).sum(), resting }
    }

    fn why_remove(&self, run: &KeptRun, limits: &RetentionLimits, now: Timestamp) -> Option<PruneReason> {
        if self.resting.get(&run.run_id).is_some_and(|count| *count > 0) {
            None
        } else if limits.days.is_some_and(|days| is_over(run, days, now)) {
            Some(PruneReason::Days)
        } else if limits.runs.is_some_and(|limit| self.runs > u64::from(limit)) {
            Some(PruneReason::Runs)
        } else if limits.bytes.is_some_and(|limit| self.bytes > limit.0) {
            Some(PruneReason::Bytes)
        } else {
            None
        }
    }

    fn remove(&mut self, run: &'r KeptRun) {
        self.runs -= 1;
        self.bytes -= run.bytes;
        for name in &run.rests_on {
            self.resting.entry(name).and_modify(|count| *count -= 1);
        }
    }
}

/// A clock that was put back makes a run young, not old.
fn is_over(run: &KeptRun, days: u32, now: Timestamp) -> bool {
    let times = if run.standing == Standing::Failed { FAILED_TIMES } else { 1 };
    now.as_millis().saturating_sub(run.started.as_millis()) > i64::from(days) * DAY_MS * times
}

/// Returns the runs that others rest on: what `latest` leads to, what a state is read from, what a failure is compared with.
pub(in crate::evidence) fn needed(runs: &[KeptRun]) -> BTreeSet<Sequence> {
    let kinds: [fn(&KeptRun) -> bool; 5] = [
        |_| true,
        |run| run.weight != Weight::Nothing,
        |run| run.weight == Weight::Verdict,
        |run| run.standing == Standing::Passed,
        |run| run.standing == Standing::Passed && run.weight == Weight::Verdict,
    ];
    let mut needed = BTreeSet::new();
    for is_kind in kinds {
        let mut last: BTreeMap<&TaskId, Sequence> = BTreeMap::new();
        for run in runs.iter().filter(|run| is_kind(run)) {
            let newest = last.entry(&run.task).or_insert(run.sequence);
            *newest = run.sequence.max(*newest);
        }
        needed.extend(last.into_values());
    }
    needed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::ByteSize;

    const NOW: i64 = 1_772_616_600_120;

    fn kept(number: u64, (task, days, bytes): (u8, i64, u64), standing: u8, weight: u8, is_awaited: bool) -> KeptRun {
        let started = Timestamp::from_millis(NOW - days * DAY_MS);
        KeptRun {
            run_id: RunId::new(started, number),
            task: TaskId::try_from(format!("T{task}")).unwrap(),
            sequence: Sequence(number),
            manifest_hash: Digest::of(&number.to_be_bytes()),
            started,
            bytes,
            standing: [Standing::Passed, Standing::Failed, Standing::Unjudged][usize::from(standing % 3)],
            weight: [Weight::Verdict, Weight::Refused, Weight::Nothing][usize::from(weight % 3)],
            is_awaited,
            rests_on: Vec::new(),
            form: RunForm::Directory,
        }
    }

    fn resting(run: KeptRun, on: &[&KeptRun]) -> KeptRun {
        KeptRun { rests_on: on.iter().map(|run| run.run_id.clone()).collect(), ..run }
    }

    fn numbers(removed: &[PrunedRun]) -> Vec<u64> {
        removed.iter().map(|run| run.run_id.number()).collect()
    }

    fn now() -> Timestamp {
        Timestamp::from_millis(NOW)
    }

    #[test]
    fn what_passed_goes_before_what_failed_and_the_oldest_first() {
        let runs: Vec<_> =
            (1..=8).map(|number| kept(number, (0, 10 - number as i64, 100), u8::from(number % 2 == 0), 0, false)).collect();
        let limits = |runs, days, bytes| RetentionLimits { runs, days, bytes, archive_days: None };
        let plan = |limits: RetentionLimits| numbers(&plan_prune(&runs, &limits, now()));
        assert_eq!(plan(RetentionLimits::default()), [] as [u64; 0]);
        assert_eq!(plan(limits(Some(5), None, None)), [1, 3, 5]);
        assert_eq!(plan(limits(Some(3), None, None)), [1, 3, 5, 2, 4]);
        assert_eq!(plan(limits(Some(0), None, None)), [1, 3, 5, 2, 4, 6], "the last green and the last stay");
        assert_eq!(plan(limits(None, None, Some(ByteSize(650)))), [1, 3]);
        assert_eq!(plan(limits(None, Some(6), None)), [1, 3], "4 failed and is kept for 12 days");
        assert_eq!(plan(limits(None, Some(3), None)), [1, 3, 5, 2], "2 failed 8 days ago");
        let why: Vec<_> = plan_prune(&runs, &limits(Some(4), Some(6), None), now()).into_iter().map(|run| run.why).collect();
        assert_eq!(why, [PruneReason::Days, PruneReason::Days, PruneReason::Runs, PruneReason::Runs]);
    }

    #[test]
    fn a_run_stays_as_long_as_one_that_took_a_result_from_it() {
        let plain = |number| kept(number, (0, 10, 100), 0, 0, false);
        let plan = |runs: &[KeptRun], limit| {
            numbers(&plan_prune(runs, &RetentionLimits { runs: Some(limit), ..Default::default() }, now()))
        };
        // The last one rests on the first, and one in between on the second.
        let mut runs: Vec<_> = (1..=6).map(plain).collect();
        runs[5] = resting(plain(6), &[&plain(1)]);
        runs[3] = resting(plain(4), &[&plain(1), &plain(2)]);
        assert_eq!(plan(&runs, 5), [3]);
        assert_eq!(plan(&runs, 4), [3, 4], "2 may go now, but nothing has to any more");
        assert_eq!(plan(&runs, 3), [3, 4, 5]);
        assert_eq!(plan(&runs, 2), [3, 4, 5, 2]);
        assert_eq!(plan(&runs, 0), [3, 4, 5, 2], "6 is the last one, and 1 its evidence");
        // Of what is gone anyway nobody keeps anything.
        runs[5] = resting(plain(6), &[&plain(99)]);
        assert_eq!(plan(&runs, 0), [3, 4, 5, 1, 2]);
    }

    #[test]
    fn a_clock_that_was_put_back_removes_nothing() {
        let runs = [kept(1, (0, -5, 1), 0, 0, false), kept(2, (0, -5, 1), 0, 0, false)];
        assert_eq!(plan_prune(&runs, &RetentionLimits { days: Some(0), ..Default::default() }, now()), []);
    }

    fn any_run() -> impl Strategy<Value = (u8, i64, u64, u8, u8, bool)> {
        (0_u8..4, 0_i64..60, 0_u64..1000, 0_u8..3, 0_u8..3, prop::bool::weighted(0.1))
    }

    proptest! {
        #[test]
        fn nothing_goes_that_is_needed_and_limits_are_kept_as_far_as_that_allows(
            drawn in prop::collection::vec(any_run(), 0..60),
            drawn_bases in prop::collection::vec((0_usize..60, 0_usize..60), 0..20),
            limit_runs in prop::option::of(0_u32..40),
            limit_days in prop::option::of(0_u32..40),
            limit_bytes in prop::option::of(0_u64..20_000),
        ) {
            let of = |(number, (task, days, bytes, standing, weight, is_awaited)): (usize, (u8, i64, u64, u8, u8, bool))| {
                kept(number as u64 + 1, (task, days, bytes), standing, weight, is_awaited)
            };
            let mut runs: Vec<_> = drawn.into_iter().enumerate().map(of).collect();
            let count = runs.len();
            for (run, base) in drawn_bases.into_iter().filter(|(run, base)| base < run && *run < count) {
                let base = runs[base].run_id.clone();
                runs[run].rests_on.push(base);
            }
            let limits = RetentionLimits { runs: limit_runs, days: limit_days, bytes: limit_bytes.map(ByteSize), archive_days: None };
            let removed = plan_prune(&runs, &limits, now());
            let gone: BTreeSet<u64> = numbers(&removed).into_iter().collect();
            prop_assert_eq!(gone.len(), removed.len(), "each goes once");
            let rest: Vec<_> = runs.iter().filter(|run| !gone.contains(&run.sequence.0)).cloned().collect();
            for task in runs.iter().map(|run| &run.task) {
                let last = |is_kind: &dyn Fn(&&KeptRun) -> bool| {
                    runs.iter().rfind(|run| run.task == *task && is_kind(run)).map(|run| run.sequence.0)
                };
                for needed in [
                    last(&|_| true),
                    last(&|run| run.weight == Weight::Verdict),
                    last(&|run| run.weight != Weight::Nothing),
                    last(&|run| run.standing == Standing::Passed),
                ] {
                    prop_assert!(needed.is_none_or(|needed| !gone.contains(&needed)));
                }
            }
            prop_assert!(runs.iter().all(|run| !(run.is_awaited && gone.contains(&run.sequence.0))));
            // What is still over a limit is over it because of what must stay.
            let needed = super::needed(&runs);
            let is_free = |run: &&KeptRun| !run.is_awaited && !needed.contains(&run.sequence);
            let is_base = |runs: &[KeptRun], run: &KeptRun| runs.iter().any(|other| other.rests_on.contains(&run.run_id));
            let free: Vec<_> = rest.iter().filter(is_free).filter(|run| !is_base(&rest, run)).collect();
            prop_assert!(!runs.iter().any(|run| gone.contains(&run.sequence.0) && is_base(&rest, run)), "what stays has its evidence");
            prop_assert!(free.is_empty() || limit_runs.is_none_or(|limit| rest.len() as u64 <= u64::from(limit)));
            prop_assert!(free.is_empty() || limit_bytes.is_none_or(|limit| rest.iter().map(|run| run.bytes).sum::<u64>() <= limit));
            prop_assert!(free.iter().all(|run| limit_days.is_none_or(|days| !is_over(run, days, now()))));
            // None that failed goes for room while one that did not could.
            let failed_for_room = removed.iter().any(|run| {
                run.why != PruneReason::Days && runs[run.run_id.number() as usize - 1].standing == Standing::Failed
            });
            let mut could = free.iter().filter(|run| !is_base(&runs, run));
            prop_assert!(!failed_for_room || could.all(|run| run.standing == Standing::Failed));
            prop_assert_eq!(plan_prune(&rest, &limits, now()), [], "the second time there is nothing to do");
        }
    }
}
