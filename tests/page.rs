//! The page that `proctor open` shows: who gets in, what it is answered, and how it ends.

mod alone;
mod attacks;
mod limits;
mod routes;

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::Project;
use crate::daemon::LATE;

/// A page that can be opened once.
struct OpenedPage {
    address: String,
    ticket: String,
    file: PathBuf,
}

/// An answer of the page's server.
#[derive(Debug)]
struct Answer {
    code: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn kind(&self) -> String {
        self.json()["error"]["kind"].as_str().unwrap_or_default().to_owned()
    }
}

/// Asks the control socket, and returns the status code and the body.
#[track_caller]
pub(crate) fn ask_socket(project: &Project, request: &str, body: &str) -> (u16, Value) {
    let mut stream = UnixStream::connect(project.root().join("runtime/proctor/control.sock")).expect("the service listens");
    stream.set_read_timeout(Some(LATE)).expect("a bound");
    let head = format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(head.as_bytes()).expect("it is written");
    let answer = read_answer(&mut stream);
    (answer.code, answer.json())
}

/// Asks the service for a ticket.
#[track_caller]
fn open_page(project: &Project) -> OpenedPage {
    let (code, answer) = ask_socket(project, "POST /v1/page", "{}");
    assert_eq!(code, 200, "{answer}");
    let text = |key: &str| answer[key].as_str().expect("a text").to_owned();
    OpenedPage { address: text("address"), ticket: text("ticket"), file: text("file").into() }
}

/// Sends the lines of a head as they are, and reads the answer up to the end of the connection.
#[track_caller]
fn send(address: &str, head: &[&str]) -> Answer {
    let mut stream = connect(address);
    let head = head.iter().map(|line| format!("{line}\r\n")).collect::<String>() + "connection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("it is written");
    read_answer(&mut stream)
}

#[track_caller]
fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the page's server listens");
    stream.set_read_timeout(Some(LATE)).expect("a bound");
    stream.set_write_timeout(Some(LATE)).expect("a bound");
    stream
}

#[track_caller]
fn read_answer(stream: &mut impl std::io::Read) -> Answer {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset && !bytes.is_empty() => {}
        Err(error) => panic!("no answer: {error}"),
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
    let code = head.get(9..12).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no status: {head}"));
    Answer { code, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

/// Asks as the page in a browser does.
#[track_caller]
fn get(address: &str, path: &str, authorization: &str) -> Answer {
    let (request, host) = (format!("GET {path} HTTP/1.1"), format!("host: {address}"));
    send(address, &[&request, &host, &format!("authorization: {authorization}"), "sec-fetch-site: same-origin"])
}

/// Exchanges the ticket for a token, as the page does.
#[track_caller]
fn token(page: &OpenedPage) -> String {
    let answer = get(&page.address, "/ticket", &format!("Ticket {}", page.ticket));
    assert_eq!(answer.code, 200, "{answer:?}");
    answer.json()["token"].as_str().expect("a token").to_owned()
}

/// Returns the files with tickets.
fn ticket_files(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(project.root().join("runtime/proctor")).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(|name| name.starts_with("page-")).collect()
}

/// Returns the id of the newest run.
#[track_caller]
fn newest_run(project: &Project) -> String {
    let log = project.proctor(["log", "--json"]).success().json();
    log["runs"][0]["runId"].as_str().expect("a run").to_owned()
}
