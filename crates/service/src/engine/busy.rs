//! Busy files: files of the tree that something writes all the time, such as a log that nobody ignores. Each run on such a tree
//! would be followed by another one for ever. So the runs that only such files cause come at growing distances, and a person is told
//! which files they are. Nothing is ignored: every run tests the whole tree. Pure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::burst::Burst;
use crate::effect::{Effect, Notice};
use crate::engine::stage::Stage;
use crate::engine::{Engine, Moment};
use crate::ignore_advice::{WayIntoProject, ignore_advice};
use proctor_git::TrackedPaths;
use proctor_model::{TreePath, WatchHint};

/// A path that changed during each of so many runs in a row, which all ended within [`WITHIN`], is busy.
const RUNS: usize = 5;
const WITHIN: Duration = Duration::from_secs(60);
/// So is a path that changed before or during each of so many runs in a row, less than a second apart: a short run may end between two
/// changes.
const SHORT_RUNS: usize = 30;
const SHORT_WITHIN: Duration = Duration::from_secs(30);
/// A path that has not changed for so long is not busy any more.
const QUIET: Duration = Duration::from_secs(1);
/// The longest pause before a run that only busy paths cause. The first pause is one second; each further one is twice as long.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A change so long after the end of a run is no late report of what the run itself wrote.
const OUTSIDE: Duration = Duration::from_millis(500);
/// If more paths change during a run, they were written at once, for example by git, and none of them counts as busy.
const MOST_PATHS: usize = 256;

/// Returns what a person is told about busy files: the fact, and what to do. `tracked` are the paths of the project that git tracks.
pub fn busy_lines(paths: &BTreeSet<TreePath>, tracked: &TrackedPaths) -> Vec<String> {
    let shown: Vec<_> = paths.iter().take(SHOWN).map(TreePath::to_string).collect();
    let more = paths.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let change = if paths.len() == 1 { "changes all the time" } else { "change all the time" };
    let fact = format!(
        "{}{more} {change}: no verdict stays fresh, and the next run waits for up to a minute, for one quiet second, or for a save of \
         another file",
        shown.join(", ")
    );
    std::iter::once(fact).chain(ignore_advice(paths, tracked, WayIntoProject::ByOthers)).collect()
}

/// The most files that a person is told of.
const SHOWN: usize = 5;

/// What the last runs, and the pauses between them, have shown about busy paths.
#[derive(Debug, Default)]
pub(super) struct BusyFiles {
    /// The last [`SHORT_RUNS`] runs, the newest last.
    runs: VecDeque<EndedRun>,
    /// The paths that have changed since the last run ended.
    changed: BTreeMap<TreePath, ChangedWhen>,
    /// The paths that changed so long after a run that the run cannot have written them, and when each last did.
    outside: BTreeMap<TreePath, Moment>,
    /// The busy paths, and when each changed last.
    busy: BTreeMap<TreePath, Moment>,
    /// The number of pauses so far since anything else was saved.
    pauses: u32,
    /// When the pause under way ends.
    until: Option<Moment>,
    /// The busy paths of which the person was told.
    told: BTreeSet<TreePath>,
}

#[derive(Debug)]
struct EndedRun {
    ended: Moment,
    changed: BTreeMap<TreePath, ChangedWhen>,
    /// Whether the run has no verdict because its tree changed. The run may have made the changes itself.
    has_moved: bool,
}

/// When a path changed that changed since the run before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ChangedWhen {
    BeforeRun,
    DuringRun,
}

impl BusyFiles {
    /// Notes a change. `is_running` says whether a run is ordered or under way.
    pub(super) fn heard(&mut self, now: Moment, path: &TreePath, is_running: bool) {
        self.forget_quiet(now);
        match self.busy.get_mut(path) {
            Some(last) => *last = now,
            None => self.pauses = 0,
        }
        let when = if is_running { ChangedWhen::DuringRun } else { ChangedWhen::BeforeRun };
        if self.changed.len() <= MOST_PATHS {
            self.changed.entry(path.clone()).and_modify(|before| *before = when.max(*before)).or_insert(when);
        }
        let is_outside = !is_running && self.runs.back().is_some_and(|last| now >= last.ended.plus(OUTSIDE));
        if is_outside && self.outside.len() < MOST_PATHS {
            self.outside.insert(path.clone(), now);
        }
    }

    /// Notes that a run is ordered.
    pub(super) fn ordered(&mut self) {
        self.changed.values_mut().for_each(|when| *when = ChangedWhen::BeforeRun);
    }

