//! A burst: changes that come shortly after one another and lead to one run. This module records which paths changed
//! and computes when the burst ends. Pure: time is an argument.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::engine::Moment;
use proctor_model::{TreePath, WatchHint};

/// The most paths that count as one save: a file's name, and its name before a rename. One save leads to a run at once.
const PATHS_OF_A_SAVE: usize = 2;

/// How long to wait for the second step of a save. A new file may be an editor's temporary file that is about to be
/// renamed. A removed file may be old content that was moved aside. Editors need microseconds for the second step.
const BREATH: Duration = Duration::from_millis(2);

/// If the scan for a save was cancelled more often than this, some program keeps writing. The burst then no longer
/// counts as one save.
const MOST_RECALLS: u32 = 3;

/// The hints of a burst, none of which has led to a run yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Burst {
    first: Moment,
    last: Moment,
    paths: BTreeMap<TreePath, Way>,
    recalls: u32,
    /// Whether files outside of `paths` may have changed too.
    breadth: Breadth,
}

/// What has happened to a path since the burst began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    before: Before,
    now: Now,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The path may have existed when the burst began.
    There,
    /// The path did not exist when the burst began.
    Absent,
}

/// The state of a path according to the last hint about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    Open,
    Whole,
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Breadth {
    /// Only files in `Burst::paths` have changed.
    Paths,
    /// A file has changed, but the hint named no path.
    Tree,
    /// The watcher may have lost events, so changed files may be missing from `Burst::paths`.
    Lost,
}

/// The kind of changes in a burst so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A file is still open for writing: the burst ends only when its time limit is reached, unless the file is closed
    /// earlier.
    Open,
    /// One save whose files are closed: the burst ends at once.
    Save,
    /// One save whose second step, such as a rename, may still come: the burst waits for `BREATH`.
    Half,
    /// More than one save: the burst ends only after the quiet time.
    Many,
}

impl Burst {
    /// Starts an empty burst at `now`.
    pub(crate) fn begin(now: Moment) -> Self {
        Self { first: now, last: now, paths: BTreeMap::new(), recalls: 0, breadth: Breadth::Paths }
    }

    /// Notes the change that a hint of the watcher reports. Hints that report no change are ignored.
    pub(crate) fn hear(&mut self, now: Moment, hint: WatchHint) {
        match hint {
            WatchHint::Saved(path) => self.saved(now, path),
            WatchHint::Created(path) => self.created(now, path),
            WatchHint::Writing(path) => self.writing(now, path),
            WatchHint::Removed(path) => self.removed(now, path),
            WatchHint::LookAgain(problem) if problem.loses_events() => self.lost(now),
            WatchHint::LookAgain(_) => self.touch(now),
            WatchHint::IgnoredCame(_)
            | WatchHint::Approved
            | WatchHint::Polling(_)
            | WatchHint::RootVanished
            | WatchHint::Synced(_) => {}
        }
    }

    /// Adds a path whose content is final.
    fn saved(&mut self, now: Moment, path: TreePath) {
        self.note(now, path, Before::There, Now::Whole);
    }

    /// Adds a path that was created and is still open for writing.
    fn created(&mut self, now: Moment, path: TreePath) {
        self.note(now, path, Before::Absent, Now::Open);
    }

    /// Adds a path that is still open for writing. The burst lasts until the file is closed or the time limit is
    /// reached.
    fn writing(&mut self, now: Moment, path: TreePath) {
        self.note(now, path, Before::There, Now::Open);
    }

    fn removed(&mut self, now: Moment, path: TreePath) {
        self.note(now, path, Before::There, Now::Gone);
    }

    /// Notes that events may have been lost. Only a comparison of the whole tree can then find the changes.
    fn lost(&mut self, now: Moment) {
        self.last = now;
        self.breadth = Breadth::Lost;
    }

    /// Notes a change for which the hint named no path.
    fn touch(&mut self, now: Moment) {
        self.last = now;
        self.breadth = self.breadth.max(Breadth::Tree);
    }

    /// Merges this burst with the changes that came after the scan for it had begun. That scan is cancelled.
    pub(crate) fn recalled_for(mut self, later: Self) -> Self {
        self.last = later.last;
        self.recalls += 1;
        self.breadth = self.breadth.max(later.breadth);
        for (path, way) in later.paths {
            self.note(later.last, path, way.before, way.now);
        }
        self
    }

    /// Returns when the burst ends if no more hints come. A whole save ends the burst at once, the first half of a save ends it
    /// after `BREATH`, and several saves end it after `quiet`. It ends at the latest when it has lasted `longest`.
    pub(crate) fn due(&self, quiet: Duration, longest: Duration) -> Moment {
        let bound = self.bound(longest);
        match self.shape() {
            Shape::Open => bound,
            Shape::Save => self.last.min(bound),
            Shape::Half => self.last.plus(BREATH.min(quiet)).min(bound),
            Shape::Many => self.last.plus(quiet).min(bound),
        }
    }

    /// Returns when the burst may stop a run, if no more hints come. It waits for `quiet` even after a single save:
    /// restarting for a half-finished save would cost another restart.
    pub(crate) fn due_during_run(&self, quiet: Duration, longest: Duration) -> Moment {
        let bound = self.bound(longest);
        if self.shape() == Shape::Open { bound } else { self.last.plus(quiet).min(bound) }
    }

    /// Returns the latest moment at which the burst ends, whatever hints still come.
    pub(crate) fn bound(&self, longest: Duration) -> Moment {
        self.first.plus(longest)
    }

    /// Returns the changed paths, without temporary files that were created and removed during the burst.
    pub(crate) fn paths(&self) -> BTreeSet<TreePath> {
        self.lasting().map(|(path, _)| path.clone()).collect()
    }

