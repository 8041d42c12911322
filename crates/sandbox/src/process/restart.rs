//! Replaces the program of this process by another one, which keeps the process id.

use std::convert::Infallible;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::execv;

use crate::process::clock;
use crate::process::open_files::restore_own_open_files_limit;
use crate::process::system_calls::pass_socket_on;

/// The longest wait for helper processes that are ending. They take less than a millisecond each.
const LONGEST_REAPING: Duration = Duration::from_secs(1);
const REAP_POLL: Duration = Duration::from_millis(2);

/// Whether the new program gets the socket that the service manager passed to this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassedSocket {
    None,
    PassedOn,
}

/// Executes a program in place of this one. The process id, the environment and the service manager's socket stay, so the service
/// manager sees the same process. Every other descriptor is closed, and all other threads end. Returns only if that fails.
///
/// # Errors
/// When the program cannot be executed.
pub fn replace_program(program: &Path, arguments: &[&str], socket: PassedSocket) -> io::Result<Infallible> {
    let texts = std::iter::once(program.as_os_str()).chain(arguments.iter().map(OsStr::new));
    let texts: Vec<CString> = texts.map(|text| CString::new(text.as_bytes())).collect::<Result<_, _>>()?;
    reap_children();
    restore_own_open_files_limit()?;
    if socket == PassedSocket::PassedOn {
        pass_socket_on()?;
    }
    Ok(execv(&texts[0], &texts)?)
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
