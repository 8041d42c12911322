//! How many projects of a service do something at the same time, and how many that have just done something stay ready.
//!
//! Without this limit, a service with hundreds of projects would open and judge all of them at once when it starts, and
//! need descriptors, memory and processes for all of them.

use std::collections::VecDeque;
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
}

#[derive(Debug)]
struct Free {
    /// The number of free places of each kind.
    left: [usize; 4],
    /// For each kind of place, those who wait for it, the longest waiting first.
    lines: [VecDeque<Arc<Condvar>>; 4],
    /// The number of runs that have a place.
    runs: usize,
    /// Whether no further run gets a place.
    is_held: bool,
}

/// A turn in the line for a place. Dropping it leaves the line.
#[derive(Debug)]
pub(crate) struct PlaceTurn {
    places: WorkPlaces,
    kind: PlaceKind,
    /// Wakes the worker that waits here.
    woken: Arc<Condvar>,
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
        let free = Free { left, lines: Default::default(), runs: 0, is_held: false };
        Self(Arc::new(Shared { state: Mutex::new(free) }))
    }

    /// Waits for a place, behind those who wait already. Returns `None` if `is_stopped` says that the place is no longer wanted.
    pub(crate) fn take(&self, kind: PlaceKind, is_stopped: impl Fn() -> bool) -> Option<WorkPlace> {
        let turn = self.join_line(kind);
        let mut free = self.lock();
        loop {
            // The turn is dropped, and passes a place that was freed for it on, when the lock is free again.
            if is_stopped() {
                drop(free);
                return None;
            }
            if let Some(place) = turn.take_one(&mut free) {
                drop(free);
                return Some(place);
            }
            free = turn.woken.wait_timeout(free, STOP_POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Joins the line for a place at its end.
    pub(crate) fn join_line(&self, kind: PlaceKind) -> PlaceTurn {
        let woken = Arc::new(Condvar::new());
        self.lock().lines[kind as usize].push_back(Arc::clone(&woken));
        PlaceTurn { places: self.clone(), kind, woken }
    }

    /// Returns a place if one is free now and nobody waits for it.
    pub(crate) fn try_take(&self, kind: PlaceKind) -> Option<WorkPlace> {
        let mut free = self.lock();
        if free.lines[kind as usize].is_empty() { self.take_one(&mut free, kind) } else { None }
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
        let mut free = self.lock();
        free.is_held = false;
        free.wake_first(PlaceKind::Run);
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

impl Free {
    /// Wakes who has waited longest, if a place of this kind is free.
    fn wake_first(&self, kind: PlaceKind) {
        let first = self.lines[kind as usize].front().filter(|_| self.left[kind as usize] > 0);
        first.iter().for_each(|woken| woken.notify_one());
    }
}

#[cfg(test)]
impl PlaceTurn {
    /// Returns a place if one is free and nobody has waited longer.
    pub(crate) fn try_take(&self) -> Option<WorkPlace> {
        self.take_one(&mut self.places.lock())
    }
}

impl PlaceTurn {
    fn take_one(&self, free: &mut Free) -> Option<WorkPlace> {
        let is_first = free.lines[self.kind as usize].front().is_some_and(|first| Arc::ptr_eq(first, &self.woken));
        if is_first { self.places.take_one(free, self.kind) } else { None }
    }
}

impl Drop for PlaceTurn {
    fn drop(&mut self) {
        let mut free = self.places.lock();
        free.lines[self.kind as usize].retain(|waiting| !Arc::ptr_eq(waiting, &self.woken));
        free.wake_first(self.kind);
    }
}

impl Drop for WorkPlace {
    fn drop(&mut self) {
        let mut free = self.places.lock();
        free.left[self.kind as usize] += 1;
        free.runs -= usize::from(self.kind == PlaceKind::Run);
        free.wake_first(self.kind);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

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

    #[test]
    fn nobody_overtakes_who_waits_and_who_leaves_the_line_holds_nobody_up() {
        let places = WorkPlaces::of_service(0);
        let mut taken: Vec<WorkPlace> = std::iter::from_fn(|| places.try_take(PlaceKind::Run)).collect();
        let [first, second, third] = [(); 3].map(|()| places.join_line(PlaceKind::Run));
        drop(taken.pop());
        assert!(places.try_take(PlaceKind::Run).is_none() && second.try_take().is_none(), "the first has waited longest");
        drop(first);
        assert!(third.try_take().is_none());
        assert!(second.try_take().is_some());
    }

    proptest! {
        /// Twenty projects order runs whenever they like, and some do so again as soon as they can. Nobody waits longer than twice
        /// its share: what the others need of the places when each has one turn.
        #[test]
        fn of_twenty_projects_none_waits_longer_than_twice_its_share(
            lengths in vec(1_u32..50, 20),
            pauses in vec(0_u32..60, 20),
            others in 0_usize..8,
        ) {
            let places = WorkPlaces::of_service(0);
            let _others: Vec<_> = (0..others).filter_map(|_| places.try_take(PlaceKind::Run)).collect();
            let at_once = u32::try_from(8 - others).expect("eight at most");
            let share = (lengths.iter().sum::<u32>() / at_once).max(*lengths.iter().max().expect("twenty"));
            let mut projects: Vec<SimulatedProject> = pauses.iter().map(|pause| SimulatedProject::Rests(*pause)).collect();
            let mut begun = 0;
            for now in 0..2_000 {
                for (number, project) in projects.iter_mut().enumerate() {
                    begun += u32::from(project.go_on(now, &places, lengths[number], pauses[number]));
                    if let SimulatedProject::Waits(since, _) = project {
                        prop_assert!(now - *since <= 2 * share, "project {number} waits since {since}, {share} is its share");
                    }
                }
            }
            prop_assert!(begun >= 20);
        }
    }

    enum SimulatedProject {
        Rests(u32),
        Waits(u32, PlaceTurn),
        Runs(u32, #[expect(dead_code, reason = "dropping it frees the place")] WorkPlace),
    }

    impl SimulatedProject {
        /// Does what is due. Returns whether a run begins.
        fn go_on(&mut self, now: u32, places: &WorkPlaces, length: u32, pause: u32) -> bool {
            if let Self::Runs(until, _) = self
                && *until <= now
            {
                *self = Self::Rests(now + pause);
            }
            if let Self::Rests(until) = self
                && *until <= now
            {
                *self = Self::Waits(now, places.join_line(PlaceKind::Run));
            }
            let Self::Waits(_, turn) = self else { return false };
            let Some(place) = turn.try_take() else { return false };
            *self = Self::Runs(now + length, place);
            true
        }
    }
}
