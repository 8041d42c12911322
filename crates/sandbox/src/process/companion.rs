//! Programs that are started beside proctor and not for a run: a browser, and a command of proctor's own that ends with this process.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use nix::unistd::Pid;

use crate::process::control::{Control, WokenBy};
use crate::process::group::{await_end, kill_child, terminate_child};
use crate::process::system_calls::HeldProcess;
use proctor_model::StopReason;

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

// Runs an editor or another program that a person uses at the terminal. proctor neither captures the program's output nor isolates the
// program, and sets no limits.

/// Runs a program with this process's terminal, environment and process group, and waits until it ends.
///
/// An interrupt key (^C) also reaches the program, which deals with it: if the program then ends successfully, it was not
/// interrupted. When this process is asked to terminate, the program is asked to terminate too, and killed at the second request.
///
/// # Errors
/// When the program cannot be started.
pub fn run_at_terminal(program: &Path, arguments: &[String], directory: &Path, control: &Control) -> io::Result<ExitStatus> {
    let mut child = Command::new(program).args(arguments).current_dir(directory).spawn()?;
    let process = Pid::from_raw(child.id().cast_signed());
    // A pidfd is needed to wait for the program and the control at the same time. Without one, only the program is waited for.
    if let Ok(held) = HeldProcess::open(process) {
        let mut end_it: fn(Pid) = terminate_child;
        while control.wait_beside(held.end()) == WokenBy::Request {
            if control.in_force() == Some(StopReason::Terminated) {
                end_it(process);
                end_it = kill_child;
            }
        }
    }
    let status = child.wait()?;
    if status.success() {
        control.forget(StopReason::Interrupted);
    }
    Ok(status)
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

#[cfg(test)]
mod foreground_tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;

    fn run(script: &str, control: &Control) -> ExitStatus {
        let arguments = ["-c".to_owned(), script.to_owned()];
        run_at_terminal(Path::new("/bin/sh"), &arguments, Path::new("/"), control).expect("there is a shell")
    }

    #[test]
    fn an_interruption_is_the_programs_own_affair() {
        let (control, handle) = Control::new().expect("pipes");
        handle.stop(StopReason::Interrupted);
        assert!(run("true", &control).success());
        assert_eq!(control.requested(), None, "it ended well all the same");
        handle.stop(StopReason::Interrupted);
        assert_eq!(run("exit 3", &control).code(), Some(3));
        assert_eq!(control.requested(), Some(StopReason::Interrupted));
    }

    #[test]
    fn a_termination_ends_it_and_one_that_does_not_heed_it_is_killed_when_asked_again() {
        let (control, handle) = Control::new().expect("pipes");
        handle.stop(StopReason::Terminated);
        assert!(!run("exec sleep 600", &control).success());
        let directory = tempfile::tempdir().expect("a directory");
        let ready = directory.path().join("ready");
        let script = format!("trap '' TERM; : > '{}'; while :; do sleep 0.01; done", ready.display());
        let over = AtomicBool::new(false);
        let status = std::thread::scope(|scope| {
            scope.spawn(|| {
                // The program is killed only at the second request. Two requests that arrive together count as one, so
                // the test repeats the request until the program has ended.
                while !over.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(10));
                    if ready.exists() {
                        handle.stop(StopReason::Terminated);
                    }
                }
            });
            let status = run(&script, &control);
            over.store(true, Ordering::SeqCst);
            status
        });
        assert!(!status.success());
        assert_eq!(control.requested(), Some(StopReason::Terminated));
    }
}
