//! Reads the server-sent events of the service. Each reader has a connection of its own.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::client::connection::{Client, ClientError};
use proctor_api::EventV1;

/// How long each read of the answer's head may take.
const BEGINNING: Duration = Duration::from_secs(5);

/// The events of the service since the connection was made. The iterator ends when the connection ends: the service
/// stops, drops this reader because it is too slow, or [`EventsStopper::end`] is called.
#[derive(Debug)]
pub struct Events {
    lines: BufReader<UnixStream>,
}

/// Ends [`Events`] from another thread.
#[derive(Debug)]
pub struct EventsStopper {
    stream: UnixStream,
}

impl Client {
    /// Subscribes to the service's events. No event after the return of this call is missed.
    ///
    /// # Errors
    /// When no process listens, or the service does not answer in time with status 200.
    pub fn events(&self) -> Result<(Events, EventsStopper), ClientError> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(BEGINNING)).map_err(ClientError::Connection)?;
        // The request is HTTP/1.0, so that the service sends no chunk lengths between the events.
        stream.write_all(b"GET /v1/events HTTP/1.0\r\nhost: proctor\r\n\r\n").map_err(ClientError::Connection)?;
        let end = EventsStopper { stream: stream.try_clone().map_err(ClientError::Connection)? };
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
        // From here on there is no time limit, because hours may pass between two events. `EventsStopper` ends the waiting.
        end.stream.set_read_timeout(None).map_err(ClientError::Connection)?;
        Ok((Events { lines }, end))
    }
}

impl Iterator for Events {
    type Item = EventV1;

    /// Returns the next event. Events of unknown kinds are skipped.
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

impl EventsStopper {
    /// Ends the events, even while another thread waits for the next one.
    pub fn end(self) {
        // Shutting down fails if the connection is closed already. Then the events have ended, so the failure is
        // ignored.
        let _ended = self.stream.shutdown(Shutdown::Both);
    }
}
