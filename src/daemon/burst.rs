//! A burst of hints: which paths, since when, and whether it is over. Pure; time is an argument.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::daemon::message::Moment;
use crate::model::TreePath;

/// Hints that belong together and have not led to a run yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Burst {
    first: Moment,
    last: Moment,
    paths: BTreeSet<TreePath>,
    writing: BTreeSet<TreePath>,
    /// Whether the paths are not all there is: events may have been lost.
    pub(crate) incomplete: bool,
}

impl Burst {
    /// Starts an empty burst at `now`.
    pub(crate) fn begin(now: Moment) -> Self {
        Self { first: now, last: now, paths: BTreeSet::new(), writing: BTreeSet::new(), incomplete: false }
    }

    /// Notes a path that has its final content.
    pub(crate) fn saved(&mut self, now: Moment, path: TreePath) {
        self.last = now;
        self.writing.remove(&path);
        self.paths.insert(path);
    }

    /// Notes a path that is still open: the burst is not over before it is closed or the bound is reached.
    pub(crate) fn writing(&mut self, now: Moment, path: TreePath) {
        self.last = now;
        self.paths.insert(path.clone());
        self.writing.insert(path);
    }

    /// Notes that only a full compare can tell what happened.
    pub(crate) fn lost(&mut self, now: Moment) {
        self.last = now;
        self.incomplete = true;
    }

    /// Notes that something is to be looked at, without a path.
    pub(crate) fn touch(&mut self, now: Moment) {
        self.last = now;
    }

    /// Returns when it is over if nothing else comes: after `quiet`, or at the bound while a file is open.
    pub(crate) fn due(&self, quiet: Duration, longest: Duration) -> Moment {
        let bound = self.first.plus(longest);
        if self.writing.is_empty() { self.last.plus(quiet).min(bound) } else { bound }
    }

    /// Returns the paths it touched.
    pub(crate) fn paths(&self) -> &BTreeSet<TreePath> {
        &self.paths
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

    #[test]
    fn a_burst_is_over_after_quiet_and_never_later_than_its_bound() {
        let mut burst = Burst::begin(Moment(1000));
        burst.saved(Moment(1000), path("a"));
        assert_eq!(burst.due(QUIET, LONGEST), Moment(1020));
        burst.saved(Moment(1015), path("b"));
        assert_eq!(burst.due(QUIET, LONGEST), Moment(1035));
        burst.saved(Moment(1495), path("c"));
        assert_eq!(burst.due(QUIET, LONGEST), Moment(1500));
    }

    #[test]
    fn an_open_file_holds_the_burst_until_it_is_closed_or_the_bound_is_reached() {
        let mut burst = Burst::begin(Moment(0));
        burst.writing(Moment(0), path("a"));
        assert_eq!(burst.due(QUIET, LONGEST), Moment(500));
        burst.saved(Moment(30), path("a"));
        assert_eq!(burst.due(QUIET, LONGEST), Moment(50));
    }
}
