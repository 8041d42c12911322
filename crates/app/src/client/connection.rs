//! Sends one request on a connection of its own, and reads the answer.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::caller::{LOOK_AGAIN, Stop};
use proctor_api::{ErrorDocumentV1, ErrorKindV1, ErrorV1, MethodV1};
use proctor_sandbox::process::clock::monotonic;

/// The longest answer that is read, in bytes.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;
/// How long each write of a request may take.
const WRITING: Duration = Duration::from_secs(5);

/// A client of the service. It opens a new connection for each request.
#[derive(Debug, Clone)]
pub struct Client {
    socket: PathBuf,
    /// Asked again and again while an answer is waited for; `None` if the answer is wanted in any case.
    stop: Option<Stop>,
}

/// Why a request has no successful answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No process listens on the socket.
    #[error("no service listens on `{}`", socket.display())]
    Absent { socket: PathBuf },
    /// The connection broke or took too long.
    #[error("failed to ask the service")]
    Connection(#[source] io::Error),
    #[error("the service did not answer within {} s", within.as_secs())]
    Late {
        /// The time limit.
        within: Duration,
    },
    /// The service looks at who connects, and closes the connection of whoever may not ask.
    #[error(
        "the service closed the connection without an answer: a check, and a program in other namespaces than the service, gets none"
    )]
    Closed,
    /// The answer is wanted no more.
    #[error("the answer is wanted no more")]
    Stopped,
    /// The bytes received are not a valid answer.
    #[error("the service's answer is not understood: {0}")]
    Answer(String),
    /// The service answered with an error.
    #[error("{}", .0.message)]
    Refused(ErrorV1),
}

impl ClientError {
    /// Returns whether the service was stopped, or its process ended, before it answered. Another one may answer soon.
    pub fn is_end_of_service(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.kind == ErrorKindV1::Stopping,
            Self::Closed | Self::Connection(_) => true,
            Self::Absent { .. } | Self::Late { .. } | Self::Stopped | Self::Answer(_) => false,
        }
    }
}

impl Client {
    /// Returns a client for the service at this socket. It does not connect yet.
    pub fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned(), stop: None }
    }

    /// Returns the same client, which waits for no answer any more once `stop` is requested.
    #[must_use]
    pub fn until(self, stop: Option<&Stop>) -> Self {
        Self { stop: stop.cloned(), ..self }
    }

    /// Sends a request without a body and reads the answer.
    ///
    /// # Errors
    /// When no process listens on the socket, the answer is late or is not understood, or the service answers with an
    /// error.
    pub fn ask<T: DeserializeOwned>(&self, method: MethodV1, path: &str, within: Duration) -> Result<T, ClientError> {
        self.exchange(method, path, &[], within)
    }

    /// Sends a request with a body and reads the answer.
    ///
    /// # Errors
    /// The same as for [`Client::ask`].
    pub fn send<T: DeserializeOwned>(
        &self,
        method: MethodV1,
        path: &str,
        body: &impl Serialize,
        within: Duration,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::Answer(error.to_string()))?;
        self.exchange(method, path, &body, within)
    }

    fn exchange<T: DeserializeOwned>(
        &self,
        method: MethodV1,
        path: &str,
        body: &[u8],
        within: Duration,
    ) -> Result<T, ClientError> {
        let mut stream = self.connect()?;
        // Rust refuses a time-out of zero for a socket as an error.
        let within = within.max(Duration::from_millis(1));
        let one_read = if self.stop.is_some() { within.min(LOOK_AGAIN) } else { within };
        stream.set_read_timeout(Some(one_read)).map_err(ClientError::Connection)?;
        stream.set_write_timeout(Some(WRITING)).map_err(ClientError::Connection)?;
        let head = format!(
            "{} {path} HTTP/1.1\r\nhost: proctor\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            method.word(),
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).map_err(closed_or_broken)?;
        self.read_answer(&mut stream, within).and_then(|answer| understand(&answer))
    }

    /// Reads an answer. The service sends nothing before the answer is ready, and then writes the whole answer at once. So
    /// the time limit holds in effect for the wait for the whole answer.
    fn read_answer(&self, stream: &mut UnixStream, within: Duration) -> Result<Answer, ClientError> {
        let begun = monotonic();
        let mut bytes = Vec::new();
        let mut buffer = [0; 16 * 1024];
        loop {
            match parse_answer(&bytes) {
                AnswerProgress::Whole(answer) => return Ok(answer),
                AnswerProgress::Wrong(why) => return Err(ClientError::Answer(why.to_owned())),
                AnswerProgress::Unfinished if bytes.len() > LONGEST_ANSWER => {
                    return Err(ClientError::Answer("it is too long".to_owned()));
                }
                AnswerProgress::Unfinished => {}
            }
            match stream.read(&mut buffer) {
                Ok(0) if bytes.is_empty() => return Err(ClientError::Closed),
                Ok(0) => return Err(ClientError::Answer("it was cut short".to_owned())),
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if self.stop.as_ref().is_some_and(Stop::is_requested) {
                        return Err(ClientError::Stopped);
                    }
                    if self.stop.is_none() || monotonic().since(begun) >= within {
                        return Err(ClientError::Late { within });
                    }
                }
                Err(error) => return Err(closed_or_broken(error)),
            }
        }
    }

    pub(super) fn connect(&self) -> Result<UnixStream, ClientError> {
        UnixStream::connect(&self.socket).map_err(|error| {
            // A process that died leaves its socket file behind, and connecting to the file is refused. If there is no
            // file, the error is "not found". Both mean that no service listens.
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) {
                ClientError::Absent { socket: self.socket.clone() }
            } else {
                ClientError::Connection(error)
            }
        })
    }
}

