//! Hashes a log while it is written. A short log is hashed on the thread that reads the output, a long log on a thread
//! of its own.
//!
//! This module owns the buffers that output is read into. Full buffers go to the hashing thread in order and come back
//! empty, so the digest covers the whole stream. There are never more than [`BUFFERS`] buffers, so memory is bounded.
//! This module reads and writes no file.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

use sha2::{Digest as _, Sha256};

use proctor_model::Digest;

/// The size of a buffer in bytes. Larger buffers make reading no faster and fit the processor's caches less well.
const BUFFER_BYTES: usize = 256 * 1024;

/// A buffer with fewer free bytes than this is hashed as it is: filling the small rest would need many small reads,
/// which cost more than they save.
pub(super) const LEAST_ROOM: usize = 64 * 1024;

/// The most buffers for one log. One buffer is being filled and one is being hashed. The other buffers are a reserve,
/// because reading and hashing do not run at the same speed.
const BUFFERS: usize = 8;

/// From this length on, in bytes, a log is hashed on its own thread. Starting a thread costs as much as hashing some
/// hundred kilobytes.
const WORTH_A_THREAD: u64 = 1024 * 1024;

/// The unfinished digest of a log, and the buffer that its next bytes are read into.
#[derive(Debug)]
pub(super) struct LogHasher {
    buffer: Vec<u8>,
    filled: usize,
    bytes: u64,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Here(Sha256),
    Beside(HashingThread),
}

struct Piece {
    buffer: Vec<u8>,
    filled: usize,
}

/// The hashing thread, and the channels that carry buffers to it and back.
#[derive(Debug)]
struct HashingThread {
    full: SyncSender<Piece>,
    empty: Receiver<Vec<u8>>,
    made: usize,
    thread: JoinHandle<Sha256>,
}

impl LogHasher {
    pub(super) fn new() -> Self {
        // Most commands print little, many print nothing. So a buffer of full size is allocated only after something
        // was printed.
        Self { buffer: vec![0; LEAST_ROOM], filled: 0, bytes: 0, place: Place::Here(Sha256::new()) }
    }

    /// Returns the number of bytes of the log so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the buffer space into which the next bytes of the log are read: at least [`LEAST_ROOM`] bytes.
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.filled..]
    }

    /// Adds `count` bytes to the log. The caller has written them to the beginning of the slice that `room` returned.
    pub(super) fn add(&mut self, count: usize) {
        self.filled += count;
        self.bytes += count as u64;
        if self.buffer.len() - self.filled < LEAST_ROOM {
            self.hash_filled();
            self.buffer.resize(BUFFER_BYTES, 0);
        }
    }

    /// Returns the length of the whole log in bytes, and its digest.
    pub(super) fn finish(mut self) -> (u64, Digest) {
        self.hash_filled();
        let hasher = match self.place {
            Place::Here(hasher) => hasher,
            Place::Beside(thread) => thread.finish(),
        };
        (self.bytes, Digest::from_hasher(hasher))
    }

    fn hash_filled(&mut self) {
        if let Place::Here(hasher) = &self.place
            && self.bytes > WORTH_A_THREAD
            && let Ok(thread) = HashingThread::start(hasher.clone())
        {
            self.place = Place::Beside(thread);
        }
        let filled = std::mem::take(&mut self.filled);
        match &mut self.place {
            // A long log is hashed here too if no thread could be started. That is slower, but the digest is the same.
            Place::Here(hasher) => hasher.update(&self.buffer[..filled]),
            Place::Beside(thread) => self.buffer = thread.exchange(Piece { buffer: std::mem::take(&mut self.buffer), filled }),
        }
    }
}

impl HashingThread {
    /// Starts a thread that continues with `hasher`. The thread ends when this value is finished or dropped.
    fn start(mut hasher: Sha256) -> io::Result<Self> {
        let (full, to_hash) = sync_channel::<Piece>(BUFFERS);
        let (hashed, empty) = channel();
        let hash_all = move || {
            for piece in to_hash {
                hasher.update(&piece.buffer[..piece.filled]);
                // After the last buffer the receiver is gone, so the send may fail.
                let _unwanted = hashed.send(piece.buffer);
            }
            hasher
        };
        let thread = Builder::new().name("hashing".to_owned()).spawn(hash_all)?;
        Ok(Self { full, empty, made: 1, thread })
    }

    /// Hands over a full buffer and returns an empty one. If all [`BUFFERS`] are in use, the function waits until one
    /// is free.
    fn exchange(&mut self, piece: Piece) -> Vec<u8> {
        self.full.send(piece).expect("the thread hashes until this end is dropped");
        match self.empty.try_recv() {
            Ok(buffer) => buffer,
            Err(_) if self.made < BUFFERS => {
                self.made += 1;
                vec![0; BUFFER_BYTES]
            }
            Err(_) => self.empty.recv().expect("the thread gives every buffer back"),
        }
    }

    fn finish(self) -> Sha256 {
        drop(self.full);
        self.thread.join().expect("hashing does not panic")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds a stream in pieces whose sizes are taken in turn from `sizes`; returns length, digest, and whether a thread
    /// was used.
    fn digest_of(stream: &[u8], sizes: &[usize]) -> (u64, Digest, bool) {
        let mut hasher = LogHasher::new();
        let (mut rest, mut sizes) = (stream, sizes.iter().cycle());
        while !rest.is_empty() {
            let room = hasher.room();
            assert!(room.len() >= LEAST_ROOM);
            let count = (*sizes.next().expect("there is always another size")).min(room.len()).min(rest.len());
            room[..count].copy_from_slice(&rest[..count]);
            hasher.add(count);
            rest = &rest[count..];
        }
        let is_beside = matches!(hasher.place, Place::Beside(_));
        let (bytes, digest) = hasher.finish();
        (bytes, digest, is_beside)
    }

    #[test]
    fn the_digest_is_that_of_the_stream_however_it_is_cut_and_wherever_it_is_made() {
        let stream: Vec<u8> = (0..=250).cycle().take(5 * 1024 * 1024 + 17).collect();
        for length in [0, 1, BUFFER_BYTES - LEAST_ROOM, BUFFER_BYTES, 1024 * 1024, stream.len()] {
            for sizes in [&[usize::MAX] as &[usize], &[1000, 70_000], &[LEAST_ROOM - 1], &[BUFFER_BYTES - LEAST_ROOM, 1]] {
                let (bytes, digest, is_beside) = digest_of(&stream[..length], sizes);
                assert_eq!((bytes, digest), (length as u64, Digest::of(&stream[..length])), "{length} bytes by {sizes:?}");
                assert_eq!(is_beside, length == stream.len(), "a little output is not worth a thread: {length} bytes");
            }
        }
    }

    #[test]
    fn no_more_buffers_are_made_than_the_bound() {
        let mut hasher = LogHasher::new();
        for _ in 0..400 {
            let room = hasher.room().len();
            hasher.add(room);
        }
        let Place::Beside(thread) = &hasher.place else { panic!("so much is hashed beside") };
        assert!(thread.made <= BUFFERS, "{} buffers", thread.made);
        let (bytes, digest) = hasher.finish();
        assert_eq!(digest, Digest::of(&vec![0; usize::try_from(bytes).expect("a test's size")]));
    }
}
