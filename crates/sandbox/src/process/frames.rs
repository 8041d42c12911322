//! Records which bytes of a log came from which stream, and when: the lines of a `.frames` file (E16). Pure.
//!
//! Masks secrets in a stream of bytes while it is read, so that no file ever holds them.

use std::io::{self, Read, Write};

use proctor_wire::wire;
use serde::Serialize;

#[wire(Copy, lower, written)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// Consecutive bytes of the log that came from one stream in one millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Frame {
    offset: u64,
    length: u64,
    stream: Stream,
    ms: u64,
}

/// Joins consecutive output of one stream and one millisecond into frames, and formats finished frames as JSON lines.
#[derive(Debug, Default)]
pub(super) struct FrameLines {
    open: Option<Frame>,
    end: u64,
    lines: Vec<u8>,
}

impl FrameLines {
    /// Notes that the log has grown by `length` bytes of a stream, `ms` milliseconds after the action's start.
    pub(super) fn push(&mut self, stream: Stream, length: u64, ms: u64) {
        if length == 0 {
            return;
        }
        match &mut self.open {
            Some(frame) if frame.stream == stream && frame.ms == ms => frame.length += length,
            Some(_) | None => {
                self.close();
                self.open = Some(Frame { offset: self.end, length, stream, ms });
            }
        }
        self.end += length;
    }

    /// Finishes the open frame, the frame to which more output may be added, and formats it as a line.
    pub(super) fn close(&mut self) {
        if let Some(frame) = self.open.take() {
            serde_json::to_writer(&mut self.lines, &frame).expect("a frame is plain data and memory takes it");
            self.lines.push(b'\n');
        }
    }

    /// Returns the lines of finished frames since the last call of [`FrameLines::clear`].
    pub(super) fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// Drops the lines of finished frames. The caller has written them to the file before.
    pub(super) fn clear(&mut self) {
        self.lines.clear();
    }
}

/// How many bytes are read at once.
const PIECE: usize = 64 * 1024;

/// The byte that stands for each byte of a secret. The length of the stream stays the same.
const MASK: u8 = b'*';

/// One stream, of which the last bytes may be the beginning of a secret whose end was not read yet.
#[derive(Debug, Clone, Default)]
pub(super) struct StreamMask {
    secrets: Vec<Vec<u8>>,
    /// The bytes that are held back, as they were read: a longer secret may begin with a shorter one, which is masked already.
    held: Vec<u8>,
    /// The same bytes with what is masked of them.
    masked: Vec<u8>,
}

impl StreamMask {
    /// Returns the mask of a stream in which these values must not appear, the longest first.
    pub(super) fn new(secrets: &[Vec<u8>]) -> Self {
        Self {
            secrets: secrets.iter().filter(|secret| !secret.is_empty()).cloned().collect(),
            held: Vec::new(),
            masked: Vec::new(),
        }
    }

    /// Returns whether nothing is masked, so the stream need not pass through here.
    pub(super) fn is_idle(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Takes the next bytes of the stream, and returns those that can be kept now. The rest is held back until it is known
    /// whether a secret begins there.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        self.masked.extend_from_slice(bytes);
        for secret in &self.secrets {
            for place in memchr::memmem::find_iter(&self.held, secret) {
                self.masked[place..place + secret.len()].fill(MASK);
            }
        }
        let kept = self.held.len() - self.longest_beginning();
        self.held.drain(..kept);
        let rest = self.masked.split_off(kept);
        std::mem::replace(&mut self.masked, rest)
    }

    /// Returns what was held back, at the end of the stream.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        self.held.clear();
        std::mem::take(&mut self.masked)
    }

    /// Returns the length of the longest end of the held bytes by which a secret begins.
    fn longest_beginning(&self) -> usize {
        let longest = |secret: &Vec<u8>| {
            let most = (secret.len() - 1).min(self.held.len());
            (1..=most).rev().find(|length| self.held.ends_with(&secret[..*length])).unwrap_or(0)
        };
        self.secrets.iter().map(longest).max().unwrap_or(0)
    }
}

