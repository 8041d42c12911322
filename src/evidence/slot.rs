//! The machine-wide queue: whoever carries an action out holds one of the store's slots, and whoever finds none stands in line.
//!
//! All of it is locks on ranges of the one file `locks/slots`, whose content stays empty: nothing is left to clean up after a
//! process that died, and no process has to be asked.
//!
//! ```text
//!  bytes 0 … 1023           the slots: whoever holds slot n has locked byte n
//!  bytes 1024·k …, k ≥ 1    the line: whoever waits has locked as many bytes, from 1024·k on, as it may take slots
//! ```
//!
//! A process with a limit of N takes one of the first N slots, the lowest that is free. It passes by those that somebody before it
//! in the line is waiting for, and no others: one process that may take few slots does not keep the rest from theirs. Newcomers go to
//! the end of the line, so whoever has waited longest gets the next slot.
//!
//! It reads no clock: how long somebody waits is decided by whoever is asked after each look.

use std::ops::Range;
use std::thread;
use std::time::Duration;

use crate::evidence::lock_file::{LockFile, Waiting};
use crate::evidence::{EvidenceError, Store};

/// No process takes more slots than this, whatever its limit.
pub const MOST_SLOTS: u32 = 1024;

/// The bytes of one place in the line, and those before the line.
const WIDTH: i64 = MOST_SLOTS as i64;

/// The bytes of all slots.
const SLOTS: Range<i64> = 0..WIDTH;

/// How long to wait between two looks: first and at most. The pause doubles.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(25));

/// After so many looks in a row that find a slot which is free and kept for others, those others are taken to be asleep: a stopped
/// process (SIGSTOP, Ctrl-Z) keeps its place. With the pauses above that is about a second.
const LOOKS_UNTIL_THE_LINE_IS_ASLEEP: u32 = 40;

/// The right to carry one action out. Dropping it frees the slot, and so does the end of the process, however it comes.
#[derive(Debug)]
pub struct Slot {
    file: LockFile,
    bytes: Range<i64>,
}

/// What somebody sees who waits for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// So many slots are taken, by whomever.
    pub taken: usize,
    /// So many were in the line before.
    pub ahead: usize,
}

impl Store {
    /// Takes one of the first `limit` slots of all processes that use this store, asking `waiting` after each look that found
    /// none whether to go on; none when it gives up. A limit of 0 counts as 1.
    pub fn take_slot(&self, limit: u32, waiting: &mut dyn FnMut(Queue) -> Waiting) -> Result<Option<Slot>, EvidenceError> {
        let file = LockFile::open(&self.slots_path())?;
        let limit = i64::from(limit.clamp(1, MOST_SLOTS));
        let mut place: Option<Range<i64>> = None;
        let mut pause = PAUSES.0;
        let mut kept_looks = 0;
        loop {
            let line = WIDTH..place.as_ref().map_or(i64::MAX, |place| place.start);
            let ahead = file.locked_by_others(line)?;
            let kept = if kept_looks < LOOKS_UNTIL_THE_LINE_IS_ASLEEP { kept_for(&ahead) } else { 0 };
            if let Some(bytes) = lock_first_free(&file, kept..limit)? {
                if let Some(place) = &place {
                    file.unlock(place)?;
                }
                return Ok(Some(Slot { file, bytes }));
            }
            if place.is_none() {
                let free = place_behind(&ahead, limit);
                // Where somebody else was quicker, the next look finds them ahead.
                place = file.try_lock(&free)?.then_some(free);
            }
            let some_are_free = (file.locked_by_others(0..limit)?.len() as u64) < limit.unsigned_abs();
            kept_looks = if some_are_free { kept_looks.saturating_add(1) } else { 0 };
            let taken = file.locked_by_others(SLOTS)?.len();
            match waiting(Queue { taken, ahead: ahead.len() }) {
                Waiting::GoOn => thread::sleep(pause),
                Waiting::GiveUp => return Ok(None),
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // Closing the file frees the slot as well, but not while a process that was just forked still has a copy of it.
        let _freed_by_closing = self.file.unlock(&self.bytes);
    }
}

/// Returns how many of the first slots those ahead are waiting for.
fn kept_for(ahead: &[Range<i64>]) -> i64 {
    ahead.iter().map(|place| place.end - place.start).max().unwrap_or(0)
}

/// Returns the first place behind everybody in the line.
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
    use crate::evidence::testing::{TestStore, mode};

    /// More looks than anything here takes: with the pauses above, ten seconds and more.
    const PATIENCE: u32 = 500;

    fn give_up(_: Queue) -> Waiting {
        Waiting::GiveUp
    }

    /// Goes on for so many looks. A slot that is free may still look taken while a child that another test starts has a copy of it.
    fn patient(looks: u32) -> impl FnMut(Queue) -> Waiting {
        let mut seen = 0;
        move |_| {
            seen += 1;
            if seen < looks { Waiting::GoOn } else { Waiting::GiveUp }
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
            Waiting::GiveUp
        });
        assert!(refused.unwrap().is_none());
        assert_eq!(seen, Some(Queue { taken: 3, ahead: 0 }));
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
    fn whoever_gives_up_leaves_the_line() {
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
        assert!(seen.len() < LOOKS_UNTIL_THE_LINE_IS_ASLEEP as usize, "nobody is in the line: {seen:?}");
    }

    /// Waits for the only slot in a thread of its own and frees it again; says its name in line and with the slot.
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
    fn whoever_has_waited_longest_is_next() {
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
    fn a_newcomer_goes_to_the_end_of_the_line_but_takes_what_nobody_before_it_can_use() {
        let test = TestStore::new();
        let held = take(&test, 1).expect("a free slot");
        let waiter = LockFile::open(&test.store.slots_path()).unwrap();
        assert!(waiter.try_lock(&place_behind(&[], 1)).unwrap());
        drop(held);
        let mut seen = None;
        let refused = test.store.take_slot(1, &mut |queue| {
            seen = Some(queue.ahead);
            Waiting::GiveUp
        });
        assert!(refused.unwrap().is_none(), "the free slot is for whoever came before");
        assert_eq!(seen, Some(1));
        assert_eq!(take(&test, 2).expect("no use to the waiter").bytes, 1..2);
    }

    #[test]
    fn a_line_that_is_asleep_is_passed_by() {
        let test = TestStore::new();
        // A process that is stopped while it waits: its place is kept and it never looks.
        let sleeper = LockFile::open(&test.store.slots_path()).unwrap();
        assert!(sleeper.try_lock(&place_behind(&[], 8)).unwrap());
        let mut looks = 0;
        let mut go_on = patient(PATIENCE);
        let slot = test.store.take_slot(2, &mut |queue| {
            looks += 1;
            go_on(queue)
        });
        assert!(slot.unwrap().is_some());
        assert_eq!(looks, LOOKS_UNTIL_THE_LINE_IS_ASLEEP);
    }

    #[test]
    fn places_in_the_line_do_not_meet() {
        assert_eq!(place_behind(&[], 4), 1024..1028);
        assert_eq!(place_behind(&[1024..1028, 5120..6144], 1024), 6144..7168);
        assert_eq!(kept_for(&[1024..1028, 5120..6144, 7168..7169]), 1024);
    }
}
