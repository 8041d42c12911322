//! In which files two trees differ.

use std::collections::BTreeMap;

use proctor_wire::wire;

use crate::{Digest, EntryKind, RunId};

/// The kind and content of the entry at a path of a tree.
#[wire(Copy, schema)]
pub struct TreeFile {
    pub kind: EntryKind,
    pub digest: Digest,
}

/// A file that differs between two trees.
#[wire(schema, sparse)]
pub struct DifferingFile {
    /// The path from the root of the tree.
    pub path: String,
    /// What was there in the earlier tree; absent if nothing was.
    pub before: Option<TreeFile>,
    /// What is there in the later tree; absent if nothing is.
    pub after: Option<TreeFile>,
}

/// In which files the tree of a run differs from the tree that the task's last run before it tested.
#[wire(schema, sparse)]
pub struct TreeDifference {
    /// The earlier run.
    pub since: RunId,
    /// How many files differ.
    pub count: u64,
    /// The first 200 of them, by their paths.
    pub files: Vec<DifferingFile>,
}

impl DifferingFile {
    /// Returns what happened to the file, as a word for people.
    pub fn word(&self) -> &'static str {
        match (self.before, self.after) {
            (None, _) => "added",
            (Some(_), None) => "removed",
            (Some(before), Some(after)) if before.digest == after.digest => "mode changed",
            (Some(_), Some(_)) => "changed",
        }
    }
}

/// Puts the differences of runs that follow each other together: a file that is as it was at the beginning differs no more. Returns the
/// files, and whether these are all. `first` and `last` are the runs whose trees are compared, and `steps` the runs after the first: those
/// count that lead from the last one back to the first, each by the run that it names.
pub fn join_differences(first: &RunId, last: &RunId, steps: &[(RunId, Option<TreeDifference>)]) -> (Vec<DifferingFile>, bool) {
    let mut way: Vec<&TreeDifference> = Vec::new();
    let (mut at, mut is_whole) = (last, true);
    while at != first {
        let step = steps.iter().find(|(run, _)| run == at).and_then(|(_, difference)| difference.as_ref());
        // A run before the first one is not part of the comparison.
        let is_between = |run: &RunId| (first.number()..at.number()).contains(&run.number());
        let Some(difference) = step.filter(|difference| is_between(&difference.since)) else {
            is_whole = false;
            break;
        };
        is_whole &= difference.count == difference.files.len() as u64;
        way.push(difference);
        at = &difference.since;
    }
    let mut files: BTreeMap<&str, DifferingFile> = BTreeMap::new();
    for file in way.iter().rev().flat_map(|difference| &difference.files) {
        files.entry(&file.path).or_insert_with(|| file.clone()).after = file.after;
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
        let state = |text: &str| {
            let kind = if text.ends_with('x') { EntryKind::Executable } else { EntryKind::File };
            (!text.is_empty()).then(|| TreeFile { kind, digest: Digest::of(text.trim_end_matches('x').as_bytes()) })
        };
        let file = |(path, before, after): &(&str, &str, &str)| DifferingFile {
            path: (*path).to_owned(),
            before: state(before),
            after: state(after),
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
        let join = |first, last, steps: &[_]| words(join_differences(&run(first), &run(last), steps));
        assert_eq!(join(2, 5, &steps), ("added b.py, removed c.py".to_owned(), true));
        // A run of named checks stands beside the way.
        assert_eq!(
            join(2, 5, &[steps[0].clone(), (run(4), None), steps[1].clone()]),
            ("added b.py, removed c.py".to_owned(), true)
        );
        assert_eq!(join(4, 5, &steps), (String::new(), false), "the way leads to another run");
        assert_eq!(join(2, 3, &[step(3, 2, 9, &[("a.py", "1", "1x")])]), ("mode changed a.py".to_owned(), false));
        assert_eq!(join(2, 3, &[(run(3), None)]), (String::new(), false));
        assert_eq!(join(2, 2, &[]), (String::new(), true));
    }
}
