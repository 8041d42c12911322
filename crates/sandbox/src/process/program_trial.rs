//! Tries a program out that has taken the place of proctor's own, before the service gives its place to it.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};

use crate::process::clock::{Monotonic, monotonic};
use crate::process::group::{await_end, kill_child, terminate_child};

/// How often a caller is asked whether the trial is still wanted, in milliseconds.
const LOOK_AGAIN: u16 = 20;
/// The variable in the program's environment with the id of the process that tries it out, which it must not outlive.
pub const STARTED_BY: &str = "PROCTOR_STARTED_BY";
/// How long the output is waited for after the end of the program: another process may hold the pipe.
const READING: Duration = Duration::from_secs(2);

/// How a trial ended, and what the program printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialEnd {
    /// The exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs a program in the root directory, without a terminal, and waits until it ends. `is_stopped` is asked again and again: once it says
/// so, the command gets SIGTERM, and SIGKILL when it has not ended within `grace`. It gets SIGTERM also if this process ends, however it
/// ends. At most `longest` bytes of each stream are kept; the rest
/// is read and dropped.
///
/// # Errors
/// When the program cannot be started or waited for.
pub fn try_program(
    program: &Path,
    arguments: &[OsString],
    longest: usize,
    grace: Duration,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<TrialEnd> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir("/").env(STARTED_BY, std::process::id().to_string());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (read_all(child.stdout.take(), longest), read_all(child.stderr.take(), longest));
    let code = wait(&mut child, grace, is_stopped)?;
    let taken = |stream: Receiver<Vec<u8>>| stream.recv_timeout(READING).unwrap_or_default();
    Ok(TrialEnd { code, stdout: taken(stdout), stderr: taken(stderr) })
}

/// Has the kernel end this process by SIGTERM when the process that started it ends, and also when only the thread that did so ends. To be
/// called early: until then, nothing tells this process.
///
/// # Errors
/// When the starter has ended already, or the kernel refuses.
pub fn end_with_starter(starter: i32) -> io::Result<()> {
    set_pdeathsig(Signal::SIGTERM)?;
    // A starter that ended before that call is not told any more.
    if getppid() == Pid::from_raw(starter) { Ok(()) } else { Err(io::Error::from(io::ErrorKind::BrokenPipe)) }
}

fn wait(child: &mut Child, grace: Duration, is_stopped: &dyn Fn() -> bool) -> io::Result<Option<i32>> {
    let process = Pid::from_raw(child.id().cast_signed());
    let mut asked: Option<Monotonic> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        match asked {
            None if is_stopped() => {
                terminate_child(process);
                asked = Some(monotonic());
            }
            Some(at) if monotonic().since(at) >= grace => kill_child(process),
            None | Some(_) => {}
        }
        if !await_end(process, LOOK_AGAIN) {
            // Without a pidfd the wait above returns at once.
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn read_all(stream: Option<impl Read + Send + 'static>, longest: usize) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    let read = move || {
        let (mut kept, mut buffer) = (Vec::new(), [0; 16 * 1024]);
        let Some(mut stream) = stream else { return };
        while let Ok(count) = stream.read(&mut buffer) {
            if count == 0 {
                break;
            }
            kept.extend_from_slice(&buffer[..count.min(longest.saturating_sub(kept.len()))]);
        }
        let _nobody_waits = sender.send(kept);
    };
    thread::spawn(read);
    receiver
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn run(script: &str, is_stopped: &dyn Fn() -> bool) -> TrialEnd {
        let arguments = ["-c", script].map(OsString::from);
        try_program(Path::new("/bin/sh"), &arguments, 10, Duration::from_millis(50), is_stopped).expect("there is a shell")
    }

    #[test]
    fn what_it_prints_is_kept_up_to_a_limit_and_it_has_no_input() {
        let answer = run("cat; echo 0123456789abc; echo no >&2; exit 3", &|| false);
        assert_eq!(answer, TrialEnd { code: Some(3), stdout: b"0123456789".to_vec(), stderr: b"no\n".to_vec() });
    }

    #[test]
    fn a_command_that_is_wanted_no_more_is_ended_and_killed_if_it_does_not_heed_it() {
        for script in ["exec sleep 600", "trap '' TERM; while :; do sleep 0.01; done"] {
            assert_eq!(run(script, &|| true).code, None, "{script}");
        }
        let asked = AtomicBool::new(false);
        assert_eq!(run("exit 0", &|| asked.swap(true, Ordering::Relaxed)).code, Some(0));
    }
}
