//! The signals that ask a command-line run to stop, as a [`Control`] (signal-hook is their only source, G2).

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
/// # Errors
/// When the pipes cannot be made or the handlers cannot be set.
pub fn signal_controls() -> Result<Control, ControlError> {
    let (mut control, _handle) = Control::new()?;
    for (signal, reason) in SIGNALS {
        control = control.with_source(signal_pipe(&[signal]).map_err(ControlError::Source)?.into(), reason)?;
    }
    Ok(control)
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
