//! A small file system, and one whose server never answers, mounted where no other process sees them. Only root can mount them.
#![expect(clippy::print_stdout, reason = "a test that is left out says why")]

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::geteuid;

/// The size of the file system at first. A project's store takes some hundred KiB.
const SMALL: &str = "size=8m";
/// The size of the file system once it is enlarged.
const LARGE: &str = "size=64m";

/// A file system that only this thread and its children see, below a project's state directory.
#[must_use = "it is taken away when dropped"]
pub(crate) struct Disk {
    place: PathBuf,
}

impl Disk {
    /// Mounts the file system. None: this user or this machine may not mount it.
    #[track_caller]
    pub(crate) fn mount(place: PathBuf) -> Option<Self> {
        if !may_mount() {
            return None;
        }
        mount(Some("disk"), &place, Some("tmpfs"), MsFlags::empty(), Some(SMALL)).expect("root may mount");
        Some(Self { place })
    }

    /// Returns the directory on which the file system is mounted.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Remounts the file system with other flags. Before it becomes read-only, no file may be open for writing.
    #[track_caller]
    pub(crate) fn remount(&self, flags: MsFlags) {
        let none = None::<&str>;
        mount(none, &self.place, none, MsFlags::MS_REMOUNT | flags, none).expect("root may mount");
    }

    /// Enlarges the file system, so that there is free space again.
    #[track_caller]
    pub(crate) fn enlarge(&self) {
        mount(None::<&str>, &self.place, None::<&str>, MsFlags::MS_REMOUNT, Some(LARGE)).expect("root may mount");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Even if the unmounting fails, no mount is left: the mount namespace ends with its thread.
        let _gone = umount2(&self.place, MntFlags::MNT_DETACH);
    }
}

/// A file system whose server never answers, which only this thread and its children see.
#[must_use = "it is taken away when dropped"]
pub(crate) struct SilentMount {
    place: PathBuf,
    /// The server's end. The kernel ends every call once it is closed.
    server: Option<File>,
}

impl SilentMount {
    /// Mounts the file system. None: this user or this machine may not mount it.
    #[track_caller]
    pub(crate) fn mount(place: PathBuf) -> Option<Self> {
        let server = File::options().read(true).write(true).open("/dev/fuse").ok().filter(|_| may_mount())?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", server.as_raw_fd());
        mount(Some("silent"), &place, Some("fuse"), MsFlags::empty(), Some(options.as_str())).expect("root may mount");
        Some(Self { place, server: Some(server) })
    }

    /// Ends the server: from now on every call fails.
    pub(crate) fn end_server(&mut self) {
        self.server = None;
    }
}

impl Drop for SilentMount {
    fn drop(&mut self) {
        self.end_server();
        let _gone = umount2(&self.place, MntFlags::MNT_DETACH);
    }
}

/// Gives this thread a mount namespace of its own. Returns whether it may mount something there.
fn may_mount() -> bool {
    if !geteuid().is_root() || unshare(CloneFlags::CLONE_NEWNS).is_err() {
        println!("left out: only root may mount a disk of its own");
        return false;
    }
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).expect("the mount namespace is ours");
    true
}
