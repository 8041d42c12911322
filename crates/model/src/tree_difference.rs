//! In which files two trees differ.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Digest, RunId};

/// A file that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DifferingFile {
    /// The path from the root of the tree.
    pub path: String,
    /// The digest of its content in the earlier tree; absent if it was not there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before: Option<Digest>,
    /// The digest of its content in the later tree; absent if it is not there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<Digest>,
}

/// In which files the tree of a run differs from the tree that the task's last run before it tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TreeDifference {
    /// The earlier run.
    pub since: RunId,
    /// How many files differ.
    pub count: u64,
    /// The first 200 of them, by their paths.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub files: Vec<DifferingFile>,
}

impl DifferingFile {
    /// Returns what happened to the file, as a word for people.
    pub fn word(&self) -> &'static str {
        match (self.before, self.after) {
            (None, _) => "added",
            (Some(_), None) => "removed",
            (Some(_), Some(_)) => "changed",
        }
    }
}

/// Puts the differences of runs that follow each other together: a file that is as it was at the beginning differs no more. Returns the
/// files, and whether these are all: each run must name the one before it, and every file. `first` is the run before them.
pub fn join_differences(first: &RunId, steps: &[(RunId, Option<TreeDifference>)]) -> (Vec<DifferingFile>, bool) {
    let mut files: BTreeMap<&str, DifferingFile> = BTreeMap::new();
    let (mut is_whole, mut last) = (true, first);
    for (run, difference) in steps {
        let known = difference.as_ref().filter(|difference| difference.since == *last);
        is_whole &= known.is_some_and(|known| known.count == known.files.len() as u64);
        for file in known.iter().flat_map(|known| &known.files) {
            files.entry(&file.path).or_insert_with(|| file.clone()).after = file.after;
        }
        last = run;
    }
    (files.into_values().filter(|file| file.before != file.after).collect(), is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn run(number: u64) -> RunId {
        RunId::new(Timestamp::from_millis(0), number)
    }

    fn step(number: u64, since: u64, count: u64, files: &[(&str, &str, &str)]) -> (RunId, Option<TreeDifference>) {
        let digest = |text: &str| (!text.is_empty()).then(|| Digest::of(text.as_bytes()));
        let file = |(path, before, after): &(&str, &str, &str)| DifferingFile {
            path: (*path).to_owned(),
            before: digest(before),
            after: digest(after),
        };
        (run(number), Some(TreeDifference { since: run(since), count, files: files.iter().map(file).collect() }))
    }

    #[test]
    fn what_was_taken_back_differs_no_more_and_a_gap_is_said() {
        let steps = [
            step(3, 2, 3, &[("a.py", "1", "2"), ("b.py", "", "1"), ("c.py", "1", "")]),
            step(5, 3, 2, &[("a.py", "2", "1"), ("b.py", "1", "2")]),
        ];
        let words = |(files, is_whole): (Vec<DifferingFile>, bool)| {
            let files: Vec<String> = files.iter().map(|file| format!("{} {}", file.word(), file.path)).collect();
            (files.join(", "), is_whole)
        };
        assert_eq!(words(join_differences(&run(2), &steps)), ("added b.py, removed c.py".to_owned(), true));
        assert_eq!(words(join_differences(&run(1), &steps[1..])), (String::new(), false), "it names another run");
        assert_eq!(words(join_differences(&run(2), &[step(3, 2, 9, &[("a.py", "1", "2")])])), ("changed a.py".to_owned(), false));
        assert_eq!(words(join_differences(&run(2), &[(run(3), None)])), (String::new(), false));
        assert_eq!(words(join_differences(&run(2), &[])), (String::new(), true));
    }
}
