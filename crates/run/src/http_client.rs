//! Sends one request and waits for its answer, with limits, until the run is stopped. It judges nothing.
//!
//! The request runs in its own thread, because neither a name lookup nor a connection can be interrupted by a stop
//! request; a stop shuts down the connection. No proxy is read from the environment, and no state is kept between
//! requests, so a request does not depend on who starts proctor. Redirects are followed here and not by the HTTP
//! library: see `redirect`.

mod redirect;

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use ureq::http::{HeaderMap, Request, Response, Uri, header};
use ureq::{Agent, Body, Error};

use crate::http_client::redirect::{redirected, with_body};
use proctor_model::{ExchangeOutcome, HttpAnswer, HttpBody, HttpRequest, StopReason, SystemFault, errno_name};
use proctor_sandbox::process::clock::{self, Monotonic};

/// The pause between two checks for a stop request.
const SLICE: Duration = Duration::from_millis(20);
/// The library ends the request at the time limit. A thread that still hangs in a name lookup this much later is
/// abandoned.
const MARGIN: Duration = Duration::from_millis(500);
/// A request that is redirected more often than this fails.
const MOST_REDIRECTS: u32 = 10;
/// The largest total size of an answer's headers in bytes. If they are larger, the request fails.
const HEADER_CAP: usize = 64 * 1024;

/// When a request is given up: after a time, or when the run is stopped.
pub(crate) struct RequestBounds<'a> {
    /// The time limit for the request and its answer together, from the name lookup to the end of the answer.
    pub(crate) timeout: Duration,
    /// Returns the reason why the request should be abandoned; `None` as long as it should go on.
    pub(crate) stopped: &'a dyn Fn() -> Option<StopReason>,
}

/// What became of a request, and what the lookup of its host's name returned.
#[derive(Debug)]
pub(crate) struct SentRequest {
    pub(crate) outcome: ExchangeOutcome,
    /// The addresses of the host, or the lookup error; `None` if no lookup was made.
    pub(crate) resolution: Option<Result<Vec<SocketAddr>, String>>,
}

struct Target {
    host: String,
    port: u16,
}

/// Sends a request and waits for the answer, the time limit, or a stop request.
pub(crate) fn send(request: &HttpRequest, bounds: &RequestBounds<'_>) -> SentRequest {
    let unsendable = |why: String| SentRequest { outcome: ExchangeOutcome::Unsendable(why), resolution: None };
    let (target, message) = match compose(request) {
        Ok(composed) => composed,
        Err(why) => return unsendable(why),
    };
    let agent = agent(request, bounds.timeout);
    let begun = clock::monotonic();
    let (tell, told) = channel();
    let worker = agent.clone();
    let hops = if request.follow_redirects { MOST_REDIRECTS } else { 0 };
    let limits = RedirectLimits { hops, begun, timeout: bounds.timeout };
    let work = move || {
        let resolution = resolve(&target);
        let outcome = match &resolution {
            Ok(addresses) => exchange(&worker, message, addresses, &limits),
            Err(why) => ExchangeOutcome::Unanswered(not_found(&target, why)),
        };
        let _nobody_waits = tell.send(SentRequest { outcome, resolution: Some(resolution) });
    };
    match thread::Builder::new().name("request".to_owned()).spawn(work) {
        Ok(_detached) => wait(&told, agent, begun, bounds),
        Err(error) => unsendable(format!("no thread can be started for it: {error}")),
    }
}

