//! What the threads of projects send to the loop: hints of watchers and reports of workers, all on one channel.

use std::collections::{BTreeMap, VecDeque};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::daemon::worker::{SendReport, WorkerReport};
use crate::model::WatchHint;

/// The most arrivals that are taken from the channel at once. Signals and calls have their turn after them.
const MOST_AT_ONCE: usize = 4096;

/// A project's place in a loop, from its opening to its leaving. A watch in the foreground has one, the service has many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ProjectSeat(pub(super) u64);

/// What the threads of a project tell.
#[derive(Debug)]
pub(super) enum ProjectArrival {
    /// The watcher says: look again. Hints that waited for the loop together are given together, because the steps of one save
    /// belong together.
    Hints(Vec<WatchHint>),
    /// The worker says how far it is.
    Report(Box<WorkerReport>),
}

/// Everything that the threads of all projects have sent.
pub(super) struct Arrivals {
    channel: UnboundedReceiver<(ProjectSeat, ProjectArrival)>,
    /// What was taken from the channel, in the order in which it is given to the host.
    taken: VecDeque<(ProjectSeat, ProjectArrival)>,
}

/// Lets projects in.
#[derive(Clone)]
pub(super) struct ArrivalDoor(UnboundedSender<(ProjectSeat, ProjectArrival)>);

/// Sends what the threads of one project tell.
#[derive(Clone)]
pub(super) struct ArrivalSender {
    channel: UnboundedSender<(ProjectSeat, ProjectArrival)>,
    seat: ProjectSeat,
}

/// Opens the channel of a loop.
pub(super) fn open_arrivals() -> (ArrivalDoor, Arrivals) {
    let (sender, channel) = unbounded_channel();
    (ArrivalDoor(sender), Arrivals { channel, taken: VecDeque::new() })
}

impl ArrivalDoor {
    /// Returns what the threads of a project send by.
    pub(super) fn sender(&self, seat: ProjectSeat) -> ArrivalSender {
        ArrivalSender { channel: self.0.clone(), seat }
    }
}

impl ArrivalSender {
    /// Returns what a watcher sends its hints by.
    pub(super) fn hints(&self) -> impl Fn(WatchHint) + Send + 'static {
        let Self { channel, seat } = self.clone();
        move |hint| {
            let _gone = channel.send((seat, ProjectArrival::Hints(vec![hint])));
        }
    }

    /// Returns what a worker reports by.
    pub(super) fn reports(&self) -> SendReport {
        let Self { channel, seat } = self.clone();
        Box::new(move |report| channel.send((seat, ProjectArrival::Report(Box::new(report)))).is_ok())
    }
}

impl Arrivals {
    /// Waits for the next one. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> (ProjectSeat, ProjectArrival) {
        loop {
            if let Some(next) = self.taken.pop_front() {
                return next;
            }
            let Some(first) = self.channel.recv().await else { return std::future::pending().await };
            let waiting = std::iter::from_fn(|| self.channel.try_recv().ok());
            self.taken = order_arrivals(std::iter::once(first).chain(waiting).take(MOST_AT_ONCE));
        }
    }
}

/// Puts the hints of each project together, and all of them before reports: what was saved while the tree was looked at has to be known
/// when the worker's word comes that the run has begun. Hints that come later wait until the reports have been handed on, so that a
/// flood of hints cannot hold up the end of a run.
fn order_arrivals(arrivals: impl Iterator<Item = (ProjectSeat, ProjectArrival)>) -> VecDeque<(ProjectSeat, ProjectArrival)> {
    let mut hints: BTreeMap<ProjectSeat, Vec<WatchHint>> = BTreeMap::new();
    let mut reports = Vec::new();
    for (seat, arrival) in arrivals {
        match arrival {
            ProjectArrival::Hints(more) => hints.entry(seat).or_default().extend(more),
            ProjectArrival::Report(_) => reports.push((seat, arrival)),
        }
    }
    hints.into_iter().map(|(seat, hints)| (seat, ProjectArrival::Hints(hints))).chain(reports).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SyncId;
    use crate::project::Progress;

    /// Returns the seats of what was taken, each with the numbers of its hints; none for a report.
    fn shown(taken: impl IntoIterator<Item = (ProjectSeat, ProjectArrival)>) -> Vec<(u64, Vec<u64>)> {
        let number = |hint: &WatchHint| if let WatchHint::Synced(SyncId(number)) = hint { *number } else { 0 };
        let numbers = |arrival: &ProjectArrival| match arrival {
            ProjectArrival::Hints(hints) => hints.iter().map(number).collect(),
            ProjectArrival::Report(_) => Vec::new(),
        };
        taken.into_iter().map(|(seat, arrival)| (seat.0, numbers(&arrival))).collect()
    }

    #[test]
    fn hints_come_together_and_before_reports_and_nothing_is_lost() {
        let (door, mut arrivals) = open_arrivals();
        let (one, other) = (door.sender(ProjectSeat(1)), door.sender(ProjectSeat(2)));
        let (hint_of_one, hint_of_other, report_of_one) = (one.hints(), other.hints(), one.reports());
        hint_of_one(WatchHint::Synced(SyncId(1)));
        assert!(report_of_one(WorkerReport::Progress(Progress::Note("a note".to_owned()))));
        hint_of_other(WatchHint::Synced(SyncId(2)));
        hint_of_one(WatchHint::Synced(SyncId(3)));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let taken: Vec<_> = (0..3).map(|_| runtime.block_on(arrivals.next())).collect();
        assert_eq!(shown(taken), [(1, vec![1, 3]), (2, vec![2]), (1, vec![])]);
        drop(arrivals);
        assert!(!report_of_one(WorkerReport::Progress(Progress::Note("nobody listens".to_owned()))));
    }

    #[test]
    fn a_flood_of_hints_lets_a_report_through() {
        let (door, mut arrivals) = open_arrivals();
        let sender = door.sender(ProjectSeat(0));
        let hint = sender.hints();
        assert!(sender.reports()(WorkerReport::Progress(Progress::Note("it is over".to_owned()))));
        (0..=MOST_AT_ONCE as u64).for_each(|number| hint(WatchHint::Synced(SyncId(number))));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let taken: Vec<_> = (0..3).map(|_| runtime.block_on(arrivals.next())).collect();
        let counts: Vec<usize> = shown(taken).into_iter().map(|(_, hints)| hints.len()).collect();
        assert_eq!(counts, [MOST_AT_ONCE - 1, 0, 2]);
    }
}
