//! Reads and writes the protocol's messages: one JSON document a line.
//!
//! The SDK's own transport drops a line that is no JSON, or is too long, without a word. A client that waits for the answer would wait for
//! ever, so this transport answers such a line with an error.

use std::collections::HashSet;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;

use proctor_app::Stop;
use proctor_model::shown_json;

/// A line with more bytes than this is dropped. Calls of tools are short; only a name or a path could be long.
const LONGEST_LINE: usize = 1 << 20;
/// How many messages wait to be handled. The client's writes wait beyond that.
const WAITING: usize = 64;

/// How many answers wait to be written. A client that reads none gets no more, and its wrong lines are read no further.
const OUTGOING: usize = 1024;

/// How long the next answer of an open request is waited for after the client has closed its end, before the commands of calls are ended.
/// A client that writes its requests and closes gets what can be answered at once.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// How long the next answer is waited for after that: requests that need no command are slow on a busy machine, but they are answered.
const AFTER_COMMANDS: Duration = Duration::from_secs(30);

/// The pause between two looks at whether all answers are written.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The error codes of JSON-RPC 2.0 (section 5.1).
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// What a line is.
#[derive(Debug)]
enum Line {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// The line is answered with this error.
    Error(Value),
    /// Nothing, or a notification that is not understood: neither has an answer.
    Ignored,
}

/// What comes in.
enum Incoming {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// The client is gone, or this process is to end.
    End,
}

/// The transport. Two threads read and write, so that nothing waits for the client.
#[derive(Debug)]
pub struct StdioTransport {
    incoming: mpsc::Receiver<Incoming>,
    outgoing: SyncSender<String>,
    unwritten: UnwrittenAnswers,
    /// The requests that have no answer yet and will have one. A cancelled request has none.
    open: HashSet<RequestId>,
    /// Whether the client has closed its end.
    is_ending: bool,
    /// Ends the calls that are open when the client is gone.
    ends: Stop,
}

/// The answers that are not written yet. The writer is a thread of its own, and it must have its time before the process ends.
#[derive(Debug, Clone, Default)]
pub struct UnwrittenAnswers(Arc<AtomicUsize>);

/// Ends the transport from another thread, as if the client had closed its end.
#[derive(Debug, Clone)]
pub struct TransportEnd {
    incoming: mpsc::Sender<Incoming>,
    ends: Stop,
}

impl StdioTransport {
    /// Begins to read and to write. When the client is gone, `ends` is requested, which ends every open call.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        ends: Stop,
    ) -> io::Result<(Self, TransportEnd, UnwrittenAnswers)> {
        let unwritten = UnwrittenAnswers::default();
        let (of_queue, of_errors) = (unwritten.clone(), unwritten.clone());
        let (sender, incoming) = mpsc::channel(WAITING);
        let (outgoing, lines) = sync_channel(OUTGOING);
        let errors = outgoing.clone();
        let (of_reader, end) = (sender.clone(), TransportEnd { incoming: sender, ends: ends.clone() });
        let of_writer = end.clone();
        thread::Builder::new().name("mcp-reader".to_owned()).spawn(move || read_lines(input, &of_reader, &errors, &of_errors))?;
        thread::Builder::new().name("mcp-writer".to_owned()).spawn(move || {
            // A client that reads no more is gone.
            let _gone = write_lines(output, &lines, &of_queue);
            of_writer.end();
        })?;
        let transport = Self { incoming, outgoing, unwritten: unwritten.clone(), open: HashSet::new(), is_ending: false, ends };
        Ok((transport, end, unwritten))
    }
}

