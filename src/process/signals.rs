//! The signals that ask a command-line run to stop, as a [`Control`] (signal-hook is their only source, G2).

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::model::StopReason;
use crate::process::{Control, ControlError};

/// Which signal is a request for what.
const SIGNALS: [(i32, StopReason); 3] =
    [(SIGINT, StopReason::Interrupted), (SIGTERM, StopReason::Terminated), (SIGHUP, StopReason::Terminated)];

/// Takes the signals over and returns a control that hears them. To be called once in a process.
///
/// SIGHUP that is ignored stays so: who starts a run with `nohup` wants it to outlive the terminal. SIGINT and SIGTERM are heard in
/// any case: a shell without job control ignores SIGINT in what it starts by `&`, and whoever sends it all the same means it.
///
/// # Errors
/// When the pipes cannot be made or the handlers cannot be set.
pub fn signal_controls() -> Result<Control, ControlError> {
    let (mut control, _handle) = Control::new()?;
    let hears_hang_up = !ignores_hang_up();
    for (signal, reason) in SIGNALS.into_iter().filter(|(signal, _)| *signal != SIGHUP || hears_hang_up) {
        control = control.with_source(signal_pipe(&[signal]).map_err(ControlError::Source)?.into(), reason)?;
    }
    Ok(control)
}

/// Returns whether SIGHUP is ignored, as `nohup` leaves it.
pub fn ignores_hang_up() -> bool {
    // The kernel's own table: asking by `sigaction(2)` has no safe form.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_ignored(&status, SIGHUP)
}

/// Returns whether a signal is in the `SigIgn` of a `/proc/PID/status`.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Returns a stream that can be read when one of these signals has come.
///
/// # Errors
/// When the pipe cannot be made or a handler cannot be set.
pub fn signal_pipe(signals: &[i32]) -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, write.try_clone()?)?;
    }
    Ok(read)
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
