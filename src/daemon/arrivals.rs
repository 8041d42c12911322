//! What the threads of projects send to the loop: hints of watchers and reports of workers, all on one channel.

use std::collections::{BTreeMap, VecDeque};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::daemon::worker::{SendReport, WorkerReport};
use crate::model::WatchHint;

/// So many arrivals are taken from the channel at once. A call has its turn after them.
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
    /// The last of what was taken at once has been handed on, and nobody else has had a turn since.
    owes_a_turn: bool,
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
    (ArrivalDoor(sender), Arrivals { channel, taken: VecDeque::new(), owes_a_turn: false })
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
    /// Returns whether somebody else has a turn before the next arrival. It is granted once.
    pub(super) fn grant_turn(&mut self) -> bool {
        std::mem::take(&mut self.owes_a_turn)
    }

    /// Waits for the next one. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> (ProjectSeat, ProjectArrival) {
        loop {
            if let Some(next) = self.taken.pop_front() {
                self.owes_a_turn = self.taken.is_empty();
                return next;
            }
            let Some(first) = self.channel.recv().await else { return std::future::pending().await };
            let waiting = std::iter::from_fn(|| self.channel.try_recv().ok());
            self.taken = order_arrivals(std::iter::once(first).chain(waiting).take(MOST_AT_ONCE));
        }
    }
}

/// Keeps the order in which things were sent, but puts a project's hints together up to its next report: a hint that was sent before the
/// worker said that a run has begun may be about a file that the run has not seen, one that was sent after it is not.
fn order_arrivals(arrivals: impl Iterator<Item = (ProjectSeat, ProjectArrival)>) -> VecDeque<(ProjectSeat, ProjectArrival)> {
    let mut ordered: VecDeque<(ProjectSeat, ProjectArrival)> = VecDeque::new();
    // Where the hints of each project are put that come before its next report.
    let mut open: BTreeMap<ProjectSeat, usize> = BTreeMap::new();
    for (seat, arrival) in arrivals {
        let known = open.get(&seat).and_then(|place| ordered.get_mut(*place));
        match (arrival, known) {
            (ProjectArrival::Hints(more), Some((_, ProjectArrival::Hints(hints)))) => hints.extend(more),
            (hints @ ProjectArrival::Hints(_), _) => {
                open.insert(seat, ordered.len());
                ordered.push_back((seat, hints));
            }
            (report @ ProjectArrival::Report(_), _) => {
                open.remove(&seat);
                ordered.push_back((seat, report));
            }
        }
    }
    ordered
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
    fn hints_come_together_up_to_the_next_report_and_nothing_is_lost() {
        let (door, mut arrivals) = open_arrivals();
        let (one, other) = (door.sender(ProjectSeat(1)), door.sender(ProjectSeat(2)));
        let (hint_of_one, hint_of_other, report_of_one) = (one.hints(), other.hints(), one.reports());
        hint_of_one(WatchHint::Synced(SyncId(1)));
        assert!(report_of_one(WorkerReport::Progress(Progress::Note("a note".to_owned()))));
        hint_of_other(WatchHint::Synced(SyncId(2)));
        hint_of_one(WatchHint::Synced(SyncId(3)));
        hint_of_other(WatchHint::Synced(SyncId(4)));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let taken: Vec<_> = (0..4).map(|_| runtime.block_on(arrivals.next())).collect();
        assert_eq!(shown(taken), [(1, vec![1]), (1, vec![]), (2, vec![2, 4]), (1, vec![3])]);
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
        assert_eq!(counts, [0, MOST_AT_ONCE - 1, 2]);
    }
}
