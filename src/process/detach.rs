//! Detaches the launcher (the helper process that starts actions) from the process that started it.

use std::io;

use nix::sys::prctl::{set_child_subreaper, set_dumpable, set_pdeathsig};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, chdir, getppid, setsid};

use crate::process::system_calls::mark_close_on_exec_from;

/// Detaches this process from the supervisor, the process that started it: from its terminal, working directory and
/// signal mask.
pub(super) fn detach_from_supervisor(supervisor: Pid) -> io::Result<()> {
    // In a session of its own, this process is reached neither by ^C at a terminal nor by a hangup, and its children
    // cannot open the terminal.
    setsid()?;
    set_dumpable(false)?;
    set_child_subreaper(true)?;
    // A second way to notice the supervisor's end, in addition to the socket. SIGTERM is caught; SIGKILL would end the
    // launcher before it could kill the actions. The signal also arrives if only the thread that started the launcher
    // ends, so the launcher checks its parent's id before it acts.
    set_pdeathsig(Signal::SIGTERM)?;
    if getppid() != supervisor {
        return Err(io::Error::from(io::ErrorKind::BrokenPipe));
    }
    mark_close_on_exec_from(3)?;
    // std's Command does not reset the signal mask, so a signal that is blocked here would be blocked in every child.
    SigSet::empty().thread_set_mask()?;
    // A working directory would keep its file system from being unmounted.
    chdir("/")?;
    Ok(())
}
