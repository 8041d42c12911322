//! The table of the claims: by which words a message says that the tests pass, for each language.
//!
//! A row of [`LANGUAGES`] has patterns for whole claims, and the words that make a sentence no claim: a negation, a question, a
//! condition, the future, a guess, somebody else's words, an exception. The page `docs/guides/agents.md` describes the rules.

mod east_asian;
mod english;
mod germanic;
mod romance;
mod slavic;

use crate::hook::ClaimSubject;

/// A language in which claims are found.
pub(super) struct ClaimLanguage {
    /// The language's name in English.
    #[cfg_attr(not(test), expect(dead_code, reason = "it names the row for readers and for the tests"))]
    pub(super) name: &'static str,
    /// A sentence without any of these, in small letters, makes no claim. Patterns are compiled only for the other sentences: that takes
    /// longer than everything else a hook does.
    pub(super) needs: &'static [&'static str],
    /// Parts of patterns by their names. `<name>` in a pattern, or in a later part, stands for the part.
    pub(super) parts: &'static [(&'static str, &'static str)],
    /// What the pattern is about, and the pattern.
    pub(super) claims: &'static [(ClaimSubject, &'static str)],
    /// Words that may stand directly before a claim although they are no punctuation. Any other word may narrow what follows, as in
    /// "the new tests pass". Empty: not checked, because the language has no spaces.
    pub(super) lead: &'static str,
    /// A sentence with this before the claim makes no claim.
    pub(super) before: &'static str,
    /// A sentence with this behind the claim makes no claim.
    pub(super) after: &'static str,
    /// What may stand behind the claim up to the line's end; with anything else there is no claim. Between these words, marks may stand.
    pub(super) tail: &'static str,
    /// Words from which on anything may stand behind the claim, as "and" or "so".
    pub(super) goes_on: &'static str,
    /// Words before a colon after which a claim may stand; after any other text and a colon there is none.
    pub(super) label: &'static str,
    /// Words that open a clause about another time or another state: "at the base commit, all tests pass" is no claim.
    pub(super) opening: &'static str,
    /// A clause that may stand before a comma and the claim: a main clause ("I fixed it, all tests pass") or a word such as "done". Any
    /// other clause may be a condition or an exception ("apart from one, all tests pass").
    pub(super) clause: &'static str,
    /// Words between such a comma and the claim that join main clauses, as "and": the clause before them is no condition. Empty where the
    /// language is written without spaces.
    pub(super) joins: &'static str,
    /// Words in a claim by which it is only about a part of the tests: "unit tests", or a bare number of tests. Such a claim counts only with
    /// a word of [`Self::total`] in it.
    pub(super) partial: &'static str,
    /// Words of totality, as "all". In a language without spaces, a claim without one at its start has to begin its clause.
    pub(super) total: &'static str,
    /// In another sentence of the message, this says that something fails now, or was not run: then the message makes no claim.
    pub(super) admits: &'static str,
    /// Parts of a sentence that only look as if they admitted a failure: it is past, mended, or denied.
    pub(super) mended: &'static str,
    /// Words at the start of a later sentence that take the claim back, as "correction".
    pub(super) corrects: &'static str,
    /// Parts of a sentence that are not looked at, because they only look like an exception: "with no failures".
    pub(super) harmless: &'static str,
}

/// Every language in which claims are found.
pub(super) const LANGUAGES: &[ClaimLanguage] = &[
    english::ENGLISH,
    germanic::GERMAN,
    romance::FRENCH,
    romance::SPANISH,
    romance::PORTUGUESE,
    romance::ITALIAN,
    germanic::DUTCH,
    slavic::POLISH,
    slavic::RUSSIAN,
    east_asian::CHINESE,
    east_asian::JAPANESE,
    east_asian::KOREAN,
];