    /// Notes the end of a run. `moved` are the paths because of which it has no verdict.
    pub(super) fn run_ended(&mut self, now: Moment, moved: &BTreeSet<TreePath>) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.extend(moved.iter().map(|path| (path.clone(), ChangedWhen::DuringRun)));
        if changed.len() > MOST_PATHS {
            changed.clear();
        }
        if self.runs.len() == SHORT_RUNS {
            self.runs.pop_front();
        }
        self.runs.push_back(EndedRun { ended: now, changed, has_moved: !moved.is_empty() });
        self.until = None;
        self.find(now);
    }

    /// Adds the paths that the last runs show to be busy, and begins a pause after the last run if none has begun.
    fn find(&mut self, now: Moment) {
        self.forget_quiet(now);
        let Some(last) = self.runs.back() else { return };
        self.outside.retain(|_, at| now <= at.plus(WITHIN));
        let in_each = |count: usize, within: Duration, when: ChangedWhen, path: &TreePath| {
            let mut runs = self.runs.iter().rev().take(count);
            let is_recent = self.runs.iter().rev().nth(count - 1).is_some_and(|first| now <= first.ended.plus(within));
            is_recent && runs.all(|run| run.changed.get(path).is_some_and(|at| *at >= when))
        };
        let may_be_own = self.runs.iter().rev().take(RUNS).any(|run| run.has_moved);
        for path in last.changed.keys().filter(|path| !may_be_own || self.outside.contains_key(*path)) {
            if in_each(RUNS, WITHIN, ChangedWhen::DuringRun, path)
                || in_each(SHORT_RUNS, SHORT_WITHIN, ChangedWhen::BeforeRun, path)
            {
                self.busy.entry(path.clone()).or_insert(now);
            }
        }
        if !self.busy.is_empty() && self.until.is_none() {
            let pause = Duration::from_secs(1 << self.pauses.min(6)).min(LONGEST_PAUSE);
            self.until = Some(last.ended.plus(pause));
            self.pauses += 1;
        }
    }

    /// Forgets the paths that have not changed for [`QUIET`].
    fn forget_quiet(&mut self, now: Moment) {
        let were_any = !self.busy.is_empty();
        self.busy.retain(|_, last| now < last.plus(QUIET));
        if were_any && self.busy.is_empty() {
            self.runs.clear();
            self.outside.clear();
            (self.pauses, self.until) = (0, None);
        }
    }

    fn are_all_busy<'p>(&self, mut paths: impl Iterator<Item = &'p TreePath>) -> bool {
        !self.busy.is_empty() && paths.all(|path| self.busy.contains_key(path))
    }

    /// Returns what the person is to be told: which paths are busy, if there are new ones, or that none is any more.
    fn news(&mut self) -> Option<Notice> {
        if self.busy.is_empty() {
            let were_any = !std::mem::take(&mut self.told).is_empty();
            return were_any.then_some(Notice::NoLongerBusy);
        }
        // Whether they change without a run too is only known in the pause after it.
        let are_written_outside = self.busy.keys().any(|path| self.outside.contains_key(path));
        if !are_written_outside || self.busy.keys().all(|path| self.told.contains(path)) {
            return None;
        }
        self.told.extend(self.busy.keys().cloned());
        Some(Notice::Busy { paths: self.told.clone() })
    }
}

impl Engine {
    /// Returns whether the changes that have led to no run yet are all changes of busy files.
    pub(super) fn is_only_busy(&self) -> bool {
        let paths = self.burst.as_ref().and_then(Burst::all_paths);
        paths.is_some_and(|paths| self.busy.are_all_busy(paths.iter()))
    }

    /// Returns until when the waiting changes, which are only changes of busy files, lead to no run; `None` if they may lead to one.
    pub(super) fn busy_until(&mut self, now: Moment) -> Option<Moment> {
        self.busy.find(now);
        let paths = self.burst.as_ref().and_then(Burst::all_paths).filter(|_| self.is_only_busy())?;
        let quiet = paths.iter().filter_map(|path| self.busy.busy.get(path)).min()?.plus(QUIET);
        match self.stage {
            Stage::Idle => self.busy.until.map(|until| until.min(quiet)),
            Stage::Looking(_) | Stage::Recalling | Stage::Running(_) => Some(quiet),
        }
        .filter(|until| now < *until)
    }

    /// Handles the end of a run during which only busy files changed. A later run tests what is on disk then. Returns whether this was
    /// such a run.
    pub(super) fn take_busy_move(&mut self, now: Moment, moved: &BTreeSet<TreePath>) -> bool {
        let is_busy = self.busy.are_all_busy(moved.iter()) && (self.burst.is_none() || self.is_only_busy());
        if is_busy {
            self.repetitions.reset();
            self.unrest.reset();
            let burst = self.burst.get_or_insert_with(|| Burst::begin(now));
            moved.iter().for_each(|path| burst.hear(now, WatchHint::Saved(path.clone())));
        }
        is_busy
    }

    /// Returns what the person is to be told about busy files, and a wake-up at which none is busy any more if none changes until then.
    pub(super) fn tell_of_busy(&mut self) -> Vec<Effect> {
        let wake = self.busy.busy.values().max().map(|last| Effect::WakeAt(last.plus(QUIET)));
        self.busy.news().map(Effect::Show).into_iter().chain(wake).collect()
    }
}
