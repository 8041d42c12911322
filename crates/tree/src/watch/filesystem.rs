//! The file systems on which changes can happen without an inotify event. The table is data; only `read_eventless`
//! asks the kernel for a directory's file system.

use std::path::Path;

use nix::sys::statfs::statfs;

/// A file system on which changes can happen without an inotify event: a row of [`EVENTLESS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eventless {
    /// The file system's type number, as `statfs(2)` returns it.
    pub magic: i64,
    /// The file system's name, for messages.
    pub name: &'static str,
}

const fn row(magic: i64, name: &'static str) -> Eventless {
    Eventless { magic, name }
}

/// File systems that another machine, another kernel or a program can change. The kernel of this machine gives events
/// only for changes that were made through this kernel, so directories on these file systems are watched *and* polled.
/// The numbers are from `linux/magic.h` and the file systems' own headers.
pub const EVENTLESS: &[Eventless] = &[
    row(0x6969, "NFS"),
    row(0x517B, "SMB"),
    row(0xFF53_4D42, "CIFS"),
    row(0xFE53_4D42, "SMB 2"),
    row(0x0102_1997, "9p, as WSL and virtual machines use for shared folders"),
    row(0x5346_4846, "WSL's file system"),
    row(0x6573_5546, "FUSE, as sshfs and shared folders use"),
    row(0x7868_4256, "VirtualBox' shared folders"),
    row(0x786F_4256, "VirtualBox' shared folders"),
    row(0x7C7C_6673, "Parallels' shared folders"),
    row(0xBACB_ACBC, "VMware's shared folders"),
    row(0x00C3_6400, "Ceph"),
    row(0x5346_414F, "AFS"),
    row(0x6B41_4653, "AFS"),
    row(0x7375_7245, "Coda"),
    row(0x564C, "NCP"),
    row(0x0BD0_0BD0, "Lustre"),
    row(0x0116_1970, "GFS2"),
    row(0x7461_636F, "OCFS2"),
    row(0x4750_4653, "GPFS"),
    row(0x1983_0326, "BeeGFS"),
];

/// Returns the name of a file system that does not report every change; `None` for all others.
pub fn find_eventless(magic: i64) -> Option<&'static str> {
    EVENTLESS.iter().find(|row| row.magic == magic).map(|row| row.name)
}

/// Returns the name of a directory's file system if that file system does not report every change. If `statfs` fails,
/// the file system is assumed to report every change; a cookie file shows later whether events arrive.
pub(super) fn read_eventless(directory: &Path) -> Option<&'static str> {
    let kind = statfs(directory).ok()?.filesystem_type();
    // The kernel returns 32 bits, which may have been sign-extended.
    find_eventless(kind.0 & 0xFFFF_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_shadowed_and_local_file_systems_are_watched_alone() {
        for (number, row) in EVENTLESS.iter().enumerate() {
            assert_eq!(EVENTLESS.iter().position(|other| other.magic == row.magic), Some(number), "{row:?}");
        }
        for (magic, local) in [(0xEF53, "ext4"), (0x9123_683E, "btrfs"), (0x5846_5342, "xfs"), (0x0102_1994, "tmpfs")] {
            assert_eq!(find_eventless(magic), None, "{local}");
        }
        assert_eq!(find_eventless(0x6969), Some("NFS"));
        assert_eq!(find_eventless(0x0794_C7630), None, "overlayfs tells of what goes through it; the probe decides");
    }
}
