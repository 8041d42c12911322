//! The machine-wide queue. Every running action holds one of the store's slots; an action waits in line until a slot is
//! free.
//!
//! The queue consists of locks on byte ranges of the file `locks/slots`, which stays empty. So a process that dies
//! leaves nothing to clean up, and no server process is needed.
//!
//! ```text
//! bytes 0 … 1023           the slots: the holder of slot n has locked byte n
//! bytes 1024·k …, k ≥ 1    the line: a waiter with a limit of N has locked N bytes from 1024·k on
//! ```
//!
//! A process with a limit of N takes the lowest free slot among the first N. It skips slots that somebody ahead of it
//! in the line could take, and no others: a waiter that may use few slots does not hold back waiters that may use more.
//! Newcomers join at the end of the line, so the longest waiter gets the next slot.
//!
//! The queue reads no clock: a callback decides after each attempt whether to wait longer.

use std::ops::Range;
use std::thread;
use std::time::Duration;

use crate::lock_file::{LockFile, WaitDecision};
use crate::{EvidenceError, Store};

/// The most slots that processes can use. A higher limit has no effect.
pub const MOST_SLOTS: u32 = 1024;

/// How many bytes of the lock file each waiter's place in the line may take. The slots take as many bytes at the
/// beginning of the file.
const WIDTH: i64 = MOST_SLOTS as i64;

/// The range of the lock file's bytes that stand for the slots.
const SLOTS: Range<i64> = 0..WIDTH;

/// The first and the longest pause between two attempts. Each pause is twice as long as the one before.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(25));

/// The number of attempts in a row that find a slot free but kept for waiters ahead in the line. After these attempts,
/// the waiters ahead are assumed to be stopped processes, and are passed: a stopped process (SIGSTOP, Ctrl-Z) keeps its
/// place in the line. With the pauses of `PAUSES`, these attempts take about a second.
const ATTEMPTS_UNTIL_LINE_IS_PASSED: u32 = 40;

/// The right to run one action. The slot is freed when this value is dropped, and when the process ends, however it
/// ends.
#[derive(Debug)]
pub struct Slot {
    file: LockFile,
    bytes: Range<i64>,
}

/// The state of the queue as a waiter sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotQueueState {
    /// How many slots of this machine are taken, by this or any other process.
    pub taken: usize,
    /// How many waiters are in the line ahead of the waiter that sees this state.
    pub ahead: usize,
}