/// Returns what an error of a connection means that was made: a request that nobody reads resets it.
fn closed_or_broken(error: io::Error) -> ClientError {
    if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) {
        ClientError::Closed
    } else {
        ClientError::Connection(error)
    }
}

fn understand<T: DeserializeOwned>(answer: &Answer) -> Result<T, ClientError> {
    let wrong = |error: serde_json::Error| ClientError::Answer(error.to_string());
    if (200..300).contains(&answer.status) {
        return serde_json::from_slice(&answer.body).map_err(wrong);
    }
    let document: ErrorDocumentV1 = serde_json::from_slice(&answer.body).map_err(wrong)?;
    Err(ClientError::Refused(document.error))
}

// Parses an HTTP answer: head, length and body. Pure.

/// The limit for the head of an answer, in bytes.
const LONGEST_HEAD: usize = 64 * 1024;

/// A complete HTTP answer: its status code and its body. Headers are used only to find the body's length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// The result of parsing the bytes received so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AnswerProgress {
    /// More bytes must be read.
    Unfinished,
    Whole(Answer),
    /// The bytes are not an HTTP/1.1 answer with a length; the text says why.
    Wrong(&'static str),
}

/// Parses the bytes received so far. Callers read more bytes and call again while the answer is unfinished.
pub(super) fn parse_answer(bytes: &[u8]) -> AnswerProgress {
    let Some(head_end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return if bytes.len() > LONGEST_HEAD {
            AnswerProgress::Wrong("its head is too long")
        } else {
            AnswerProgress::Unfinished
        };
    };
    let Ok(head) = std::str::from_utf8(&bytes[..head_end]) else { return AnswerProgress::Wrong("its head is no text") };
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
    let Some(status) = status else { return AnswerProgress::Wrong("its first line is not HTTP/1.1") };
    let length = lines.filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let Some(length) = length.and_then(|(_, value)| value.trim().parse::<usize>().ok()) else {
        return AnswerProgress::Wrong("it does not say how long it is");
    };
    let body = &bytes[head_end + 4..];
    match body.len() {
        so_far if so_far < length => AnswerProgress::Unfinished,
        _ => AnswerProgress::Whole(Answer { status, body: body[..length].to_vec() }),
    }
}

#[cfg(test)]
mod answer_tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_length_has_come() {
        let text = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\ncontent-length: 5\r\n\r\nhello";
        for end in 0..text.len() {
            assert_eq!(parse_answer(&text[..end]), AnswerProgress::Unfinished, "{end}");
        }
        assert_eq!(parse_answer(text), AnswerProgress::Whole(Answer { status: 404, body: b"hello".to_vec() }));
    }

    #[test]
    fn what_is_not_understood_is_wrong_and_not_waited_for() {
        for text in ["SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"] {
            assert!(matches!(parse_answer(text.as_bytes()), AnswerProgress::Wrong(_)), "{text}");
        }
        assert!(matches!(parse_answer(&vec![b'x'; LONGEST_HEAD + 1]), AnswerProgress::Wrong(_)));
    }
}
