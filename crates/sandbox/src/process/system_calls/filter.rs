//! Installs a filter on system calls (`seccomp(2)`), and takes a session keyring of its own (`keyctl(2)`).

use std::io;

use nix::libc;

use crate::process::system_call_filter::Instruction;

/// `KEYCTL_JOIN_SESSION_KEYRING` of `keyctl(2)`.
const JOIN_SESSION_KEYRING: libc::c_int = 1;

/// Returns whether the kernel can refuse system calls by a filter.
pub(in crate::process) fn has_filters() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads one 32-bit number, which lives until the call returns; the call changes nothing.
    let outcome = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    outcome == 0
}

/// Installs a filter for this process and everything that it will execute. The process must have set `no_new_privs`
/// before.
pub(in crate::process) fn install_filter(program: &[Instruction]) -> io::Result<()> {
    let mut instructions: Vec<libc::sock_filter> =
        program.iter().map(|one| libc::sock_filter { code: one.code, jt: one.if_true, jf: one.if_false, k: one.value }).collect();
    let length = u16::try_from(instructions.len()).map_err(io::Error::other)?;
    let request = libc::sock_fprog { len: length, filter: instructions.as_mut_ptr() };
    // Without this flag, kernels before 5.16 would slow down every program with a filter (a protection against
    // speculative reads that a program can ask for itself).
    let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    // SAFETY: the structure and the instructions live until the call returns, and the length is that of the list. The
    // kernel checks the program and copies it.
    let outcome = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const request) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives this process a new, empty session keyring in place of the one that it has inherited. Its children inherit the
/// new one.
pub(in crate::process) fn join_own_session_keyring() -> io::Result<()> {
    let no_name = std::ptr::null::<libc::c_char>();
    // SAFETY: without a name the kernel makes a keyring without a name; no memory is read.
    let outcome = unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, no_name) };
    if outcome >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
