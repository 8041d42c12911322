//! Verifying a store while other processes write to it, and the checks of a ledger that need no key.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::verification::{EvidenceFault, FaultKind};
use crate::{Store, read_store_activity};
use proctor_model::{LedgerLine, ProjectId, Timestamp};

/// How far, in milliseconds, a time may be ahead of this machine's clock: another machine's clock may have written it.
const CLOCK_TOLERANCE_MS: i64 = 10 * 60 * 1000;
/// The pauses before a store that others write to is looked at again.
const PAUSES: [Duration; 6] = [
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(400),
];

/// Verifies what is in the store while other processes may write to it. What they do between two reads of ours can look like a fault, so
/// a store with faults is looked at again unless nobody wrote to it meanwhile, and only what is found each time is a fault.
///
/// # Errors
/// Those of `verify`.
pub fn verify_steadily<T, E>(
    state_root: &Path,
    verify: impl Fn() -> Result<T, E>,
    faults: impl Fn(&mut T) -> &mut Vec<EvidenceFault>,
) -> Result<T, E> {
    let state = || read_store_activity(state_root);
    let mut before = state();
    let mut found = verify()?;
    for pause in PAUSES {
        let after = state();
        let is_steady = before == after && after.is_idle;
        if faults(&mut found).is_empty() || is_steady {
            break;
        }
        std::thread::sleep(pause);
        before = state();
        let mut again = verify()?;
        let earlier = std::mem::take(faults(&mut found));
        let is_found_again =
            |fault: &EvidenceFault| earlier.iter().any(|earlier| (earlier.kind, &earlier.file) == (fault.kind, &fault.file));
        faults(&mut again).retain(is_found_again);
        found = again;
    }
    Ok(found)
}

/// Returns whether a time is so far in the future that clocks of two machines that differ do not explain it.
pub fn is_ahead(time: Timestamp, now: Timestamp) -> bool {
    time.as_millis() > now.as_millis().saturating_add(CLOCK_TOLERANCE_MS)
}

/// Reports the first line that is dated ahead of `now`, the time of this machine.
pub fn line_from_the_future(ledger: &Path, lines: &[(u64, LedgerLine)], now: Timestamp) -> Option<EvidenceFault> {
    let line = lines.iter().map(|(_, line)| line).find(|line| is_ahead(line.time, now))?;
    let detail = format!("line {}: it is of {}, and now is {now}", line.sequence.0, line.time);
    Some(EvidenceFault::new(FaultKind::TimeAhead, ledger, detail))
}

/// Returns the ledger's path relative to the store. Faults name files by such paths.
pub fn ledger_file(store: &Store, project: &ProjectId) -> PathBuf {
    let path = store.ledger_path(project);
    path.strip_prefix(store.root()).map_or_else(|_| path.clone(), Path::to_owned)
}

// Applying a function to many items on several threads.

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
