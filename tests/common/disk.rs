//! A small disk for a project's state, where no other process sees it; only root may do that.
#![expect(clippy::print_stdout, reason = "a test that is left out says why")]

use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::geteuid;

/// How large the disk is; its store takes some hundred KiB.
const SMALL: &str = "size=8m";
/// How large it is when there is space again.
const LARGE: &str = "size=64m";

/// A file system that only this thread and its children see, below a project's state directory.
#[must_use = "it is taken away when dropped"]
pub(crate) struct Disk {
    place: PathBuf,
}

impl Disk {
    /// Mounts it; none where that may not be done.
    #[track_caller]
    pub(crate) fn mount(place: PathBuf) -> Option<Self> {
        if !geteuid().is_root() || unshare(CloneFlags::CLONE_NEWNS).is_err() {
            println!("left out: only root may mount a disk of its own");
            return None;
        }
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).expect("the mount namespace is ours");
        mount(Some("disk"), &place, Some("tmpfs"), MsFlags::empty(), Some(SMALL)).expect("root may mount");
        Some(Self { place })
    }

    /// Returns where it is.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Mounts it again with other flags; nothing may be open for writing where it can only be read from then on.
    #[track_caller]
    pub(crate) fn remount(&self, flags: MsFlags) {
        let none = None::<&str>;
        mount(none, &self.place, none, MsFlags::MS_REMOUNT | flags, none).expect("root may mount");
    }

    /// Makes it larger.
    #[track_caller]
    pub(crate) fn enlarge(&self) {
        mount(None::<&str>, &self.place, None::<&str>, MsFlags::MS_REMOUNT, Some(LARGE)).expect("root may mount");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // With the thread the whole namespace goes, so that nothing is left where this fails.
        let _gone = umount2(&self.place, MntFlags::MNT_DETACH);
    }
}
