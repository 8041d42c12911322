//! Services: prerequisites that keep running during the checks, how proctor finds out that they are ready, and the
//! processes that hold a port.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use proctor_wire::wire;
use serde::Serialize;

use crate::CommandLine;

/// The settings of a service, a prerequisite that keeps running during the checks.
#[wire(open, written, schema)]
pub struct Service {
    /// How proctor finds out that the service is ready.
    pub ready: ReadyCheck,
    /// The time limit from the service's start until the service is ready. If the limit is exceeded, the prerequisite
    /// fails.
    pub timeout: Duration,
    /// The pause after a failed readiness check.
    pub interval: Duration,
    /// The time limit of one readiness check.
    pub attempt_timeout: Duration,
}

/// How proctor finds out that a service is ready.
#[wire(written, schema)]
pub enum ReadyCheck {
    /// The service is ready when a GET request returns a status from 200 to 399.
    Url(HealthUrl),
    /// The service is ready when a TCP connection on 127.0.0.1 or ::1 is accepted.
    Port(u16),
    /// The service is ready when the command exits with 0.
    Command(CommandLine),
}

/// An `http://` URL on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(into = "String")]
pub struct HealthUrl {
    text: String,
    host: String,
    port: u16,
    path: String,
}

/// Why a URL cannot be used for readiness checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HealthUrlError {
    /// The scheme is not `http://`, or is missing.
    #[error("only `http://` is spoken")]
    Scheme,
    /// The host is not this machine.
    #[error("only this machine is asked: `localhost`, 127.0.0.1 or [::1]")]
    Host,
    /// The port is not a valid number.
    #[error("its port is no number from 1 to 65535")]
    Port,
    /// A character is not allowed in a request.
    #[error("it has a character that a request cannot have: a space, `#`, or one beyond ASCII")]
    Character,
}

/// A process that listens on a port, with the details that could be read.
#[wire(open, sparse)]
pub struct PortHolder {
    /// The process id; `None` if its file descriptors cannot be read.
    pub pid: Option<i32>,
    /// The argument vector, with invalid UTF-8 replaced; empty if not known.
    pub argv: Vec<String>,
    /// The user's name, or the number if there is no name.
    pub user: String,
}

impl ReadyCheck {
    /// Returns the port of this machine on which the service should listen; `None` if a command checks its readiness.
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Url(url) => Some(url.port),
            Self::Port(port) => Some(*port),
            Self::Command(_) => None,
        }
    }

    /// Returns the addresses that a readiness check tries, in this order; empty if a command checks the readiness.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let both = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        match self {
            Self::Url(url) => match url.host.trim_matches(['[', ']']).parse::<IpAddr>() {
                Ok(address) => vec![SocketAddr::new(address, url.port)],
                Err(_) => both.map(|address| SocketAddr::new(address, url.port)).to_vec(),
            },
            Self::Port(port) => both.map(|address| SocketAddr::new(address, *port)).to_vec(),
            Self::Command(_) => Vec::new(),
        }
    }
}

impl HealthUrl {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns host and port in the form that a request's `Host` header has.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Returns the path of the URL, together with its query.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl TryFrom<&str> for HealthUrl {
    type Error = HealthUrlError;

    fn try_from(text: &str) -> Result<Self, HealthUrlError> {
        let rest = text.strip_prefix("http://").ok_or(HealthUrlError::Scheme)?;
        if !rest.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
            return Err(HealthUrlError::Character);
        }
        let (authority, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok().filter(|port| *port != 0)),
            Some(_) | None => (authority, Some(80)),
        };
        let address = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(host) => host.parse().ok().map(IpAddr::V6),
            None => host.parse().ok().map(IpAddr::V4),
        };
        let named = host == "localhost" || host.strip_suffix(".localhost").is_some_and(is_host_name);
        if !named && !address.is_some_and(|address| address.is_loopback()) {
            return Err(HealthUrlError::Host);
        }
        let port = port.ok_or(HealthUrlError::Port)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { text: text.to_owned(), host: host.to_owned(), port, path })
    }
}

fn is_host_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
}

impl From<HealthUrl> for String {
    fn from(url: HealthUrl) -> Self {
        url.text
    }
}

/// At most this many characters of a process's command are shown: a container's process may have thousands.
const SHOWN_COMMAND: usize = 60;

impl std::fmt::Display for PortHolder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.pid, &self.argv[..]) {
            (None, _) => write!(formatter, "a process of user {} that may not be looked at", self.user),
            (Some(pid), []) => write!(formatter, "pid {pid} of user {}", self.user),
            (Some(pid), argv) => {
                let command = argv.join(" ");
                let end = command.char_indices().nth(SHOWN_COMMAND).map(|(end, _)| end);
                let (shown, more) = end.map_or((&command[..], ""), |end| (&command[..end], "…"));
                write!(formatter, "`{shown}{more}` (pid {pid}, user {})", self.user)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_this_machine_is_taken_apart() {
        for (text, authority, path) in [
            ("http://127.0.0.1:4173/healthz", "127.0.0.1:4173", "/healthz"),
            ("http://localhost", "localhost:80", "/"),
            ("http://app.localhost:8080?deep=1", "app.localhost:8080", "/?deep=1"),
            ("http://[::1]:9/a?b", "[::1]:9", "/a?b"),
            ("http://[::1]/", "[::1]:80", "/"),
        ] {
            let url = HealthUrl::try_from(text).unwrap();
            assert_eq!((url.authority().as_str(), url.path()), (authority, path), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_its_reason() {
        for (text, error) in [
            ("https://localhost/", HealthUrlError::Scheme),
            ("localhost:80", HealthUrlError::Scheme),
            ("http://example.com/", HealthUrlError::Host),
            ("http://localhost@example.com/", HealthUrlError::Host),
            ("http://10.0.0.1:80/", HealthUrlError::Host),
            ("http:///x", HealthUrlError::Host),
            ("http://localhost:0/", HealthUrlError::Port),
            ("http://localhost:70000/", HealthUrlError::Port),
            ("http://localhost/\r\nHost: x", HealthUrlError::Character),
            ("http://localhost/#top", HealthUrlError::Character),
        ] {
            assert_eq!(HealthUrl::try_from(text), Err(error), "{text}");
        }
    }

    #[test]
    fn of_a_long_command_the_beginning_is_shown() {
        let holder = |argv: &[&str]| {
            let argv = argv.iter().map(ToString::to_string).collect();
            PortHolder { pid: Some(7), argv, user: "ada".to_owned() }.to_string()
        };
        assert_eq!(holder(&["vite", "dev"]), "`vite dev` (pid 7, user ada)");
        assert_eq!(holder(&["conmon", &"ä".repeat(99)]), format!("`conmon {}…` (pid 7, user ada)", "ä".repeat(53)));
    }

    #[test]
    fn a_name_is_looked_for_on_both_loopback_addresses_and_an_address_on_itself() {
        let addresses = |text| ReadyCheck::Url(HealthUrl::try_from(text).unwrap()).addresses();
        assert_eq!(addresses("http://localhost:5/"), ReadyCheck::Port(5).addresses());
        assert_eq!(addresses("http://[::1]:5/").len(), 1);
        assert_eq!(addresses("http://127.0.0.1:5/"), ["127.0.0.1:5".parse().unwrap()]);
    }
}
