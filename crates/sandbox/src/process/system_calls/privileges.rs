//! Gives up capabilities (`capabilities(7)`), and kills processes by pidfd (`pidfd_open(2)`), so that no other process
//! with a reused id is hit.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use nix::libc;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// `_LINUX_CAPABILITY_VERSION_3` of `capset(2)`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// Empties the bounding set: no program that is executed later gets a capability, not even as root. This process keeps
/// its own capabilities.
pub(in crate::process) fn drop_bounding_set() -> io::Result<()> {
    for capability in 0..64 {
        // SAFETY: this prctl takes integers only.
        let outcome = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        if outcome != 0 {
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                // The kernel has no capability of this or a higher number.
                Some(libc::EINVAL) => break,
                // Without the permission to drop capabilities, the process has none that matter: `execve(2)` gives none to an
                // ordinary user's process.
                Some(libc::EPERM) => break,
                Some(_) | None => return Err(error),
            }
        }
    }
    Ok(())
}

pub(in crate::process) fn drop_capabilities() -> io::Result<()> {
    let header: [u32; 2] = [CAPABILITY_VERSION, 0];
    let nothing = [0_u32; 6];
    // SAFETY: the header is a version and this process's id (0), and version 3 reads two structures of three 32-bit words.
    let outcome = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), nothing.as_ptr()) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A process that is identified by a pidfd, so that a reused process id cannot be mistaken for it.
#[derive(Debug)]
pub(in crate::process) struct HeldProcess(OwnedFd);

impl HeldProcess {
    /// Opens a pidfd for the process that has this id now.
    pub(in crate::process) fn open(process: Pid) -> io::Result<Self> {
        // SAFETY: the call takes two integers.
        let outcome = unsafe { libc::syscall(libc::SYS_pidfd_open, process.as_raw(), 0) };
        if outcome < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor for us and nobody else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(RawFd::try_from(outcome).unwrap_or(-1)) }))
    }

    /// Returns a descriptor that becomes readable when the process has ended.
    pub(in crate::process) fn end(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Sends a signal to the process; does nothing if it has ended.
    pub(in crate::process) fn signal(&self, signal: Signal) {
        let no_information = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the descriptor is open, and a null pointer is allowed: it means the same signal information as
        // kill(2) sends.
        let _ended = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal as i32, no_information, 0) };
    }
}