/// Copies a stream with every one of the values masked, the longest first. Returns how many bytes it has.
///
/// # Errors
/// When the stream cannot be read, or the copy cannot be written.
pub fn mask_stream(from: &mut dyn Read, to: &mut dyn Write, secrets: &[Vec<u8>]) -> io::Result<u64> {
    let (mut mask, mut buffer, mut copied) = (StreamMask::new(secrets), vec![0; PIECE], 0);
    loop {
        let masked = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => mask.push(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        copied += masked.len() as u64;
        to.write_all(&masked)?;
    }
    let rest = mask.finish();
    to.write_all(&rest)?;
    Ok(copied + rest.len() as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop, proptest};
    use proptest::{prop_assert, prop_assert_eq};

    use super::*;

    #[test]
    fn bytes_of_one_stream_in_one_millisecond_are_one_frame() {
        let mut frames = FrameLines::default();
        for (stream, length, ms) in [
            (Stream::Stdout, 5, 3),
            (Stream::Stdout, 7, 3),
            (Stream::Stderr, 1, 3),
            (Stream::Stdout, 0, 3),
            (Stream::Stderr, 1, 4),
        ] {
            frames.push(stream, length, ms);
        }
        frames.close();
        let text = String::from_utf8(frames.lines().to_vec()).expect("JSON is text");
        let expected = [
            r#"{"offset":0,"length":12,"stream":"stdout","ms":3}"#,
            r#"{"offset":12,"length":1,"stream":"stderr","ms":3}"#,
            r#"{"offset":13,"length":1,"stream":"stderr","ms":4}"#,
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    fn arrivals() -> impl Strategy<Value = Vec<(bool, u64, u64)>> {
        prop::collection::vec((any::<bool>(), 0_u64..9, 0_u64..3), 0..60)
    }

    proptest! {
        #[test]
        fn frames_cover_the_log_without_gap_or_overlap(arrivals in arrivals()) {
            let mut frames = FrameLines::default();
            let mut ms = 0;
            for (is_error, length, later) in &arrivals {
                ms += later;
                frames.push(if *is_error { Stream::Stderr } else { Stream::Stdout }, *length, ms);
            }
            frames.close();
            let mut end = 0;
            let mut previous = None;
            for line in std::str::from_utf8(frames.lines()).expect("JSON is text").lines() {
                let frame: serde_json::Value = serde_json::from_str(line).expect("a JSON line");
                prop_assert_eq!(frame["offset"].as_u64(), Some(end));
                end += frame["length"].as_u64().expect("a number");
                let key = Some((frame["stream"].to_string(), frame["ms"].to_string()));
                prop_assert!(key != previous);
                previous = key;
            }
            prop_assert_eq!(end, arrivals.iter().map(|(_, length, _)| length).sum::<u64>());
        }
    }

    #[test]
    fn a_secret_is_masked_wherever_the_stream_is_cut() {
        let secrets = [b"hush-hush!".to_vec(), b"hush".to_vec()];
        let text = b"a hush-hush! b hush c hus";
        for cut in 0..=text.len() {
            let mut mask = StreamMask::new(&secrets);
            let mut seen = mask.push(&text[..cut]);
            seen.extend(mask.push(&text[cut..]));
            seen.extend(mask.finish());
            assert_eq!(seen.len(), text.len(), "{cut}");
            assert!(!String::from_utf8_lossy(&seen).contains("hush"), "{cut}: {}", String::from_utf8_lossy(&seen));
            assert!(seen.ends_with(b"c hus"), "{cut}: a beginning alone is no secret");
        }
    }

    #[test]
    fn a_secret_that_begins_with_another_is_masked_whole_wherever_the_stream_is_cut() {
        let secrets = [b"svc".to_vec(), b"svc:very".to_vec(), b"ab".to_vec(), b"bcd".to_vec()];
        let text = b"x svc:very y abcd z svc";
        for cut in 0..=text.len() {
            let mut mask = StreamMask::new(&secrets);
            let seen = [mask.push(&text[..cut]), mask.push(&text[cut..]), mask.finish()].concat();
            assert_eq!(String::from_utf8_lossy(&seen), "x ******** y **** z ***", "{cut}");
        }
    }

    #[test]
    fn what_begins_no_secret_is_kept_at_once() {
        let mut mask = StreamMask::new(&[b"hush".to_vec()]);
        assert_eq!(mask.push(b"plain"), b"plain");
        assert_eq!((mask.push(b"hu"), mask.push(b"nt")), (Vec::new(), b"hunt".to_vec()));
    }

    proptest! {
        #[test]
        fn no_way_to_cut_a_stream_lets_a_secret_through(parts in prop::collection::vec("[abx]{0,5}", 0..12)) {
            let mut mask = StreamMask::new(&[b"abab".to_vec()]);
            let mut seen: Vec<u8> = parts.iter().flat_map(|part| mask.push(part.as_bytes())).collect();
            seen.extend(mask.finish());
            assert_eq!(seen.len(), parts.concat().len());
            assert!(!String::from_utf8_lossy(&seen).contains("abab"));
        }
    }
}
