//! Keeps the first and the last bytes of a stream in bounded memory (E11). Pure; it never decodes text.

use proctor_model::StreamExcerpt;

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
    use super::*;

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
