//! Applying a function to many items on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Returns the result of `judge` for every item, in the order of the items. A thread that is done takes the next item, because
/// items may differ in size a thousandfold.
pub(super) fn in_parallel<Item: Sync, Outcome: Send>(
    items: &[Item],
    threads: usize,
    judge: impl Fn(&Item) -> Outcome + Sync,
) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(position) else { return done };
            done.push((position, judge(item)));
        }
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads.min(items.len())).filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let mut done = work();
        others.into_iter().for_each(|other| done.extend(other.join().expect("judging does not panic")));
        done
    });
    done.sort_by_key(|(position, _)| *position);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::in_parallel;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u32> = (0..1000).collect();
        for threads in [1, 4, 2000] {
            assert_eq!(in_parallel(&items, threads, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
        assert!(in_parallel(&[] as &[u32], 4, |item| *item).is_empty());
    }
}
