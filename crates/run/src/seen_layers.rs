//! Which layers an action sees of those that earlier actions of its run wrote. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::concurrency::CheckRelations;
use proctor_model::{Action, ActionId};

/// What checks that run at the same time see of each other's writes. The default value is for checks that run one by one:
/// each action sees what all actions before it wrote.
#[derive(Debug, Default)]
pub(crate) struct SeenLayers {
    /// The positions of the checks in the order of execution, which is the order of the report.
    places: BTreeMap<ActionId, usize>,
    /// For each check, the checks whose writes it sees.
    seen: BTreeMap<ActionId, BTreeSet<ActionId>>,
}

impl SeenLayers {
    /// Makes the value from the relations of a run's checks, which `concurrency` computed. `order` and `relations` both
    /// have the checks in the order of execution.
    pub(crate) fn of_checks(order: &[&Action], relations: &[CheckRelations]) -> Self {
        let places = order.iter().enumerate().map(|(place, check)| (check.id.clone(), place)).collect();
        let id_at = |place: &usize| order[*place].id.clone();
        let seen = order.iter().zip(relations).map(|(check, one)| (check.id.clone(), one.sees.iter().map(id_at).collect()));
        Self { places, seen: seen.collect() }
    }

    /// Returns the layers that an action sees, the topmost first. `kept` has all layers so far, the oldest first, with the
    /// action that wrote each. Earlier attempts of the action itself are seen too.
    ///
    /// Layers lie above each other in the order of the report, so a file that several checks wrote is the same in every run,
    /// whichever check ended first. An action that is no check of this run, such as clean-up, sees everything.
    pub(crate) fn select<'k>(&self, kept: impl Iterator<Item = (&'k ActionId, &'k PathBuf)>, action: &ActionId) -> Vec<PathBuf> {
        let is_seen = |writer: &ActionId| {
            self.seen
                .get(action)
                .is_none_or(|seen| writer == action || seen.contains(writer) || !self.places.contains_key(writer))
        };
        let mut selected: Vec<_> = kept.filter(|(writer, _)| is_seen(writer)).collect();
        selected.sort_by_key(|(writer, _)| self.rank(writer));
        selected.into_iter().rev().map(|(_, directory)| directory.clone()).collect()
    }

    /// Returns the place of an action in the order of the report. Layers, and the written files in the report, are sorted
    /// by this place with a stable sort. Actions that are no checks of this run get the last place.
    pub(crate) fn rank(&self, writer: &ActionId) -> usize {
        self.places.get(writer).copied().unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::ActionPhase;
    use proctor_model::testing;

    fn id(number: usize) -> ActionId {
        ActionId::numbered("STEP", number)
    }

    /// Returns the numbers of the selected layers, the topmost first. Each layer is named after its writer and its age.
    fn selected(seen: &SeenLayers, kept: &[&str], action: &ActionId) -> Vec<String> {
        let kept: Vec<_> = kept.iter().map(|one| (id(one[..1].parse().expect("a number")), PathBuf::from(one))).collect();
        let layers = seen.select(kept.iter().map(|(writer, directory)| (writer, directory)), action);
        layers.iter().map(|one| one.display().to_string()).collect()
    }

    #[test]
    fn one_by_one_every_action_sees_all_layers_so_far_and_the_newest_is_on_top() {
        let seen = SeenLayers::default();
        assert_eq!(selected(&seen, &["2", "1", "3"], &id(4)), ["3", "1", "2"]);
    }

    #[test]
    fn side_by_side_a_check_sees_the_layers_of_the_checks_it_waited_for_in_the_order_of_the_report() {
        // The order of execution is 3, 1, 2, 4.
        let checks: Vec<_> = [3, 1, 2, 4]
            .map(|number| Action { id: id(number), ..testing::generic_action(ActionPhase::Step) })
            .into_iter()
            .collect();
        let relation = |sees: &[usize]| {
            let sees: BTreeSet<usize> = sees.iter().copied().collect();
            CheckRelations { waits_for: sees.clone(), sees }
        };
        let relations = [relation(&[]), relation(&[0]), relation(&[]), relation(&[0, 1])];
        let seen = SeenLayers::of_checks(&checks.iter().collect::<Vec<_>>(), &relations);
        let kept = ["2 first", "3", "1", "2 second"];
        for (action, expected) in [
            (id(3), &["3"][..]),
            (id(1), &["1", "3"]),
            // The layers of check 2's own attempts lie on top, the later attempt above the earlier one.
            (id(2), &["2 second", "2 first"]),
            (id(4), &["1", "3"]),
            // Clean-up sees the layers of all checks.
            (ActionId::numbered("CLEANUP", 1), &["2 second", "2 first", "1", "3"]),
        ] {
            assert_eq!(selected(&seen, &kept, &action), expected, "{action}");
        }
    }
}
