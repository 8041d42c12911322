//! Lists runs for `proctor log`: what the ledger says about each, with what the index of tests knows about its checks and tests.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::ProjectError;
use crate::store_reader::{RecordedRun, StoreReader};
use crate::test_history::RECENT;
use crate::test_history::flaky::{Flips, flips_of_check, flips_of_tests, rosters_in};
use crate::test_history::past::{FoundTest, place_in};
use proctor_evidence::LedgerLookup;
use proctor_index::{IndexedRun, NewestTests, PastRun, Roster};
use proctor_model::{
    DurationMs, LoggedRun, NamedTest, OverallStatus, PersonAsked, ProjectId, ProofState, ResultType, RunId, Sequence, TaskId,
    Timestamp,
};

/// Which runs are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    pub of_task: Option<TaskId>,
    /// Whether only runs that did not pass are listed; with `with_test`, only those in which the test failed.
    pub only_failed: bool,
    /// Only runs that began then or later.
    pub not_before: Option<Timestamp>,
    /// Only runs with this test.
    pub with_test: Option<FoundTest>,
    /// The most runs.
    pub most: u32,
}

impl RunFilter {
    fn is_everything(&self) -> bool {
        self.of_task.is_none() && !self.only_failed && self.not_before.is_none() && self.with_test.is_none()
    }
}

/// What is read once for all listed runs.
#[derive(Debug, Default)]
struct Looked {
    names: Option<BTreeMap<u32, NamedTest>>,
    rosters: BTreeMap<u32, Roster>,
    /// For each check, what happened on equal trees: of the check as a whole, and of its tests.
    flips: BTreeMap<u32, (Flips, BTreeMap<u32, Flips>)>,
}

impl StoreReader {
    /// Returns the newest runs that fit, newest first, each with its line in the ledger, which was checked. Without a filter they are
    /// read from the ledger's end. With one, the index says which sealed runs fit, and with a test, the index of tests: a run whose tests
    /// are not known is then not
    /// listed.
    ///
    /// # Errors
    /// When the ledger or the index cannot be read, or a line of the ledger is not as proctor wrote it.
    pub fn logged_runs(&self, project: &ProjectId, filter: &RunFilter) -> Result<Vec<(RecordedRun, LoggedRun)>, ProjectError> {
        let recorded = if filter.is_everything() {
            self.runs(project, filter.most)?.into_iter().map(|run| (run, None)).collect()
        } else {
            let ledger = LedgerLookup::open(&self.store, project)?;
            let mut recorded = Vec::new();
            for (sequence, run_id, evidence) in self.fitting(project, filter)? {
                let line = ledger.find(sequence)?;
                let run = line.as_ref().and_then(IndexedRun::of_line).filter(|run| run.run_id == run_id);
                let Some(run) = run else { continue };
                recorded.push((self.recorded_run(project, &ledger, run)?, Some(evidence)));
            }
            recorded
        };
        let mut looked = Looked::default();
        recorded.into_iter().map(|(run, evidence)| self.logged_run(project, run, evidence, &mut looked)).collect()
    }

