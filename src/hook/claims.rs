//! Finds the sentence in an agent's message that says that the tests pass.
//!
//! Precision comes before recall: a claim that is missed is only not corrected, but an accusation that is false makes people remove the
//! hook. So a sentence counts only if it speaks of all tests, in the present, without a condition, and in the agent's own words.

use std::sync::OnceLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::hook::claim_words::{ClaimLanguage, LANGUAGES};
use crate::model::{Digest, Tool, ToolClass};

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
    let mut start = message.len().saturating_sub(LONGEST_SEARCHED);
    while !message.is_char_boundary(start) {
        start += 1;
    }
    let plain = own_words(&message[start..]);
    let sentences = split_sentences(&plain);
    let has_narrow_run = plain.contains(NARROW_RUN);
    let claims = sentences.iter().enumerate().rev();
    let (place, found) = claims.filter_map(|(place, sentence)| Some((place, claim_in(sentence, has_narrow_run)?))).next()?;
    let (earlier, later) = (&sentences[..place], &sentences[place + 1..]);
    if is_taken_back(compiled(found.language), earlier, later) {
        return None;
    }
    let phrase = found.phrase.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST_PHRASE).collect();
    Some(Claim { subject: found.subject, phrase, message: Digest::of(message.as_bytes()) })
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
    let admits = |sentence: &String| {
        let sentence = language.mended.get().replace_all(sentence, " ");
        sentence.contains(FAILURE_MARKS) || language.admits.get().is_match(&language.harmless.get().replace_all(&sentence, " "))
    };
    earlier.iter().chain(later).any(admits) || later.iter().any(|sentence| language.corrects.get().is_match(sentence))
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

/// Returns the claim that a sentence makes. A question makes none, nor does a bare count where the message names a run of a part.
fn claim_in(sentence: &str, has_narrow_run: bool) -> Option<FoundClaim> {
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
                    && !(is_bare_count(found.as_str()) && has_narrow_run)
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
    if language.opening.get().is_match(clause) || names_a_part {
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

/// Splits a text into sentences, each with the mark at its end.
fn split_sentences(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut sentence = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '。' | '！' => {
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
    let mut is_plan = false;
    for line in message.lines() {
        let trimmed = line.trim_start().trim_matches('_');
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            // A box to tick is a plan, unless it is ticked.
            (None, None) if trimmed.starts_with('>') || trimmed.starts_with("- [ ]") || trimmed.starts_with("* [ ]") => {}
            // A heading names what stands below it.
            (None, None) if trimmed.starts_with('#') => is_plan = names_a_plan(trimmed),
            (None, None) => {
                let kept = without_quotes(trimmed);
                let is_item =
                    trimmed.starts_with(['-', '*', '•', '+']) || trimmed.starts_with(|first: char| first.is_ascii_digit());
                if kept.trim_end().ends_with([':', '：']) {
                    is_plan = names_a_plan(&kept);
                } else if !is_item && !kept.trim().is_empty() {
                    is_plan = false;
                }
                // A row of a table is no sentence.
                if !(kept.contains('|') || is_plan && is_item) {
                    text.push_str(&kept);
                }
                text.push('\n');
            }
        }
    }
    text
}

/// Returns whether a heading stands above things that are still to be done or to hold.
fn names_a_plan(heading: &str) -> bool {
    const WORDS: &[&str] = &[
        "plan",
        "todo",
        "to do",
        "next",
        "remaining",
        "acceptance",
        "criteria",
        "goal",
        "definition of done",
        "open",
        "require",
        "checklist",
        "offen",
        "nächste",
        "kriterien",
        "ziel",
        "reste",
        "pendiente",
        "pendente",
        "rimane",
        "下一步",
        "待办",
        "次の",
        "残り",
    ];
    let heading = heading.to_lowercase();
    WORDS.iter().any(|word| heading.contains(word))
}

/// What stands in place of quoted text. It must not let the words around it meet.
const QUOTATION: &str = " quotation ";
/// What stands in place of a command in code marks that runs all tests.
const WHOLE_SUITE: &str = " wholesuite ";

/// What stands in place of a command in code marks that runs some of the tests.
const NARROW_RUN: &str = " narrowrun ";

/// Returns what stands in place of a text in code marks: whether it is a command that runs all tests of a project, or some of them.
fn stand_in(code: &str) -> &'static str {
    const COMMANDS: &[&str] = &[
        "py.test",
        "python -m pytest",
        "python3 -m pytest",
        "uv run pytest",
        "poetry run pytest",
        "python -m unittest",
        "tox",
        "nox",
        "cargo test",
        "cargo nextest run",
        "npm test",
        "npm run test",
        "npm t",
        "yarn test",
        "pnpm test",
        "bun test",
        "npx jest",
        "npx vitest",
        "npx vitest run",
        "vitest run",
        "go test ./...",
        "make test",
        "make check",
        "mvn test",
        "mvn verify",
        "gradle test",
        "./gradlew test",
        "dotnet test",
        "rspec",
        "bundle exec rspec",
        "rake test",
        "rails test",
        "ctest",
        "phpunit",
        "mix test",
        "swift test",
    ];
    const FLAGS: &[&str] = &[
        "-q",
        "-v",
        "-vv",
        "-x",
        "-s",
        "--quiet",
        "--verbose",
        "--workspace",
        "--all",
        "--all-features",
        "--all-targets",
        "--locked",
        "-race",
    ];
    let words: Vec<&str> = code.split_whitespace().filter(|word| !FLAGS.contains(word)).collect();
    let command = words.join(" ");
    let runners = Tool::ALL.into_iter().filter(|tool| tool.class() == ToolClass::Test).map(Tool::word);
    let commands: Vec<&str> = COMMANDS.iter().copied().chain(runners).collect();
    if commands.contains(&command.as_str()) {
        return WHOLE_SUITE;
    }
    let is_run = commands.iter().any(|known| command.strip_prefix(known).is_some_and(|rest| rest.starts_with([' ', ':'])));
    if is_run || command.starts_with("go test ") { NARROW_RUN } else { QUOTATION }
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
            Some((inside, after)) => {
                kept.push_str(if character == '`' { stand_in(inside) } else { QUOTATION });
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
