//! Sends messages and descriptors over a Unix stream socket: a length, a number of descriptors, then JSON.
//!
//! This module does not interpret messages. Descriptors travel with the first byte of their message (`unix(7)`,
//! `SCM_RIGHTS`), so once a message is complete its descriptors have arrived too.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::process::system_calls;

/// The size of a message's header in bytes: the message's length and its number of descriptors, both as 32-bit
/// little-endian numbers.
const HEADER_BYTES: usize = 8;

/// The largest allowed length of a message in bytes. Arguments and environment take at most 2 MiB (`execve(2)`), and
/// written as JSON up to four times as much.
const MESSAGE_CAP: usize = 16 * 1024 * 1024;

/// The most descriptors that one message may carry.
const DESCRIPTORS_CAP: usize = 8;

/// The fewest bytes that one read of the socket asks for. Most messages are shorter, and every page of a larger
/// buffer would be copied after a fork.
const LEAST_ROOM: usize = 4 * 1024;

/// The most bytes that one read of the socket asks for.
const MOST_ROOM: usize = 256 * 1024;

/// A socket on which whole messages are exchanged.
#[derive(Debug)]
pub(super) struct Channel {
    socket: UnixStream,
    received: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
}

#[derive(Debug, Clone, Copy)]
struct Header {
    length: usize,
    descriptors: usize,
}

/// The outcome of one read from the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReceiveStatus {
    /// Bytes were read; a message may be complete now.
    Bytes,
    /// Nothing can be read at the moment.
    Nothing,
    /// The other side has closed its socket.
    Closed,
}

