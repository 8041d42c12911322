//! One hook of an agent at a time changes what is recorded of agents' sessions: hooks of several sub-agents run at once. `lock_file` says why
//! such a lock never outlives its holder.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::EvidenceError;
use crate::changes::create_directories;
use crate::lock_file::{ALL_BYTES, LockFile, WaitDecision};

/// The pause between two attempts at a lock that is taken. A holder only reads and writes a small file.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The right to change what is recorded of agents' sessions. It is given up when the value is dropped.
#[derive(Debug)]
pub struct HookLock {
    _file: LockFile,
}

/// Takes the lock of the hooks' files in a directory, which is made if it is missing. After each failed attempt, `waiting` decides whether to
/// try again; `None` if it gave up.
///
/// # Errors
/// When the lock file cannot be opened or locked.
pub fn lock_hooks(directory: &Path, waiting: &mut dyn FnMut() -> WaitDecision) -> Result<Option<HookLock>, EvidenceError> {
    create_directories(directory)?;
    let file = LockFile::open(&directory.join("lock"))?;
    while !file.try_lock(&ALL_BYTES)? {
        match waiting() {
            WaitDecision::GoOn => thread::sleep(POLL_INTERVAL),
            WaitDecision::GiveUp => return Ok(None),
        }
    }
    Ok(Some(HookLock { _file: file }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_has_the_lock_and_a_dropped_one_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("hooks");
        let mut give_up = || WaitDecision::GiveUp;
        let first = lock_hooks(&place, &mut give_up).unwrap();
        assert!(first.is_some() && lock_hooks(&place, &mut give_up).unwrap().is_none());
        let mut holder = first;
        let mut free_it = || {
            holder = None;
            WaitDecision::GoOn
        };
        assert!(lock_hooks(&place, &mut free_it).unwrap().is_some());
    }
}
