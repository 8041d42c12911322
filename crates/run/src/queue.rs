//! An action's turn in the machine-wide queue. `evidence/` manages the slots, one for each action that may run on the
//! machine at the same time. This file decides how long an action waits for a free slot.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use proctor_evidence::{Slot, SlotQueueState, Store, WaitDecision};
use proctor_model::{DurationMs, StopReason};
use proctor_project::Progress;
use proctor_project::{ProjectError, QueueLimits};
use proctor_sandbox::process::clock;

/// The result of asking for an action's turn in the machine-wide queue.
#[derive(Debug)]
pub(crate) enum QueueTurn {
    /// The action may start, and dropping the slot lets another action start. There is no slot if this process runs
    /// inside of an action that already has one, because waiting for another slot could be a deadlock.
    Given(Option<Slot>),
    /// A stop request came before a slot was free.
    Stopped,
}

/// The result of waiting for an action's turn in the machine-wide queue. `waited` is `None` if a slot was free at once.
#[derive(Debug)]
pub(crate) struct AwaitedTurn {
    pub(crate) turn: QueueTurn,
    pub(crate) waited: Option<DurationMs>,
}

/// Waits for a turn, at most until the time limit of the settings or a stop request.
pub(crate) fn take_turn(
    store: &Store,
    ambient: &BTreeMap<OsString, OsString>,
    settings: QueueLimits,
    stopped: &dyn Fn() -> Option<StopReason>,
    show: &mut dyn FnMut(Progress),
) -> Result<AwaitedTurn, ProjectError> {
    if is_inside_action(store, ambient) {
        return Ok(AwaitedTurn { turn: QueueTurn::Given(None), waited: None });
    }
    let mut begun = None;
    let mut last = SlotQueueState { taken: 0, ahead: 0 };
    let slot = store.take_slot(settings.max_parallel, &mut |queue| {
        last = queue;
        let begun = *begun.get_or_insert_with(|| {
            if !settings.wait.is_zero() {
                show(Progress::WaitingForSlot { under_way: queue.taken, ahead: queue.ahead, wait: settings.wait });
            }
            clock::monotonic()
        });
        let in_time = clock::monotonic().since(begun) < settings.wait;
        if in_time && stopped().is_none() { WaitDecision::GoOn } else { WaitDecision::GiveUp }
    });
    let waited = begun.map(|begun| DurationMs::from(clock::monotonic().since(begun)));
    let turn = match slot? {
        Some(slot) => QueueTurn::Given(Some(slot)),
        None if stopped().is_some() => QueueTurn::Stopped,
        None => return Err(ProjectError::Queue { under_way: last.taken, wait: settings.wait }),
    };
    Ok(AwaitedTurn { turn, waited })
}

/// Takes a turn if a slot is free at once; `None` if all slots are taken, or if other actions are already waiting.
pub(crate) fn try_take_turn(
    store: &Store,
    ambient: &BTreeMap<OsString, OsString>,
    settings: QueueLimits,
) -> Result<Option<QueueTurn>, ProjectError> {
    if is_inside_action(store, ambient) {
        return Ok(Some(QueueTurn::Given(None)));
    }
    let slot = store.take_slot(settings.max_parallel, &mut |_| WaitDecision::GiveUp)?;
    Ok(slot.map(|slot| QueueTurn::Given(Some(slot))))
}

/// Returns whether this process runs inside of an action of the same store. That action already has a slot.
pub(crate) fn is_inside_action(store: &Store, ambient: &BTreeMap<OsString, OsString>) -> bool {
    ambient.get(OsStr::new("PROCTOR_OUT")).is_some_and(|output| store.is_output_directory(Path::new(output)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_evidence::testing::new_store;
    use std::time::Duration;

    const NO_WAIT: QueueLimits = QueueLimits { max_parallel: 1, wait: Duration::ZERO };
    /// The time limit on the wait is longer than any test takes, so only a stop request ends the wait.
    const LONG: QueueLimits = QueueLimits { max_parallel: 1, wait: Duration::from_secs(3600) };

    fn take(
        store: &Store,
        settings: QueueLimits,
        stopped: Option<StopReason>,
    ) -> (Result<AwaitedTurn, ProjectError>, Vec<Progress>) {
        let mut shown = Vec::new();
        let answer = take_turn(store, &BTreeMap::new(), settings, &|| stopped, &mut |progress| shown.push(progress));
        (answer, shown)
    }

    #[test]
    fn a_turn_that_is_given_at_once_waited_for_nobody_and_shows_nothing() {
        let (store, _directory) = new_store();
        let (answer, shown) = take(&store, LONG, None);
        let answer = answer.unwrap();
        assert!(matches!(answer.turn, QueueTurn::Given(Some(_))) && answer.waited.is_none() && shown.is_empty());
    }

    #[test]
    fn a_stop_ends_the_wait_which_was_shown_once() {
        let (store, _directory) = new_store();
        let _held = take(&store, NO_WAIT, None).0.unwrap();
        let (answer, shown) = take(&store, LONG, Some(StopReason::Superseded));
        let answer = answer.unwrap();
        assert!(matches!(answer.turn, QueueTurn::Stopped) && answer.waited.is_some());
        assert!(matches!(shown[..], [Progress::WaitingForSlot { under_way: 1, ahead: 0, .. }]), "{shown:?}");
    }

    #[test]
    fn when_the_bound_is_reached_the_run_fails_and_says_how_many_were_before_it() {
        let (store, _directory) = new_store();
        let _held = take(&store, NO_WAIT, None).0.unwrap();
        let (answer, shown) = take(&store, NO_WAIT, None);
        assert!(matches!(answer, Err(ProjectError::Queue { under_way: 1, .. })), "{answer:?}");
        assert!(shown.is_empty(), "who does not wait says nothing of waiting");
    }

    #[test]
    fn a_turn_at_once_is_had_or_not_and_leaves_nobody_in_line() {
        let (store, _directory) = new_store();
        let two = QueueLimits { max_parallel: 2, ..NO_WAIT };
        let at_once = || try_take_turn(&store, &BTreeMap::new(), two).expect("the store can be asked");
        let held = (at_once(), at_once());
        assert!(held.0.is_some() && held.1.is_some() && at_once().is_none());
        drop(held.0);
        assert!(take(&store, two, None).0.is_ok(), "who did not get one does not stand before others");
    }

    #[test]
    fn an_action_within_an_action_of_the_same_store_has_its_turn_and_one_of_another_store_waits() {
        let (store, directory) = new_store();
        let _held = take(&store, NO_WAIT, None).0.unwrap();
        let within = |output: &Path| {
            std::fs::create_dir_all(output).expect("directories can be made");
            let ambient = BTreeMap::from([("PROCTOR_OUT".into(), output.into())]);
            take_turn(&store, &ambient, NO_WAIT, &|| None, &mut |_| {})
        };
        let inside = within(&store.root().join("out/shop-00000001/exec-1/STEP.1")).unwrap();
        assert!(matches!(inside.turn, QueueTurn::Given(None)));
        assert!(within(&directory.path().join("other/out/shop-00000001/exec-1/STEP.1")).is_err());
    }
}
