//! Replaces the program of this process by another one, which keeps the process id.
//!
//! The limit on open files (`RLIMIT_NOFILE`). The service raises its own, because every client and every watched project
//! takes descriptors. Actions keep the limit that proctor was started with: programs that use `select(2)` fail on
//! descriptors from 1024 on, which is why the usual limit is that low.

use std::convert::Infallible;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;
use std::{io, thread};

use nix::libc::rlim_t;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, execv};

use crate::process::clock;
use crate::process::system_calls::{pass_socket_on, set_open_files_of};

/// The longest wait for helper processes that are ending. They take less than a millisecond each.
const LONGEST_REAPING: Duration = Duration::from_secs(1);
const REAP_POLL: Duration = Duration::from_millis(2);

/// Whether the new program gets the socket that the service manager passed to this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassedSocket {
    None,
    PassedOn,
}

/// Executes a program in place of this one, which is told that it was called by the name `called`. The process id, the environment and the service manager's socket stay, so the service
/// manager sees the same process. Every other descriptor is closed, and all other threads end. Returns only if that fails.
///
/// # Errors
/// When the program cannot be executed.
pub fn replace_program(program: &Path, called: &Path, arguments: &[&str], socket: PassedSocket) -> io::Result<Infallible> {
    let texts = std::iter::once(called.as_os_str()).chain(arguments.iter().map(OsStr::new));
    let texts: Vec<CString> = texts.map(|text| CString::new(text.as_bytes())).collect::<Result<_, _>>()?;
    reap_children();
    restore_own_open_files_limit()?;
    if socket == PassedSocket::PassedOn {
        pass_socket_on()?;
    }
    Ok(execv(&CString::new(program.as_os_str().as_bytes())?, &texts)?)
}

/// Waits until the helper processes have ended that were told to. The new program would not know of them, and each would stay a zombie
/// for as long as it runs.
fn reap_children() {
    let begun = clock::monotonic();
    while clock::monotonic().since(begun) < LONGEST_REAPING {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => thread::sleep(REAP_POLL),
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

/// The soft and the hard limit that this process was started with, once it has raised its own limit.
static BEFORE: OnceLock<(rlim_t, rlim_t)> = OnceLock::new();

/// Raises this process's limit on open files to `most`, or as far as its hard limit allows, and returns the limit that
/// holds afterwards. A higher limit is left as it is.
///
/// # Errors
/// When the limit cannot be read or set.
pub fn raise_open_files_limit(most: u64) -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let wanted = most.min(hard);
    if wanted <= soft {
        return Ok(soft);
    }
    let _first = BEFORE.get_or_init(|| (soft, hard));
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard)?;
    Ok(wanted)
}

/// Returns how many more files this process may open.
///
/// # Errors
/// When the limit or the list of open files (`/proc/self/fd`) cannot be read, for example because no descriptor is left
/// to read it.
pub fn open_files_left() -> io::Result<u64> {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let open = match std::fs::read_dir("/proc/self/fd") {
        Ok(open) => u64::try_from(open.count()).unwrap_or(u64::MAX),
        Err(error) if error.raw_os_error() == Some(nix::libc::EMFILE) => return Ok(0),
        Err(error) => return Err(error),
    };
    Ok(soft.saturating_sub(open))
}

/// Gives this process the limit that it was started with, before it executes another program.
pub(super) fn restore_own_open_files_limit() -> io::Result<()> {
    BEFORE.get().map_or(Ok(()), |(soft, hard)| Ok(setrlimit(Resource::RLIMIT_NOFILE, *soft, *hard)?))
}

/// Gives a launcher, which this process has just started, the limit that this process was started with. The launcher
/// passes it on to the actions. Nothing has to be done if this process did not raise its limit.
pub(super) fn restore_open_files_limit_of(launcher: Pid) -> io::Result<()> {
    BEFORE.get().map_or(Ok(()), |(soft, hard)| set_open_files_of(launcher, *soft, *hard))
}
