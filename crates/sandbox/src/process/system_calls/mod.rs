//! The crate's only unsafe code: calls on processes and descriptors for which nix has no safe form.
//!
//! This module makes no decisions: each function wraps a system call in safe types.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use nix::libc;
use nix::unistd::{ForkResult, Pid, fork};

use crate::process::protocol::{EndedChild, LeaderStatus};
use crate::process::system_call_filter::Instruction;
use proctor_model::Usage;

mod heaps;
mod namespaces;
mod privileges;

pub use heaps::{return_free_memory, share_heaps};
pub(super) use namespaces::{
    MountAttribute, MountExtent, attach_mount, clone_mount, fork_into_namespaces, fork_into_namespaces_of, restrict_copy,
    restrict_mount,
};
pub(super) use privileges::{HeldProcess, drop_bounding_set, drop_capabilities};

/// Whether an ended child stays a zombie after its status was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaping {
    /// The child stays a zombie, so its process id and group id cannot be reused (house style P2).
    Keep,
    Reap,
}

/// Which of the two processes this is, after a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forked {
    /// The process that forked, with the child's id.
    Parent(Pid),
    Child,
}

/// Forks this process if it has one thread. Returns `None` if it has several, because the child of such a process may
/// do next to nothing (signal-safety(7)).
pub(super) fn fork_if_single_threaded() -> io::Result<Option<Forked>> {
    if !is_single_threaded()? {
        return Ok(None);
    }
    // SAFETY: there is one thread, this one, and nothing else could make another meanwhile. So no lock is held and no
    // state is half changed in the child, and it may go on with any code (fork(2), signal-safety(7)).
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(Some(Forked::Parent(child))),
        ForkResult::Child => Ok(Some(Forked::Child)),
    }
}

fn is_single_threaded() -> io::Result<bool> {
    const THREADS: &str = "/proc/self/task";
    // A directory has a link for its own entry, one in its parent, and one for each directory in it. In this directory
    // of `/proc` Linux counts each thread as a directory. Reading that count is cheaper than listing the threads. If
    // the count is not 3, the list decides.
    Ok(std::fs::metadata(THREADS)?.nlink() == 3 || std::fs::read_dir(THREADS)?.count() == 1)
}

/// Installs a handler that does nothing for a signal, in place of its previous action (`sigaction(2)`).
pub(super) fn catch_silently(number: libc::c_int) {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: all-zero bytes are a valid value of this plain C structure: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the structure lives until the call returns, and a handler that does nothing may run at any moment.
    let _known_signal = unsafe { libc::sigaction(number, &raw const action, std::ptr::null_mut()) };
}

/// Gives a signal its default effect again, in place of its previous action (`sigaction(2)`).
pub(super) fn restore_default(number: libc::c_int) {
    // SAFETY: all-zero bytes are a valid value of this plain C structure: no flags, an empty mask, the default action.
    let action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the structure lives until the call returns, and no handler is installed.
    let _known_signal = unsafe { libc::sigaction(number, &raw const action, std::ptr::null_mut()) };
}

/// Returns how many columns the terminal at standard output has (`ioctl_tty(2)`); `None` without a terminal that says it.
pub fn output_columns() -> Option<usize> {
    columns(libc::STDOUT_FILENO)
}

/// Returns how many columns the terminal at standard error has; `None` without a terminal that says it.
pub fn error_columns() -> Option<usize> {
    columns(libc::STDERR_FILENO)
}

fn columns(terminal: libc::c_int) -> Option<usize> {
    // SAFETY: all-zero bytes are a valid value of this plain C structure.
    let mut size: libc::winsize = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes one such structure, which lives until it returns.
    let outcome = unsafe { libc::ioctl(terminal, libc::TIOCGWINSZ, &raw mut size) };
    Some(usize::from(size.ws_col)).filter(|columns| outcome == 0 && *columns > 0)
}

/// Ends this forked process at once, without exit handlers: the handlers belong to the parent, which runs them when it
/// ends.
pub(super) fn end_forked(code: u8) -> ! {
    // SAFETY: _exit takes an integer and does not return.
    unsafe { libc::_exit(i32::from(code)) }
}

/// The first descriptor that a service manager passes (`sd_listen_fds(3)`).
const FIRST_PASSED: RawFd = 3;

