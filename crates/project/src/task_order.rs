//! The order of a project's tasks by what they depend on, over all specification files. Pure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The tasks of a project, each with the ids of the tasks that it depends on.
pub(crate) type Dependencies<'t> = BTreeMap<&'t str, Vec<&'t str>>;

/// Returns all tasks, each after the tasks that it depends on, and otherwise sorted by their ids. Tasks in a cycle, and
/// those that wait for one, come last: none of them can run.
pub(crate) fn order_by_dependencies<'t>(dependencies: &Dependencies<'t>) -> Vec<&'t str> {
    // A dependency on a task that is not there does not hold a task back here: running the task reports it.
    let needed = |task: &&'t str| {
        dependencies[*task].iter().copied().filter(|needed| dependencies.contains_key(needed)).collect::<BTreeSet<&str>>()
    };
    let mut left: BTreeMap<&str, BTreeSet<&str>> = dependencies.keys().map(|task| (*task, needed(task))).collect();
    let mut waiters: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (task, needed) in &left {
        needed.iter().for_each(|needed| waiters.entry(needed).or_default().push(task));
    }
    let mut ready: BTreeSet<&str> = left.iter().filter(|(_, needed)| needed.is_empty()).map(|(task, _)| *task).collect();
    let mut ordered = Vec::new();
    while let Some(task) = ready.pop_first() {
        left.remove(task);
        ordered.push(task);
        for waiter in waiters.get(task).into_iter().flatten() {
            if let Some(needed) = left.get_mut(waiter) {
                needed.remove(task);
                if needed.is_empty() {
                    ready.insert(waiter);
                }
            }
        }
    }
    ordered.extend(left.into_keys());
    ordered
}

/// Returns the shortest way by which a task waits for itself, with the task at both ends; `None` if it does not.
pub(crate) fn cycle_through<'t>(start: &str, dependencies: &Dependencies<'t>) -> Option<Vec<&'t str>> {
    let (start, _) = dependencies.get_key_value(start)?;
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut waiting = VecDeque::from([*start]);
    while let Some(task) = waiting.pop_front() {
        for needed in dependencies.get(task).into_iter().flatten() {
            if needed == start {
                let back = std::iter::successors(Some(task), |task| came_from.get(task).copied());
                let mut way: Vec<&str> = std::iter::once(*start).chain(back).collect();
                way.reverse();
                return Some(way);
            }
            if !came_from.contains_key(needed) {
                came_from.insert(needed, task);
                waiting.push_back(needed);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_come_after_what_they_depend_on_and_otherwise_by_their_ids() {
        let dependencies = BTreeMap::from([
            ("T1", vec!["T3", "T3"]),
            ("T2", vec![]),
            ("T3", vec!["T4", "T9"]),
            ("T4", vec![]),
            ("T5", vec!["T6", "T2"]),
            ("T6", vec!["T5"]),
            ("T7", vec!["T6"]),
        ]);
        assert_eq!(order_by_dependencies(&dependencies), ["T2", "T4", "T3", "T1", "T5", "T6", "T7"]);
        assert!(order_by_dependencies(&BTreeMap::new()).is_empty());
    }

    #[test]
    fn a_cycle_is_named_by_its_shortest_way() {
        let dependencies = BTreeMap::from([
            ("T1", vec!["T2", "T3"]),
            ("T2", vec!["T3"]),
            ("T3", vec!["T1", "T4"]),
            ("T4", vec!["T4"]),
            ("T5", vec!["T1", "T9"]),
        ]);
        assert_eq!(cycle_through("T1", &dependencies), Some(vec!["T1", "T3", "T1"]));
        assert_eq!(cycle_through("T2", &dependencies), Some(vec!["T2", "T3", "T1", "T2"]));
        assert_eq!(cycle_through("T4", &dependencies), Some(vec!["T4", "T4"]));
        assert_eq!(cycle_through("T5", &dependencies), None, "it waits for a cycle and is in none");
        assert_eq!(cycle_through("T9", &dependencies), None);
    }
}
