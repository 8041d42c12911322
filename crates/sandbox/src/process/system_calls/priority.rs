//! The priority of a process and of those that it starts from then on (`setpriority(2)`, `ioprio_set(2)`), which nix does not have.

use nix::libc;
use nix::unistd::Pid;

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
