//! Turns the signals that stop a command-line run into requests to a [`Control`]. Signals are received only through the
//! crate signal-hook (G2).

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::process::system_calls::restore_default;
use crate::process::{Control, ControlError};
use proctor_model::StopReason;

const SIGNALS: [(i32, StopReason); 3] =
    [(SIGINT, StopReason::Interrupted), (SIGTERM, StopReason::Terminated), (SIGHUP, StopReason::Terminated)];

/// Installs the signal handlers and returns a control that receives their requests. Call it once per process.
///
/// An ignored SIGHUP stays ignored, because a run that was started with `nohup` must outlive the terminal. SIGINT and SIGTERM are
/// always handled. A shell without job control ignores SIGINT in programs that it starts with `&`, but a SIGINT that is sent to
/// such a program still asks it to stop.
///
/// # Errors
/// When the pipes cannot be made or the handlers cannot be installed.
pub fn signal_controls() -> Result<Control, ControlError> {
    let (mut control, _handle) = Control::new()?;
    let hears_hang_up = !ignores_hang_up();
    for (signal, reason) in SIGNALS.into_iter().filter(|(signal, _)| *signal != SIGHUP || hears_hang_up) {
        control = control.with_source(signal_pipe(&[signal]).map_err(ControlError::Source)?.into(), reason)?;
    }
    Ok(control)
}

/// Makes a write beyond the limit on file sizes (`ulimit -f`) an error that can be shown. Otherwise the kernel ends the process with
/// SIGXFSZ, without a word. The signal is caught and not ignored, because an ignored signal would stay ignored in the checks.
///
/// # Errors
/// When the handler cannot be installed.
pub fn report_file_size_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(|_| ())
}

/// Returns whether SIGHUP is ignored, as under `nohup`.
pub fn ignores_hang_up() -> bool {
    // The answer is read from `/proc`, because asking with `sigaction(2)` has no safe form.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_ignored(&status, SIGHUP)
}

/// Returns whether a signal is in the `SigIgn` mask of a `/proc/PID/status`.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Returns a stream that becomes readable when one of these signals has arrived.
///
/// # Errors
/// When the pipe cannot be made or a handler cannot be installed.
pub fn signal_pipe(signals: &[i32]) -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, write.try_clone()?)?;
    }
    Ok(read)
}

/// Gives signals their default effect again. A signal that arrived before is in the pipe of [`signal_pipe`], and one that arrives later
/// ends this process.
pub fn release_signals(signals: &[i32]) {
    signals.iter().copied().for_each(restore_default);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_kernels_mask() {
        let status = "Name:\tproctor\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        assert!(is_ignored(status, SIGHUP) && is_ignored(status, signal_hook::consts::SIGPIPE));
        assert!(!is_ignored(status, SIGINT) && !is_ignored("", SIGHUP));
    }
}
