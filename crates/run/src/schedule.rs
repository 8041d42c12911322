//! Decides which step starts next while others are running. Pure. A step is represented by its position in the order of
//! execution.

use std::collections::BTreeSet;

use proctor_model::{Action, ActionId};

/// What decides when a step may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepNeeds<T> {
    /// The positions of the steps that must finish before this step starts.
    pub(crate) after: Vec<usize>,
    /// What no other running step may use while this step runs, such as a report file.
    pub(crate) alone_with: Vec<T>,
}

/// Which steps of a run have ended and which are running, by their positions in the order of execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ScheduleState {
    /// The steps that have a result.
    pub(crate) over: BTreeSet<usize>,
    /// The steps that were started and have no result yet.
    pub(crate) open: BTreeSet<usize>,
}

/// Returns the positions of an action's dependencies. A dependency that is no step of this run is ignored.
pub(crate) fn dependency_positions(order: &[&Action], action: &Action) -> Vec<usize> {
    let place = |id: &ActionId| order.iter().position(|other| other.id == *id);
    action.after.iter().filter_map(place).collect()
}

/// Returns the step that starts next; `None` if no step may start now. At most `limit` steps run at the same time; 0
/// means 1.
///
/// The next step is the first one in the order of execution whose dependencies are finished and whose exclusive
/// resources are not in use. If steps are left and none is running, there is always a next one: steps with circular
/// dependencies start in their order.
pub(crate) fn next<T: PartialEq>(steps: &[StepNeeds<T>], state: &ScheduleState, limit: usize) -> Option<usize> {
    if state.open.len() >= limit.max(1) {
        return None;
    }
    let is_left = |place: &usize| !state.over.contains(place) && !state.open.contains(place);
    let is_shared = |one: &T| state.open.iter().any(|open| steps[*open].alone_with.contains(one));
    let may_start = |place: &usize| {
        let step = &steps[*place];
        step.after.iter().all(|needed| state.over.contains(needed)) && !step.alone_with.iter().any(is_shared)
    };
    let mut left = (0..steps.len()).filter(is_left);
    let first = left.clone().next().filter(|_| state.open.is_empty());
    left.find(may_start).or(first)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn needs(after: &[usize], alone_with: &[u8]) -> StepNeeds<u8> {
        StepNeeds { after: after.to_vec(), alone_with: alone_with.to_vec() }
    }

    fn state(over: &[usize], open: &[usize]) -> ScheduleState {
        ScheduleState { over: over.iter().copied().collect(), open: open.iter().copied().collect() }
    }

    #[test]
    fn the_first_that_waits_for_nobody_starts_and_no_more_than_the_limit_go_on() {
        let steps = [needs(&[], &[]), needs(&[0], &[]), needs(&[], &[7]), needs(&[], &[7]), needs(&[], &[])];
        for (over, open, limit, expected) in [
            (&[][..], &[][..], 2, Some(0)),
            (&[], &[0], 2, Some(2)),
            (&[], &[0], 1, None),
            (&[], &[], 0, Some(0)),
            (&[], &[0, 2], 3, Some(4)),
            (&[0], &[2], 2, Some(1)),
            (&[0, 1, 2, 4], &[], 9, Some(3)),
            (&[0, 1, 2, 3, 4], &[], 9, None),
        ] {
            assert_eq!(next(&steps, &state(over, open), limit), expected, "{over:?} {open:?} {limit}");
        }
    }

    #[test]
    fn steps_that_wait_for_each_other_start_when_nothing_else_goes_on() {
        let steps = [needs(&[1], &[]), needs(&[0], &[]), needs(&[], &[])];
        assert_eq!(next(&steps, &state(&[], &[]), 2), Some(2));
        assert_eq!(next(&steps, &state(&[], &[2]), 2), None);
        assert_eq!(next(&steps, &state(&[2], &[]), 2), Some(0));
    }

    /// Generates steps whose dependencies come before them in the order of execution.
    fn ordered() -> impl Strategy<Value = Vec<StepNeeds<u8>>> {
        vec((vec(any::<usize>(), 0..3), vec(0_u8..4, 0..2)), 0..12).prop_map(|drawn| {
            let of = |(place, (after, alone_with)): (usize, (Vec<usize>, Vec<u8>))| StepNeeds {
                after: after.into_iter().filter(|_| place > 0).map(|any| any % place.max(1)).collect(),
                alone_with,
            };
            drawn.into_iter().enumerate().map(of).collect()
        })
    }

    proptest! {
        #[test]
        fn every_step_starts_once_after_its_needs_and_alone_with_what_is_its_own(
            steps in ordered(),
            limit in 0_usize..5,
            ends in vec(any::<usize>(), 12),
        ) {
            let (mut state, mut started, mut ends) = (ScheduleState::default(), Vec::new(), ends.into_iter());
            loop {
                while let Some(place) = next(&steps, &state, limit) {
                    prop_assert!(steps[place].after.iter().all(|needed| state.over.contains(needed)));
                    for open in &state.open {
                        prop_assert!(!steps[*open].alone_with.iter().any(|one| steps[place].alone_with.contains(one)));
                    }
                    state.open.insert(place);
                    started.push(place);
                    prop_assert!(state.open.len() <= limit.max(1));
                }
                let Some(place) = state.open.iter().nth(ends.next().unwrap_or(0) % state.open.len().max(1)).copied() else { break };
                state.open.remove(&place);
                state.over.insert(place);
            }
            if limit < 2 {
                prop_assert!(started.is_sorted(), "one at a time they keep their order: {started:?}");
            }
            started.sort_unstable();
            prop_assert_eq!(started, (0..steps.len()).collect::<Vec<_>>());
        }
    }
}