    /// Returns every path that changed, including those of temporary files; `None` if other files may have changed too.
    pub(crate) fn all_paths(&self) -> Option<BTreeSet<TreePath>> {
        (self.breadth == Breadth::Paths).then(|| self.paths.keys().cloned().collect())
    }

    /// Returns whether the watcher may have lost events, so that some changed files may be missing from `paths`.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.breadth == Breadth::Lost
    }

    fn note(&mut self, at: Moment, path: TreePath, before: Before, now: Now) {
        self.last = at;
        self.paths.entry(path).and_modify(|way| way.now = now).or_insert(Way { before, now });
    }

    fn lasting(&self) -> impl Iterator<Item = (&TreePath, Way)> {
        let is_temporary = |way: Way| way.before == Before::Absent && way.now == Now::Gone;
        self.paths.iter().map(|(path, way)| (path, *way)).filter(move |(_, way)| !is_temporary(*way))
    }

    fn shape(&self) -> Shape {
        let is_open = self.paths.values().any(|way| way.now == Now::Open);
        let lasting = self.lasting().count();
        if is_open {
            Shape::Open
        } else if self.breadth != Breadth::Paths || self.recalls > MOST_RECALLS || lasting > PATHS_OF_A_SAVE {
            Shape::Many
        } else if lasting > 0 && self.lasting().all(|(_, way)| way.before == Before::There && way.now == Now::Whole) {
            Shape::Save
        } else {
            Shape::Half
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = Duration::from_millis(20);
    const LONGEST: Duration = Duration::from_millis(500);

    fn path(text: &str) -> TreePath {
        TreePath::try_from(text).expect("a clean path")
    }

    type Step = (fn(&mut Burst, Moment, TreePath), &'static str);

    /// Plays the steps of an editor at the moment 1000. Returns how many milliseconds the burst then waits.
    fn wait_after(steps: &[Step]) -> u64 {
        let mut burst = Burst::begin(Moment(1000));
        steps.iter().for_each(|(step, name)| step(&mut burst, Moment(1000), path(name)));
        burst.due(QUIET, LONGEST).0 - 1000
    }

    #[test]
    fn a_save_is_over_with_its_last_step_whatever_the_editor_does_before() {
        let in_place: &[Step] = &[(Burst::writing, "a"), (Burst::saved, "a")];
        let by_rename: &[Step] = &[
            (Burst::created, "a.tmp"),
            (Burst::writing, "a.tmp"),
            (Burst::saved, "a.tmp"),
            (Burst::removed, "a.tmp"),
            (Burst::saved, "a"),
        ];
        let old_put_aside: &[Step] = &[(Burst::removed, "a"), (Burst::created, "a"), (Burst::writing, "a"), (Burst::saved, "a")];
        let old_put_back_and_removed: &[Step] =
            &[(Burst::removed, "a"), (Burst::saved, "a.old"), (Burst::saved, "a"), (Burst::removed, "a.old")];
        assert_eq!([in_place, by_rename, old_put_aside].map(wait_after), [0, 0, 0]);
        // A rename does not report whether `a.old` existed before, so the burst waits for a second step.
        assert_eq!(wait_after(old_put_back_and_removed), 2);
    }

    #[test]
    fn half_of_a_save_waits_a_breath_for_the_other_half() {
        assert_eq!(wait_after(&[(Burst::created, "new"), (Burst::saved, "new")]), 2);
        assert_eq!(wait_after(&[(Burst::removed, "a")]), 2);
        assert_eq!(wait_after(&[(Burst::removed, "a"), (Burst::saved, "b")]), 2);
        assert_eq!(wait_after(&[(Burst::created, "t"), (Burst::saved, "t"), (Burst::removed, "t")]), 2);
    }

    #[test]
    fn an_open_file_holds_the_burst_until_it_is_closed_or_the_bound_is_reached() {
        assert_eq!(wait_after(&[(Burst::writing, "a")]), 500);
        assert_eq!(wait_after(&[(Burst::created, "b"), (Burst::saved, "a")]), 500);
    }

    #[test]
    fn many_paths_are_over_after_quiet_and_never_later_than_the_bound() {
        let mut burst = Burst::begin(Moment(1000));
        for name in ["a", "b", "c"] {
            burst.saved(Moment(1000), path(name));
        }
        assert_eq!(burst.due(QUIET, LONGEST), Moment(1020));
        burst.saved(Moment(1015), path("d"));
        assert_eq!(burst.due(QUIET, LONGEST), Moment(1035));
        burst.saved(Moment(1495), path("e"));
        assert_eq!(burst.due(QUIET, LONGEST), Moment(1500));
    }

    #[test]
    fn what_has_no_path_waits_for_quiet() {
        let mut burst = Burst::begin(Moment(0));
        burst.touch(Moment(0));
        assert_eq!((burst.due(QUIET, LONGEST), burst.is_incomplete()), (Moment(20), false));
        burst.lost(Moment(5));
        burst.touch(Moment(5));
        assert_eq!((burst.due(QUIET, LONGEST), burst.is_incomplete()), (Moment(25), true));
    }

    #[test]
    fn who_goes_on_saving_the_same_file_is_waited_for() {
        let one = |at| {
            let mut burst = Burst::begin(Moment(at));
            burst.saved(Moment(at), path("a"));
            burst
        };
        let mut burst = one(0);
        for at in 1..=4 {
            assert_eq!(burst.due(QUIET, LONGEST), Moment(at - 1), "{at}");
            burst = burst.recalled_for(one(at));
        }
        assert_eq!(burst.due(QUIET, LONGEST), Moment(24));
        assert_eq!(burst.bound(LONGEST), Moment(500), "it counts from the first");
    }
}
