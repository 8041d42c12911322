//! How many projects of a service do something at the same time, and how many that have just done something stay ready.
//!
//! Without this limit, a service with hundreds of projects would open and judge all of them at once when it starts, and
//! need descriptors, memory and processes for all of them.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most projects that are opened or compared with their verdicts at the same time.
const MOST_LOOKS: usize = 16;
/// The most projects that stay ready for their next save after a run.
const MOST_READY: usize = 8;
/// The most commands that are started before their runs, whatever the projects' settings say.
const MOST_STARTED: usize = 64;
/// The least and the most runs at the same time. The actions of all runs of the machine have a queue of their own
/// (`[queue]`), so further runs would only wait there, with open files.
const RUNS: (u64, u64) = (8, 64);
/// The descriptors that a run needs while its actions wait and run.
const FOR_A_RUN: u64 = 64;
/// The descriptors for everything else: clients, the store, the projects that are compared with their verdicts.
const FOR_OTHERS: u64 = 256;
/// How often a worker that waits for a place looks whether it is still to go on.
const STOP_POLL: Duration = Duration::from_millis(500);

/// What a place is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// Opening a project, or comparing its tree with its verdicts.
    Look,
    Run,
    /// Keeping the launcher and the index of a project open for its next save.
    Ready,
    /// Holding a command that was started before its run.
    Started,
}

/// The places that the workers of a service share. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct WorkPlaces(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<Free>,
    /// For each kind of place: wakes one worker that waits for it.
    freed: [Condvar; 4],
}

#[derive(Debug)]
struct Free {
    /// The number of free places of each kind.
    left: [usize; 4],
    /// The number of runs that have a place.
    runs: usize,
    /// Whether no further run gets a place.
    is_held: bool,
}

/// A place that a worker has. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct WorkPlace {
    places: WorkPlaces,
    kind: PlaceKind,
}

impl WorkPlaces {
    /// Returns the places of a service that may open this many files.
    pub(crate) fn of_service(open_files: u64) -> Self {
        let runs = (open_files.saturating_sub(FOR_OTHERS) / FOR_A_RUN).clamp(RUNS.0, RUNS.1);
        let left = [MOST_LOOKS, usize::try_from(runs).unwrap_or(MOST_LOOKS), MOST_READY, MOST_STARTED];
        let free = Free { left, runs: 0, is_held: false };
        Self(Arc::new(Shared { state: Mutex::new(free), freed: Default::default() }))
    }

    /// Waits for a place. Returns `None` if `is_stopped` says that the place is no longer wanted.
    pub(crate) fn take(&self, kind: PlaceKind, is_stopped: impl Fn() -> bool) -> Option<WorkPlace> {
        let mut free = self.lock();
        loop {
            if is_stopped() {
                // A place may have been freed for this worker. Another one gets it.
                self.0.freed[kind as usize].notify_one();
                return None;
            }
            if let Some(place) = self.take_one(&mut free, kind) {
                return Some(place);
            }
            free = self.0.freed[kind as usize].wait_timeout(free, STOP_POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns a place if one is free now.
    pub(crate) fn try_take(&self, kind: PlaceKind) -> Option<WorkPlace> {
        self.take_one(&mut self.lock(), kind)
    }

    /// Returns a place for a command that is started early, if fewer than `most` are taken.
    pub(crate) fn try_take_started(&self, most: u32) -> Option<WorkPlace> {
        let mut free = self.lock();
        let taken = MOST_STARTED - free.left[PlaceKind::Started as usize];
        let is_left = usize::try_from(most).is_ok_and(|most| taken < most);
        is_left.then(|| self.take_one(&mut free, PlaceKind::Started)).flatten()
    }

    /// Lets no further run begin. The runs under way go on.
    pub(crate) fn hold_runs(&self) {
        self.lock().is_held = true;
    }

    /// Lets runs begin again.
    pub(crate) fn release_runs(&self) {
        self.lock().is_held = false;
        self.0.freed[PlaceKind::Run as usize].notify_all();
    }

    /// Returns the number of runs under way.
    pub(crate) fn runs(&self) -> usize {
        self.lock().runs
    }

    fn take_one(&self, free: &mut Free, kind: PlaceKind) -> Option<WorkPlace> {
        let is_run = kind == PlaceKind::Run;
        if is_run && free.is_held {
            return None;
        }
        let left = &mut free.left[kind as usize];
        *left = left.checked_sub(1)?;
        free.runs += usize::from(is_run);
        Some(WorkPlace { places: self.clone(), kind })
    }

    fn lock(&self) -> MutexGuard<'_, Free> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WorkPlace {
    fn drop(&mut self) {
        let mut free = self.places.lock();
        free.left[self.kind as usize] += 1;
        free.runs -= usize::from(self.kind == PlaceKind::Run);
        self.places.0.freed[self.kind as usize].notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_leave_descriptors_for_everything_else_and_are_never_too_few_or_too_many() {
        for (open_files, runs) in [(256, 8), (1_024, 12), (4_096, 60), (16_384, 64)] {
            let places = WorkPlaces::of_service(open_files);
            assert_eq!(places.lock().left[PlaceKind::Run as usize], runs, "{open_files}");
        }
    }

    #[test]
    fn so_many_commands_are_started_early_as_the_project_that_asks_allows() {
        let places = WorkPlaces::of_service(0);
        assert!(places.try_take_started(0).is_none());
        let first = places.try_take_started(1).expect("a free place");
        assert!(places.try_take_started(1).is_none());
        let second = places.try_take_started(2);
        assert!(second.is_some());
        drop(first);
        assert!(places.try_take_started(2).is_some(), "a place that was given back");
    }

    #[test]
    fn a_place_is_waited_for_until_it_is_free_or_no_longer_wanted() {
        let places = WorkPlaces::of_service(0);
        let mut taken: Vec<WorkPlace> = std::iter::from_fn(|| places.try_take(PlaceKind::Run)).collect();
        assert_eq!(taken.len(), 8);
        assert!(places.take(PlaceKind::Run, || true).is_none());
        assert!(places.try_take(PlaceKind::Look).is_some(), "another kind has places of its own");
        let waiting = std::thread::spawn({
            let places = places.clone();
            move || places.take(PlaceKind::Run, || false).is_some()
        });
        drop(taken.pop());
        assert!(waiting.join().expect("it does not panic"));
        places.hold_runs();
        assert!(places.try_take(PlaceKind::Run).is_none(), "no further run begins");
        assert_eq!(places.runs(), 7);
        places.release_runs();
        assert!(places.try_take(PlaceKind::Run).is_some(), "runs begin again");
        taken.clear();
        assert_eq!(places.runs(), 0);
    }
}