    /// Returns one run as [`Self::logged_runs`] does.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn logged(&self, project: &ProjectId, run: RecordedRun) -> Result<LoggedRun, ProjectError> {
        Ok(self.logged_run(project, run, None, &mut Looked::default())?.1)
    }

    fn fitting(&self, project: &ProjectId, filter: &RunFilter) -> Result<Vec<(Sequence, RunId, ProofState)>, ProjectError> {
        let Some(test) = &filter.with_test else {
            let task = filter.of_task.as_ref();
            let runs = self.index.fitting_runs(project, task, filter.only_failed, filter.not_before, filter.most);
            return runs.map_err(ProjectError::Index);
        };
        let wanted = NewestTests { limit: u32::MAX, skip: 0, durations: false, reused: false };
        let runs = self.index.check_runs(project, test.check, wanted)?;
        let places = self.index.places(project, test.check, test.number)?;
        let mut fitting: Vec<(Sequence, RunId, ProofState)> = Vec::new();
        for run in runs.iter().rev() {
            let fits = place_in(run, &places).is_some_and(|place| !filter.only_failed || run.outcome(place).0.is_failure());
            let is_listed = fitting.last().is_some_and(|(last, ..)| *last == run.sequence);
            if fits && !is_listed && filter.not_before.is_none_or(|since| run.started >= since) {
                fitting.push((run.sequence, run.run_id.clone(), self.proof_of(project, &run.run_id)?));
            }
            if fitting.len() >= usize::try_from(filter.most).unwrap_or(usize::MAX) {
                break;
            }
        }
        Ok(fitting)
    }

    fn logged_run(
        &self,
        project: &ProjectId,
        run: RecordedRun,
        evidence: Option<ProofState>,
        looked: &mut Looked,
    ) -> Result<(RecordedRun, LoggedRun), ProjectError> {
        let past = self.index.past_run(project, &run.run_id)?.map(|(past, _)| past);
        let tdd = self.index.tdd(project, &run.task)?;
        let mut logged = LoggedRun {
            person: PersonAsked::of_cycle(&run.task, &tdd).filter(|asked| asked.run_id.as_ref() == Some(&run.run_id)),
            run_id: run.run_id.clone(),
            task: run.task.clone(),
            status: run.status,
            result: run.result,
            started: run.started,
            duration: past.as_ref().and_then(|past| past.duration).or_else(|| duration_by_clock(&run)),
            tree: run.tree_digest,
            blocking: run.blocking,
            checks: run.checks,
            tests: past.as_ref().and_then(|past| past.counts),
            failed_checks: Vec::new(),
            warned_checks: Vec::new(),
            failed_tests: Vec::new(),
            flaky: false,
            evidence: match evidence {
                Some(ProofState::Pruned) => ProofState::Pruned,
                // Whether another program removed the files is seen on disk only.
                Some(ProofState::Kept | ProofState::Missing) | None => self.proof_of_recorded(project, &run),
            },
        };
        if let Some(past) = past {
            self.add_failures(project, &past, &mut logged, looked)?;
        }
        Ok((run, logged))
    }

    /// Adds what failed in a run, and whether that is flaky.
    fn add_failures(
        &self,
        project: &ProjectId,
        past: &PastRun,
        logged: &mut LoggedRun,
        looked: &mut Looked,
    ) -> Result<(), ProjectError> {
        let results = self.index.checks_of_run(project, past.sequence)?;
        let (mut has_flaky, mut is_wholly_flaky) = (false, true);
        for (place, (check, result)) in results.iter().enumerate() {
            let is_last_attempt = results.get(place + 1).is_none_or(|(next, _)| next.number != check.number);
            let has_failed = result.status != ResultType::Success;
            if has_failed && is_last_attempt {
                let named = if result.blocks { &mut logged.failed_checks } else { &mut logged.warned_checks };
                named.push(check.name.clone());
            }
            let failed: Vec<u32> =
                result.not_passed.iter().filter(|test| test.outcome.is_failure()).map(|test| test.position).collect();
            let makes_red = has_failed && is_last_attempt && result.blocks;
            if result.reused.is_some() || (!has_failed && failed.is_empty()) {
                is_wholly_flaky &= !makes_red;
                continue;
            }
            self.look_at(project, check.number, looked)?;
            if let Some((of_check, of_tests)) = looked.flips.get(&check.number) {
                let is_flaky = |flips: &Flips| flips.failures.contains(&past.sequence);
                has_flaky |= is_flaky(of_check) || of_tests.values().any(is_flaky);
            }
            if !is_last_attempt || (has_failed && !result.blocks) {
                continue;
            }
            // The run may be older than the results that say what is flaky.
            let lacking: BTreeSet<u32> =
                result.roster.into_iter().filter(|number| !looked.rosters.contains_key(number)).collect();
            looked.rosters.extend(self.index.rosters(project, &lacking)?);
            let roster = result.roster.and_then(|number| looked.rosters.get(&number));
            let numbers: Vec<&u32> = failed.iter().filter_map(|place| roster?.tests().get(*place as usize)).collect();
            if makes_red && let Some((of_check, of_tests)) = looked.flips.get(&check.number) {
                let is_flaky = |flips: &Flips| flips.failures.contains(&past.sequence);
                let are_tests = !numbers.is_empty() && numbers.iter().all(|test| of_tests.get(test).is_some_and(is_flaky));
                is_wholly_flaky &= is_flaky(of_check) || are_tests;
            }
            let names = numbers.into_iter().filter_map(|number| Some(looked.names.as_ref()?.get(number)?.id.clone()));
            let room = LoggedRun::SHOWN_TESTS.saturating_sub(logged.failed_tests.len());
            logged.failed_tests.extend(names.take(room));
        }
        // A red run is flaky if nothing but flaky failures made it red: one more may be a real one.
        logged.flaky = if logged.failed_checks.is_empty() { has_flaky } else { is_wholly_flaky };
        Ok(())
    }

    fn look_at(&self, project: &ProjectId, check: u32, looked: &mut Looked) -> Result<(), ProjectError> {
        if looked.names.is_none() {
            looked.names = Some(self.tests_by_number(project)?);
        }
        if looked.flips.contains_key(&check) {
            return Ok(());
        }
        let wanted = NewestTests { limit: RECENT, skip: 0, durations: false, reused: false };
        let runs = self.index.check_runs(project, check, wanted)?;
        let rosters = self.index.rosters(project, &rosters_in(&runs))?;
        looked.flips.insert(check, (flips_of_check(&runs), flips_of_tests(&runs, &rosters)));
        looked.rosters.extend(rosters);
        Ok(())
    }

    fn proof_of_recorded(&self, project: &ProjectId, run: &RecordedRun) -> ProofState {
        // The files of a run that a newer save stopped were removed at once.
        if run.pruned.is_some() || run.status == OverallStatus::Superseded {
            return ProofState::Pruned;
        }
        if self.place(project, run).is_dir() { ProofState::Kept } else { ProofState::Missing }
    }
}

/// Returns the duration by the times in the ledger; `None` if the clock went back meanwhile, or the end is not known.
fn duration_by_clock(run: &RecordedRun) -> Option<DurationMs> {
    let ended = run.ended?;
    u64::try_from(ended.as_millis() - run.started.as_millis()).ok().map(DurationMs)
}
