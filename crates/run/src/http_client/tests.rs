//! Tests the client against servers that run as threads of the test.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::*;
use proctor_model::HttpMethod;

const PATIENT: RequestBounds<'_> = RequestBounds { timeout: Duration::from_secs(20), stopped: &|| None };

/// Reads a request with its body, up to the announced length.
fn read_request(connection: &mut TcpStream) -> String {
    let (mut text, mut buffer) = (String::new(), [0_u8; 4096]);
    loop {
        let count = connection.read(&mut buffer).expect("a request");
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        if count == 0 || body.len() >= length.and_then(|length| length.trim().parse().ok()).unwrap_or(0) {
            return text;
        }
    }
}

/// Answers one connection for each given answer. The returned thread yields the requests.
fn serve(answers: Vec<Vec<u8>>) -> (SocketAddr, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let serving = thread::spawn(move || {
        let answer = |answer: Vec<u8>| {
            let (mut connection, _) = listener.accept().expect("somebody asks");
            let request = read_request(&mut connection);
            let _gone = connection.write_all(&answer);
            request
        };
        answers.into_iter().map(answer).collect()
    });
    (address, serving)
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn answered(sent: SentRequest) -> HttpAnswer {
    let ExchangeOutcome::Answered(answer) = sent.outcome else { panic!("{sent:?}") };
    answer
}

fn fault(sent: SentRequest) -> SystemFault {
    let ExchangeOutcome::Unanswered(fault) = sent.outcome else { panic!("{sent:?}") };
    fault
}

#[test]
fn a_request_is_sent_as_the_plan_says_and_its_answer_is_whole() {
    let (address, serving) = serve(vec![answer("201 Created", "X-Id: 7\r\nX-Id: 8\r\n", b"{\"id\":7}")]);
    let request = HttpRequest {
        method: HttpMethod::Post,
        headers: BTreeMap::from([("Accept".to_owned(), "application/json".to_owned())]),
        body: Some(HttpBody::Json(json!({"name": "quote"}))),
        ..HttpRequest::get(format!("http://{address}/api?page=2"))
    };
    let answer = answered(send(&request, &PATIENT));
    assert_eq!((answer.status, answer.body.as_slice(), answer.is_complete), (201, &b"{\"id\":7}"[..], true));
    assert_eq!((answer.headers["x-id"].as_str(), answer.redirected_to), ("7, 8", None));
    let seen = serving.join().expect("it served")[0].to_lowercase();
    assert!(seen.starts_with("post /api?page=2 http/1.1\r\n"), "{seen}");
    for line in ["content-type: application/json", "accept: application/json", "user-agent: proctor/", "{\"name\":\"quote\"}"] {
        assert!(seen.contains(line), "`{line}` is not in {seen}");
    }
}

#[test]
fn a_status_that_says_failure_is_an_answer_and_a_redirect_is_followed_only_where_it_may_be() {
    for method in HttpMethod::ALL {
        let (address, serving) = serve(vec![answer("500 Oh", "", b"")]);
        let request = HttpRequest { method, ..HttpRequest::get(format!("http://{address}/")) };
        assert_eq!(answered(send(&request, &PATIENT)).status, 500, "{method:?}");
        assert!(serving.join().expect("it served")[0].starts_with(method.word()));
    }
    let (address, serving) = serve(vec![answer("302 Found", "Location: /there\r\n", b""), answer("200 OK", "", b"x")]);
    let followed = answered(send(&HttpRequest::get(format!("http://{address}/here")), &PATIENT));
    assert_eq!((followed.status, followed.redirected_to), (200, Some(format!("http://{address}/there"))));
    serving.join().expect("it served");
    let (address, serving) = serve(vec![answer("302 Found", "Location: /there\r\n", b"")]);
    let staying = HttpRequest { follow_redirects: false, ..HttpRequest::get(format!("http://{address}/here")) };
    assert_eq!(answered(send(&staying, &PATIENT)).status, 302);
    serving.join().expect("it served");
}

#[test]
fn another_host_gets_no_secret_of_a_request_that_is_redirected_to_it() {
    let (there, other) = serve(vec![answer("200 OK", "", b"x")]);
    let location = format!("Location: http://{there}/there?a=b\r\n");
    let (here, serving) = serve(vec![answer("302 Found", "Location: /again\r\n", b""), answer("307 Elsewhere", &location, b"")]);
    let headers =
        [("Accept", "text/plain"), ("Authorization", "Bearer t"), ("Cookie", "c=d"), ("X-Api-Key", "k"), ("X-Own", "o")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let request = HttpRequest { headers: BTreeMap::from(headers), ..HttpRequest::get(format!("http://{here}/here")) };
    let followed = answered(send(&request, &PATIENT));
    assert_eq!((followed.status, followed.redirected_to), (200, Some(format!("http://{there}/there?a=b"))));
    let own = serving.join().expect("it served");
    for (index, seen) in own.iter().enumerate() {
        let seen = seen.to_lowercase();
        for line in ["accept: text/plain", "authorization: bearer t", "cookie: c=d", "x-api-key: k", "x-own: o"] {
            assert!(seen.contains(line), "{index}: `{line}` is not in {seen}");
        }
    }
    let seen = other.join().expect("it served")[0].to_lowercase();
    assert!(seen.starts_with("get /there?a=b http/1.1") && seen.contains("accept: text/plain"), "{seen}");
    for name in ["authorization", "cookie", "x-api-key", "x-own"] {
        assert!(!seen.contains(name), "`{name}` is in {seen}");
    }
}

#[test]
fn redirects_end_somewhere() {
    let answers = (0..=10).map(|_| answer("302 Found", "Location: /again\r\n", b"")).collect();
    let (address, serving) = serve(answers);
    let seen = fault(send(&HttpRequest::get(format!("http://{address}/")), &PATIENT));
    assert_eq!((seen.code.as_str(), seen.message.as_str()), ("TOO_MANY_REDIRECTS", "it was redirected more than 10 times"));
    assert_eq!(serving.join().expect("it served").len(), 11);
}

#[test]
fn a_body_is_read_up_to_its_cap_and_one_that_ends_early_is_no_answer() {
    let (address, serving) = serve(vec![answer("200 OK", "", &vec![b'x'; HttpAnswer::BODY_CAP + 10])]);
    let long = answered(send(&HttpRequest::get(format!("http://{address}/")), &PATIENT));
    assert_eq!((long.body.len(), long.is_complete), (HttpAnswer::BODY_CAP, false));
    serving.join().expect("it served");
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nhalf".to_vec();
    let (address, serving) = serve(vec![cut]);
    let seen = fault(send(&HttpRequest::get(format!("http://{address}/")), &PATIENT));
    assert_eq!(seen.code, "ECONNRESET", "{seen:?}");
    serving.join().expect("it served");
}

#[test]
fn each_way_of_not_being_answered_has_its_name() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let refused = send(&HttpRequest::get(format!("http://{address}/")), &PATIENT);
    assert_eq!(refused.resolution, Some(Ok(vec![address])));
    let refused = fault(refused);
    assert_eq!(
        (refused.code.as_str(), refused.errno, refused.syscall.as_deref(), refused.port),
        ("ECONNREFUSED", Some(111), Some("connect"), Some(address.port()))
    );
    assert_eq!(refused.message, format!("connect ECONNREFUSED {address}"));
    let lost = fault(send(&HttpRequest::get("http://nobody.invalid/"), &PATIENT));
    assert_eq!((lost.code.as_str(), lost.syscall.as_deref()), ("ENOTFOUND", Some("getaddrinfo")), "{lost:?}");
    let (address, serving) = serve(vec![b"SSH-2.0-OpenSSH_9\r\n\r\n".to_vec()]);
    assert_eq!(fault(send(&HttpRequest::get(format!("http://{address}/")), &PATIENT)).code, "PROTOCOL");
    serving.join().expect("it served");
    let (address, serving) = serve(vec![Vec::new()]);
    let closed = fault(send(&HttpRequest::get(format!("http://{address}/")), &PATIENT));
    assert_eq!(closed.code, "ECONNRESET", "{closed:?}");
    serving.join().expect("it served");
}

#[test]
fn a_request_that_is_none_is_not_sent() {
    for url in ["", "localhost", "ftp://localhost/", "http:///x", "http://local host/"] {
        let outcome = send(&HttpRequest::get(url), &PATIENT).outcome;
        assert!(matches!(outcome, ExchangeOutcome::Unsendable(_)), "{url}: {outcome:?}");
    }
    let bad = BTreeMap::from([("A b".to_owned(), "c".to_owned())]);
    let request = HttpRequest { headers: bad, ..HttpRequest::get("http://localhost/") };
    assert!(matches!(send(&request, &PATIENT).outcome, ExchangeOutcome::Unsendable(_)));
}

/// A server that accepts connections but never answers.
fn silent() -> (SocketAddr, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    (listener.local_addr().expect("it is bound"), listener)
}

#[test]
fn a_server_that_says_nothing_costs_the_time_out_and_a_stop_ends_the_wait_and_the_connection() {
    let (address, _listener) = silent();
    let short = RequestBounds { timeout: Duration::from_millis(100), ..PATIENT };
    assert_eq!(send(&HttpRequest::get(format!("http://{address}/")), &short).outcome, ExchangeOutcome::OutOfTime);
    let (address, listener) = silent();
    let asked = AtomicBool::new(false);
    let stop = || asked.load(Ordering::SeqCst).then_some(StopReason::Interrupted);
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let (mut connection, _) = listener.accept().expect("somebody asks");
            read_request(&mut connection);
            asked.store(true, Ordering::SeqCst);
            assert_eq!(connection.read(&mut [0; 16]).expect("it is shut down"), 0, "its connection ends with it");
        });
        send(&HttpRequest::get(format!("http://{address}/")), &RequestBounds { stopped: &stop, ..PATIENT }).outcome
    });
    assert_eq!(outcome, ExchangeOutcome::Stopped(StopReason::Interrupted));
}