/// Lets the program that this process executes next inherit the socket that the service manager passed: descriptor 3, which
/// [`take_passed_socket`] leaves open.
pub(super) fn pass_socket_on() -> io::Result<()> {
    // SAFETY: fcntl takes three integers here and no pointer, and F_SETFD closes nothing.
    let outcome = unsafe { libc::fcntl(FIRST_PASSED, libc::F_SETFD, 0) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the first socket that the service manager passed (`sd_listen_fds(3)`): descriptor 3, if it is a socket.
///
/// # Errors
/// When descriptor 3 is not open or is no socket.
pub fn take_passed_socket() -> io::Result<OwnedFd> {
    let link = std::fs::read_link(format!("/proc/self/fd/{FIRST_PASSED}"))?;
    if !link.as_os_str().as_bytes().starts_with(b"socket:") {
        return Err(io::Error::other("descriptor 3 is no socket"));
    }
    // SAFETY: fcntl takes three integers here and returns a new descriptor that nobody else owns; the copied descriptor
    // stays as it is.
    let copy = unsafe { libc::fcntl(FIRST_PASSED, libc::F_DUPFD_CLOEXEC, FIRST_PASSED + 1) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // The sockets were passed to this process alone, so its children must not inherit them.
    mark_close_on_exec_from(FIRST_PASSED)?;
    // SAFETY: the descriptor is new and ours. Descriptor 3, from which it was copied, stays open and unused.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Marks every descriptor from `first` on as close-on-exec, whichever code opened it.
pub(super) fn mark_close_on_exec_from(first: RawFd) -> io::Result<()> {
    // SAFETY: close_range takes three integers and no pointer; with CLOEXEC it closes nothing, so it takes no
    // descriptor from its owner.
    let outcome = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    // The flag CLOSE_RANGE_CLOEXEC exists since Linux 5.11 (`close_range(2)`). On an older kernel the call fails and
    // each descriptor is marked by itself.
    if outcome == 0 { Ok(()) } else { mark_listed_close_on_exec_from(first) }
}

/// Marks every open descriptor from `first` on as close-on-exec, one by one, from the list in `/proc`. This is for
/// kernels before Linux 5.11.
fn mark_listed_close_on_exec_from(first: RawFd) -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok());
        if let Some(number) = number.filter(|number| *number >= first) {
            // SAFETY: fcntl takes three integers here and no pointer, and F_SETFD closes nothing.
            let outcome = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
            let error = io::Error::last_os_error();
            // A descriptor that was closed since the list was read needs no mark.
            if outcome != 0 && error.raw_os_error() != Some(libc::EBADF) {
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Closes every descriptor except the given ones. Only a process that was just forked and does not share the
/// descriptors with its parent may call this.
pub(super) fn close_all_but(kept: &[RawFd]) {
    let mut kept: Vec<libc::c_uint> = kept.iter().filter_map(|number| libc::c_uint::try_from(*number).ok()).collect();
    kept.sort_unstable();
    let mut first = 0;
    for number in kept.into_iter().map(Some).chain([None]) {
        let last = number.map_or(Some(libc::c_uint::MAX), |number| number.checked_sub(1));
        if let Some(last) = last.filter(|last| *last >= first) {
            // SAFETY: the call takes three integers. The values that own these descriptors in this forked process are
            // never used or dropped, because the caller ends by `end_forked`, which runs no destructor.
            let _unsupported = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
        first = number.unwrap_or(libc::c_uint::MAX).saturating_add(1);
    }
}

/// Returns whether a file has an extended attribute of this name (`xattr(7)`).
pub(super) fn has_attribute(path: &Path, name: &str) -> bool {
    let (Ok(path), Ok(name)) = (CString::new(path.as_os_str().as_bytes()), CString::new(name)) else {
        return false;
    };
    // SAFETY: both strings are NUL-terminated and live until the call returns; with size 0 nothing is written.
    unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) >= 0 }
}

/// Takes ownership of a descriptor that the kernel has just passed by `SCM_RIGHTS`.
pub(super) fn adopt_received(descriptor: RawFd) -> OwnedFd {
    // SAFETY: recvmsg(2) has installed this descriptor for this process and no other value owns it. The only caller is
    // the loop over the descriptors of a control message, which passes each descriptor once.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// Asks without waiting whether a child has ended; `None` while it has not.
///
/// The raw system call is used because glibc's `waitid` leaves out the last argument, the resource usage.
pub(super) fn wait_child(child: Pid, reaping: Reaping) -> io::Result<Option<EndedChild>> {
    let mut information = MaybeUninit::<libc::siginfo_t>::zeroed();
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let keep = match reaping {
        Reaping::Keep => libc::WNOWAIT,
        Reaping::Reap => 0,
    };
    // SAFETY: both pointers are to writable memory of the types the call writes, and both live until it has returned.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_waitid,
            libc::P_PID,
            child.as_raw(),
            information.as_mut_ptr(),
            libc::WEXITED | libc::WNOHANG | keep,
            usage.as_mut_ptr(),
        )
    };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both were zeroed, all-zero bytes are valid values of these plain C structures, and the call may have
    // filled them.
    let (information, usage) = unsafe { (information.assume_init(), usage.assume_init()) };
    // SAFETY: for WEXITED the kernel fills the SIGCHLD members, or leaves the whole structure zero when nothing has
    // ended.
    let (pid, value) = unsafe { (information.si_pid(), information.si_status()) };
    if pid == 0 {
        return Ok(None);
    }
    let status = if information.si_code == libc::CLD_EXITED {
        LeaderStatus::Exited { code: value }
    } else {
        LeaderStatus::Signalled { signal: value }
    };
    Ok(Some(EndedChild { status, usage: to_usage(&usage), used_git: false }))
}

/// Whether children are left after all children that had ended were reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Children {
    /// There are no children of any kind. The kernel checks all of them at once, which a reader of `/proc` cannot do.
    None,
    /// At least one child has not ended.
    Some,
}

/// Reaps every child that has ended, and returns whether children are left that have not ended (`waitid(2)`, `ECHILD`).
pub(super) fn reap_ended_children() -> io::Result<Children> {
    loop {
        let mut information = MaybeUninit::<libc::siginfo_t>::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::__WALL;
        // SAFETY: the pointer is to writable memory of the type the call writes, and lives until it has returned.
        let outcome = unsafe { libc::waitid(libc::P_ALL, 0, information.as_mut_ptr(), options) };
        if outcome != 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::ECHILD) => Ok(Children::None),
                Some(libc::EINTR) => continue,
                Some(_) | None => Err(error),
            };
        }
        // SAFETY: it was zeroed, all-zero bytes are a valid value, and for WEXITED the kernel fills the SIGCHLD members
        // or none.
        let process = unsafe { information.assume_init().si_pid() };
        if process == 0 {
            return Ok(Children::Some);
        }
    }
}

