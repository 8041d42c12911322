//! Finds the sentence in an agent's message that says that the tests pass.
//!
//! Precision comes before recall: a claim that is missed is only not corrected, but an accusation that is false makes people remove the
//! hook. So a sentence counts only if it speaks of all tests, in the present, without a condition, and in the agent's own words.

use std::sync::OnceLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::hook::claim_words::{ClaimLanguage, LANGUAGES};
use crate::hook::own_words::{NARROW_RUN, QUOTATION, WHOLE_SUITE, own_words, split_sentences};
use proctor_model::Digest;

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
/// The longest sentence that is judged, in bytes, and how often a pattern may occur in one: the time for a message has to be short.
const LONGEST_SENTENCE: usize = 2000;
const MOST_OCCURRENCES: usize = 8;

/// Returns the last claim of a message, or `None` if it makes none. Code, quoted text and quoted lines are left out.
pub fn find_claim(message: &str) -> Option<Claim> {
    let plain = own_words(end_of(message));
    let sentences = split_sentences(&plain);
    let runs = NamedRuns::of(&plain);
    let claims = sentences.iter().enumerate().rev();
    let (place, found) = claims.filter_map(|(place, sentence)| Some((place, claim_in(sentence, runs)?))).next()?;
    let (earlier, later) = (&sentences[..place], &sentences[place + 1..]);
    if is_taken_back(compiled(found.language), earlier, later) {
        return None;
    }
    let phrase = found.phrase.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST_PHRASE).collect();
    Some(Claim { subject: found.subject, phrase, message: Digest::of(message.as_bytes()) })
}

/// What a message says of test runs.
#[derive(Clone, Copy)]
struct NamedRuns {
    /// Whether it names a command that runs a part of the tests.
    has_narrow: bool,
    /// Whether it speaks of tests at all.
    has_any: bool,
}

impl NamedRuns {
    fn of(plain: &str) -> Self {
        let lower = plain.to_lowercase();
        let words = [NARROW_RUN.trim(), WHOLE_SUITE.trim(), "tests", "suite", "specs", "pytest"];
        let has_any = words.iter().any(|word| lower.contains(word));
        Self { has_narrow: plain.contains(NARROW_RUN), has_any }
    }
}

/// Returns whether a message says that something fails now, or was not run, and makes no claim.
pub fn find_admission(message: &str) -> bool {
    let plain = own_words(end_of(message));
    let admits = |sentence: &String| {
        let is_question = sentence.trim_end().ends_with(['?', '？']);
        !is_question && (0..LANGUAGES.len()).any(|position| admits_failure(compiled(position), sentence))
    };
    find_claim(message).is_none() && split_sentences(&plain).iter().any(admits)
}

/// Returns the part of a message that is searched.
fn end_of(message: &str) -> &str {
    let mut start = message.len().saturating_sub(LONGEST_SEARCHED);
    while !message.is_char_boundary(start) {
        start += 1;
    }
    &message[start..]
}

/// A claim in one sentence.
struct FoundClaim {
    subject: ClaimSubject,
    phrase: String,
    /// The position of the claim's language in the table.
    language: usize,
}

/// Returns whether another sentence of the message says that something fails or was not run, or a later one takes the claim back.
fn is_taken_back(language: &CompiledLanguage, earlier: &[String], later: &[String]) -> bool {
    let admits = |sentence: &String| admits_failure(language, sentence);
    earlier.iter().chain(later).any(admits) || later.iter().any(|sentence| language.corrects.get().is_match(sentence))
}

/// Returns whether a sentence says that something fails now or was not run.
fn admits_failure(language: &CompiledLanguage, sentence: &str) -> bool {
    let sentence = language.mended.get().replace_all(sentence, " ");
    sentence.contains(FAILURE_MARKS) || language.admits.get().is_match(&language.harmless.get().replace_all(&sentence, " "))
}

/// Marks by which a line says that something failed.
const FAILURE_MARKS: [char; 3] = ['❌', '✗', '✘'];

/// A pattern that is compiled when it is needed first: to compile all of a language takes longer than everything else a hook does.
struct LazyPattern {
    text: String,
    compiled: OnceLock<Regex>,
}

impl LazyPattern {
    fn get(&self) -> &Regex {
        self.compiled.get_or_init(|| Regex::new(&self.text).expect("the table's patterns are tested"))
    }
}

