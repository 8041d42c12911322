//! Records which bytes of a log came from which stream, and when: the lines of a `.frames` file (E16). Pure.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
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
}