impl Store {
    /// Takes one of the first `limit` slots, which all processes with this store share. After each failed attempt,
    /// `waiting` decides whether to try again. The result is `None` if `waiting` decides to give up. A limit of 0
    /// counts as 1.
    pub fn take_slot(
        &self,
        limit: u32,
        waiting: &mut dyn FnMut(SlotQueueState) -> WaitDecision,
    ) -> Result<Option<Slot>, EvidenceError> {
        let file = LockFile::open(&self.slots_path())?;
        let limit = i64::from(limit.clamp(1, MOST_SLOTS));
        let mut place: Option<Range<i64>> = None;
        let mut pause = PAUSES.0;
        let mut attempts_with_kept_slots = 0;
        loop {
            let line = WIDTH..place.as_ref().map_or(i64::MAX, |place| place.start);
            let ahead = file.locked_by_others(line)?;
            let kept_for_others = if attempts_with_kept_slots < ATTEMPTS_UNTIL_LINE_IS_PASSED { kept_slots(&ahead) } else { 0 };
            if let Some(bytes) = lock_first_free(&file, kept_for_others..limit)? {
                if let Some(place) = &place {
                    file.unlock(place)?;
                }
                return Ok(Some(Slot { file, bytes }));
            }
            if place.is_none() {
                let free = place_behind(&ahead, limit);
                // If another process took this place first, it is ahead of us at the next attempt.
                place = file.try_lock(&free)?.then_some(free);
            }
            let some_are_free = (file.locked_by_others(0..limit)?.len() as u64) < limit.unsigned_abs();
            attempts_with_kept_slots = if some_are_free { attempts_with_kept_slots.saturating_add(1) } else { 0 };
            let taken = file.locked_by_others(SLOTS)?.len();
            match waiting(SlotQueueState { taken, ahead: ahead.len() }) {
                WaitDecision::GoOn => thread::sleep(pause),
                WaitDecision::GiveUp => return Ok(None),
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // Closing the file would free the slot too, but not while a process that was just forked has a copy of the
        // descriptor.
        let _freed_by_closing = self.file.unlock(&self.bytes);
    }
}

/// Returns how many slots, from the first one, a waiter leaves free for those ahead of it: the largest number of slots that one of them
/// may take.
fn kept_slots(ahead: &[Range<i64>]) -> i64 {
    ahead.iter().map(|place| place.end - place.start).max().unwrap_or(0)
}

/// Returns the bytes to lock for a place in the line behind all other waiters.
fn place_behind(line: &[Range<i64>], limit: i64) -> Range<i64> {
    let start = line.last().map_or(WIDTH, |last| (last.start / WIDTH + 1) * WIDTH);
    start..start + limit
}

fn lock_first_free(file: &LockFile, slots: Range<i64>) -> Result<Option<Range<i64>>, EvidenceError> {
    for slot in slots {
        let bytes = slot..slot + 1;
        if file.try_lock(&bytes)? {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;
    use crate::testing::{TestStore, mode};

    /// More attempts than any test needs: with the pauses between attempts (`PAUSES`), more than ten seconds.
    const PATIENCE: u32 = 500;

    fn give_up(_: SlotQueueState) -> WaitDecision {
        WaitDecision::GiveUp
    }

    /// Waits for this many attempts. A free slot may look taken for a moment, while a child that another test starts
    /// has a copy of the lock file's descriptor.
    fn patient(attempts: u32) -> impl FnMut(SlotQueueState) -> WaitDecision {
        let mut seen = 0;
        move |_| {
            seen += 1;
            if seen < attempts { WaitDecision::GoOn } else { WaitDecision::GiveUp }
        }
    }

    fn take(test: &TestStore, limit: u32) -> Option<Slot> {
        test.store.take_slot(limit, &mut give_up).unwrap()
    }

    #[test]
    fn as_many_slots_are_given_as_the_limit_says_and_a_dropped_one_is_free() {
        let test = TestStore::new();
        let mut slots: Vec<_> = (0..3).map(|_| take(&test, 3).expect("a free slot")).collect();
        assert_eq!(slots.iter().map(|slot| slot.bytes.start).collect::<Vec<_>>(), [0, 1, 2]);
        let mut seen = None;
        let refused = test.store.take_slot(3, &mut |queue| {
            seen = Some(queue);
            WaitDecision::GiveUp
        });
        assert!(refused.unwrap().is_none());
        assert_eq!(seen, Some(SlotQueueState { taken: 3, ahead: 0 }));
        drop(slots.remove(1));
        let again = test.store.take_slot(3, &mut patient(PATIENCE)).unwrap().expect("a slot was freed");
        assert_eq!(again.bytes, 1..2);
        assert_eq!(mode(&test.store.slots_path()), 0o600);
    }

    #[test]
    fn each_process_takes_the_first_slots_of_its_own_limit() {
        let test = TestStore::new();
        let _first = take(&test, 4).expect("a free slot");
        assert!(take(&test, 1).is_none());
        assert!(take(&test, 0).is_none());
        assert_eq!(take(&test, u32::MAX).expect("there are more").bytes, 1..2);
    }

    #[test]
    fn a_waiter_gets_the_slot_as_soon_as_it_is_free() {
        let test = TestStore::new();
        let mut held = take(&test, 1);
        let mut go_on = patient(PATIENCE);
        let slot = test.store.take_slot(1, &mut |queue| {
            held = None;
            go_on(queue)
        });
        assert!(slot.unwrap().is_some());
    }

    #[test]
    fn a_waiter_that_gives_up_leaves_the_line() {
        let test = TestStore::new();
        let held = take(&test, 1).expect("a free slot");
        assert!(take(&test, 1).is_none());
        drop(held);
        let mut seen = Vec::new();
        let mut go_on = patient(PATIENCE);
        let slot = test.store.take_slot(1, &mut |queue| {
            seen.push(queue);
            go_on(queue)
        });
        assert!(slot.unwrap().is_some());
        assert!(seen.len() < ATTEMPTS_UNTIL_LINE_IS_PASSED as usize, "nobody is in the line: {seen:?}");
    }

    /// Waits for the only slot on a thread of its own and frees the slot again. The thread sends `name` when it is in
    /// the line, and when it has the slot.
    fn wait_in_line(store: &Store, name: u32, said: Sender<(u32, &'static str)>) -> thread::JoinHandle<()> {
        let store = store.clone();
        thread::spawn(move || {
            let mut go_on = patient(PATIENCE);
            let mut told = false;
            let slot = store.take_slot(1, &mut |queue| {
                if !told && queue.ahead == name as usize {
                    told = true;
                    said.send((name, "in line")).unwrap();
                }
                go_on(queue)
            });
            let _held_until_it_is_said = slot.unwrap().expect("its turn comes");
            said.send((name, "has it")).unwrap();
        })
    }

    #[test]
    fn the_longest_waiter_is_next() {
        let test = TestStore::new();
        let held = take(&test, 1).expect("a free slot");
        let (sender, said) = channel();
        let mut waiters = Vec::new();
        for name in 0..4 {
            waiters.push(wait_in_line(&test.store, name, sender.clone()));
            assert_eq!(said.recv().unwrap(), (name, "in line"));
        }
        drop(held);
        for name in 0..4 {
            assert_eq!(said.recv().unwrap(), (name, "has it"));
        }
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    }

    #[test]
    fn a_newcomer_joins_at_the_end_but_may_take_a_slot_that_nobody_ahead_can_use() {
        let test = TestStore::new();
        let held = take(&test, 1).expect("a free slot");
        let waiter = LockFile::open(&test.store.slots_path()).unwrap();
        assert!(waiter.try_lock(&place_behind(&[], 1)).unwrap());
        drop(held);
        let mut seen = None;
        let refused = test.store.take_slot(1, &mut |queue| {
            seen = Some(queue.ahead);
            WaitDecision::GiveUp
        });
        assert!(refused.unwrap().is_none(), "the free slot is for whoever came before");
        assert_eq!(seen, Some(1));
        assert_eq!(take(&test, 2).expect("no use to the waiter").bytes, 1..2);
    }

    #[test]
    fn a_stopped_waiter_is_passed_after_a_while() {
        let test = TestStore::new();
        // Stands for a process that is stopped while it waits: it keeps its place and makes no attempt.
        let sleeper = LockFile::open(&test.store.slots_path()).unwrap();
        assert!(sleeper.try_lock(&place_behind(&[], 8)).unwrap());
        let mut attempts = 0;
        let mut go_on = patient(PATIENCE);
        let slot = test.store.take_slot(2, &mut |queue| {
            attempts += 1;
            go_on(queue)
        });
        assert!(slot.unwrap().is_some());
        assert_eq!(attempts, ATTEMPTS_UNTIL_LINE_IS_PASSED);
    }

    #[test]
    fn places_in_the_line_do_not_overlap() {
        assert_eq!(place_behind(&[], 4), 1024..1028);
        assert_eq!(place_behind(&[1024..1028, 5120..6144], 1024), 6144..7168);
        assert_eq!(kept_slots(&[1024..1028, 5120..6144, 7168..7169]), 1024);
    }
}
