//! The limits of the page's server: heads, slow clients, connections, memory.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::{connect, get, newest_run, open_page, token};
use crate::common::poll;
use crate::daemon::{LATE, project, start_serving};

/// The most memory that the service may take with the page open, in KiB.
const MEMORY: u64 = 60 * 1024;
/// How many connections are opened at once.
const CONNECTIONS: usize = 1000;

/// Returns a value of `/proc/PID/status` in KiB.
fn memory_of(process: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux says it");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

/// Returns what comes until the connection ends, and how long that took.
fn rest_of(mut stream: TcpStream) -> (String, Duration) {
    let begun = Instant::now();
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("it was not closed: {error}"),
    }
    (String::from_utf8_lossy(&bytes).into_owned(), begun.elapsed())
}

#[test]
fn a_head_that_is_too_long_and_a_client_that_is_too_slow_are_ended() {
    let project = project("true");
    let daemon = start_serving(&project);
    let page = open_page(&project);
    let long = format!("GET / HTTP/1.1\r\nhost: {}\r\nx: {}\r\n\r\n", page.address, "a".repeat(64 * 1024));
    let many = format!("GET / HTTP/1.1\r\nhost: {}\r\n{}\r\n", page.address, "x: y\r\n".repeat(200));
    for head in [long, many] {
        let mut stream = connect(&page.address);
        // The server may end the connection before all of it is written.
        let _refused = stream.write_all(head.as_bytes());
        let (answer, _) = rest_of(stream);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
    for begun in ["", "GET / HTTP/1.1\r\nhost:"] {
        let mut stream = connect(&page.address);
        stream.write_all(begun.as_bytes()).expect("it is written");
        let (answer, took) = rest_of(stream);
        assert!(!answer.contains(" 200 ") && took < LATE, "{took:?}: {answer}");
    }
    let mut stream = connect(&page.address);
    let body = format!("GET /v1/status HTTP/1.1\r\nhost: {}\r\ncontent-length: 100\r\n\r\n{{", page.address);
    stream.write_all(body.as_bytes()).expect("it is written");
    let (answer, _) = rest_of(stream);
    assert!(answer.starts_with("HTTP/1.1 400"), "no body is waited for: {answer}");
    assert_eq!(get(&page.address, "/v1/status", &format!("Bearer {}", token(&page))).code, 200);
    daemon.interrupt();
}

#[test]
#[ignore = "long tier"]
fn a_thousand_connections_take_neither_the_service_nor_the_page_away() {
    let project = project("true");
    let daemon = start_serving(&project);
    let page = open_page(&project);
    let bearer = format!("Bearer {}", token(&page));
    let (threads, files) = (count(daemon.id(), "task"), count(daemon.id(), "fd"));
    let open: Vec<TcpStream> = (0..CONNECTIONS).map_while(|_| TcpStream::connect(&page.address).ok()).collect();
    assert!(open.len() > 400, "only {} connections were made", open.len());
    assert!(count(daemon.id(), "fd") <= files + 300, "descriptors stay bounded");
    project.proctor(["wait", "--fresh"]).success();
    drop(open);
    let answer = poll(LATE, "the page to be answered again", || {
        let answer = get(&page.address, "/v1/projects", &bearer);
        if answer.code == 200 { Ok(answer) } else { Err(answer.body) }
    });
    assert!(answer.body.contains("projects"));
    assert!(count(daemon.id(), "task") <= threads + 4, "no thread for a connection");
    daemon.interrupt();
}

fn count(process: i32, what: &str) -> usize {
    fs::read_dir(format!("/proc/{process}/{what}")).expect("it lives").count()
}

#[test]
fn the_memory_of_the_service_stays_bounded_while_the_page_asks() {
    let project = project("seq --format='line %g of what the check prints' 20000");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let run = newest_run(&project);
    let before = memory_of(daemon.id());
    let page = open_page(&project);
    let bearer = format!("Bearer {}", token(&page));
    let projects = get(&page.address, "/v1/projects", &bearer).json();
    let id = projects["projects"][0]["id"].as_str().expect("an id").to_owned();
    let details = get(&page.address, &format!("/v1/projects/{id}/runs/{run}"), &bearer).json();
    let files: Vec<&str> = details["files"].as_array().expect("names").iter().filter_map(|name| name.as_str()).collect();
    for _ in 0..20 {
        for path in ["runs", "matrix", "trends", "tests"] {
            assert_eq!(get(&page.address, &format!("/v1/projects/{id}/{path}"), &bearer).code, 200, "{path}");
        }
        // Raw output is a person's, and nobody sits at a terminal here.
        for file in files.iter().filter(|name| !name.ends_with(".log") && !name.ends_with(".frames")) {
            assert_eq!(get(&page.address, &format!("/v1/projects/{id}/runs/{run}/files/{file}"), &bearer).code, 200, "{file}");
        }
    }
    // What is mapped of the program, which is large in a debug build, was there before.
    let memory = memory_of(daemon.id()).saturating_sub(before);
    assert!(memory < MEMORY, "{memory} KiB");
    daemon.interrupt();
}
