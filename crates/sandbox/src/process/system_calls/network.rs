//! The interface request that brings the loopback interface of a network namespace up (`netdevice(7)`), which nix does not have.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use nix::libc;

/// Brings the loopback interface of this process's network namespace up. The kernel then gives it `127.0.0.1` and `::1`. `socket` is any
/// socket of the namespace.
pub(in crate::process) fn bring_loopback_up(socket: &OwnedFd) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (target, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *target = libc::c_char::from_ne_bytes([*byte]);
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).expect("the flags are small");
    // SAFETY: the structure lives until the call returns, and its name ends with a NUL.
    let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as libc::Ioctl, &raw mut request) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
