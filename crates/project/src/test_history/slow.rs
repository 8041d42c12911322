//! Finds tests that became slower by more than their durations vary, and those that take the longest. Middle values are compared,
//! so that one slow run of a busy machine changes nothing.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::error::ProjectError;
use crate::store_reader::StoreReader;
use crate::test_history::flaky::rosters_in;
use proctor_index::{CheckRun, NewestTests, Roster};
use proctor_model::{ProjectId, RunId, Sequence, SlowTests, SlowerTest, TestOutcome, TimedTest};

/// How many of the newest results are the present.
const NOW: u32 = 10;
/// The earlier results that the present is compared with: how many of the newest results are left out. A test may become slower
/// in one step or little by little, so several times in the past are looked at.
const EARLIER: [u32; 4] = [10, 100, 500, 2000];
/// How many results each of these times has.
const WINDOW: u32 = 20;
/// The fewest durations that a comparison needs on either side.
const FEWEST: usize = 5;
/// A test is slower if its middle duration grew by at least half,
const GROWTH_PERCENT: u64 = 150;
/// and by at least this many microseconds, which the start of a process or a busy machine costs now and then.
pub(super) const LEAST_GROWTH_US: u64 = 10_000;
/// How many of the slowest tests are named.
const SLOWEST: usize = 10;

/// The durations of each test, by its number. Only tests that passed count: a failure ends a test early, or late.
type Durations = BTreeMap<u32, Vec<u64>>;

impl StoreReader {
    /// Returns the tests that became slower, and those that take the longest.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn slow_tests(&self, project: &ProjectId) -> Result<SlowTests, ProjectError> {
        let mut found = SlowTests::default();
        let known = self.tests_by_number(project)?;
        for check in self.index.indexed_checks(project)? {
            let mut rosters = BTreeMap::new();
            let (_, now) = self.durations(project, check.number, &mut rosters, NOW, 0)?;
            let mut earlier = Vec::new();
            let count = self.index.results_after(project, check.number, Sequence(0))?;
            // The middle and the beginning of what is known show a growth that is too slow for the other times.
            let whole = [count / 2, count.saturating_sub(WINDOW)].into_iter().filter(|skip| *skip > NOW);
            for skip in EARLIER.into_iter().chain(whole) {
                earlier.push(self.durations(project, check.number, &mut rosters, WINDOW, skip)?);
            }
            for (number, now) in now {
                let Some(test) = known.get(&number) else { continue };
                let Some(now_us) = middle(now.clone()) else { continue };
                found.slowest.push(TimedTest { test: test.clone(), typical_duration_us: now_us });
                let before = earlier.iter().filter_map(|(run, durations)| {
                    let durations = durations.get(&number).filter(|durations| durations.len() >= FEWEST)?;
                    is_slower(&now, durations).then_some((middle(durations.clone())?, run.clone()?))
                });
                if let Some((before_us, before_run)) = before.min_by_key(|(before_us, _)| *before_us) {
                    found.slower.push(SlowerTest { test: test.clone(), before_us, now_us, before_run });
                }
            }
        }
        found.slower.sort_by_key(|slower| (Reverse(slower.now_us - slower.before_us), slower.test.key));
        found.slowest.sort_by_key(|timed| (Reverse(timed.typical_duration_us), timed.test.key));
        found.slowest.truncate(SLOWEST);
        Ok(found)
    }

    /// Returns the durations of a check's tests in `count` results, the newest `skip` ones left out, and the newest of these runs. The
    /// lists of tests that are read are added to `rosters`.
    fn durations(
        &self,
        project: &ProjectId,
        check: u32,
        rosters: &mut BTreeMap<u32, Roster>,
        count: u32,
        skip: u32,
    ) -> Result<(Option<RunId>, Durations), ProjectError> {
        let wanted = NewestTests { limit: count, skip, durations: true, reused: false };
        let runs = self.index.check_runs(project, check, wanted)?;
        let newest = runs.last().map(|run| run.run_id.clone());
        let lacking = rosters_in(&runs).into_iter().filter(|number| !rosters.contains_key(number)).collect();
        rosters.extend(self.index.rosters(project, &lacking)?);
        Ok((newest, durations_in(&runs, rosters)))
    }
}

/// Returns the durations of every test that passed, by its number.
pub(super) fn durations_in(runs: &[CheckRun], rosters: &BTreeMap<u32, Roster>) -> Durations {
    let mut durations = Durations::new();
    for run in runs {
        let Some(roster) = run.roster.and_then(|number| rosters.get(&number)) else { continue };
        for (place, test) in (0..).zip(roster.tests()) {
            if let Some(duration) = run.duration_of(place).filter(|_| run.outcome(place).0 == TestOutcome::Passed) {
                durations.entry(*test).or_default().push(duration);
            }
        }
    }
    durations
}

/// Returns whether a test became slower by more than its durations vary: nine of ten earlier durations are below the present
/// middle one.
fn is_slower(now: &[u64], before: &[u64]) -> bool {
    let (Some(now), Some(middle)) = (middle(now.to_vec()).filter(|_| now.len() >= FEWEST), middle(before.to_vec())) else {
        return false;
    };
    let below = before.iter().filter(|duration| **duration < now).count();
    has_grown(middle, now) && below * 10 >= before.len() * 9
}

/// Returns whether a duration grew by so much that a person would notice, in microseconds.
pub(super) fn has_grown(before: u64, now: u64) -> bool {
    now >= before.saturating_mul(GROWTH_PERCENT) / 100 && now - before.min(now) >= LEAST_GROWTH_US
}

/// Returns the middle one of some values; `None` if there are none.
pub(super) fn middle(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}
