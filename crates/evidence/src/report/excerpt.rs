//! The excerpt of a stream in the report: its first and last 4 KiB as plain text, with their byte ranges (E11).
//!
//! The cuts never split a UTF-8 character, and no byte is shown twice.

use std::ops::Range;

use crate::report::plain_text;
use crate::report::redact::{redact_cut_end, redact_cut_start};
use crate::report::{ByteRangeV2, ShownV2};
use proctor_model::StreamExcerpt;

/// The most bytes of a stream's beginning that are shown.
pub const EXCERPT_HEAD: usize = 4096;
/// The most bytes of a stream's end that are shown.
pub const EXCERPT_TAIL: usize = 4096;

/// The beginning and the end of a stream as text, for the report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt {
    /// The shown text. A line such as `[99 bytes are only in the log]` stands where bytes are left out.
    pub text: String,
    /// The byte ranges of the stream that `text` shows.
    pub shown: ShownV2,
}

/// Returns the first and last 4 KiB of a stream. Invalid UTF-8 is replaced, and escape sequences and control characters
/// are removed.
pub fn excerpt(stream: &StreamExcerpt) -> Excerpt {
    let mut text = String::new();
    let mut ranges = Vec::new();
    let mut end_of_last = 0;
    for part in plan_parts(stream) {
        if part.start > end_of_last {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("[{} bytes are only in the log]\n", part.start - end_of_last));
        }
        let is_first = part.start == 0;
        let mut shown = plain_text(&String::from_utf8_lossy(&part.bytes));
        end_of_last = part.start + part.bytes.len() as u64;
        // A secret token that is cut in two is not recognised by its shape, so the part that is left is removed
        // separately.
        if !is_first {
            shown = redact_cut_start(shown);
        }
        if end_of_last < stream.total {
            shown = redact_cut_end(shown);
        }
        text.push_str(&shown);
        ranges.push(ByteRangeV2 { from: part.start, to: end_of_last });
    }
    Excerpt { text, shown: ShownV2 { total_bytes: stream.total, ranges } }
}

/// A range of bytes and its position in the stream.
struct Part {
    start: u64,
    bytes: Vec<u8>,
}

/// Returns the shown parts: none of an empty stream, one if head and tail touch, otherwise two.
fn plan_parts(stream: &StreamExcerpt) -> Vec<Part> {
    if stream.is_complete() {
        let whole: Vec<u8> = stream.head.iter().chain(&stream.tail).copied().collect();
        if whole.is_empty() {
            return Vec::new();
        }
        if whole.len() <= EXCERPT_HEAD + EXCERPT_TAIL {
            return vec![Part { start: 0, bytes: whole }];
        }
        let head = 0..before_character(&whole, EXCERPT_HEAD);
        let tail = after_character(&whole, whole.len() - EXCERPT_TAIL)..whole.len();
        return vec![part(&whole, 0, head), part(&whole, 0, tail)];
    }
    let head = 0..before_character(&stream.head, EXCERPT_HEAD.min(stream.head.len()));
    let tail = after_character(&stream.tail, stream.tail.len().saturating_sub(EXCERPT_TAIL))..stream.tail.len();
    let tail_offset = stream.total.saturating_sub(stream.tail.len() as u64);
    [part(&stream.head, 0, head), part(&stream.tail, tail_offset, tail)]
        .into_iter()
        .filter(|part| !part.bytes.is_empty())
        .collect()
}

fn part(bytes: &[u8], offset: u64, range: Range<usize>) -> Part {
    Part { start: offset + range.start as u64, bytes: bytes[range].to_vec() }
}

/// Returns the last position at or before `cut` that does not split a character.
fn before_character(bytes: &[u8], cut: usize) -> usize {
    for back in 1..=3.min(cut) {
        let byte = bytes[cut - back];
        if byte >= 0b1100_0000 {
            return if back < character_length(byte) { cut - back } else { cut };
        }
        if byte < 0b1000_0000 {
            return cut;
        }
    }
    cut
}

/// Returns the first position at or after `cut` that does not split a character.
fn after_character(bytes: &[u8], cut: usize) -> usize {
    // A lead byte has at most three continuation bytes. A longer row of them is not a character and may be cut
    // anywhere.
    let continuations = bytes[cut..].iter().take(4).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
    if cut == 0 || continuations == 4 { cut } else { cut + continuations }
}

fn character_length(lead: u8) -> usize {
    match lead {
        0b1100_0000..=0b1101_1111 => 2,
        0b1110_0000..=0b1110_1111 => 3,
        0b1111_0000..=0b1111_0111 => 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{EXCERPT_HEAD, EXCERPT_TAIL, excerpt};
    use crate::report::ByteRangeV2;
    use proctor_model::StreamExcerpt;

    fn stream(bytes: &[u8], head_cap: usize, tail_cap: usize) -> StreamExcerpt {
        let cut = bytes.len().min(head_cap);
        let tail = bytes[cut..].len().min(tail_cap);
        StreamExcerpt { total: bytes.len() as u64, head: bytes[..cut].to_vec(), tail: bytes[bytes.len() - tail..].to_vec() }
    }

    #[test]
    fn a_short_stream_is_shown_whole_and_an_empty_one_not_at_all() {
        let shown = excerpt(&stream(b"3 passed\n", 100, 100));
        assert_eq!((shown.text.as_str(), shown.shown.ranges), ("3 passed\n", vec![ByteRangeV2 { from: 0, to: 9 }]));
        let empty = excerpt(&StreamExcerpt::default());
        assert_eq!((empty.text.as_str(), empty.shown.total_bytes, empty.shown.ranges), ("", 0, vec![]));
    }

    #[test]
    fn the_end_of_a_long_stream_is_shown_and_the_gap_is_named() {
        let bytes = [b"x".repeat(20_000), b"\nFAILED tests/test_a.py::test_b\n".to_vec()].concat();
        let shown = excerpt(&stream(&bytes, 8192, 8192));
        assert!(shown.text.ends_with("FAILED tests/test_a.py::test_b\n"));
        assert!(shown.text.contains(&format!("\n[{} bytes are only in the log]\n", bytes.len() - 8192)), "{}", shown.text);
        let last = bytes.len() as u64;
        let ranges = vec![ByteRangeV2 { from: 0, to: 4096 }, ByteRangeV2 { from: last - 4096, to: last }];
        assert_eq!(shown.shown.ranges, ranges);
    }

    #[test]
    fn no_character_is_cut_in_two() {
        for shift in 0..4 {
            let bytes = [b"a".repeat(shift), "🦀".repeat(6000).into_bytes()].concat();
            for caps in [(100_000, 0), (8192, 8192), (4099, 5001)] {
                let shown = excerpt(&stream(&bytes, caps.0, caps.1));
                assert!(!shown.text.contains(char::REPLACEMENT_CHARACTER), "shift {shift}, caps {caps:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_range_lies_in_the_stream_and_is_short(
            bytes in vec(any::<u8>(), 0..60), times in 0_usize..400, head_cap in 4096_usize..12_000, tail_cap in 4096_usize..12_000,
        ) {
            let bytes = bytes.repeat(times);
            let shown = excerpt(&stream(&bytes, head_cap, tail_cap)).shown;
            let mut end = 0;
            let mut sum = 0;
            for range in &shown.ranges {
                prop_assert!(range.from >= end && range.from < range.to);
                end = range.to;
                sum += range.to - range.from;
            }
            prop_assert!(end <= shown.total_bytes && sum <= (EXCERPT_HEAD + EXCERPT_TAIL) as u64);
            prop_assert_eq!(end, bytes.len() as u64);
        }
    }
}