impl UnwrittenAnswers {
    /// Waits until every answer is written, for at most the time `within`: a client may read no more.
    pub fn wait(&self, within: Duration) {
        for _ in 0..within.as_millis() / LOOK_AGAIN.as_millis() {
            if self.0.load(Ordering::Acquire) == 0 {
                return;
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

impl TransportEnd {
    /// Ends the transport. It must not be called on a thread of the runtime that serves the transport.
    pub fn end(&self) {
        self.ends.request();
        let _ended_already = self.incoming.blocking_send(Incoming::End);
    }
}

impl StdioTransport {
    /// Notes which requests will have an answer.
    fn note(&mut self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.open.insert(request.id.clone());
            }
            JsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        match &item {
            JsonRpcMessage::Response(response) => drop(self.open.remove(&response.id)),
            JsonRpcMessage::Error(error) => drop(error.id.as_ref().map(|id| self.open.remove(id))),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        let written = serde_json::to_string(&item).map_err(io::Error::other);
        let failed = |error| match error {
            TrySendError::Full(_) => io::Error::other("the client does not read its answers"),
            TrySendError::Disconnected(_) => io::Error::from(io::ErrorKind::BrokenPipe),
        };
        self.unwritten.0.fetch_add(1, Ordering::AcqRel);
        let sent = written.and_then(|text| self.outgoing.try_send(text).map_err(failed));
        if sent.is_err() {
            self.unwritten.0.fetch_sub(1, Ordering::AcqRel);
        }
        std::future::ready(sent)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if !self.is_ending {
            match self.incoming.recv().await? {
                Incoming::Message(message) => {
                    self.note(&message);
                    return Some(*message);
                }
                Incoming::End => self.is_ending = true,
            }
        }
        // The SDK drops this future whenever an answer is to be sent, and calls again.
        if !self.open.is_empty() {
            sleep(LAST_ANSWERS).await;
        }
        self.ends.request();
        if !self.open.is_empty() {
            sleep(AFTER_COMMANDS).await;
        }
        None
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.incoming.close();
        Ok(())
    }
}

fn write_lines(mut output: impl Write, lines: &Receiver<String>, unwritten: &UnwrittenAnswers) -> io::Result<()> {
    for line in lines {
        // Hidden characters stand as JSON's escapes, so that a client can show the line to a person.
        output.write_all(format!("{}\n", shown_json(&line)).as_bytes())?;
        output.flush()?;
        unwritten.0.fetch_sub(1, Ordering::AcqRel);
    }
    Ok(())
}

fn read_lines(input: impl Read, messages: &mpsc::Sender<Incoming>, errors: &SyncSender<String>, unwritten: &UnwrittenAnswers) {
    let mut input = io::BufReader::new(input);
    while let Ok(Some(line)) = read_line(&mut input) {
        let sent = match line.as_deref().map_or_else(too_long, understand) {
            Line::Message(message) => messages.blocking_send(Incoming::Message(message)).is_ok(),
            Line::Error(error) => {
                unwritten.0.fetch_add(1, Ordering::AcqRel);
                errors.send(error.to_string()).is_ok()
            }
            Line::Ignored => true,
        };
        if !sent {
            return;
        }
    }
    let _ended_already = messages.blocking_send(Incoming::End);
}

/// Reads a line; `None` at the end of the input. The inner value is `None` for a line that is too long, which is read to its end and
/// dropped. A last line without an end of line was cut short and is dropped too.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Option<Vec<u8>>>> {
    let (mut line, mut is_too_long) = (Vec::new(), false);
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(None);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(available.len());
        if line.len() + taken > LONGEST_LINE {
            is_too_long = true;
            line = Vec::new();
        } else if !is_too_long {
            line.extend_from_slice(&available[..taken]);
        }
        input.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(Some((!is_too_long).then_some(line)));
        }
    }
}

fn too_long() -> Line {
    Line::Error(error(Value::Null, INVALID_REQUEST, &format!("a line has more than {LONGEST_LINE} bytes")))
}

/// Says what a line is.
fn understand(line: &[u8]) -> Line {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Line::Ignored;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(wrong) => return Line::Error(error(Value::Null, PARSE_ERROR, &format!("the line is no JSON: {wrong}"))),
    };
    let Value::Object(object) = &value else {
        return Line::Error(error(Value::Null, INVALID_REQUEST, "a message is one JSON object; batches are not supported"));
    };
    let id = match object.get("id") {
        Some(id @ (Value::String(_) | Value::Number(_))) => Some(id.clone()),
        Some(_) => return Line::Error(error(Value::Null, INVALID_REQUEST, "`id` is a text or a number")),
        None => None,
    };
    let has_method = object.get("method").is_some_and(Value::is_string);
    match serde_json::from_value(value) {
        Ok(message) => Line::Message(Box::new(message)),
        // A notification is never answered (JSON-RPC 2.0, section 4.1).
        Err(_) if id.is_none() && has_method => Line::Ignored,
        Err(_) => Line::Error(error(id.unwrap_or_default(), INVALID_REQUEST, "the message is no request of JSON-RPC 2.0")),
    }
}

fn error(id: Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &[u8]) -> Option<(i64, Value)> {
        match understand(line) {
            Line::Error(error) => Some((error["error"]["code"].as_i64()?, error["id"].clone())),
            Line::Message(_) | Line::Ignored => None,
        }
    }

    #[test]
    fn a_line_that_is_no_message_has_the_error_that_fits() {
        let nested = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{}", "[".repeat(100_000));
        for (line, expected) in [
            (&b"{"[..], (PARSE_ERROR, Value::Null)),
            (b"\xff\xfe", (PARSE_ERROR, Value::Null)),
            (nested.as_bytes(), (PARSE_ERROR, Value::Null)),
            (b"[]", (INVALID_REQUEST, Value::Null)),
            (b"7", (INVALID_REQUEST, Value::Null)),
            (b"{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"ping\"}", (INVALID_REQUEST, Value::Null)),
            (b"{\"jsonrpc\":\"2.0\",\"id\":7}", (INVALID_REQUEST, json!(7))),
            (b"{}", (INVALID_REQUEST, Value::Null)),
        ] {
            let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
            assert_eq!(code(line), Some((i64::from(expected.0), expected.1)), "{shown}");
        }
        for line in [&b""[..], b" \r", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"] {
            assert_eq!(code(line), None);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_one_is_read() {
        let text = [vec![b'x'; LONGEST_LINE + 1], b"\n{}\n".to_vec(), vec![b'y'; LONGEST_LINE], b"\ncut short".to_vec()].concat();
        for size in [7, 64 * 1024, 4 << 20] {
            let mut input = io::BufReader::with_capacity(size, &text[..]);
            let mut lines = Vec::new();
            while let Some(line) = read_line(&mut input).unwrap() {
                lines.push(line.map(|line| line.len()));
            }
            assert_eq!(lines, [None, Some(2), Some(LONGEST_LINE)], "pieces of {size} bytes");
        }
    }
}
