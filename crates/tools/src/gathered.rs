//! Gathers a tool's diagnostics. All are counted, but only a limited number is kept, because people do not read more. The log has the rest.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::test_run::listed;
use proctor_model::{Diagnostic, FindingLevel, UnlistedFindings};

/// The most diagnostics that are kept of each level. Each level has its own limit, so that many warnings never displace
/// errors.
const LISTED: usize = 2000;
/// The most text that is kept of all diagnostics together, in bytes. The text is copied into the report and the
/// evidence.
const LISTED_TEXT: usize = 1024 * 1024;
/// A line of a tool's output is cut after this many bytes. A finding's place and level stand at the beginning of its line.
const LONGEST_LINE: usize = 64 * 1024;

/// The diagnostics of one tool that have been read so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The diagnostics that are kept, in the order of the output.
    pub(super) listed: Vec<Diagnostic>,
    /// The counts of the diagnostics that are not kept.
    pub(super) unlisted: UnlistedFindings,
    text: usize,
    listed_of: BTreeMap<FindingLevel, usize>,
    listed_files: HashSet<u64>,
    other_files: HashSet<u64>,
    last: Last,
}

/// Whether the last diagnostic was kept, so that a continuation line can be appended to it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Last {
    #[default]
    Unlisted,
    Listed,
}

impl Gathered {
    /// Adds a diagnostic. If a limit is reached, the diagnostic is only counted.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        let file = diagnostic.file.as_deref().map(hash);
        let words = [&diagnostic.file, &diagnostic.source, &diagnostic.rule_id, &diagnostic.code];
        let text = diagnostic.message.len() + words.into_iter().flatten().map(String::len).sum::<usize>();
        let of_level = self.listed_of.entry(diagnostic.severity).or_default();
        if self.text + text <= LISTED_TEXT && *of_level < LISTED {
            *of_level += 1;
            self.text += text;
            self.listed_files.extend(file);
            self.listed.push(diagnostic);
            self.last = Last::Listed;
        } else {
            self.other_files.extend(file);
            self.unlisted.add(&diagnostic);
            self.last = Last::Unlisted;
        }
    }

    /// Returns the last diagnostic, so that a continuation line of `bytes` bytes can be appended to it. Returns `None`
    /// if it was not kept or if the line would exceed the limit of text.
    pub(super) fn go_on(&mut self, bytes: usize) -> Option<&mut Diagnostic> {
        self.text += bytes;
        match self.last {
            Last::Listed if self.text <= LISTED_TEXT => self.listed.last_mut(),
            Last::Listed | Last::Unlisted => None,
        }
    }

    /// Returns whether the tool reported nothing: no diagnostic is kept, and none was only counted.
    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.unlisted.by_rule.is_empty()
    }

    /// Returns the number of diagnostics of a level, kept or not.
    pub(super) fn count(&self, level: FindingLevel) -> u64 {
        self.listed_of.get(&level).map_or(0, |count| *count as u64) + self.unlisted.count(level)
    }

    /// Returns the number of files with diagnostics, whether kept or only counted.
    pub(super) fn files(&self) -> u64 {
        self.listed_files.union(&self.other_files).count() as u64
    }

    /// Returns the first findings in words, errors before warnings, as the end of a sentence. Returns an empty text if
    /// there are no findings.
    pub(super) fn first(&self) -> String {
        let of_level = |level| self.listed.iter().filter(move |found: &&Diagnostic| found.severity == level);
        let both = of_level(FindingLevel::Error).chain(of_level(FindingLevel::Warning));
        let all = self.count(FindingLevel::Error) + self.count(FindingLevel::Warning);
        if self.listed.is_empty() { String::new() } else { format!(": {}", listed(both.map(in_words), all)) }
    }

    /// Returns the kept diagnostics, and the counts of the diagnostics that were not kept.
    pub(super) fn finish(mut self) -> (Vec<Diagnostic>, UnlistedFindings) {
        self.unlisted.files = self.other_files.difference(&self.listed_files).count() as u64;
        (self.listed, self.unlisted)
    }
}

