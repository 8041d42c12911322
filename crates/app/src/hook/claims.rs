//! Finds the sentence in an agent's message that says that the tests pass.
//!
//! The verdict for the tree decides what is said at the end of a turn, whatever the agent says. One small rule adds to it: the
//! whole of an English sentence is "all tests pass" or "tests pass". What is more than that is not read: a claim that is missed
//! is only not answered, but an accusation that is false makes people remove the hook.

use std::sync::OnceLock;

use proctor_wire::wire;
use regex::Regex;

use proctor_model::Digest;

/// A sentence that says that the tests pass.
#[wire(open)]
pub struct Claim {
    /// The words of the claim.
    pub phrase: String,
    /// The digest of the whole message.
    pub message: Digest,
}

/// A whole sentence that is a claim. The marks of bold text, headings and lists are not part of the sentence.
const SENTENCE: &str = r"(?i)^(?:all (?:of )?(?:(?:the|our) )?(?:[1-9][0-9]* )?|(?:(?:the|our) )?)tests (?:(?:now|still|all) )?(?:pass(?:ed)?|are (?:passing|green))(?: (?:now|again))?$";

/// A message is searched from this many bytes before its end, where a message sums up.
const LONGEST_SEARCHED: usize = 64 * 1024;

/// Returns the last claim of a message, or `None` if it makes none. Blocks of code and quoted lines are left out.
pub fn find_claim(message: &str) -> Option<Claim> {
    static CLAIM: OnceLock<Regex> = OnceLock::new();
    let claim = CLAIM.get_or_init(|| Regex::new(SENTENCE).expect("the pattern is tested"));
    let end = &message[message.floor_char_boundary(message.len().saturating_sub(LONGEST_SEARCHED))..];
    let mut is_code = false;
    let own_lines = end.lines().map(str::trim).filter(|line| {
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        is_code ^= is_fence;
        !is_code && !is_fence && !line.starts_with('>')
    });
    let marks: &[char] = &['*', '_', '#', '-', ' ', '\t', '✅', '🎉'];
    let sentences = own_lines.flat_map(|line| line.split_inclusive(['.', '!', '?', ';']));
    let claims = sentences.filter_map(|sentence| {
        let words = sentence.trim_matches(marks).trim_end_matches(['.', '!', ';']).trim_matches(marks);
        claim.is_match(words).then(|| words.to_owned())
    });
    let phrase = claims.last()?;
    Some(Claim { phrase, message: Digest::of(message.as_bytes()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_sentence_that_says_that_the_tests_pass_is_a_claim() {
        for (message, phrase) in [
            ("All tests pass.", "All tests pass"),
            ("I changed the parser. All the tests pass now!", "All the tests pass now"),
            ("Done:\n\n**All 42 tests passed**", "All 42 tests passed"),
            ("Fixed.\n- Tests pass\n", "Tests pass"),
            ("## ✅ All tests are green", "All tests are green"),
            ("The tests still pass; I pushed it.", "The tests still pass"),
        ] {
            assert_eq!(find_claim(message).map(|claim| claim.phrase).as_deref(), Some(phrase), "{message}");
        }
    }

    #[test]
    fn what_is_more_than_the_sentence_is_no_claim() {
        for message in [
            "",
            "All tests pass except two.",
            "Do all tests pass?",
            "Not all tests pass.",
            "When all tests pass, I stop.",
            "The tests passed before the change; now they fail.",
            "All tests in tests/a.py pass.",
            "> All tests pass.",
            "```\nAll tests pass.\n```",
            "0 tests passed",
            "Alle Tests sind grün.",
        ] {
            assert_eq!(find_claim(message), None, "{message}");
        }
    }

    #[test]
    fn a_long_message_is_searched_at_its_end() {
        let message = format!("{}All tests pass.", "ü.\n".repeat(LONGEST_SEARCHED));
        assert!(find_claim(&message).is_some());
        assert_eq!(find_claim(&format!("All tests pass. {}", "ü.\n".repeat(LONGEST_SEARCHED))), None);
    }
}
