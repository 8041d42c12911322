//! The past of a project's tests: which runs there were, how each test ended in them, which tests are flaky or became slower, and how
//! two runs differ.
//!
//! The answers come from the index of tests in the store, which is brought up to date first ([`catch_up_tests`]). Nothing that decides
//! anything is read from it.
//!
//! Where to look: `sealed_tests` reads a run's evidence for the index; `past` tells the past of one test; `flaky` finds tests that
//! passed and failed on equal trees; `slow` compares durations; `compare` compares two runs; `logged` lists runs; `streaks` has the
//! rows of blocks for `proctor watch`; `failing` says since when the failures of one run fail; `matrix` and
//! `trends` are for the page.

mod compare;
mod failing;
mod flaky;
mod logged;
mod matrix;
mod past;
mod sealed_tests;
mod slow;
mod streaks;
mod trends;

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::error::ProjectError;
use crate::evidence::Evidence;
use crate::store_reader::StoreReader;
use proctor_evidence::{LedgerLookup, Store};
use proctor_index::{IndexError, StoreIndex};
use proctor_model::{ProjectId, RunLine};
use proctor_sandbox::process::clock;

pub use compare::NotComparable;
pub use logged::RunFilter;
pub use past::{FoundTest, TestSearch};
pub use sealed_tests::last_test_record;
pub(crate) use sealed_tests::read_sealed_tests;

/// How many runs are looked up at once.
const BATCH: u32 = 256;
/// How long a process that has just made a run spends on the tests of earlier runs that are not in the index yet. Commands that
/// ask about tests add all of them.
const AFTER_A_RUN: Duration = Duration::from_millis(300);
/// The most results of a check that an answer about all tests reads: more say nothing about how the tests are now.
const RECENT: u32 = 1000;

/// Adds the tests of sealed runs that the index of tests lacks, oldest first. Returns how many runs were added. With `within`, it
/// stops after this time, and the rest is added the next time. Runs by rules that nobody had approved are no past of a test.
///
/// # Errors
/// When evidence or the index cannot be used. Evidence that is missing or changed is passed over.
pub(crate) fn catch_up_tests(
    store: &Store,
    index: &mut StoreIndex,
    project: &ProjectId,
    within: Option<Duration>,
) -> Result<usize, ProjectError> {
    if index.tests_are_foreign(project)? {
        index.forget_tests(project)?;
    }
    let begun = clock::monotonic();
    let mut added = 0;
    let mut last = None;
    loop {
        let lacking = index.runs_without_tests(project, BATCH)?;
        if lacking.is_empty() {
            return Ok(added);
        }
        if lacking.first().copied() <= last {
            // The runs were added, and another program took that back.
            return Err(ProjectError::Index(IndexError::Unsteady { path: store.index_path() }));
        }
        last = lacking.last().copied();
        let ledger = LedgerLookup::open(store, project)?;
        for sequence in lacking {
            let line = ledger.find(sequence)?;
            let tests = match line.as_ref().and_then(|line| line.body.about_runs()) {
                Some(RunLine::Sealed(record)) if !record.is_by_changed_rules() => {
                    sealed_tests::read_sealed_tests(store, project, sequence, record)?
                }
                Some(RunLine::Sealed(_) | RunLine::Superseded(_) | RunLine::Pruned(_)) | None => None,
            };
            match tests {
                Some(tests) => index.add_tests(project, &tests)?,
                None => index.pass_over_tests(project, sequence)?,
            }
            added += 1;
            if within.is_some_and(|within| clock::monotonic().since(begun) >= within) {
                return Ok(added);
            }
        }
    }
}

/// Adds the tests of the project's last runs to the index of tests. It is called after the verdict was told. If it fails, the next
/// command that asks about tests tries again.
pub(crate) fn keep_tests(evidence: &mut Evidence, project: &ProjectId) {
    if let Err(error) = catch_up_tests(&evidence.store, &mut evidence.index, project, Some(AFTER_A_RUN)) {
        tracing::warn!("the tests of the last run of {project} are not in the index yet: {error}");
    }
}

impl StoreReader {
    /// Brings the index and the index of tests up to date. Returns how many runs were added to the index of tests.
    ///
    /// # Errors
    /// When the ledger, the evidence or the index cannot be used.
    pub fn catch_up_tests(&mut self, project: &ProjectId) -> Result<usize, ProjectError> {
        crate::checked_index::catch_up(&self.store, &mut self.index, project)?;
        catch_up_tests(&self.store, &mut self.index, project, None)
    }

    /// Answers a question about tests, after [`Self::catch_up_tests`]. If rows of the index of tests are damaged, or the index was
    /// rebuilt meanwhile, the project's rows are made again from the evidence, and the whole question is asked once more: numbers of
    /// tests and checks may be other ones then.
    ///
    /// # Errors
    /// When the question cannot be answered, or the index cannot be repaired.
    pub fn about_tests<T>(
        &mut self,
        project: &ProjectId,
        ask: impl Fn(&Self) -> Result<T, ProjectError>,
    ) -> Result<T, ProjectError> {
        let rebuilds = self.index.rebuilds();
        match ask(self) {
            Err(ProjectError::Index(error)) if error.is_damage() => {
                tracing::warn!(
                    "what is known about the tests of {project} was damaged, and is read from the evidence again: {error}"
                );
                self.index.forget_tests(project)?;
            }
            answer if self.index.rebuilds() == rebuilds => return answer,
            _ => {}
        }
        self.catch_up_tests(project)?;
        match ask(self) {
            // The tables themselves are other ones.
            Err(ProjectError::Index(error)) if error.is_damage() => {
                self.index.rebuild_anew()?;
                self.catch_up_tests(project)?;
                ask(self)
            }
            answer => answer,
        }
    }
}
