//! Finds cycles in dependencies between tasks, steps or checks.

use std::collections::{BTreeMap, BTreeSet};

/// Returns the nodes (tasks, steps or checks) that depend on themselves, directly or through other nodes.
pub(super) fn circular<'e>(mut edges: BTreeMap<&'e str, Vec<&'e str>>) -> BTreeSet<&'e str> {
    // First remove all nodes without remaining dependencies, again and again: a removed node is in no cycle. Usually
    // all nodes are removed, and the slower search below has nothing to do.
    let mut waiters: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (node, targets) in &mut edges {
        targets.sort_unstable();
        targets.dedup();
        targets.iter().for_each(|target| waiters.entry(target).or_default().push(node));
    }
    let mut left: BTreeMap<&str, usize> = edges.iter().map(|(node, targets)| (*node, targets.len())).collect();
    let mut done: Vec<&str> = waiters.keys().copied().filter(|node| left.get(node).is_none_or(|count| *count == 0)).collect();
    while let Some(node) = done.pop() {
        left.remove(node);
        for waiter in waiters.get(node).into_iter().flatten() {
            if let Some(count) = left.get_mut(waiter) {
                *count -= 1;
                if *count == 0 {
                    done.push(waiter);
                }
            }
        }
    }
    left.into_keys().filter(|node| waits_for_itself(node, &edges)).collect()
}

fn waits_for_itself(start: &str, edges: &BTreeMap<&str, Vec<&str>>) -> bool {
    let mut waiting: Vec<&str> = edges.get(start).cloned().unwrap_or_default();
    let mut seen = BTreeSet::new();
    while let Some(next) = waiting.pop() {
        if next == start {
            return true;
        }
        if seen.insert(next) {
            waiting.extend(edges.get(next).into_iter().flatten());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_in_a_circle_are_told_from_those_that_wait_for_one() {
        let edges = BTreeMap::from([
            ("a", vec!["b", "b"]),
            ("b", vec!["c"]),
            ("c", vec!["b", "d"]),
            ("d", vec!["unknown"]),
            ("e", vec!["e"]),
            ("f", vec!["a", "d"]),
            ("g", vec![]),
        ]);
        assert_eq!(circular(edges), BTreeSet::from(["b", "c", "e"]));
        // A node with a second dependency that is in no cycle is still in its own cycle.
        let edges = BTreeMap::from([("a", vec!["b", "c"]), ("b", vec![]), ("c", vec!["a"])]);
        assert_eq!(circular(edges), BTreeSet::from(["a", "c"]));
        assert_eq!(circular(BTreeMap::from([("a", vec!["b"]), ("b", vec!["c"]), ("c", vec![])])), BTreeSet::new());
    }
}
