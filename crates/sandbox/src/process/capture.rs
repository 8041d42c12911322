//! Reads a child's two output streams, writes them to the log, and hashes the log while it is written.
//!
//! Output beyond the limit is read and dropped. A full pipe would block a command that is being stopped, so the pipe
//! must be emptied; and because the excess is not written, the log never fills the disk, however long the stop takes.
//!
//! This module writes only to the files it is given, never decodes text, and uses bounded memory for any amount of
//! output. The log has the bytes in the order in which they were read; where both streams have bytes at the same
//! moment, standard output comes first.
//!
//! Keeps the first and the last bytes of a stream in bounded memory (E11). Pure; it never decodes text.

use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use sha2::{Digest as _, Sha256};

use crate::process::frames::{FrameLines, Stream, StreamMask};
use crate::process::hashing::{LEAST_ROOM, LogHasher};
use proctor_model::{CapturedOutput, Digest, StreamExcerpt, Timestamp};

/// The size in bytes that is requested for each pipe, so that a fast child rarely waits. It is the largest that an
/// ordinary user may ask for (`pipe(7)`).
const PIPE_BYTES: i32 = 1024 * 1024;

/// The number of reads that empty a full pipe, if no process writes to the pipe meanwhile.
pub(super) const PIPEFUL: usize = PIPE_BYTES as usize / LEAST_ROOM;

/// Finished frames (lines that say which bytes of the log came from which stream, and when) are written to the file
/// once they fill this many bytes.
const FRAME_BYTES: usize = 64 * 1024;

/// The two files for an action's output. Both are empty and open for writing. This module does not sync them to disk.
#[derive(Debug)]
pub struct Sinks {
    /// Receives the exact bytes of both streams, in the order in which they were read.
    pub log: File,
    /// Receives lines that say which bytes came from which stream, and when.
    pub frames: File,
    /// Values that must not reach the files, the longest first. Each of their bytes becomes `*`.
    pub masked: Vec<Vec<u8>>,
}