// Writes a finding as `a.js:1 Unexpected var (no-var)`. A finding without a file is written as its message alone.
fn in_words(found: &Diagnostic) -> String {
    let line = found.line.map_or_else(String::new, |line| format!(":{line}"));
    let place = found.file.as_ref().map_or_else(String::new, |file| format!("{file}{line} "));
    let rule = found.rule_id.as_ref().map_or_else(String::new, |rule| format!(" ({rule})"));
    format!("{place}{}{rule}", found.message.lines().next().unwrap_or_default().trim_end_matches('.'))
}

/// Returns the lines of a tool's output, each cut after `LONGEST_LINE` bytes.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| &line[..line.floor_char_boundary(LONGEST_LINE)])
}

// Stores hashes instead of file names, because the names may take as much memory as the whole output. Two names with
// the same hash count as one file.
fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(number: usize, severity: FindingLevel, message: &str) -> Diagnostic {
        let rule = format!("rule-{}", number % 3);
        Diagnostic {
            file: Some(format!("{}.js", number % 7)),
            rule_id: Some(rule),
            severity,
            message: message.to_owned(),
            fixable: Some(number.is_multiple_of(2)),
            ..Diagnostic::default()
        }
    }

    #[test]
    fn whatever_is_not_kept_is_counted() {
        let mut gathered = Gathered::default();
        let warnings = LISTED * 2;
        (0..warnings).for_each(|number| gathered.push(finding(number, FindingLevel::Warning, "w")));
        (0..5).for_each(|number| gathered.push(finding(number, FindingLevel::Error, "e")));
        assert_eq!((gathered.count(FindingLevel::Error), gathered.count(FindingLevel::Warning)), (5, warnings as u64));
        assert_eq!(gathered.files(), 7);
        let (listed, unlisted) = gathered.finish();
        assert_eq!(listed.len(), LISTED + 5, "errors are kept however many warnings came before");
        assert_eq!(unlisted.by_rule.values().map(|count| count.findings).sum::<u64>(), LISTED as u64);
        assert_eq!(unlisted.by_rule.len(), 3);
        assert_eq!(unlisted.files, 0);
        let all = proctor_model::DiagnosticSummary::of(&listed).with(&unlisted);
        assert_eq!((all.errors, all.warnings, all.total_files), (5, warnings as u64, 7));
        assert_eq!(all.fixable, Some(LISTED as u64 + 3));
    }

    #[test]
    fn long_messages_are_kept_up_to_a_bound_and_lines_of_one_that_is_not_kept_belong_to_none() {
        let mut gathered = Gathered::default();
        let message = "x".repeat(LISTED_TEXT / 2 - 100);
        (0..3).for_each(|number| gathered.push(finding(number, FindingLevel::Error, &message)));
        assert!(gathered.go_on(1).is_none());
        assert_eq!((gathered.listed.len(), gathered.count(FindingLevel::Error)), (2, 3));
        let mut short = Gathered::default();
        short.push(finding(0, FindingLevel::Error, "x"));
        assert!(short.go_on(1).is_some());
        assert!(short.go_on(LISTED_TEXT).is_none());
    }

    #[test]
    fn endless_lines_are_cut() {
        let long = format!("{}\u{e9}", "x".repeat(LONGEST_LINE - 1));
        let text = format!("a\n{long}\nb\n");
        assert_eq!(lines(&text).collect::<Vec<_>>(), ["a", &long[..LONGEST_LINE - 1], "b"]);
    }

    #[test]
    fn a_long_name_of_a_file_is_not_kept_with_each_of_its_findings() {
        let mut gathered = Gathered::default();
        for number in 0..100 {
            let file = Some("x".repeat(LONGEST_LINE));
            gathered.push(Diagnostic { file, ..finding(number, FindingLevel::Error, "e") });
        }
        assert!(gathered.listed.len() <= LISTED_TEXT / LONGEST_LINE);
        assert_eq!((gathered.count(FindingLevel::Error), gathered.files()), (100, 1));
    }
}
