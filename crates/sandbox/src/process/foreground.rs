//! Runs an editor or another program that a person uses at the terminal. proctor neither captures the program's output
//! nor isolates the program, and sets no limits.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

use nix::unistd::Pid;

use crate::process::control::{Control, WokenBy};
use crate::process::group::{kill_child, terminate_child};
use crate::process::system_calls::HeldProcess;
use proctor_model::StopReason;

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
