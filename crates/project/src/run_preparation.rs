//! Prepares in idle time what the next run needs: the directory that its actions share, and the isolation of its first
//! action.

use crate::error::ProjectError;
use crate::runner::Runner;
use proctor_evidence::{ProjectLock, ScratchDirectory, Store};
use proctor_model::{Access, EarlyUse};
use proctor_sandbox::process::{EarlyCommand, Isolation};
use proctor_sandbox::snapshot::RunLayers;

/// How often commands that were started early were of no use lately. Starting one that is refused again costs processor time for nothing.
#[derive(Debug, Default, Clone, Copy)]
struct Refusals {
    in_sequence: u32,
    /// The number of actions until the next one is tried.
    rest: u32,
}

impl Refusals {
    const MOST: u32 = 3;
    const REST: u32 = 16;

    fn note(&mut self, used: &EarlyUse) {
        match used {
            EarlyUse::Used => *self = Self::default(),
            EarlyUse::Refused(_) => {
                self.in_sequence += 1;
                if self.in_sequence >= Self::MOST {
                    *self = Self { in_sequence: Self::MOST - 1, rest: Self::REST };
                }
            }
            EarlyUse::NotTried => self.rest = self.rest.saturating_sub(1),
        }
    }

    fn is_resting(self) -> bool {
        self.rest > 0
    }
}

/// What is prepared before a run and kept until the run ends.
#[derive(Debug, Default)]
pub struct RunPreparation {
    scratch: Option<ScratchDirectory>,
    /// The number of directories made so far. It is part of the next directory's name, so that no name is used twice.
    made: u64,
    /// The isolation of the last run's first check. The next run's first check will probably have the same.
    first_step: Option<Isolation>,
    /// The command that may be started early for it.
    early: Option<EarlyCommand>,
    /// Whether a command may be started early for the next run.
    may_start_early: bool,
    /// Whether the last run has left such a command.
    has_started_early: bool,
    refusals: Refusals,
}

impl RunPreparation {
    /// Returns the directory that the run's actions share.
    pub fn scratch(&self) -> Option<&ScratchDirectory> {
        self.scratch.as_ref()
    }

    /// Creates the shared directory for a run, unless it was prepared after the last run.
    pub fn open(&mut self, lock: &ProjectLock) -> Result<(), ProjectError> {
        (self.first_step, self.early, self.has_started_early) = (None, None, false);
        if let Some(scratch) = self.scratch.as_mut().filter(|scratch| scratch.is_usable_for(lock)) {
            scratch.hand_over_prepared_files(lock);
            return Ok(());
        }
        self.made += 1;
        self.scratch = Some(ScratchDirectory::create(lock, self.made)?);
        Ok(())
    }

    /// Creates the files that the next run needs first.
    fn make_ready(&mut self) {
        // If this fails, the files are created when they are needed, and a failure is reported then.
        let _not_ready = self.scratch.as_mut().map(ScratchDirectory::prepare_files);
    }

    /// Records how a check is isolated, if it is the first one of the run.
    pub fn note_step(&mut self, isolation: &Isolation, early: Option<EarlyCommand>) {
        if self.first_step.is_none() {
            self.early = early;
        }
        self.first_step.get_or_insert_with(|| Isolation { snapshot: None, dropped: None, ..isolation.clone() });
    }

    /// Says whether a command may be started early for the run after the next one.
    pub(crate) fn let_start_early(&mut self, is_allowed: bool) {
        self.may_start_early = is_allowed;
    }

    /// Records what became of the command that was started early for a check.
    pub fn note_early_use(&mut self, used: &EarlyUse) {
        self.refusals.note(used);
    }

    /// Returns whether the last run has left a command that is started early.
    pub(crate) fn has_started_early(&self) -> bool {
        self.has_started_early
    }

    /// Returns whether a command may be started early, for the next run, as this run's first check.
    pub fn may_start_early(&self) -> bool {
        self.may_start_early && self.first_step.is_none() && !self.refusals.is_resting()
    }

    /// Removes the shared directory of a finished run.
    pub fn close(&mut self) {
        if let Some(scratch) = self.scratch.take() {
            scratch.remove();
        }
    }
}

/// Removes a directory that was prepared for a run that never came.
impl Drop for RunPreparation {
    fn drop(&mut self) {
        self.close();
    }
}

/// Removes the shared directory of the finished run, and prepares the directory and the isolation for the next one.
pub fn park_for_the_next_run(store: &Store, runner: &mut Runner, lock: &ProjectLock) -> Result<(), ProjectError> {
    let preparation = &mut runner.preparation;
    let (first_step, early) = (preparation.first_step.take(), preparation.early.take());
    let old = preparation.scratch().map(|scratch| scratch.path().to_owned());
    preparation.close();
    preparation.open(lock)?;
    preparation.make_ready();
    // If this fails, the layers are made when they are needed, and a failure is reported then.
    let _not_ready = RunLayers::prepare(&store.snapshot_directory(lock.project()));
    if let (Some(mut isolation), Some(old), Some(new)) = (first_step, old, preparation.scratch()) {
        isolation.output = None;
        for place in isolation.sandbox.iter_mut().flat_map(|sandbox| &mut sandbox.places) {
            if let Access::Private { source: shared } | Access::Overlay { scratch: shared } | Access::Layer { source: shared } =
                &mut place.access
                && let Ok(below) = shared.strip_prefix(&old)
            {
                *shared = new.path().join(below);
            }
        }
        runner.preparation.has_started_early = early.is_some();
        // The launcher sets up this isolation in advance, for the action that probably starts next.
        runner.launcher()?.park(&isolation, early);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_always_refused_is_not_started_for_a_while() {
        let (mut refusals, refused) = (Refusals::default(), EarlyUse::Refused("a thread".to_owned()));
        refusals.note(&refused);
        refusals.note(&refused);
        refusals.note(&EarlyUse::Used);
        refusals.note(&refused);
        refusals.note(&refused);
        assert!(!refusals.is_resting(), "one was of use in between");
        refusals.note(&refused);
        for _ in 0..Refusals::REST {
            assert!(refusals.is_resting());
            refusals.note(&EarlyUse::NotTried);
        }
        assert!(!refusals.is_resting(), "it is tried again");
        refusals.note(&refused);
        assert!(refusals.is_resting(), "one refusal is enough then");
    }
}
