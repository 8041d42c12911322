//! The priority of this process and of those that it starts from then on (`setpriority(2)`, `ioprio_set(2)`), which nix does not have.

use nix::libc;

/// The best-effort class with the lowest of its eight levels, as `ioprio_set(2)` takes them.
const LAST_OF_BEST_EFFORT: libc::c_int = (2 << 13) | 7;
/// That a process is meant, by its id.
const ONE_PROCESS: libc::c_int = 1;

/// Has other programs get a processor and the disk first. `nice` is added to the process's own value. A kernel that refuses leaves everything
/// as it was: no verdict depends on it.
pub(in crate::process) fn lower_priority(nice: u8) {
    // SAFETY: nice takes an integer and no pointer.
    let _nice = unsafe { libc::nice(libc::c_int::from(nice)) };
    // SAFETY: ioprio_set takes three integers and no pointer; the id 0 is this process.
    let _refused = unsafe { libc::syscall(libc::SYS_ioprio_set, ONE_PROCESS, 0, LAST_OF_BEST_EFFORT) };
}
