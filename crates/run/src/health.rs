//! One health check of a service over TCP: whether it accepts a connection, and how it answers a GET request.
//!
//! Of an answer only the status line is read. Redirects, other machines and TLS are not supported, so no HTTP library
//! is needed; a `command` can check anything else. Every check has a time limit, and ends as soon as the run is
//! stopped.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};

use proctor_model::HealthUrl;
use proctor_sandbox::process::RunNetwork;
use proctor_sandbox::process::clock::{self, Monotonic};

/// How many bytes of an HTTP answer are read at most. Only the status line at its beginning is needed.
const LONGEST_LINE: usize = 1024;

/// The longest wait for bytes of the answer before the time limit and a stop request are checked again.
const SLICE: Duration = Duration::from_millis(50);

/// The result of one health check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Health {
    Healthy,
    /// The service is not ready; the text says why.
    Unhealthy(String),
}

/// When a health check ends without an answer: after a time, or when the run is stopped.
pub(crate) struct HealthCheckBounds<'a> {
    /// The network of the run in which the service is; `None` if it has that of the machine.
    pub(crate) network: Option<&'a RunNetwork>,
    /// The time limit for connecting and for the answer together.
    pub(crate) timeout: Duration,
    /// Returns true when the run was stopped, so that the result is no longer needed.
    pub(crate) is_stopped: &'a dyn Fn() -> bool,
}

/// Checks whether one of the addresses accepts a connection.
pub(crate) fn check_port(addresses: &[SocketAddr], bounds: &HealthCheckBounds<'_>) -> Health {
    match connect(addresses, clock::monotonic(), bounds) {
        Ok(_connection) => Health::Healthy,
        Err(why) => Health::Unhealthy(why),
    }
}

/// Sends a GET request to a URL. The service is healthy if the status of the answer is 200 to 399.
pub(crate) fn check_url(url: &HealthUrl, addresses: &[SocketAddr], bounds: &HealthCheckBounds<'_>) -> Health {
    let begun = clock::monotonic();
    let answered = connect(addresses, begun, bounds).and_then(|connection| ask(connection, url, begun, bounds));
    match answered {
        Ok(status) if (200..400).contains(&status) => Health::Healthy,
        Ok(status) => Health::Unhealthy(format!("{} answered with status {status}", url.as_str())),
        Err(why) => Health::Unhealthy(why),
    }
}

fn connect(addresses: &[SocketAddr], begun: Monotonic, bounds: &HealthCheckBounds<'_>) -> Result<TcpStream, String> {
    let mut refusals = Vec::new();
    for address in addresses {
        let connected = match bounds.network {
            Some(network) => network.connect(*address, left(begun, bounds)),
            None => TcpStream::connect_timeout(address, left(begun, bounds)),
        };
        match connected.and_then(accepted) {
            Ok(connection) => return Ok(connection),
            Err(error) => refusals.push(format!("{address}: {}", words(&error))),
        }
    }
    Err(refusals.join(", "))
}