/// Both a stop and a time-out can come before the request's thread has connected.
#[test]
fn a_request_that_is_over_before_it_connects_leaves_no_connection() {
    for (stopped, timeout) in [(true, PATIENT.timeout), (false, Duration::ZERO)] {
        let (address, listener) = silent();
        let request = HttpRequest::get(format!("http://{address}/"));
        let agent = agent(&request, PATIENT.timeout);
        if stopped {
            agent.clone().shutdown();
        }
        let (_, message) = compose(&request).expect("it is a request");
        let limits = RedirectLimits { hops: 0, begun: clock::monotonic(), timeout };
        let outcome = exchange(&agent, message, &[address], &limits);
        let is_as_expected = if stopped {
            matches!(outcome, ExchangeOutcome::Unanswered(_))
        } else {
            matches!(outcome, ExchangeOutcome::OutOfTime)
        };
        assert!(is_as_expected, "{outcome:?}");
        listener.set_nonblocking(true).expect("it is a socket");
        while let Ok((mut connection, _)) = listener.accept() {
            connection.set_read_timeout(Some(PATIENT.timeout)).expect("it is a socket");
            assert_eq!(connection.read(&mut [0; 16]).expect("it ends"), 0, "stopped: {stopped}: something was sent");
        }
    }
}

#[cfg(feature = "tls")]
#[test]
fn a_server_that_speaks_no_tls_is_told_as_such() {
    let (address, listener) = silent();
    let serving = thread::spawn(move || {
        let (mut connection, _) = listener.accept().expect("somebody asks");
        let _hello = connection.read(&mut [0; 4096]).expect("the beginning of a session");
        let _gone = connection.write_all(b"HTTP/1.1 400 no\r\n\r\n");
    });
    let seen = fault(send(&HttpRequest::get(format!("https://{address}/")), &PATIENT));
    assert_eq!(seen.code, "TLS", "{seen:?}");
    serving.join().expect("it served");
}
