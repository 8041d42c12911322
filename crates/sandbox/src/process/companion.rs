//! Programs that are started beside proctor and not for a run: a browser, and a command of proctor's own that ends with this process.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use nix::unistd::Pid;

use crate::process::group::{await_end, kill_child};

/// How long a companion may take to end, in milliseconds.
const ENDING: u16 = 3000;

/// One of proctor's own commands that runs beside this process. Its standard input is a pipe, and the command ends when the pipe is closed:
/// so it ends with this process, however that ends.
#[derive(Debug)]
pub struct Companion {
    child: Child,
}

impl Companion {
    /// Starts the program. It has this process's standard error, and no standard output.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(program: &Path, arguments: &[OsString], directory: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::null());
        Ok(Self { child: command.spawn()? })
    }

    /// Writes a line to its input. Returns whether it could: a program that has ended takes none.
    pub fn say(&mut self, line: &str) -> bool {
        let is_running = matches!(self.child.try_wait(), Ok(None));
        is_running && self.child.stdin.as_mut().is_some_and(|input| writeln!(input, "{line}").is_ok())
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let process = Pid::from_raw(self.child.id().cast_signed());
        if matches!(self.child.try_wait(), Ok(None)) && !await_end(process, ENDING) {
            kill_child(process);
        }
        let _reaped = self.child.wait();
    }
}

/// Starts a program that goes on when this process ends, in a process group of its own, without input and output. Returns whether it
/// started and did not fail within the time `within`.
pub fn start_apart(program: &str, arguments: &[OsString], within: Duration) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let (ended, end) = channel();
    // The thread reaps the child, which may run as long as a browser does.
    let reap = move || {
        let succeeded = child.wait().is_ok_and(|status| status.success());
        let _nobody_waits = ended.send(succeeded);
    };
    if thread::Builder::new().spawn(reap).is_err() {
        return true;
    }
    end.recv_timeout(within).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(script: &str) -> Vec<OsString> {
        ["-c", script].map(OsString::from).to_vec()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test measures how long the end takes")]
    fn a_companion_ends_with_its_pipe_and_is_killed_if_it_does_not() {
        let begun = Instant::now();
        drop(Companion::start(Path::new("/bin/sh"), &shell("cat; exit 0"), Path::new("/")).unwrap());
        assert!(begun.elapsed() < Duration::from_millis(u64::from(ENDING)), "it was not waited for to the end");
        let stubborn = Companion::start(Path::new("/bin/sh"), &shell("trap '' TERM; exec sleep 60"), Path::new("/")).unwrap();
        let process = stubborn.child.id();
        drop(stubborn);
        assert!(!Path::new(&format!("/proc/{process}")).exists());
    }

    #[test]
    fn a_program_that_fails_at_once_did_not_start() {
        let within = Duration::from_secs(20);
        assert!(start_apart("/bin/sh", &shell("exit 0"), within));
        assert!(!start_apart("/bin/sh", &shell("exit 3"), within));
        assert!(!start_apart("/no/such/program", &[], within));
    }
}