fn to_usage(usage: &libc::rusage) -> Usage {
    let duration = |time: libc::timeval| {
        let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
        seconds + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
    };
    Usage {
        user: duration(usage.ru_utime).into(),
        system: duration(usage.ru_stime).into(),
        peak_memory_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
    }
}

// The interface request that brings the loopback interface of a network namespace up (`netdevice(7)`), which nix does not have.

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

// The priority of a process and of those that it starts from then on (`setpriority(2)`, `ioprio_set(2)`), which nix does not have.

/// The best-effort class with the lowest of its eight levels, as `ioprio_set(2)` takes them.
const LAST_OF_BEST_EFFORT: libc::c_int = (2 << 13) | 7;
/// That a process is meant, by its id.
const ONE_PROCESS: libc::c_int = 1;

/// Has other programs than this process get a processor and the disk first. `nice` is added to what it has already. A kernel that refuses
/// leaves everything as it was: no verdict depends on it.
pub(in crate::process) fn lower_priority(process: Pid, nice: u8) {
    let which = libc::id_t::from(process.as_raw().unsigned_abs());
    // SAFETY: getpriority takes two integers and no pointer.
    let now = unsafe { libc::getpriority(libc::PRIO_PROCESS, which) };
    // SAFETY: setpriority takes three integers and no pointer.
    let _refused = unsafe { libc::setpriority(libc::PRIO_PROCESS, which, now + libc::c_int::from(nice)) };
    // SAFETY: ioprio_set takes three integers and no pointer.
    let _refused = unsafe { libc::syscall(libc::SYS_ioprio_set, ONE_PROCESS, process.as_raw(), LAST_OF_BEST_EFFORT) };
}

// Extended attributes of files, which nix does not have (`xattr(7)`).

/// Reads an extended attribute of an open file into `value` and returns its length. Returns `None` if the file has no
/// such attribute, or if its file system does not support attributes. A value longer than the buffer is an error.
pub(in crate::process) fn read_attribute(file: BorrowedFd<'_>, name: &CStr, value: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: the name is NUL-terminated, and name and buffer live until the call returns; the length is the buffer's
    // own.
    let length = unsafe { libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    match usize::try_from(length) {
        Ok(length) => Ok(Some(length)),
        Err(_) => match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::ENODATA | libc::ENOTSUP)) => Ok(None),
            error => Err(error),
        },
    }
}

/// Sets an extended attribute of an open file.
#[cfg(test)]
pub(in crate::process) fn set_attribute(file: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> io::Result<()> {
    // SAFETY: the name is NUL-terminated, name and value live until the call returns, and the value is only read.
    let outcome = unsafe { libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

// Asks the kernel for a pidfd of the process at the other end of a Unix socket (`SO_PEERPIDFD`, `unix(7)`), and sets the limit on open
// files of another process (`prlimit(2)`).

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

// Installs a filter on system calls (`seccomp(2)`), and takes a session keyring of its own (`keyctl(2)`).

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

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use nix::fcntl::{FcntlArg, fcntl};

    use super::*;

    #[test]
    fn a_descriptor_is_marked_on_old_kernels_too() {
        let (reader, _writer) = io::pipe().expect("a pipe");
        fcntl(&reader, FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).expect("cleared");
        mark_listed_close_on_exec_from(reader.as_raw_fd()).expect("marked");
        assert_eq!(fcntl(&reader, FcntlArg::F_GETFD), Ok(libc::FD_CLOEXEC));
    }

    #[test]
    fn a_process_with_several_threads_is_not_forked() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || stopped.recv());
        assert_eq!(fork_if_single_threaded().unwrap(), None);
        drop(stop);
        assert!(other.join().unwrap().is_err());
    }

    #[test]
    fn what_is_no_child_is_an_error() {
        assert!(wait_child(Pid::from_raw(1), Reaping::Keep).is_err());
    }
}