/// Why one of proctor's helper processes, a launcher (starts actions) or a keeper (watches one action), cannot go on.
/// Nobody reads this error: the helper process ends, and the process at the other end only sees the socket close.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServingError {
    #[error("cannot make this process what it must be")]
    Prepare(#[source] io::Error),
    #[error("cannot talk to the process that gives the orders")]
    Channel(#[from] ChannelError),
    #[error("cannot wait for something to happen")]
    Wait(#[source] io::Error),
}

/// Why a message could not be sent or received between the supervisor, the launcher (the process that starts actions)
/// and a keeper (the process that watches one action).
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    #[error("the other side of the launcher's socket is gone")]
    Closed,
    #[error("cannot send on the launcher's socket")]
    Send(#[source] io::Error),
    #[error("cannot receive on the launcher's socket")]
    Receive(#[source] io::Error),
    /// A message is longer than one message may be.
    #[error("a message of {0} bytes is too long for the launcher's socket")]
    TooLong(usize),
    /// A message is not valid JSON of the expected type.
    #[error("a message on the launcher's socket is not understood")]
    Malformed(#[source] serde_json::Error),
    /// A message announced more descriptors than arrived.
    #[error("a message on the launcher's socket lacks its descriptors")]
    DescriptorsMissing,
}

impl Channel {
    pub(super) fn new(socket: UnixStream) -> Self {
        Self { socket, received: Vec::new(), descriptors: VecDeque::new() }
    }

    /// Sends one message with its descriptors. Blocks while the socket is full.
    pub(super) fn send<T: Serialize>(&self, message: &T, descriptors: &[BorrowedFd<'_>]) -> Result<(), ChannelError> {
        let mut bytes = vec![0; HEADER_BYTES];
        serde_json::to_writer(&mut bytes, message).map_err(ChannelError::Malformed)?;
        let length = bytes.len() - HEADER_BYTES;
        let too_long = || ChannelError::TooLong(length);
        if length > MESSAGE_CAP {
            return Err(too_long());
        }
        bytes[..4].copy_from_slice(&u32::try_from(length).map_err(|_| too_long())?.to_le_bytes());
        bytes[4..8].copy_from_slice(&u32::try_from(descriptors.len()).map_err(|_| too_long())?.to_le_bytes());
        let raw: Vec<RawFd> = descriptors.iter().map(BorrowedFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&raw)];
        let mut sent = 0;
        while sent < bytes.len() {
            let control: &[ControlMessage<'_>] = if sent == 0 && !raw.is_empty() { &rights } else { &[] };
            let rest = [IoSlice::new(&bytes[sent..])];
            match sendmsg::<()>(self.socket.as_raw_fd(), &rest, control, MsgFlags::MSG_NOSIGNAL, None) {
                Ok(count) => sent += count,
                Err(Errno::EINTR) => {}
                Err(Errno::EPIPE | Errno::ECONNRESET) => return Err(ChannelError::Closed),
                Err(errno) => return Err(ChannelError::Send(errno.into())),
            }
        }
        Ok(())
    }

    /// Shuts down the socket for sending, for receiving, or for both. The other side sees the end of the stream once
    /// sending is shut down.
    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.socket.shutdown(how)
    }

    /// Reads what has arrived, without waiting.
    pub(super) fn receive(&mut self) -> Result<ReceiveStatus, ChannelError> {
        let before = self.received.len();
        self.received.resize(before + self.room(), 0);
        let outcome = self.receive_from(before);
        let count = outcome.as_ref().ok().copied().flatten();
        self.received.truncate(before + count.unwrap_or(0));
        Ok(match outcome? {
            None => ReceiveStatus::Nothing,
            Some(0) => ReceiveStatus::Closed,
            Some(_) => ReceiveStatus::Bytes,
        })
    }

    /// Reads bytes into the buffer behind the first `start` bytes. Returns how many were read: 0 at the end of the
    /// stream, `None` when nothing can be read at the moment.
    fn receive_from(&mut self, start: usize) -> Result<Option<usize>, ChannelError> {
        let mut space = cmsg_space!([RawFd; DESCRIPTORS_CAP]);
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
        let mut target = [IoSliceMut::new(&mut self.received[start..])];
        match recvmsg::<()>(self.socket.as_raw_fd(), &mut target, Some(&mut space), flags) {
            Ok(message) => {
                let control = message.cmsgs().map_err(|errno| ChannelError::Receive(errno.into()))?;
                for item in control {
                    if let ControlMessageOwned::ScmRights(raw) = item {
                        self.descriptors.extend(raw.into_iter().map(system_calls::adopt_received));
                    }
                }
                Ok(Some(message.bytes))
            }
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
            Err(Errno::ECONNRESET) => Ok(Some(0)),
            Err(errno) => Err(ChannelError::Receive(errno.into())),
        }
    }

    /// Returns how many bytes to read next: the rest of a message whose length is known, within `LEAST_ROOM` and
    /// `MOST_ROOM`.
    fn room(&self) -> usize {
        let missing = self.header().map_or(0, |header| (HEADER_BYTES + header.length).saturating_sub(self.received.len()));
        missing.clamp(LEAST_ROOM, MOST_ROOM)
    }

    fn header(&self) -> Option<Header> {
        let [l0, l1, l2, l3, c0, c1, c2, c3] = *self.received.first_chunk::<HEADER_BYTES>()?;
        let number = |bytes| u32::from_le_bytes(bytes) as usize;
        Some(Header { length: number([l0, l1, l2, l3]), descriptors: number([c0, c1, c2, c3]) })
    }

    /// Takes the next message and its descriptors from the buffer. Returns `None` if no whole message has arrived yet.
    pub(super) fn next_message<T: DeserializeOwned>(&mut self) -> Result<Option<(T, Vec<OwnedFd>)>, ChannelError> {
        let Some(Header { length, descriptors: count }) = self.header() else {
            return Ok(None);
        };
        if length > MESSAGE_CAP {
            return Err(ChannelError::TooLong(length));
        }
        let Some(body) = self.received[HEADER_BYTES..].get(..length) else {
            return Ok(None);
        };
        let message = serde_json::from_slice(body).map_err(ChannelError::Malformed)?;
        if count > self.descriptors.len() {
            return Err(ChannelError::DescriptorsMissing);
        }
        let descriptors = self.descriptors.drain(..count).collect();
        self.received.drain(..HEADER_BYTES + length);
        Ok(Some((message, descriptors)))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    fn pair() -> (Channel, Channel) {
        let (one, other) = UnixStream::pair().expect("a socket pair");
        (Channel::new(one), Channel::new(other))
    }

    #[test]
    fn messages_keep_their_order_and_their_descriptors() {
        let (one, mut other) = pair();
        let (mut first_reader, first_writer) = std::io::pipe().expect("a pipe");
        let (mut second_reader, second_writer) = std::io::pipe().expect("a pipe");
        one.send(&"none", &[]).expect("sent");
        one.send(&"first", &[first_writer.as_fd()]).expect("sent");
        one.send(&"second", &[second_writer.as_fd()]).expect("sent");
        drop((first_writer, second_writer));
        let mut seen = Vec::new();
        while other.receive().expect("received") == ReceiveStatus::Bytes {
            while let Some((name, descriptors)) = other.next_message::<String>().expect("a message") {
                for descriptor in descriptors {
                    std::fs::File::from(descriptor).write_all(name.as_bytes()).expect("the pipe takes it");
                }
                seen.push(name);
            }
        }
        assert_eq!(seen, ["none", "first", "second"]);
        let mut text = String::new();
        first_reader.read_to_string(&mut text).expect("read");
        second_reader.read_to_string(&mut text).expect("read");
        assert_eq!(text, "firstsecond");
    }

    #[test]
    fn a_message_longer_than_the_socket_arrives_in_pieces() {
        let (one, mut other) = pair();
        let long = "x".repeat(3 * 1024 * 1024);
        let sender = std::thread::spawn(move || one.send(&long, &[]).map(|()| long.len()));
        let message = loop {
            if let Some((message, _)) = other.next_message::<String>().expect("a message") {
                break message;
            }
            assert_ne!(other.receive().expect("received"), ReceiveStatus::Closed);
        };
        assert_eq!(sender.join().expect("no panic").expect("sent"), message.len());
    }

    #[test]
    fn a_closed_socket_and_a_mad_length_are_told_apart() {
        let (mut one, other) = pair();
        drop(other);
        assert_eq!(one.receive().expect("an end"), ReceiveStatus::Closed);
        assert!(matches!(one.send(&"late", &[]), Err(ChannelError::Closed)));
        one.received = vec![0xff; 8];
        assert!(matches!(one.next_message::<String>(), Err(ChannelError::TooLong(_))));
    }
}