/// A language of the table with its patterns whole.
struct CompiledLanguage {
    patterns: Vec<(ClaimSubject, LazyPattern)>,
    leading_word: LazyPattern,
    excluded_before: LazyPattern,
    excluded_after: LazyPattern,
    tail: LazyPattern,
    label: LazyPattern,
    opening: LazyPattern,
    clause: LazyPattern,
    joins: LazyPattern,
    harmless: LazyPattern,
    partial: LazyPattern,
    total: LazyPattern,
    total_first: LazyPattern,
    admits: LazyPattern,
    mended: LazyPattern,
    corrects: LazyPattern,
}

/// Returns the patterns of the language with this position in the table.
fn compiled(position: usize) -> &'static CompiledLanguage {
    static COMPILED: [OnceLock<CompiledLanguage>; LANGUAGES.len()] = [const { OnceLock::new() }; LANGUAGES.len()];
    let row = &LANGUAGES[position];
    let pattern = |text: &str| {
        let with_part = |text: String, (name, part): &(&str, &str)| text.replace(&format!("<{name}>"), part);
        let whole = row.parts.iter().rev().fold(text.to_owned(), with_part);
        LazyPattern { text: format!("(?i){whole}"), compiled: OnceLock::new() }
    };
    COMPILED[position].get_or_init(|| CompiledLanguage {
        patterns: row.claims.iter().map(|(subject, text)| (*subject, pattern(text))).collect(),
        leading_word: pattern(&format!("^{}$", row.lead)),
        excluded_before: pattern(row.before),
        excluded_after: pattern(row.after),
        tail: pattern(&if row.lead.is_empty() {
            format!(r"^(?:{})*(?:[\s\W]*$|(?:{}).*$)", row.tail, row.goes_on)
        } else {
            format!(
                r"^(?:\W|wholesuite|\b(?:{})\b|\(\s*\d+(?:/\d+)?(?:\s+(?:tests?|passed|total))*\s*\))*(?:\b(?:{})\b.*)?$",
                row.tail, row.goes_on
            )
        }),
        label: pattern(&format!("^(?:{})$", row.label)),
        opening: pattern(&if row.lead.is_empty() {
            format!(r"^\W*(?:{}).*[，、,]", row.opening)
        } else {
            format!(r"^\W*(?:{})\b.*,", row.opening)
        }),
        clause: pattern(&format!("^(?:{})$", row.clause)),
        joins: pattern(&format!(r"^(?:.*\W)?(?:{})(?:\W|$)", row.joins)),
        harmless: pattern(row.harmless),
        partial: pattern(row.partial),
        total: pattern(row.total),
        total_first: pattern(&format!("^(?:{})", row.total)),
        admits: pattern(row.admits),
        mended: pattern(row.mended),
        corrects: pattern(&if row.lead.is_empty() {
            format!(r"^\W*(?:{})", row.corrects)
        } else {
            format!(r"^\W*(?:{})(?:\W|$)", row.corrects)
        }),
    })
}

/// Returns the claim that a sentence makes. A question makes none, nor does a bare count where the message names a run of a part, nor
/// a bare word where it names none.
fn claim_in(sentence: &str, runs: NamedRuns) -> Option<FoundClaim> {
    if sentence.len() > LONGEST_SENTENCE || sentence.contains(FAILURE_MARKS) {
        return None;
    }
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
            for found in pattern.get().find_iter(sentence).take(MOST_OCCURRENCES) {
                let (before, after) = (&sentence[..found.start()], &sentence[found.end()..]);
                let is_own = is_whole_word(row, language, before, after)
                    && has_one_count(&language.harmless.get().replace_all(found.as_str(), " "))
                    && is_whole_count(after)
                    && is_about_all(row, language, before, found.as_str());
                if is_own
                    && !(is_bare_count(found.as_str()) && runs.has_narrow)
                    && (runs.has_any || !is_bare_word(found.as_str()))
                    && is_said(language, before, found.as_str(), after)
                {
                    return Some(FoundClaim { subject: *subject, phrase: found.as_str().trim().to_owned(), language: position });
                }
            }
        }
    }
    None
}

