//! Schedules with a name: the faults that were found by hand or by a seed, as the shortest orders of events that showed them.

use super::run::Fixture;
use super::schedule::{Operation, Requested, SaveWay, Schedule, Shape, Step, Writes};
use super::violations;

const SAVE: Operation = Operation::Save { file: 0, way: SaveWay::InPlace(0) };
const TOUCH: Operation = Operation::Touch { file: 1 };
const THIRD: Operation = Operation::Save { file: 2, way: SaveWay::ByRename };
const OTHER: Operation = Operation::Save { file: 1, way: SaveWay::ByRename };
const SLOW: Shape = Shape { takes: (300, 300), ..Shape::PLAIN };
const QUEUED_IN_PLACE: Shape = Shape { is_in_place: true, is_queue: true, ..SLOW };
const TWO: Shape = Shape { tasks: 2, is_queue: true, ..SLOW };
const WAIT: Operation = Operation::Ask { is_wait: true, is_quick: true, timeout: 60_000, patience: u64::MAX };
const NAMED: Operation = Operation::Request { selection: Requested::First, patience: u64::MAX };
const MISSING: Operation = Operation::Request { selection: Requested::Missing, patience: u64::MAX };
const EVERY: Operation = Operation::Request { selection: Requested::Every, patience: u64::MAX };
const UNKNOWN: Operation = Operation::Request { selection: Requested::Unknown, patience: u64::MAX };