fn wait(told: &Receiver<SentRequest>, agent: Agent, begun: Monotonic, bounds: &RequestBounds<'_>) -> SentRequest {
    let given_up = |outcome| SentRequest { outcome, resolution: None };
    loop {
        match told.recv_timeout(SLICE) {
            Ok(sent) => return sent,
            Err(RecvTimeoutError::Disconnected) => {
                return given_up(ExchangeOutcome::Unsendable("the client failed inside itself".to_owned()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let outcome = match (bounds.stopped)() {
            Some(reason) => ExchangeOutcome::Stopped(reason),
            None if clock::monotonic().since(begun) > bounds.timeout.saturating_add(MARGIN) => ExchangeOutcome::OutOfTime,
            None => continue,
        };
        // Shutting the agent down closes the connection. Without a connection yet, the thread ends at its time-out, and
        // its result is ignored.
        agent.shutdown();
        return given_up(outcome);
    }
}

#[cfg_attr(not(feature = "tls"), expect(unused_variables, reason = "only TLS has something to ask of a request"))]
fn agent(request: &HttpRequest, timeout: Duration) -> Agent {
    let config = Agent::config_builder()
        .proxy(None)
        .http_status_as_error(false)
        .timeout_global(Some(timeout))
        // Redirects are followed in this file, because the library would send almost every header to whatever host a
        // redirect names.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_response_header_size(HEADER_CAP)
        .max_idle_connections(0)
        .user_agent(concat!("proctor/", env!("CARGO_PKG_VERSION")));
    #[cfg(feature = "tls")]
    let config = config.tls_config(ureq::tls::TlsConfig::builder().disable_verification(!request.validate_ssl).build());
    config.build().new_agent()
}

/// Returns the host and the port of a URL, or says why no request can be sent there.
fn target(uri: &Uri) -> Result<Target, String> {
    let default_port = match uri.scheme_str() {
        Some("http") => 80,
        Some("https") if cfg!(feature = "tls") => 443,
        Some("https") => return Err("this proctor was built without TLS (feature `tls`)".to_owned()),
        Some(_) | None => return Err("its URL does not begin with `http://` or `https://`".to_owned()),
    };
    let host = uri.host().filter(|host| !host.is_empty()).ok_or("its URL names no host")?;
    Ok(Target { host: host.trim_matches(['[', ']']).to_owned(), port: uri.port_u16().unwrap_or(default_port) })
}

/// Builds the message that a request of the plan describes, or says why that is impossible.
fn compose(request: &HttpRequest) -> Result<(Target, Request<Vec<u8>>), String> {
    let uri: Uri = request.url.parse().map_err(|error| format!("its URL is none: {error}"))?;
    let target = target(&uri)?;
    let mut builder = Request::builder().method(request.method.word()).uri(uri);
    let mut names_a_type = false;
    for (name, value) in &request.headers {
        names_a_type |= name.eq_ignore_ascii_case("content-type");
        builder = builder.header(name, value);
    }
    let body = match &request.body {
        None => Vec::new(),
        Some(HttpBody::Text(text)) => text.clone().into_bytes(),
        Some(HttpBody::Json(document)) => {
            if !names_a_type {
                builder = builder.header("Content-Type", "application/json");
            }
            document.to_string().into_bytes()
        }
    };
    let message = builder.body(body).map_err(|error| format!("a header of it is none: {error}"))?;
    Ok((target, message))
}

fn resolve(target: &Target) -> Result<Vec<SocketAddr>, String> {
    if let Ok(address) = target.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, target.port)]);
    }
    let addresses: Vec<_> = (target.host.as_str(), target.port).to_socket_addrs().map_err(|error| error.to_string())?.collect();
    if addresses.is_empty() { Err("the name has no address".to_owned()) } else { Ok(addresses) }
}

/// The limits of a request together with all redirects that it follows.
struct RedirectLimits {
    /// The most redirects to follow. With 0, a redirect is returned as the answer.
    hops: u32,
    begun: Monotonic,
    timeout: Duration,
}

fn exchange(agent: &Agent, first: Request<Vec<u8>>, addresses: &[SocketAddr], limits: &RedirectLimits) -> ExchangeOutcome {
    let asked = first.uri().clone();
    let (mut message, mut addresses) = (first, addresses.to_vec());
    for followed in 0..=limits.hops {
        let response = match ask(agent, &message, limits) {
            Ok(response) => response,
            Err(error) => return failure(error, &addresses),
        };
        let location = response.headers().get(header::LOCATION);
        let next = if limits.hops > 0 { redirected(&message, response.status(), location) } else { None };
        message = match next {
            None => return answer(response, Some(message.uri()).filter(|uri| **uri != asked), &addresses),
            Some(Err(why)) => return ExchangeOutcome::Unanswered(unfollowed("REDIRECT", &addresses, why)),
            Some(Ok(_)) if followed == limits.hops => break,
            Some(Ok(next)) => next,
        };
        // If another host does not answer, the error must name that host's addresses.
        addresses = target(message.uri()).ok().and_then(|target| resolve(&target).ok()).unwrap_or_default();
    }
    let why = format!("it was redirected more than {MOST_REDIRECTS} times");
    ExchangeOutcome::Unanswered(unfollowed("TOO_MANY_REDIRECTS", &addresses, why))
}

/// Sends one message, without following a redirect, within what is left of the time limit.
fn ask(agent: &Agent, message: &Request<Vec<u8>>, limits: &RedirectLimits) -> Result<Response<Body>, Error> {
    let left = limits.timeout.saturating_sub(clock::monotonic().since(limits.begun));
    // The library would send a length header for an empty body, so the request has no body at all.
    if message.body().is_empty() {
        agent.run(agent.configure_request(with_body(message, ())).timeout_global(Some(left)).build())
    } else {
        agent.run(agent.configure_request(with_body(message, message.body().clone())).timeout_global(Some(left)).build())
    }
}

