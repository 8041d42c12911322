//! The walk over a tree or a part of it, by as many threads as there are processors.
//!
//! Every directory is a piece of work of its own; whoever is free takes the next. What was found is put together afterwards, from
//! the top down, so that the order in which the threads came by does not show.

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use crate::tree::look::{Found, FoundEntry, Look, Place, to_content};
use crate::tree::node::{Directory, Node};

/// So many directories waiting are worth the start of further threads, some tens of microseconds each.
const HELP_FROM: usize = 8;

/// More threads than this wait for the same locks of the kernel.
const MAX_THREADS: usize = 8;

/// Looks at a directory and at everything below it.
pub(super) fn walk(look: &Look<'_>, place: Place) -> io::Result<Arc<Directory>> {
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

/// What a directory was found to hold, with the numbers of the directories below it.
type Numbered = io::Result<(Found, Vec<usize>)>;

/// The threads that share a walk.
struct Crew<'crew, 'look> {
    look: &'crew Look<'look>,
    queue: Mutex<Queue>,
    arrived: Condvar,
}

struct Queue {
    waiting: Vec<(usize, Place)>,
    /// How many directories were ever put in: the number of the next.
    numbers: usize,
    /// How many are being looked at.
    under_way: usize,
}

type Helper<'scope> = thread::ScopedJoinHandle<'scope, Vec<(usize, Numbered)>>;

impl<'crew> Crew<'crew, '_> {
    /// Looks at one directory after the other until there are none left. `meet` is told how many wait.
    fn work(&self, mut meet: impl FnMut(usize)) -> Vec<(usize, Numbered)> {
        let (mut found, mut buffer) = (Vec::new(), Vec::new());
        while let Some((number, place)) = self.next() {
            let outcome = self.look.look_at_directory(place, &mut buffer);
            let (outcome, waiting) = self.hand_in(outcome);
            found.push((number, outcome));
            meet(waiting);
        }
        found
    }

    /// Takes a directory, waiting for one while somebody may still find some.
    fn next(&self) -> Option<(usize, Place)> {
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

    /// Puts in what was found below a directory, and returns how many wait.
    fn hand_in(&self, outcome: io::Result<Found>) -> (Numbered, usize) {
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

/// Puts a directory together with everything below it; the one of the earlier look, where nothing is different.
fn assemble(found: &mut [Option<Numbered>], number: usize) -> io::Result<Arc<Directory>> {
    let (Found { previous, entries, rules, aside, .. }, numbers) =
        found[number].take().expect("every directory was looked at, and is in one other")?;
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
    match previous {
        Some(previous) if previous.consists_of(&nodes, rules.as_ref(), &aside) => Ok(previous),
        Some(_) | None => Ok(Arc::new(Directory::new(nodes, rules, aside))),
    }
}
