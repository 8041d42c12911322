//! Verifying a store while other processes write to it, and the checks of a ledger that need no key.

use std::path::{Path, PathBuf};
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
