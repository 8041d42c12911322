//! Stamps: the device, inode, size and times of an entry. By its stamp an unchanged file is recognised without being
//! read. This module also says whether an equal stamp proves that the file is unchanged.

use nix::sys::stat::FileStat;

use proctor_model::Timestamp;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_MILLI: i128 = 1_000_000;

/// How far the kernel's file times may lag behind the clock: two ticks of the slowest configuration (`CONFIG_HZ=100`).
const TICK: i128 = 20 * NANOS_PER_MILLI;

/// How far file times may lag behind the clock on file systems that store them in whole seconds (ext4 with small
/// inodes) or in steps of two seconds (FAT).
const COARSE_TICK: i128 = 2 * NANOS_PER_SECOND as i128;

/// The fields of `stat` that identify a file and its content. Times are nanoseconds since the epoch, modulo 2^64. That
/// keeps stamps small, because every file has one, and times are only compared with each other and with the present
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryStamp {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub modified: i64,
    pub changed: i64,
}

/// The stamp of a directory, and its permissions.
///
/// Entries that come and go change the times of a directory as a change of its permissions does, so the times do not show a change of
/// permissions for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DirectoryStamp {
    pub(super) entry: EntryStamp,
    /// The mode as `stat` has it, with the file type.
    pub(super) mode: u32,
}

impl DirectoryStamp {
    pub(super) fn of(stat: &FileStat) -> Self {
        Self { entry: EntryStamp::of(stat), mode: stat.st_mode }
    }
}

/// Whether an equal stamp proves equal content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// An equal stamp proves equal content: any later write gets other times.
    Settled,
    /// An equal stamp proves nothing: the file was written so shortly before it was read that a later write may get the
    /// same times.
    Racy,
}

impl EntryStamp {
    pub fn of(stat: &FileStat) -> Self {
        let nanos = |seconds: i64, nanos: i64| seconds.wrapping_mul(NANOS_PER_SECOND).wrapping_add(nanos);
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size.cast_unsigned(),
            modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Returns whether an equal stamp will later prove that a file that was read at `now` is unchanged.
    ///
    /// The kernel's clock for file times advances in ticks, so a later write keeps the same times only within one tick.
    /// A stamp is settled when it is at least a tick older than the reading. A change time in the future is never
    /// settled.
    pub fn trust(&self, now: Timestamp) -> Trust {
        let now = i128::from(now.as_millis()) * NANOS_PER_MILLI;
        let is_old = |time: i64| {
            let tick = if time % NANOS_PER_SECOND == 0 { COARSE_TICK } else { TICK };
            i128::from(time) + tick < now
        };
        // FAT has no change time, so its modification time is used instead. A modification time in the future was set by a
        // program and says nothing.
        let is_settled = is_old(self.changed) && (is_old(self.modified) || i128::from(self.modified) > now);
        if is_settled { Trust::Settled } else { Trust::Racy }
    }

    /// Returns whether a directory with this stamp was replaced by another one or renamed before it got a later stamp.
    ///
    /// A directory that was renamed away, with another one at its place meanwhile, and renamed back has the same entries and
    /// the same inode. Only its change time shows it: a rename, like a change of mode, owner or attributes, sets the change
    /// time and not the modification time. When an entry of a directory comes, goes or is renamed, the kernel sets both to the
    /// same instant. That happens in every run, because tools write caches, so it does not count. A change time that is new
    /// and differs from the modification time therefore tells of a rename. A rename is missed if an entry changed after it, or
    /// within the same tick of the clock.
    pub(super) fn is_replaced_by(self, later: Self) -> bool {
        let is_other = (self.device, self.inode) != (later.device, later.inode);
        let is_changed_last = later.modified == self.modified || later.modified != later.changed;
        is_other || (later.changed != self.changed && is_changed_last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_700_000_000 * NANOS_PER_SECOND;
    const MILLI: i64 = 1_000_000;

    fn trust(changed: i64, modified: i64, now: i64) -> Trust {
        EntryStamp { device: 1, inode: 1, size: 1, modified, changed }.trust(Timestamp::from_millis(now / MILLI))
    }

    #[test]
    fn a_stamp_is_trusted_when_it_is_older_than_a_tick() {
        let written = SECOND + 5;
        assert_eq!(trust(written, written, written), Trust::Racy);
        assert_eq!(trust(written, written, written + 10 * MILLI), Trust::Racy);
        assert_eq!(trust(written, written, written + 30 * MILLI), Trust::Settled);
        assert_eq!(trust(written, written, written - NANOS_PER_SECOND), Trust::Racy);
    }

    #[test]
    fn whole_seconds_are_taken_for_a_coarse_clock() {
        assert_eq!(trust(SECOND, SECOND, SECOND + NANOS_PER_SECOND), Trust::Racy);
        assert_eq!(trust(SECOND, SECOND, SECOND + 3 * NANOS_PER_SECOND), Trust::Settled);
    }

    #[test]
    fn a_directory_is_replaced_when_its_inode_or_only_its_change_time_differs() {
        let stamp =
            |inode, modified, changed: i64| EntryStamp { device: 1, inode, size: changed.unsigned_abs(), modified, changed };
        let before = stamp(1, 5, 9);
        for (later, expected) in [
            (before, false),
            (stamp(2, 5, 9), true),
            // The directory was renamed, or its mode was changed.
            (stamp(1, 5, 12), true),
            // An entry came or went.
            (stamp(1, 12, 12), false),
            // An entry came or went, then the directory was renamed.
            (stamp(1, 11, 12), true),
            // The directory's modification time was set by hand.
            (stamp(1, 3, 12), true),
        ] {
            assert_eq!(before.is_replaced_by(later), expected, "{later:?}");
        }
        assert!(stamp(1, 9, 5).is_replaced_by(stamp(1, 9, 9)), "renamed in the instant that the modification time names");
    }

    #[test]
    fn a_modification_time_set_by_hand_does_not_make_a_file_racy_for_ever() {
        assert_eq!(trust(SECOND + 5, SECOND * 2, SECOND + NANOS_PER_SECOND), Trust::Settled);
    }
}
