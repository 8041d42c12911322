//! By what a file is recognised as the one that was read: its identity and times, and whether they can be trusted.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use crate::model::Timestamp;

const NANOS_PER_SECOND: i128 = 1_000_000_000;
const NANOS_PER_MILLI: i128 = 1_000_000;

/// How much older than the clock the kernel's time stamps may be: two ticks of the slowest configuration (`CONFIG_HZ=100`).
const TICK: i128 = 20 * NANOS_PER_MILLI;

/// The same for file systems that keep whole seconds only (ext4 with small inodes), or every second one (FAT).
const COARSE_TICK: i128 = 2 * NANOS_PER_SECOND;

/// What `stat` says of a file's identity and content. Times are nanoseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: i128,
    changed: i128,
}

/// Whether an equal stamp proves equal content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// It does: any later write gets other times.
    Settled,
    /// It does not: the file was written so shortly before it was read that a later write can have the same times.
    Racy,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * NANOS_PER_SECOND + i128::from(nanos);
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns whether a file that was read after `now` can be recognised by this stamp later on.
    ///
    /// A later write is overlooked only if the kernel's clock, which advances in ticks, still showed the same time for it. So a
    /// stamp is trusted when it is at least a tick older than the reading. A stamp from the future is not.
    pub(super) fn trust(&self, now: Timestamp) -> Trust {
        let now = i128::from(now.as_millis()) * NANOS_PER_MILLI;
        let is_old = |time: i128| {
            let tick = if time % NANOS_PER_SECOND == 0 { COARSE_TICK } else { TICK };
            time + tick < now
        };
        // FAT keeps no change time; its modification time has to serve. One from the future was set by somebody and says nothing.
        if is_old(self.changed) && (is_old(self.modified) || self.modified > now) { Trust::Settled } else { Trust::Racy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i128 = 1_700_000_000 * NANOS_PER_SECOND;

    fn trust(changed: i128, modified: i128, now: i128) -> Trust {
        let now = Timestamp::from_millis(i64::try_from(now / NANOS_PER_MILLI).expect("a time of this age"));
        Stamp { device: 1, inode: 1, size: 1, modified, changed }.trust(now)
    }

    #[test]
    fn a_stamp_is_trusted_when_it_is_older_than_a_tick() {
        let written = SECOND + 5;
        assert_eq!(trust(written, written, written), Trust::Racy);
        assert_eq!(trust(written, written, written + 10 * NANOS_PER_MILLI), Trust::Racy);
        assert_eq!(trust(written, written, written + 30 * NANOS_PER_MILLI), Trust::Settled);
        assert_eq!(trust(written, written, written - NANOS_PER_SECOND), Trust::Racy);
    }

    #[test]
    fn whole_seconds_are_taken_for_a_coarse_clock() {
        assert_eq!(trust(SECOND, SECOND, SECOND + NANOS_PER_SECOND), Trust::Racy);
        assert_eq!(trust(SECOND, SECOND, SECOND + 3 * NANOS_PER_SECOND), Trust::Settled);
    }

    #[test]
    fn a_modification_time_set_by_hand_does_not_make_a_file_racy_for_ever() {
        assert_eq!(trust(SECOND + 5, SECOND * 2, SECOND + NANOS_PER_SECOND), Trust::Settled);
    }
}
