//! Calls `systemctl` to query and control the user's service manager. Every call has a time limit.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::cli::installation::unit_file::{SERVICE, SOCKET};

/// The time limit of a call. Starting waits until the service is ready; stopping waits until the present run is sealed
/// (`TimeoutStopSec=90`).
const BOUND: Duration = Duration::from_secs(150);

const PROPERTIES: &str = "Id,LoadState,ActiveState,SubState,UnitFileState,FragmentPath,DropInPaths,MainPID,NRestarts,Result,\
                          NeedDaemonReload";

/// Why a call of the service manager failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManagerError {
    /// `systemctl` does not exist.
    #[error("`systemctl` is not there")]
    NotInstalled,
    /// `systemctl` could not be started.
    #[error("failed to start `{command}`")]
    Start {
        command: String,
        #[source]
        source: io::Error,
    },
    /// The call took too long.
    #[error("`{command}` did not end within {} s", BOUND.as_secs())]
    Late { command: String },
    /// The call ended with an error.
    #[error("`{command}` failed: {said}")]
    Refused { command: String, said: String },
}

/// The properties of a unit by their names, as `systemctl show` prints them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UnitState(BTreeMap<String, String>);

impl UnitState {
    /// Returns a property; empty if the unit does not have it.
    pub(crate) fn property(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Returns whether the unit runs or is starting.
    pub(crate) fn is_active(&self) -> bool {
        ["active", "activating", "reloading"].contains(&self.property("ActiveState"))
    }

    /// Returns whether the unit is enabled: systemd starts it together with the user's service manager.
    pub(crate) fn is_enabled(&self) -> bool {
        self.property("UnitFileState") == "enabled"
    }

    /// Returns a property as a number; 0 if the unit does not have it.
    pub(crate) fn number(&self, name: &str) -> u32 {
        self.property(name).parse().unwrap_or(0)
    }
}

impl FromIterator<(String, String)> for UnitState {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(properties: T) -> Self {
        Self(properties.into_iter().collect())
    }
}

/// The states of the service's unit and the socket's unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UnitStates {
    pub(crate) service: UnitState,
    pub(crate) socket: UnitState,
}

/// Returns the version of systemd; `None` if its output cannot be parsed.
pub(crate) fn version() -> Result<Option<u32>, ManagerError> {
    Ok(parse_version(&systemctl(&["--version"])?))
}

/// Returns the states of both units. Fails if the user's service manager cannot be reached.
pub(crate) fn states() -> Result<UnitStates, ManagerError> {
    let said = systemctl(&["--user", "show", &format!("--property={PROPERTIES}"), SERVICE.name, SOCKET.name])?;
    Ok(parse_states(&said))
}

/// Returns the search path that the user's services get by default.
pub(crate) fn search_path() -> Result<Option<String>, ManagerError> {
    let said = systemctl(&["--user", "show-environment"])?;
    Ok(said.lines().find_map(|line| line.strip_prefix("PATH=")).map(str::to_owned))
}

/// Runs `systemctl --user` with these verbs and units, and ignores the output.
pub(crate) fn tell(verbs: &[&str], units: &[&str]) -> Result<(), ManagerError> {
    systemctl(&[&["--user"], verbs, units].concat()).map(drop)
}

fn systemctl(arguments: &[&str]) -> Result<String, ManagerError> {
    let command = format!("systemctl {}", arguments.join(" "));
    let spawned = Command::new("systemctl")
        .arg("--no-pager")
        .args(arguments)
        // The output is parsed, so it must not be translated.
        .env("LC_ALL", "C")
        .env("SYSTEMD_COLORS", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(ManagerError::NotInstalled),
        Err(source) => return Err(ManagerError::Start { command, source }),
    };
    let (stdout, stderr) = (read_aside(child.stdout.take()), read_aside(child.stderr.take()));
    let said = stdout.recv_timeout(BOUND).and_then(|out| stderr.recv_timeout(BOUND).map(|err| (out, err)));
    let Ok((out, err)) = said else {
        let _ended_meanwhile = child.kill();
        let _reaped = child.wait();
        return Err(ManagerError::Late { command });
    };
    let status = child.wait().map_err(|source| ManagerError::Start { command: command.clone(), source })?;
    if status.success() { Ok(out) } else { Err(ManagerError::Refused { command, said: err.trim().replace('\n', "; ") }) }
}

/// Reads a pipe to its end on a separate thread, so that the caller can stop waiting.
fn read_aside(pipe: Option<impl io::Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _cut_off = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        let _gone = send.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receive
}

fn parse_version(said: &str) -> Option<u32> {
    said.lines().next()?.split_whitespace().nth(1)?.split('.').next()?.parse().ok()
}

fn parse_states(said: &str) -> UnitStates {
    let pair = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let blocks: Vec<UnitState> = said.split("\n\n").map(|block| block.lines().filter_map(pair).collect()).collect();
    let of = |name: &str| blocks.iter().find(|block| block.property("Id") == name).cloned().unwrap_or_default();
    UnitStates { service: of(SERVICE.name), socket: of(SOCKET.name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_systemctl_says_is_read() {
        assert_eq!(parse_version("systemd 252 (252.38-1~deb12u1)\n+PAM +AUDIT\n"), Some(252));
        assert_eq!(parse_version("systemd 257.3-1-arch\n"), Some(257));
        assert_eq!(parse_version(""), None);
        let said =
            "MainPID=12\nId=proctor.service\nActiveState=active\nFragmentPath=/a=b\n\nId=proctor.socket\nActiveState=failed\n";
        let states = parse_states(said);
        assert!(states.service.is_active() && !states.socket.is_active());
        assert_eq!((states.service.number("MainPID"), states.service.property("FragmentPath")), (12, "/a=b"));
        assert_eq!(states.socket.property("MainPID"), "");
    }
}