/// Output could not be kept. This is always proctor's fault or the machine's, never the child's.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("cannot make the pipes for the output of a command")]
    Pipe(#[source] io::Error),
    #[error("cannot read the output of a command")]
    Read(#[source] io::Error),
    #[error("cannot write the log of a command")]
    Log(#[source] io::Error),
    #[error("cannot write the frames of a command's log")]
    Frames(#[source] io::Error),
}

/// The writing ends of the pipes, which become the child's standard output and standard error.
#[derive(Debug)]
pub(super) struct ChildEnds {
    pub(super) stdout: PipeWriter,
    pub(super) stderr: PipeWriter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadStatus {
    Bytes,
    Nothing,
}

/// A file that is hashed and measured while it is written.
#[derive(Debug)]
struct HashedFile {
    file: File,
    hasher: Sha256,
    bytes: u64,
}

/// One output stream of a child. `pipe` is the end that proctor reads from, `None` once it is closed; `excerpt`
/// collects the first and last bytes that were read.
#[derive(Debug)]
struct Side {
    pipe: Option<PipeReader>,
    excerpt: ExcerptBuilder,
    mask: StreamMask,
}

/// Captures both output streams of one action: log, frames, excerpts and the log's digest.
#[derive(Debug)]
pub(super) struct Capture {
    log: File,
    hasher: LogHasher,
    limit: u64,
    printed: u64,
    frames: HashedFile,
    lines: FrameLines,
    stdout: Side,
    stderr: Side,
    log_tail: Vec<u8>,
    last_output: Option<Timestamp>,
    /// When bytes were last read, in milliseconds after the action's start.
    last_read_ms: u64,
}

/// Appends `bytes` to `tail`, and keeps only the last [`CapturedOutput::LOG_TAIL_CAP`] bytes.
fn keep_tail(tail: &mut Vec<u8>, bytes: &[u8]) {
    tail.extend_from_slice(&bytes[bytes.len().saturating_sub(CapturedOutput::LOG_TAIL_CAP)..]);
    let surplus = tail.len().saturating_sub(CapturedOutput::LOG_TAIL_CAP);
    tail.drain(..surplus);
}

impl HashedFile {
    fn new(file: File) -> Self {
        Self { file, hasher: Sha256::new(), bytes: 0 }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

impl Capture {
    /// Makes the pipes without reading anything yet. Only the first `limit` bytes are kept; `None` keeps everything.
    pub(super) fn open(sinks: Sinks, limit: Option<u64>) -> Result<(Self, ChildEnds), CaptureError> {
        let (stdout_reader, stdout) = open_pipe().map_err(CaptureError::Pipe)?;
        let (stderr_reader, stderr) = open_pipe().map_err(CaptureError::Pipe)?;
        let mask = StreamMask::new(&sinks.masked);
        let capture = Self {
            log: sinks.log,
            hasher: LogHasher::new(),
            limit: limit.unwrap_or(u64::MAX),
            printed: 0,
            frames: HashedFile::new(sinks.frames),
            lines: FrameLines::default(),
            stdout: Side { pipe: Some(stdout_reader), excerpt: ExcerptBuilder::default(), mask: mask.clone() },
            stderr: Side { pipe: Some(stderr_reader), excerpt: ExcerptBuilder::default(), mask },
            log_tail: Vec::new(),
            last_output: None,
            last_read_ms: 0,
        };
        Ok((capture, ChildEnds { stdout, stderr }))
    }

    /// Returns the descriptor to poll for output of the stream; `None` once the stream is closed.
    pub(super) fn descriptor(&self, stream: Stream) -> Option<BorrowedFd<'_>> {
        self.side(stream).pipe.as_ref().map(PipeReader::as_fd)
    }

    /// Returns whether at least one of the two streams may still provide bytes.
    pub(super) fn is_open(&self) -> bool {
        self.stdout.pipe.is_some() || self.stderr.pipe.is_some()
    }

    /// Returns the number of bytes read from both streams. It includes bytes that were dropped because of the output
    /// limit.
    pub(super) fn printed(&self) -> u64 {
        self.printed
    }

    /// Returns whether bytes were dropped because the output was longer than its limit.
    pub(super) fn is_cut(&self) -> bool {
        self.printed > self.hasher.bytes()
    }

    /// Closes both pipes; nothing more is read.
    pub(super) fn close(&mut self) {
        self.stdout.pipe = None;
        self.stderr.pipe = None;
    }

    /// Reads at most one buffer from a stream, `ms` milliseconds after the action's start. `now` is called after the read, so what
    /// was read was printed at that time or earlier.
    pub(super) fn read_once(
        &mut self,
        stream: Stream,
        now: impl FnOnce() -> Timestamp,
        ms: u64,
    ) -> Result<ReadStatus, CaptureError> {
        self.last_read_ms = ms;
        let side = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let Some(pipe) = &mut side.pipe else {
            return Ok(ReadStatus::Nothing);
        };
        // What is not masked is read to where it is hashed, without a copy.
        let (is_masked, mut unmasked) = (!side.mask.is_idle(), Vec::new());
        let room = if is_masked {
            unmasked.resize(LEAST_ROOM, 0);
            &mut unmasked[..]
        } else {
            self.hasher.room()
        };
        let count = match pipe.read(room) {
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(ReadStatus::Nothing);
            }
            Err(error) => return Err(CaptureError::Read(error)),
        };
        if count == 0 {
            side.pipe = None;
            return self.keep_held(stream).map(|()| ReadStatus::Nothing);
        }
        let masked = is_masked.then(|| side.mask.push(&unmasked[..count]));
        self.last_output = Some(now());
        self.printed += count as u64;
        match masked {
            Some(masked) => self.keep_bytes(stream, &masked),
            None => self.keep(stream, count),
        }
        .map(|()| ReadStatus::Bytes)
    }

    /// Keeps the bytes that were held back because a secret may have begun there.
    fn keep_held(&mut self, stream: Stream) -> Result<(), CaptureError> {
        let held = self.side_mut(stream).mask.finish();
        self.keep_bytes(stream, &held)
    }

    fn keep_bytes(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), CaptureError> {
        for piece in bytes.chunks(LEAST_ROOM) {
            self.hasher.room()[..piece.len()].copy_from_slice(piece);
            self.keep(stream, piece.len())?;
        }
        Ok(())
    }

    /// Keeps `count` bytes of a stream, as far as the output limit allows. They stand at the beginning of the hasher's room.
    fn keep(&mut self, stream: Stream, count: usize) -> Result<(), CaptureError> {
        let left = usize::try_from(self.limit - self.hasher.bytes()).unwrap_or(usize::MAX);
        let kept = count.min(left);
        let bytes = &self.hasher.room()[..kept];
        let side = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        side.excerpt.push(bytes);
        keep_tail(&mut self.log_tail, bytes);
        self.log.write_all(bytes).map_err(CaptureError::Log)?;
        self.hasher.add(kept);
        self.lines.push(stream, kept as u64, self.last_read_ms);
        if self.lines.lines().len() >= FRAME_BYTES { self.flush_frames() } else { Ok(()) }
    }

    /// Writes the last frames and returns what was captured.
    pub(super) fn finish(mut self) -> Result<CapturedOutput, CaptureError> {
        let pipes_left_open = self.is_open();
        self.keep_held(Stream::Stdout)?;
        self.keep_held(Stream::Stderr)?;
        self.lines.close();
        self.flush_frames()?;
        let (log_bytes, log_digest) = self.hasher.finish();
        Ok(CapturedOutput {
            log_bytes,
            log_digest,
            frames_bytes: self.frames.bytes,
            frames_digest: Digest::from_hasher(self.frames.hasher),
            log_tail: self.log_tail,
            stdout: self.stdout.excerpt.finish(),
            stderr: self.stderr.excerpt.finish(),
            last_output: self.last_output,
            pipes_left_open,
        })
    }

    fn side(&self, stream: Stream) -> &Side {
        match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        }
    }

    fn side_mut(&mut self, stream: Stream) -> &mut Side {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    fn flush_frames(&mut self) -> Result<(), CaptureError> {
        self.frames.append(self.lines.lines()).map_err(CaptureError::Frames)?;
        self.lines.clear();
        Ok(())
    }
}

/// Captures two files as if an action had printed them, standard output first: what another machine kept of an action's output. `None` is
/// an action without output. Only the first `limit` bytes are kept; then output counts as missing.
///
/// # Errors
/// When a file cannot be read, or the log cannot be written.
pub fn capture_files(sinks: Sinks, limit: Option<u64>, files: Option<(&Path, &Path)>) -> Result<CapturedOutput, CaptureError> {
    let (mut capture, ends) = Capture::open(sinks, limit)?;
    drop(ends);
    capture.close();
    let mut buffer = vec![0; LEAST_ROOM];
    for (stream, path) in files.into_iter().flat_map(|(out, error)| [(Stream::Stdout, out), (Stream::Stderr, error)]) {
        let mut file = File::open(path).map_err(CaptureError::Read)?;
        loop {
            let count = file.read(&mut buffer).map_err(CaptureError::Read)?;
            if count == 0 {
                break;
            }
            capture.printed += count as u64;
            let masked = capture.side_mut(stream).mask.push(&buffer[..count]);
            capture.keep_bytes(stream, &masked)?;
        }
        capture.keep_held(stream)?;
    }
    let is_cut = capture.is_cut();
    Ok(CapturedOutput { pipes_left_open: is_cut, ..capture.finish()? })
}

/// Makes a pipe whose reading end does not block. The writing end, which the child gets, does block, as every program
/// expects of its output.
fn open_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    // The kernel refuses a larger pipe to a user who is near the limit on pipe memory. The pipe then keeps its default
    // size, so reading is slower, but nothing is lost.
    let _refused = fcntl(&reader, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES));
    Ok((reader, writer))
}

/// Collects the first and the last bytes of a stream while the stream goes on. It uses at most
/// [`StreamExcerpt::HEAD_CAP`] plus twice [`StreamExcerpt::TAIL_CAP`] bytes of memory.
#[derive(Debug, Default)]
pub(super) struct ExcerptBuilder {
    /// The excerpt so far. Its tail may be twice as long as the cap until [`ExcerptBuilder::finish`] cuts it.
    excerpt: StreamExcerpt,
}

impl ExcerptBuilder {
    /// Adds the stream's next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.excerpt.total += bytes.len() as u64;
        let room = StreamExcerpt::HEAD_CAP - self.excerpt.head.len();
        let (to_head, to_tail) = bytes.split_at(room.min(bytes.len()));
        self.excerpt.head.extend_from_slice(to_head);
        let kept = &to_tail[to_tail.len().saturating_sub(StreamExcerpt::TAIL_CAP)..];
        if kept.len() == StreamExcerpt::TAIL_CAP {
            self.excerpt.tail.clear();
        }
        if self.excerpt.tail.len() + kept.len() > 2 * StreamExcerpt::TAIL_CAP {
            self.excerpt.tail.drain(..self.excerpt.tail.len().saturating_sub(StreamExcerpt::TAIL_CAP));
        }
        self.excerpt.tail.extend_from_slice(kept);
    }

    /// Returns the first and the last bytes of the stream, once the stream has ended.
    pub(super) fn finish(mut self) -> StreamExcerpt {
        self.excerpt.tail.drain(..self.excerpt.tail.len().saturating_sub(StreamExcerpt::TAIL_CAP));
        self.excerpt
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn null() -> File {
        fs::OpenOptions::new().write(true).open("/dev/null").expect("the null device")
    }

    #[test]
    fn bytes_arrive_exactly_and_are_hashed_on_the_way() {
        let root = tempfile::tempdir().expect("a directory");
        let (log, frames) = (root.path().join("a.log"), root.path().join("a.frames"));
        let sinks = Sinks {
            log: File::create_new(&log).expect("created"),
            frames: File::create_new(&frames).expect("created"),
            masked: Vec::new(),
        };
        let (mut capture, mut ends) = Capture::open(sinks, None).expect("pipes");
        let now = Timestamp::from_millis(5);
        ends.stdout.write_all(b"one\0\xff").expect("written");
        assert_eq!(capture.read_once(Stream::Stdout, || now, 1).expect("read"), ReadStatus::Bytes);
        assert_eq!(capture.read_once(Stream::Stdout, || now, 1).expect("read"), ReadStatus::Nothing);
        ends.stderr.write_all(b"two").expect("written");
        assert_eq!(capture.read_once(Stream::Stderr, || now, 2).expect("read"), ReadStatus::Bytes);
        drop(ends);
        assert_eq!(capture.read_once(Stream::Stdout, || now, 3).expect("read"), ReadStatus::Nothing);
        assert_eq!(capture.read_once(Stream::Stderr, || now, 3).expect("read"), ReadStatus::Nothing);
        assert!(!capture.is_open());
        let captured = capture.finish().expect("finished");
        let (log, frames) = (fs::read(log).expect("read"), fs::read(frames).expect("read"));
        assert_eq!(log, b"one\0\xfftwo");
        assert_eq!((captured.log_bytes, captured.log_digest), (8, Digest::of(&log)));
        assert_eq!((captured.frames_bytes, captured.frames_digest), (frames.len() as u64, Digest::of(&frames)));
        assert_eq!((captured.stdout.head, captured.stderr.head), (b"one\0\xff".to_vec(), b"two".to_vec()));
        assert_eq!(captured.last_output, Some(now));
        assert!(!captured.pipes_left_open);
    }

    #[test]
    fn what_is_printed_beyond_the_limit_is_counted_and_not_kept() {
        let root = tempfile::tempdir().expect("a directory");
        let log = root.path().join("a.log");
        let (mut capture, mut ends) =
            Capture::open(Sinks { log: File::create_new(&log).expect("created"), frames: null(), masked: Vec::new() }, Some(6))
                .expect("pipes");
        let now = Timestamp::from_millis(5);
        for (text, printed, is_cut) in [(b"one ", 4, false), (b"two ", 8, true), (b"more", 12, true)] {
            ends.stdout.write_all(text).expect("written");
            assert_eq!(capture.read_once(Stream::Stdout, || now, 1).expect("read"), ReadStatus::Bytes);
            assert_eq!((capture.printed(), capture.is_cut()), (printed, is_cut));
        }
        let captured = capture.finish().expect("finished");
        assert_eq!(fs::read(log).expect("read"), b"one tw");
        assert_eq!((captured.log_bytes, captured.log_digest), (6, Digest::of(b"one tw")));
        assert_eq!((captured.stdout.total, captured.log_tail), (6, b"one tw".to_vec()));
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_log() {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("the full device");
        let (mut capture, mut ends) =
            Capture::open(Sinks { log: full, frames: null(), masked: Vec::new() }, None).expect("pipes");
        ends.stdout.write_all(b"lost").expect("written");
        let error = capture.read_once(Stream::Stdout, || Timestamp::from_millis(0), 0).expect_err("the disk is full");
        assert!(matches!(error, CaptureError::Log(_)), "{error:?}");
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_frames() {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("the full device");
        let (mut capture, mut ends) =
            Capture::open(Sinks { log: null(), frames: full, masked: Vec::new() }, None).expect("pipes");
        ends.stdout.write_all(b"lost").expect("written");
        capture.read_once(Stream::Stdout, || Timestamp::from_millis(0), 0).expect("read");
        assert!(matches!(capture.finish(), Err(CaptureError::Frames(_))));
    }

    fn stream(length: usize) -> Vec<u8> {
        (0..length).map(|index| u8::try_from(index % 251).expect("below 251")).collect()
    }

    #[test]
    fn head_and_tail_are_the_streams_ends_however_it_is_cut() {
        let (head, tail) = (StreamExcerpt::HEAD_CAP, StreamExcerpt::TAIL_CAP);
        for length in [0, 1, head - 1, head, head + 1, head + tail, head + tail + 1, head + 3 * tail + 17] {
            let bytes = stream(length);
            for piece in [977, tail, tail + 1, 2 * tail + 1, head, usize::MAX] {
                let mut builder = ExcerptBuilder::default();
                for part in bytes.chunks(piece) {
                    builder.push(part);
                    assert!(builder.excerpt.tail.len() <= 2 * tail);
                }
                let excerpt = builder.finish();
                let cut = length.min(head);
                assert_eq!(excerpt.total, length as u64);
                assert!(excerpt.head == bytes[..cut], "length {length}, piece {piece}");
                assert!(excerpt.tail == bytes[cut.max(length.saturating_sub(tail))..], "length {length}, piece {piece}");
                assert_eq!(excerpt.is_complete(), length <= head + tail);
            }
        }
    }
}
