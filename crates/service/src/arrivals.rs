//! The channel by which the threads of projects send to the event loop: hints from watchers and reports from workers.

use std::collections::{BTreeMap, VecDeque};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::worker::{SendReport, WorkerReport};
use proctor_model::WatchHint;

/// The most arrivals that are taken from the channel in one batch. After each batch, the loop handles one waiting call:
/// a pressed key or a client's request.
const MOST_AT_ONCE: usize = 4096;

/// Identifies an open project within one event loop. A foreground watch has one project, the service has many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ProjectSeat(pub(super) u64);

/// A message from one of a project's threads.
#[derive(Debug)]
pub(super) enum ProjectArrival {
    /// The watcher reports possible changes. All hints that are waiting are delivered together, because the steps of
    /// one save belong together.
    Hints(Vec<WatchHint>),
    /// The worker reports progress or a result.
    Report(Box<WorkerReport>),
}

/// Receives the messages from the threads of all projects.
pub(super) struct Arrivals {
    channel: UnboundedReceiver<(ProjectSeat, ProjectArrival)>,
    /// Messages that were taken from the channel, in the order in which `next` returns them.
    taken: VecDeque<(ProjectSeat, ProjectArrival)>,
    /// Whether the loop must handle a waiting call before the next message. This is so after the last message of a
    /// batch was delivered.
    owes_a_turn: bool,
}

/// Creates the senders for the threads of projects.
#[derive(Clone)]
pub(super) struct ArrivalDoor(UnboundedSender<(ProjectSeat, ProjectArrival)>);

/// Sends the messages from the threads of one project.
#[derive(Debug, Clone)]
pub(super) struct ArrivalSender {
    channel: UnboundedSender<(ProjectSeat, ProjectArrival)>,
    seat: ProjectSeat,
}

/// Opens the channel of an event loop. Returns both ends: one makes senders, the other receives.
pub(super) fn open_arrivals() -> (ArrivalDoor, Arrivals) {
    let (sender, channel) = unbounded_channel();
    (ArrivalDoor(sender), Arrivals { channel, taken: VecDeque::new(), owes_a_turn: false })
}

impl ArrivalDoor {
    pub(super) fn sender(&self, seat: ProjectSeat) -> ArrivalSender {
        ArrivalSender { channel: self.0.clone(), seat }
    }
}

impl ArrivalSender {
    pub(super) fn hints(&self) -> impl Fn(WatchHint) + Send + 'static {
        let Self { channel, seat } = self.clone();
        move |hint| {
            let _gone = channel.send((seat, ProjectArrival::Hints(vec![hint])));
        }
    }

    /// Returns the function with which a worker sends its reports.
    pub(super) fn reports(&self) -> SendReport {
        let Self { channel, seat } = self.clone();
        Box::new(move |report| channel.send((seat, ProjectArrival::Report(Box::new(report)))).is_ok())
    }
}

impl Arrivals {
    /// Returns whether the loop must handle a waiting call before the next arrival. True once after each batch of
    /// arrivals.
    pub(super) fn grant_turn(&mut self) -> bool {
        std::mem::take(&mut self.owes_a_turn)
    }

    /// Waits for the next message of a project. Dropping the future loses no message.
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

/// Keeps the order of arrivals, but merges a project's hints up to its next report. Hints are never moved across a
/// report, because the engine handles changes before the beginning of a run differently from changes during the run.
pub(super) fn order_arrivals(
    arrivals: impl Iterator<Item = (ProjectSeat, ProjectArrival)>,
) -> VecDeque<(ProjectSeat, ProjectArrival)> {
    let mut ordered: VecDeque<(ProjectSeat, ProjectArrival)> = VecDeque::new();
    // For each project, the index of the hints that later hints are merged into. A report ends the merging.
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
    use proctor_model::SyncId;
    use proctor_project::Progress;

    /// Returns, for each arrival, the number of its project and the numbers of its hints. A report has no numbers.
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
