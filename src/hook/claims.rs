//! Finds the sentence in an agent's message that says that the tests pass.
//!
//! Precision comes before recall: a claim that is missed is only not corrected, but an accusation that is false makes people remove the
//! hook. So a sentence counts only if it speaks of all tests, in the present, without a condition, and in the agent's own words.

use std::sync::OnceLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::hook::claim_words::{ClaimLanguage, LANGUAGES};
use crate::model::Digest;

/// What a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClaimSubject {
    /// The tests; a linter's finding does not contradict it.
    Tests,
    /// Every check.
    Everything,
}

/// A sentence that says that the tests pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    pub subject: ClaimSubject,
    /// The words of the claim, at most 120 characters.
    pub phrase: String,
    /// The digest of the whole message.
    pub message: Digest,
}

/// The longest phrase that is kept, in characters.
const LONGEST_PHRASE: usize = 120;
/// The longest part of a message that is searched, in bytes: its end, where a message sums up.
const LONGEST_SEARCHED: usize = 64 * 1024;

/// Returns the last claim of a message, or `None` if it makes none. Code, quoted text and quoted lines are left out.
pub fn find_claim(message: &str) -> Option<Claim> {
    let mut start = message.len().saturating_sub(LONGEST_SEARCHED);
    while !message.is_char_boundary(start) {
        start += 1;
    }
    let plain = own_words(&message[start..]);
    let sentences = split_sentences(&plain);
    let found = sentences.iter().rev().find_map(|sentence| claim_in(sentence))?;
    let phrase = found.1.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST_PHRASE).collect();
    Some(Claim { subject: found.0, phrase, message: Digest::of(message.as_bytes()) })
}

/// A language of the table with its patterns compiled.
struct CompiledLanguage {
    patterns: Vec<(ClaimSubject, Regex)>,
    leading_word: Regex,
    excluded_before: Regex,
    excluded_after: Regex,
}

/// Returns the patterns of the language with this position in the table. They are compiled when they are needed first.
fn compiled(position: usize) -> &'static CompiledLanguage {
    static COMPILED: [OnceLock<CompiledLanguage>; LANGUAGES.len()] = [const { OnceLock::new() }; LANGUAGES.len()];
    let pattern = |text: &str| Regex::new(&format!("(?i){text}")).expect("the table's patterns are tested");
    let row = &LANGUAGES[position];
    COMPILED[position].get_or_init(|| CompiledLanguage {
        patterns: row.claims.iter().map(|(subject, text)| (*subject, pattern(text))).collect(),
        leading_word: pattern(&format!("^{}$", row.lead)),
        excluded_before: pattern(row.before),
        excluded_after: pattern(row.after),
    })
}

/// Returns the claim that a sentence makes. A question makes none.
fn claim_in(sentence: &str) -> Option<(ClaimSubject, String)> {
    let lower = sentence.to_lowercase();
    let trimmed = lower.trim_end();
    if trimmed.ends_with(['?', '？']) || trimmed.starts_with('¿') {
        return None;
    }
    for (position, row) in LANGUAGES.iter().enumerate() {
        if !row.needs.iter().any(|word| lower.contains(word)) {
            continue;
        }
        let language = compiled(position);
        for (subject, pattern) in &language.patterns {
            for found in pattern.find_iter(sentence) {
                let (before, after) = (&sentence[..found.start()], &sentence[found.end()..]);
                let is_own = is_whole_word(row, language, before, after) && is_whole_count(found.as_str());
                if is_own && !language.excluded_before.is_match(before) && !language.excluded_after.is_match(after) {
                    return Some((*subject, found.as_str().trim().to_owned()));
                }
            }
        }
    }
    None
}

/// Returns whether what was found is no part of a longer word, and no word before it narrows what it is about.
fn is_whole_word(row: &ClaimLanguage, language: &CompiledLanguage, before: &str, after: &str) -> bool {
    if row.lead.is_empty() {
        return true;
    }
    let is_letter = |character: char| character.is_alphanumeric() || matches!(character, '_' | '/' | '\\' | '.');
    if after.chars().next().is_some_and(|next| next.is_alphanumeric() || next == '_' || next == '-') {
        return false;
    }
    if before.chars().next_back().is_some_and(is_letter) {
        return false;
    }
    let trimmed = before.trim_end();
    let word: String = trimmed.chars().rev().take_while(|character| is_letter(*character) || *character == '\'').collect();
    let word: String = word.chars().rev().collect();
    word.is_empty() || language.leading_word.is_match(&word)
}

/// Returns whether a count such as `42/42` in a claim is one of all; `41/42` is none.
fn is_whole_count(found: &str) -> bool {
    found.split_whitespace().filter_map(|word| word.split_once('/')).all(|(some, all)| some == all)
}

/// Splits a text into sentences, each with the mark at its end.
fn split_sentences(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut sentence = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '。' | '！' | '；' | ';' | '|' => {
                sentences.push(std::mem::take(&mut sentence));
            }
            '？' => {
                sentence.push(character);
                sentences.push(std::mem::take(&mut sentence));
            }
            '.' | '!' | '?' => {
                sentence.push(character);
                // A dot inside of a word, as in a file's name or a number, ends no sentence.
                if characters.peek().is_none_or(|next| next.is_whitespace() || matches!(next, ')' | '*' | '_' | '"')) {
                    sentences.push(std::mem::take(&mut sentence));
                }
            }
            other => sentence.push(other),
        }
    }
    sentences.push(sentence);
    sentences.retain(|sentence| !sentence.trim().is_empty());
    sentences
}

/// Returns what of a message is the agent's own words: without blocks of code, quoted lines, quoted text, and struck-out text. A word
/// in code marks that stands inside a sentence is kept if it is one word: `` `pytest` passes``.
fn own_words(message: &str) -> String {
    let message = message.replace(['’', '‘'], "'").replace("**", "").replace("__", "");
    let mut text = String::with_capacity(message.len());
    let mut fence: Option<&str> = None;
    for line in message.lines() {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            // A box to tick is a plan, unless it is ticked.
            (None, None) if trimmed.starts_with('>') || trimmed.starts_with("- [ ]") || trimmed.starts_with("* [ ]") => {}
            (None, None) => {
                text.push_str(&without_quotes(trimmed));
                text.push('\n');
            }
        }
    }
    text
}

/// Leaves out of a line what stands between quotation marks or code marks, up to the end of the line where a mark is not closed.
fn without_quotes(line: &str) -> String {
    const PAIRS: &[(char, char)] = &[('`', '`'), ('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』')];
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        let behind = &rest[character.len_utf8()..];
        let pair = PAIRS.iter().find(|(open, _)| *open == character);
        match pair.and_then(|(_, close)| behind.split_once(*close)) {
            // What is left out must not let the words around it meet.
            Some((_, after)) => {
                kept.push_str(" quotation ");
                rest = after;
            }
            None => {
                kept.push(character);
                rest = behind;
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests;