/// Each with the shape of its project.
const NAMED_SCHEDULES: &[(&str, Shape, &[Step])] = &[
    ("a storm: saves faster than the checks", SLOW, &[(500, 0, Operation::KeepWriting { file: 1, every: 7, times: 300 })]),
    (
        "a storm of git beside saves",
        SLOW,
        &[(500, 0, Operation::Checkout { files: 5, lasts: 7_000 }), (40, 0, SAVE), (200, 0, OTHER), (6_800, 0, SAVE)],
    ),
    ("a storm that overflows the queue", SLOW, &[(500, 0, Operation::Overflow), (0, 0, SAVE), (0, 0, OTHER), (0, 0, WAIT)]),
    (
        "laundering: a red check that only one file triggers, and a save of another file",
        Shape { has_path_check: true, ..SLOW },
        &[(700, 0, SAVE), (900, 0, OTHER), (900, 0, OTHER), (5, 0, WAIT), (900, 0, Operation::Restore { file: 0 })],
    ),
    (
        "a loop of moved runs: the checks write the same file of the project",
        Shape { is_in_place: true, writes: Writes::InPlaceSame, ..SLOW },
        &[(700, 0, SAVE), (40_000, 0, SAVE)],
    ),
    (
        "a loop of moved runs: the checks write other content each time",
        Shape { is_in_place: true, writes: Writes::InPlaceOther, ..SLOW },
        &[(700, 0, SAVE), (40_000, 0, WAIT)],
    ),
    ("a loop of copies that differ", Shape { writes: Writes::CopiesOther, ..TWO }, &[(2_000, 0, SAVE)]),
    (
        "an upgrade during a run, with a client",
        SLOW,
        &[(100, 0, WAIT), (50, 0, Operation::Restart), (20, 0, WAIT), (400, 0, SAVE)],
    ),
    ("two upgrades in a row", SLOW, &[(600, 0, SAVE), (50, 0, Operation::Restart), (310, 0, Operation::Restart), (1, 0, OTHER)]),
    ("a kill of the service during a run", SLOW, &[(600, 0, SAVE), (100, 0, Operation::Kill), (5, 0, OTHER)]),
    (
        "a busy file in a tree that is tested where it is",
        Shape { is_in_place: true, ..SLOW },
        &[(500, 0, Operation::KeepWriting { file: 4, every: 50, times: 100 }), (100, 0, SAVE)],
    ),
    (
        "a busy file beside a copy of the tree",
        SLOW,
        &[(500, 0, Operation::KeepWriting { file: 4, every: 50, times: 100 }), (100, 0, SAVE)],
    ),
    ("a launcher that dies twice", SLOW, &[(100, 0, Operation::KillHelper), (400, 0, Operation::KillHelper), (1, 0, WAIT)]),
    ("a full disk at the seal", SLOW, &[(200, 0, Operation::FillDisk { lasts: 5_000 }), (20, 0, WAIT)]),
    ("a request before the first look has ended", Shape { look_takes: 100, ..TWO }, &[(3, 0, NAMED)]),
    ("a save that a run of named checks tests", Shape { look_takes: 100, ..SLOW }, &[(800, 0, NAMED), (5, 0, SAVE)]),
    (
        "a configuration that is mended when the first task has failed and before the second one is run",
        TWO,
        &[(1_500, 0, Operation::BreakConfiguration), (449, 0, SAVE), (2, 0, Operation::MendConfiguration)],
    ),
    ("a save that moves the second task's run", Shape { is_in_place: true, ..TWO }, &[(450, 0, OTHER)]),
    ("a copied file that the second task tests first", Shape { writes: Writes::CopiesSame, ..TWO }, &[]),
    (
        "a change that no event reports, after a request for a check that is not there",
        SLOW,
        &[(900, 0, Operation::SaveSilently { file: 2 }), (50, 0, UNKNOWN)],
    ),
    (
        "a change that no event reports, after a start",
        SLOW,
        &[(900, 0, Operation::Kill), (800, 0, Operation::SaveSilently { file: 2 })],
    ),
    ("a touch after a start", SLOW, &[(900, 0, Operation::Kill), (800, 0, Operation::Touch { file: 2 })]),
    (
        "a run of named checks after a launcher that died twice",
        Shape { has_path_check: true, ..SLOW },
        &[(900, 0, OTHER), (100, 0, Operation::KillHelper), (20, 0, UNKNOWN), (200, 0, Operation::KillHelper)],
    ),
    (
        "copied files after a run whose directory was away",
        Shape { writes: Writes::CopiesSame, takes: (300, 3_000), ..Shape::PLAIN },
        &[(159, 0, MISSING), (0, 0, Operation::LoseRoot { lasts: 1_000 })],
    ),
    (
        "a touch during the first look after a start",
        Shape { look_takes: 100, ..SLOW },
        &[(900, 0, Operation::Kill), (55, 0, Operation::Touch { file: 2 })],
    ),
    (
        "kills between moved runs and their repetitions",
        QUEUED_IN_PLACE,
        &[(100, 0, OTHER), (300, 0, Operation::Kill), (150, 0, OTHER), (350, 0, Operation::Kill)],
    ),
    (
        "a disk that is full when a run that moved twice is repeated",
        QUEUED_IN_PLACE,
        &[(100, 0, OTHER), (800, 0, OTHER), (600, 0, Operation::FillDisk { lasts: 5_000 })],
    ),
    (
        "one of the files that moved a run moves its repetition",
        QUEUED_IN_PLACE,
        &[(100, 0, OTHER), (0, 0, THIRD), (800, 0, TOUCH)],
    ),
    (
        "a save beside which the second task is called unstable",
        Shape { is_in_place: true, ..TWO },
        &[(400, 0, OTHER), (800, 0, TOUCH)],
    ),
    (
        "a save that moves the second task's run after the first task was called unstable",
        Shape { is_in_place: true, ..TWO },
        &[(100, 0, TOUCH), (800, 0, TOUCH), (300, 0, THIRD)],
    ),
    (
        "an approval during a run of named checks",
        Shape { has_path_check: true, hint_delay: 40, ..SLOW },
        &[(900, 0, Operation::AskForMore), (300, 0, Operation::Approve), (0, 0, NAMED)],
    ),
    (
        "two tasks that are not approved, and a configuration that is mended while somebody waits for one",
        Shape { tasks: 2, ..SLOW },
        &[(900, 0, Operation::AskForMore), (100, 0, Operation::MendConfiguration), (0, 0, OTHER), (0, 0, SAVE), (5, 0, WAIT)],
    ),
    (
        "a touch during a run that was asked for before the first look had ended",
        Shape { look_takes: 100, ..TWO },
        &[(1_500, 0, Operation::Kill), (55, 0, EVERY), (200, 0, TOUCH)],
    ),
];

#[test]
fn no_fault_that_was_found_once_comes_back() {
    let mut fixture = Fixture::new();
    for (name, shape, steps) in NAMED_SCHEDULES {
        for seed in 0..20 {
            let schedule = Schedule { seed, shapes: vec![*shape], runs: 8, steps: steps.to_vec() };
            assert_eq!(violations(&schedule, &mut fixture), [""; 0], "{name}, seed {seed}");
        }
    }
}
