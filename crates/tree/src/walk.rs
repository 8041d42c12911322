//! Walks a tree or a part of it with a thread for each processor, but at most `MAX_THREADS`.
//!
//! Every directory is read separately, and a free thread takes the next waiting directory. The results are assembled
//! afterwards from the top down, so they do not depend on the order in which the threads worked.

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use crate::node::{Directory, Node};
use crate::read::{DirectoryRead, DirectoryToRead, FoundEntry, TreeReader, to_content};

/// More threads are started when at least this number of directories wait to be read. Starting a thread costs some tens
/// of microseconds.
const HELP_FROM: usize = 8;

/// The most threads of one walk. More threads would mostly wait for the same kernel locks.
const MAX_THREADS: usize = 8;

/// Reads a directory and everything below it.
pub(super) fn walk(look: &TreeReader<'_>, place: DirectoryToRead) -> io::Result<Arc<Directory>> {
    let crew =
        Crew { look, queue: Mutex::new(Queue { waiting: vec![(0, place)], numbers: 1, under_way: 0 }), arrived: Condvar::new() };
    let mut found = thread::scope(|scope| {
        let mut helpers = Vec::new();
        let mut found = crew.work(|waiting| crew.call_helpers(scope, waiting, &mut helpers));
        for helper in helpers {
            found.extend(helper.join().expect("a thread that looks at directories does not panic"));
        }
        found
    });
    found.sort_unstable_by_key(|(number, _)| *number);
    let mut found: Vec<_> = found.into_iter().map(|(_, outcome)| Some(outcome)).collect();
    assemble(&mut found, 0)
}

/// A directory that was read, with the numbers of the directories directly below it. A directory gets its number when
/// it is queued.
type Numbered = io::Result<(DirectoryRead, Vec<usize>)>;

/// What the threads of one walk share: the reader, the queue, and a signal for new directories in the queue.
struct Crew<'crew, 'look> {
    look: &'crew TreeReader<'look>,
    queue: Mutex<Queue>,
    arrived: Condvar,
}

struct Queue {
    waiting: Vec<(usize, DirectoryToRead)>,
    /// How many directories were ever queued, which is the number of the next one.
    numbers: usize,
    /// How many directories are being read.
    under_way: usize,
}

type Helper<'scope> = thread::ScopedJoinHandle<'scope, Vec<(usize, Numbered)>>;

impl<'crew> Crew<'crew, '_> {
    /// Reads waiting directories until none is left. After each directory, calls `meet` with the number of directories
    /// that still wait.
    fn work(&self, mut meet: impl FnMut(usize)) -> Vec<(usize, Numbered)> {
        let (mut found, mut buffer) = (Vec::new(), Vec::new());
        while let Some((number, place)) = self.next() {
            let outcome = self.look.read_directory(&place, &mut buffer);
            let (outcome, waiting) = self.hand_in(outcome);
            found.push((number, outcome));
            meet(waiting);
        }
        found
    }

    /// Takes a directory from the queue. If the queue is empty, waits while another thread may still find directories; then
    /// returns `None`.
    fn next(&self) -> Option<(usize, DirectoryToRead)> {
        let mut queue = self.queue();
        loop {
            if let Some(next) = queue.waiting.pop() {
                queue.under_way += 1;
                return Some(next);
            }
            if queue.under_way == 0 {
                return None;
            }
            queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Queues the subdirectories of a directory that was read. Returns the number of waiting directories.
    fn hand_in(&self, outcome: io::Result<DirectoryRead>) -> (Numbered, usize) {
        let mut queue = self.queue();
        let outcome = outcome.map(|mut found| {
            let first = queue.numbers;
            queue.numbers += found.below.len();
            queue.waiting.extend(found.below.drain(..).enumerate().map(|(position, place)| (first + position, place)));
            (found, (first..queue.numbers).collect())
        });
        queue.under_way -= 1;
        let waiting = queue.waiting.len();
        drop(queue);
        self.arrived.notify_all();
        (outcome, waiting)
    }

    fn call_helpers<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, waiting: usize, helpers: &mut Vec<Helper<'scope>>) {
        if waiting < HELP_FROM || !helpers.is_empty() {
            return;
        }
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
        helpers.extend((1..threads).map(|_| scope.spawn(|| self.work(|_| ()))));
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Assembles a directory with everything below it. Returns the previous directory itself if nothing differs.
fn assemble(found: &mut [Option<Numbered>], number: usize) -> io::Result<Arc<Directory>> {
    let (DirectoryRead { previous, entries, rules, aside, stamp, membership, is_environment, .. }, numbers) =
        found[number].take().expect("every directory was looked at, and is in one other")?;
    if is_environment {
        let known = previous.filter(|previous| previous.is_environment);
        return Ok(known.unwrap_or_else(|| Arc::new(Directory::environment())));
    }
    let known = previous.as_deref().map_or(&[][..], |previous| &previous.nodes);
    let mut numbers = numbers.into_iter();
    let nodes = entries.into_iter().filter_map(|entry| match entry {
        FoundEntry::Known(position) => Some(known[position].clone()),
        FoundEntry::New(node) => Some(*node),
        FoundEntry::Below(name) => {
            let number = numbers.next().expect("every directory below has a number");
            to_content(assemble(found, number)).map(|content| Node { name, content })
        }
    });
    let nodes: Vec<Node> = nodes.collect();
    Ok(match previous {
        Some(previous) => previous.renew(nodes, rules, aside, stamp, membership),
        None => Arc::new(Directory::new(nodes, rules, aside, Some(stamp), membership)),
    })
}