/// Returns whether the words around what was found leave it a claim of the agent about the present.
fn is_said(language: &CompiledLanguage, before: &str, found: &str, after: &str) -> bool {
    let before = language.harmless.get().replace_all(before, "");
    let after = language.harmless.get().replace_all(after, "");
    let clause = before.rsplit([';', '；']).next().unwrap_or_default();
    if language.excluded_before.get().is_match(clause)
        || language.excluded_after.get().is_match(&after)
        || !language.tail.get().is_match(&after)
    {
        return false;
    }
    let names_a_part = before.contains(NARROW_RUN.trim()) || (is_bare_count(found) && before.contains(QUOTATION.trim()));
    if language.opening.get().is_match(clause) || names_a_part || stands_behind_another_clause(language, clause) {
        return false;
    }
    // "Tests passing:" is the heading of a list; "All tests pass:" stands before what a run printed.
    if after.trim_end().ends_with([':', '：']) && !found.trim_start().to_lowercase().starts_with("all ") {
        return false;
    }
    match clause.rsplit_once([':', '：']) {
        Some((label, _)) => language.label.get().is_match(label.trim_matches(|character: char| !character.is_alphanumeric())),
        None => true,
    }
}

/// Returns whether a comma separates the claim from a clause that may be a condition or an exception. `before` is what stands before the
/// claim.
fn stands_behind_another_clause(language: &CompiledLanguage, before: &str) -> bool {
    let behind_label = before.rsplit([':', '：']).next().unwrap_or_default();
    let Some((front, between)) = behind_label.rsplit_once([',', '，', '、']) else { return false };
    if between.split_whitespace().count() > 1 || language.joins.get().is_match(between) {
        return false;
    }
    let clause = front.rsplit([',', '，', '、', '—', '–']).next().unwrap_or_default();
    !language.clause.get().is_match(clause.trim_matches(|character: char| !character.is_alphanumeric()))
}

/// Returns whether a claim is about all tests. "Unit tests" and a bare number of tests need a word such as "all"; in a language without
/// spaces, a claim without such a word at its start begins its clause, because any word before it names a part.
fn is_about_all(row: &ClaimLanguage, language: &CompiledLanguage, before: &str, found: &str) -> bool {
    if language.partial.get().is_match(found) && !language.total.get().is_match(found) {
        return false;
    }
    let begins_clause = before.chars().next_back().is_none_or(|last| !last.is_alphanumeric() && last != ' ');
    let begins_clause = begins_clause || CLAUSE_OPENERS.iter().any(|opener| before.trim_end().ends_with(opener));
    !row.lead.is_empty() || begins_clause || language.total_first.get().is_match(found)
}

/// Words in languages without spaces that may stand before a claim without making it one about a part.
const CLAUSE_OPENERS: &[&str] =
    &["现在", "目前", "所以", "因此", "并且", "而且", "本地", "wholesuite", "現在", "これで", "これで、", "이제", "✅", "已修复"];

/// Returns whether a claim is only a count, as "3 passed, 0 failed", which may be one of a part of the tests.
fn is_bare_count(found: &str) -> bool {
    found.trim_start().starts_with(|character: char| character.is_ascii_digit())
}

/// Returns whether a claim is only the word "verified", which may be about anything that the message speaks of.
fn is_bare_word(found: &str) -> bool {
    let word = found.trim_matches(|character: char| !character.is_alphabetic()).to_lowercase();
    word == "verified" || word == "all verified"
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
    word.is_empty() || language.leading_word.get().is_match(&word)
}

/// Returns whether all counts of a claim are the same one, as in "42 of 42 tests pass" and "42 passed, 0 failed". "41 of 42" says that not all
/// pass.
fn has_one_count(found: &str) -> bool {
    let digits = found.split(|character: char| !character.is_ascii_digit());
    let mut counts = digits.map(|digits| digits.trim_start_matches('0')).filter(|digits| !digits.is_empty());
    let first = counts.next();
    counts.all(|count| Some(count) == first)
}

/// Returns whether a count such as `42/42` behind a claim is one of all; `41/42` is none.
fn is_whole_count(found: &str) -> bool {
    let counts = found.split_whitespace().map(|word| word.trim_matches(|character: char| !character.is_alphanumeric()));
    counts.filter_map(|word| word.split_once('/')).all(|(some, all)| some == all)
}

#[cfg(test)]
mod tests;