/// Returns the connection if another process accepted it, otherwise an error.
///
/// If nobody listens on a port in the kernel's range for outgoing connections, a socket can connect to itself (RFC
/// 9293, 3.5: simultaneous open). Such a connection is reset at once, so that it does not keep the port from the
/// service.
fn accepted(connection: TcpStream) -> io::Result<TcpStream> {
    // A connection that was reset in the meantime has no peer address. It counts as accepted, because only another
    // process can have accepted and reset it.
    if !matches!((connection.local_addr(), connection.peer_addr()), (Ok(near), Ok(far)) if near == far) {
        return Ok(connection);
    }
    setsockopt(&connection, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
    Err(io::ErrorKind::ConnectionRefused.into())
}

/// Sends a GET request and returns the status code of the answer, or says why there is none.
fn ask(mut connection: TcpStream, url: &HealthUrl, begun: Monotonic, bounds: &HealthCheckBounds<'_>) -> Result<u16, String> {
    let failed = |error: io::Error| format!("{} did not answer: {}", url.as_str(), words(&error));
    connection.set_write_timeout(Some(left(begun, bounds))).map_err(failed)?;
    connection.set_read_timeout(Some(SLICE)).map_err(failed)?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: proctor/{}\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        url.path(),
        url.authority(),
        env!("CARGO_PKG_VERSION")
    );
    connection.write_all(request.as_bytes()).map_err(failed)?;
    let mut line = [0_u8; LONGEST_LINE];
    let mut length = 0;
    while length < line.len() && !line[..length].contains(&b'\n') {
        if clock::monotonic().since(begun) >= bounds.timeout || (bounds.is_stopped)() {
            return Err(format!("{} did not answer within {} s", url.as_str(), bounds.timeout.as_secs_f64()));
        }
        match connection.read(&mut line[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if is_only_late(&error) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    parse_status(&line[..length]).ok_or_else(|| format!("{} did not answer as HTTP servers do", url.as_str()))
}

/// Returns the status code in a status line, `HTTP/1.1 200 OK`.
fn parse_status(answer: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(answer.split(|byte| *byte == b'\n').next()?).ok()?;
    let mut words = line.split_ascii_whitespace();
    words.next().filter(|version| version.starts_with("HTTP/"))?;
    let status = words.next().filter(|status| status.len() == 3)?;
    status.parse().ok().filter(|status| *status >= 100)
}

fn is_only_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Returns how much of the time limit is left. It is never zero, because the standard library refuses a time-out of
/// zero.
fn left(begun: Monotonic, bounds: &HealthCheckBounds<'_>) -> Duration {
    bounds.timeout.saturating_sub(clock::monotonic().since(begun)).max(Duration::from_millis(1))
}

fn words(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::ConnectionRefused { "nobody listens".to_owned() } else { error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsRawFd as _;
    use std::thread;

    use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect as connect_to, getsockname, socket};

    use super::*;

    const PATIENT: HealthCheckBounds<'_> =
        HealthCheckBounds { network: None, timeout: Duration::from_secs(20), is_stopped: &|| false };

    /// Answers one connection with these bytes and closes it. Without bytes, the connection stays open.
    fn answering(answer: &'static [u8]) -> (HealthUrl, Vec<SocketAddr>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        thread::spawn(move || {
            let (mut connection, _) = listener.accept().expect("somebody asks");
            let mut request = [0_u8; 4096];
            let count = connection.read(&mut request).expect("a request");
            assert!(request[..count].starts_with(b"GET /healthz?x=1 HTTP/1.1\r\nHost: 127.0.0.1:"), "{request:?}");
            connection.write_all(answer).expect("it is read");
            if answer.is_empty() {
                let _closed = connection.read(&mut request);
            }
        });
        (HealthUrl::try_from(format!("http://{address}/healthz?x=1").as_str()).expect("a URL"), vec![address])
    }

    #[test]
    fn a_status_from_200_to_399_is_healthy_and_nothing_else_is() {
        for (answer, is_healthy) in [
            (&b"HTTP/1.0 200 OK\r\n\r\n"[..], true),
            (b"HTTP/1.1 204\r\n", true),
            (b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", true),
            (b"HTTP/1.1 404 Not Found\r\n\r\n", false),
            (b"HTTP/1.1 503 Busy\r\n\r\n", false),
            (b"SSH-2.0-OpenSSH_9\r\n", false),
            (b"HTTP/1.1 2000\r\n", false),
            (b"\xff\xfe\n", false),
        ] {
            let (url, addresses) = answering(answer);
            let health = check_url(&url, &addresses, &PATIENT);
            assert_eq!(health == Health::Healthy, is_healthy, "{health:?} for {:?}", String::from_utf8_lossy(answer));
        }
    }

    #[test]
    fn a_server_that_never_answers_costs_no_more_than_the_time_of_one_look() {
        let (url, addresses) = answering(b"");
        let bounds = HealthCheckBounds { timeout: Duration::from_millis(120), ..PATIENT };
        let health = check_url(&url, &addresses, &bounds);
        assert!(matches!(&health, Health::Unhealthy(why) if why.ends_with("did not answer within 0.12 s")), "{health:?}");
        let (url, addresses) = answering(b"");
        let stopped = HealthCheckBounds { is_stopped: &|| true, ..PATIENT };
        assert!(matches!(check_url(&url, &addresses, &stopped), Health::Unhealthy(_)));
    }

    #[test]
    fn a_port_is_healthy_when_somebody_listens_on_one_of_the_addresses() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let unused: SocketAddr = "[::1]:1".parse().expect("an address");
        assert_eq!(check_port(&[unused, address], &PATIENT), Health::Healthy);
        drop(listener);
        let health = check_port(&[address], &PATIENT);
        assert_eq!(health, Health::Unhealthy(format!("{address}: nobody listens")));
    }

    #[test]
    fn a_socket_that_is_connected_to_itself_is_nobody_who_listens_and_leaves_the_port_free() {
        let itself = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
        bind(itself.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).expect("a free port");
        let address: SockaddrIn = getsockname(itself.as_raw_fd()).expect("it is bound");
        connect_to(itself.as_raw_fd(), &address).expect("the kernel does that");
        let refusal = accepted(TcpStream::from(itself)).expect_err("nobody else is there");
        assert_eq!(words(&refusal), "nobody listens");
        // SO_REUSEADDR is not set, because with it the bind would succeed in spite of a lingering connection.
        let server = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
        bind(server.as_raw_fd(), &address).expect("the port is free");
    }
}
