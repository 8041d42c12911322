//! Events as they come: server-sent events on a connection of their own.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::api::EventV1;
use crate::client::connection::{Client, ClientError};

/// How long the service may take to begin.
const BEGINNING: Duration = Duration::from_secs(5);

/// Events of the service from the moment this was made on. Ends when the service does, or whoever holds the [`EventsEnd`] says so.
#[derive(Debug)]
pub struct Events {
    lines: BufReader<UnixStream>,
}

/// Ends events from another thread.
#[derive(Debug)]
pub struct EventsEnd {
    stream: UnixStream,
}

impl Client {
    /// Listens to what the service tells. What happens after this call has returned is told.
    ///
    /// # Errors
    /// When nobody listens, or the service does not begin to tell in time.
    pub fn events(&self) -> Result<(Events, EventsEnd), ClientError> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(BEGINNING)).map_err(ClientError::Connection)?;
        // By this version nothing stands between the events.
        stream.write_all(b"GET /v1/events HTTP/1.0\r\nhost: proctor\r\n\r\n").map_err(ClientError::Connection)?;
        let end = EventsEnd { stream: stream.try_clone().map_err(ClientError::Connection)? };
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        lines.read_line(&mut head).map_err(ClientError::Connection)?;
        if head.split(' ').nth(1) != Some("200") {
            return Err(ClientError::Answer(format!("it begins with `{}`", head.trim_end())));
        }
        while head != "\r\n" {
            head.clear();
            if lines.read_line(&mut head).map_err(ClientError::Connection)? == 0 {
                return Err(ClientError::Answer("it was cut short".to_owned()));
            }
        }
        // From here on nothing may come for as long as nothing happens; whoever waits ends it.
        end.stream.set_read_timeout(None).map_err(ClientError::Connection)?;
        Ok((Events { lines }, end))
    }
}

impl Iterator for Events {
    type Item = EventV1;

    /// Returns the next event; those of kinds that are not known are passed over.
    fn next(&mut self) -> Option<EventV1> {
        let mut line = String::new();
        loop {
            line.clear();
            match self.lines.read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return None,
            }
            if let Some(event) = line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data.trim_end()).ok()) {
                return Some(event);
            }
        }
    }
}

impl EventsEnd {
    /// Ends the events, also for a thread that waits for the next one.
    pub fn end(self) {
        // One that has ended already is as good.
        let _ended = self.stream.shutdown(Shutdown::Both);
    }
}
