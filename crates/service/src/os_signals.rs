//! The signals of the operating system, received as events of the loop.

use std::io;

use tokio::io::AsyncReadExt as _;

use crate::event::OsSignal;
use proctor_sandbox::process::{release_signals, signal_pipe};

/// How a watch handles SIGHUP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HangUp {
    /// The terminal has hung up, so the watch ends.
    Ends,
    /// There is no terminal, so a person or a program sent the signal. The configuration is read again and everything runs once
    /// more.
    Reloads,
    /// The signal is ignored, because the watch was started to outlive its terminal (`nohup`).
    Ignored,
}

/// The signals of the operating system, received as bytes from pipes. Handlers that the crate `signal-hook` installs
/// write these bytes (G2).
pub(super) struct Signals {
    interrupt: tokio::net::UnixStream,
    terminate: tokio::net::UnixStream,
    reload: Option<tokio::net::UnixStream>,
}

impl Signals {
    /// Replaces the default effects of the signals. Call this only once in a process.
    pub(super) fn take_over(hang_up: HangUp) -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let terminating: &[i32] = if hang_up == HangUp::Ends { &[SIGTERM, SIGHUP] } else { &[SIGTERM] };
        let reload = (hang_up == HangUp::Reloads).then(|| arrivals_of(&[SIGHUP])).transpose()?;
        Ok(Self { interrupt: arrivals_of(&[SIGINT])?, terminate: arrivals_of(terminating)?, reload })
    }

    /// Gives SIGINT and SIGTERM their default effect again: they end this process. Returns the one that had arrived and was not handled.
    pub(super) fn release(&self) -> Option<OsSignal> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        release_signals(&[SIGINT, SIGTERM]);
        let has_arrived = |arrivals: &tokio::net::UnixStream| arrivals.try_read(&mut [0]).is_ok_and(|bytes| bytes > 0);
        if has_arrived(&self.terminate) {
            return Some(OsSignal::Terminate);
        }
        has_arrived(&self.interrupt).then_some(OsSignal::Interrupt)
    }

    pub(super) async fn next(&mut self) -> OsSignal {
        let mut one = [0_u8; 1];
        let mut other = [0_u8; 1];
        let mut third = [0_u8; 1];
        let reload = async {
            match &mut self.reload {
                Some(arrivals) => arrivals.read(&mut third).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.read(&mut one) => OsSignal::Interrupt,
            _ = self.terminate.read(&mut other) => OsSignal::Terminate,
            _ = reload => OsSignal::Reload,
        }
    }
}

fn arrivals_of(signals: &[i32]) -> io::Result<tokio::net::UnixStream> {
    let read = signal_pipe(signals)?;
    read.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(read)
}