fn answer(mut response: Response<Body>, redirected_to: Option<&Uri>, addresses: &[SocketAddr]) -> ExchangeOutcome {
    let (status, headers) = (response.status().as_u16(), headers_of(response.headers()));
    let mut body = Vec::new();
    let cap = HttpAnswer::BODY_CAP as u64;
    let read = response.body_mut().with_config().limit(u64::MAX).reader().take(cap + 1).read_to_end(&mut body);
    if let Err(error) = read {
        return failure(Error::from(error), addresses);
    }
    let is_complete = body.len() <= HttpAnswer::BODY_CAP;
    body.truncate(HttpAnswer::BODY_CAP);
    let redirected_to = redirected_to.map(ToString::to_string);
    ExchangeOutcome::Answered(HttpAnswer { status, headers, body, is_complete, redirected_to })
}

/// Returns the fault that the report shows for a redirect that cannot be followed.
fn unfollowed(code: &str, addresses: &[SocketAddr], message: String) -> SystemFault {
    let port = addresses.last().map(SocketAddr::port);
    SystemFault { code: code.to_owned(), errno: None, syscall: None, address: None, port, message }
}

fn headers_of(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        all.entry(name.as_str().to_owned())
            .and_modify(|so_far| {
                so_far.push_str(", ");
                so_far.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    all
}

/// Translates an error of the HTTP library into the outcome: a time-out, a request that cannot be sent, or a connection
/// fault.
fn failure(error: Error, addresses: &[SocketAddr]) -> ExchangeOutcome {
    let last = addresses.last();
    let named = |code: &str, message: String| {
        ExchangeOutcome::Unanswered(SystemFault {
            code: code.to_owned(),
            errno: None,
            syscall: None,
            address: None,
            port: last.map(SocketAddr::port),
            message,
        })
    };
    match error {
        Error::Timeout(_) => ExchangeOutcome::OutOfTime,
        Error::Io(error) => ExchangeOutcome::Unanswered(from_system_error(&error, last)),
        Error::HostNotFound => named("ENOTFOUND", "the host's name has no address".to_owned()),
        Error::Protocol(error) => named("PROTOCOL", format!("the answer is no HTTP/1.1: {error}")),
        Error::LargeResponseHeader(..) => named("PROTOCOL", format!("the answer's headers have more than {HEADER_CAP} bytes")),
        Error::Tls(why) => named("TLS", format!("TLS failed: {why}")),
        #[cfg(feature = "tls")]
        Error::Rustls(error) => named("TLS", format!("TLS failed: {error}")),
        Error::BadUri(why) => ExchangeOutcome::Unsendable(format!("its URL is none: {why}")),
        Error::Http(error) => ExchangeOutcome::Unsendable(error.to_string()),
        other => named("CLIENT", other.to_string()),
    }
}

/// Translates a system error into a fault with the system's name for it, such as `ECONNREFUSED`. TLS errors come here
/// too, because the library wraps them in a system error.
fn from_system_error(error: &io::Error, last: Option<&SocketAddr>) -> SystemFault {
    let (address, port) = (last.map(|address| address.ip().to_string()), last.map(SocketAddr::port));
    let place = last.map(ToString::to_string).unwrap_or_default();
    let plain = |code: &str, message: String| SystemFault {
        code: code.to_owned(),
        errno: None,
        syscall: None,
        address: address.clone(),
        port,
        message,
    };
    match (error.raw_os_error(), error.kind()) {
        (Some(number), _) => {
            let errno = Errno::from_raw(number);
            // These errors occur while connecting. All other errors can also occur on an established connection.
            let connecting = matches!(
                errno,
                Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH | Errno::EADDRNOTAVAIL | Errno::ETIMEDOUT
            );
            let syscall = connecting.then_some("connect");
            let message = format!("{} {} {place}", syscall.unwrap_or("connection"), errno_name(number));
            let syscall = syscall.map(str::to_owned);
            SystemFault { code: errno_name(number).to_owned(), errno: Some(number), syscall, address, port, message }
        }
        (None, io::ErrorKind::UnexpectedEof) => {
            plain("ECONNRESET", format!("{place} closed the connection before its answer was whole"))
        }
        (None, io::ErrorKind::ConnectionRefused) => plain("ECONNREFUSED", format!("connect ECONNREFUSED {place}")),
        (None, io::ErrorKind::InvalidData) => plain("TLS", format!("TLS failed: {error}")),
        (None, _) => plain("CLIENT", error.to_string()),
    }
}

fn not_found(target: &Target, why: &str) -> SystemFault {
    SystemFault {
        code: "ENOTFOUND".to_owned(),
        errno: None,
        syscall: Some("getaddrinfo".to_owned()),
        address: None,
        port: Some(target.port),
        message: format!("getaddrinfo ENOTFOUND {}: {why}", target.host),
    }
}

#[cfg(test)]
mod tests;
