//! Messages to the service manager by `sd_notify(3)`. Each message is one datagram.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use nix::fcntl::AT_FDCWD;
use nix::sys::stat::{UtimensatFlags, utimensat};
use nix::sys::time::TimeSpec;

use crate::engine::Moment;
use proctor_sandbox::process::clock;

const SHOWN_EACH: Duration = Duration::from_secs(1);

/// The service manager that started proctor, if one did.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
    status: String,
    /// The control socket. The time of its file says when the service last did something.
    control: PathBuf,
    shown_at: Option<Moment>,
}

impl ServiceManager {
    /// Returns the manager that listens at `socket` (`NOTIFY_SOCKET`; a leading `@` means an abstract name) and expects a sign of
    /// life within `watchdog` (`WATCHDOG_USEC`). If the socket cannot be reached, nothing is sent. `control` is the control socket.
    pub fn new(socket: Option<&OsStr>, watchdog: Option<Duration>, control: &Path) -> Self {
        let socket = socket.and_then(|name| {
            let address = match name.as_bytes() {
                [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok()?,
                _ => SocketAddr::from_pathname(name).ok()?,
            };
            let socket = UnixDatagram::unbound().ok()?;
            // A manager that does not read must not block the loop.
            socket.set_nonblocking(true).ok()?;
            Some((socket, address))
        });
        let watchdog = watchdog.filter(|_| socket.is_some());
        Self { socket, watchdog, status: String::new(), control: control.to_owned(), shown_at: None }
    }

    /// Returns how often the loop must send a sign of life: twice within the time that the manager waits.
    pub(super) fn watchdog_interval(&self) -> Option<Duration> {
        self.watchdog.map(|watchdog| watchdog / 2)
    }

    /// Reports that the service is ready.
    pub(super) fn ready(&self) {
        self.say("READY=1");
    }

    /// Sends a sign of life.
    pub(super) fn alive(&self) {
        self.say("WATCHDOG=1");
    }

    /// Sets the time of the control socket, at most once in a second, so that whoever gets no answer can say since when.
    pub(super) fn show_life(&mut self, now: Moment) {
        if self.shown_at.is_none_or(|shown| shown.plus(SHOWN_EACH) <= now) {
            let _says_less =
                utimensat(AT_FDCWD, &self.control, &TimeSpec::UTIME_NOW, &TimeSpec::UTIME_NOW, UtimensatFlags::NoFollowSymlink);
            self.shown_at = Some(now);
        }
    }

    /// Reports that the service is ending.
    pub(super) fn stopping(&self) {
        self.say("STOPPING=1");
    }

    /// Reports that the list of projects is being read again. [`ServiceManager::ready`] reports that this reading has
    /// ended.
    pub(super) fn reloading(&self) {
        self.say(&format!("RELOADING=1\nMONOTONIC_USEC={}", clock::monotonic_microseconds()));
    }

    /// Sends a line for people that says what the service does, if the line has changed.
    pub(super) fn status(&mut self, line: String) {
        if self.status != line {
            self.say(&format!("STATUS={line}"));
            self.status = line;
        }
    }

    fn say(&self, message: &str) {
        if let Some((socket, address)) = &self.socket {
            // The service continues without a manager that has ended or whose queue is full.
            let _unheard = socket.send_to_addr(message.as_bytes(), address);
        }
    }
}

/// What the service says: each line is logged, and sent to who started the service.
pub(super) struct SaidLines(pub(super) mpsc::Sender<String>);

impl SaidLines {
    pub(super) fn add(&self, line: &str) {
        tracing::info!("{line}");
        // The service does its work also if nobody listens.
        let _unheard = self.0.send(line.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_datagrams_and_a_status_is_said_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut manager = ServiceManager::new(Some(path.as_os_str()), Some(Duration::from_secs(4)), Path::new(""));
        manager.ready();
        manager.status("1 project".to_owned());
        manager.status("1 project".to_owned());
        manager.reloading();
        let mut said = Vec::new();
        let mut buffer = [0; 256];
        while let Ok(count) = listener.recv(&mut buffer) {
            said.push(String::from_utf8_lossy(&buffer[..count]).into_owned());
        }
        assert_eq!(said[..2], ["READY=1", "STATUS=1 project"]);
        let micros = said[2].strip_prefix("RELOADING=1\nMONOTONIC_USEC=").and_then(|text| text.parse::<u64>().ok());
        assert!(said.len() == 3 && micros > Some(0), "{said:?}");
        assert_eq!(manager.watchdog_interval(), Some(Duration::from_secs(2)));
    }

    #[test]
    fn without_a_manager_nothing_is_said_and_no_watchdog_is_fed() {
        let manager = ServiceManager::new(None, Some(Duration::from_secs(4)), Path::new(""));
        manager.ready();
        assert_eq!(manager.watchdog_interval(), None);
    }
}
