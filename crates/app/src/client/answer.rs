//! Parses an HTTP answer: head, length and body. Pure.

/// The limit for the head of an answer, in bytes.
const LONGEST_HEAD: usize = 64 * 1024;

/// A complete HTTP answer: its status code and its body. Headers are used only to find the body's length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// The result of parsing the bytes received so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AnswerProgress {
    /// More bytes must be read.
    Unfinished,
    Whole(Answer),
    /// The bytes are not an HTTP/1.1 answer with a length; the text says why.
    Wrong(&'static str),
}

/// Parses the bytes received so far. Callers read more bytes and call again while the answer is unfinished.
pub(super) fn parse_answer(bytes: &[u8]) -> AnswerProgress {
    let Some(head_end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return if bytes.len() > LONGEST_HEAD {
            AnswerProgress::Wrong("its head is too long")
        } else {
            AnswerProgress::Unfinished
        };
    };
    let Ok(head) = std::str::from_utf8(&bytes[..head_end]) else { return AnswerProgress::Wrong("its head is no text") };
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
    let Some(status) = status else { return AnswerProgress::Wrong("its first line is not HTTP/1.1") };
    let length = lines.filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let Some(length) = length.and_then(|(_, value)| value.trim().parse::<usize>().ok()) else {
        return AnswerProgress::Wrong("it does not say how long it is");
    };
    let body = &bytes[head_end + 4..];
    match body.len() {
        so_far if so_far < length => AnswerProgress::Unfinished,
        _ => AnswerProgress::Whole(Answer { status, body: body[..length].to_vec() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_length_has_come() {
        let text = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\ncontent-length: 5\r\n\r\nhello";
        for end in 0..text.len() {
            assert_eq!(parse_answer(&text[..end]), AnswerProgress::Unfinished, "{end}");
        }
        assert_eq!(parse_answer(text), AnswerProgress::Whole(Answer { status: 404, body: b"hello".to_vec() }));
    }

    #[test]
    fn what_is_not_understood_is_wrong_and_not_waited_for() {
        for text in ["SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"] {
            assert!(matches!(parse_answer(text.as_bytes()), AnswerProgress::Wrong(_)), "{text}");
        }
        assert!(matches!(parse_answer(&vec![b'x'; LONGEST_HEAD + 1]), AnswerProgress::Wrong(_)));
    }
}
