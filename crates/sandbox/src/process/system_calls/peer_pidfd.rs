//! Asks the kernel for a pidfd of the process at the other end of a Unix socket (`SO_PEERPIDFD`, `unix(7)`), and sets the
//! limit on open files of another process (`prlimit(2)`).

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use nix::libc;
use nix::unistd::Pid;

/// `SO_PEERPIDFD` of `asm-generic/socket.h`, which the crate libc does not have.
const SO_PEERPIDFD: libc::c_int = 77;

/// The pidfd of the process that connected a socket.
#[derive(Debug)]
pub(in crate::process) enum PeerPidfd {
    /// The process had not been reaped when it was asked for.
    Held(OwnedFd),
    /// The process has ended and was reaped, or the kernel gives no pidfd for another reason.
    Ended,
    /// The kernel is older than Linux 6.5.
    Unsupported,
}

/// Returns a pidfd of the process that connected the other end of this socket.
pub(in crate::process) fn peer_pidfd(socket: BorrowedFd<'_>) -> PeerPidfd {
    let mut descriptor: RawFd = -1;
    let mut length = libc::socklen_t::try_from(size_of::<RawFd>()).unwrap_or(4);
    let value = std::ptr::from_mut(&mut descriptor).cast();
    // SAFETY: the kernel writes at most `length` bytes, the size of the integer, and both variables live until the call
    // returns.
    let outcome = unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, SO_PEERPIDFD, value, &raw mut length) };
    match (outcome, io::Error::last_os_error().raw_os_error()) {
        // SAFETY: the kernel has just made this descriptor for us and nobody else knows it.
        (0, _) if descriptor >= 0 => PeerPidfd::Held(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        (0, _) => PeerPidfd::Ended,
        (_, Some(libc::ENOPROTOOPT)) => PeerPidfd::Unsupported,
        (..) => PeerPidfd::Ended,
    }
}

/// Sets the soft and the hard limit on open files of another process of this user.
pub(in crate::process) fn set_open_files_of(process: Pid, soft: libc::rlim_t, hard: libc::rlim_t) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: the new limit lives until the call returns, and no old limit is asked for.
    let outcome = unsafe { libc::prlimit(process.as_raw(), libc::RLIMIT_NOFILE, &raw const limit, std::ptr::null_mut()) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
