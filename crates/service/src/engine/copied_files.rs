//! Files that checks wrote and that were copied to the project (`writes` of a check). If they belong to the tree, the tree has
//! changed, and one more run tests it. A check that writes something else in every run would run for ever, so there is no second
//! run on a tree in which only such files changed. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::effect::Notice;
use crate::engine::Engine;
use crate::ignore_advice::{WayIntoProject, ignore_advice};
use proctor_git::TrackedPaths;
use proctor_model::{CopiedFiles, TaskId, TreeDigest, TreePath};

/// Returns what a person is told about files that differ after every run: the fact, and what to do. `tracked` are the paths of
/// the project that git tracks.
pub fn differing_lines(paths: &BTreeSet<TreePath>, tracked: &TrackedPaths) -> Vec<String> {
    let shown: Vec<_> = paths.iter().take(SHOWN).map(TreePath::to_string).collect();
    let more = paths.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let fact = format!(
        "the checks write {}{more} anew in every run, so the tree differs from the tested one; nothing runs until something \
         else changes",
        shown.join(", ")
    );
    let advice = ignore_advice(paths, tracked, WayIntoProject::CopiedOut);
    std::iter::once(fact).chain(advice).collect()
}

/// The most files that a person is told of.
const SHOWN: usize = 5;

/// The most runs of a task on trees that differ in copied files only: the run that a save started, and one more.
const MOST_RUNS: u32 = 2;

/// A chain of runs. Each run tested the tree as it was after the run before had copied its files to the project.
#[derive(Debug, Default)]
pub(super) struct CopiedFilesChain {
    /// What the run under way has copied, until the run ends.
    pending: Option<CopiedFiles>,
    /// The tree that the last run left; `None` before the first run.
    tree: Option<TreeDigest>,
    /// How many runs of the chain each task had. The first one that counts is the one that copied something.
    runs: BTreeMap<TaskId, u32>,
    /// For each task that gets no further run of this kind: the files that its last run once more left with other content.
    differing: BTreeMap<TaskId, BTreeSet<TreePath>>,
}

impl CopiedFilesChain {
    /// Notes what the run under way has copied, just before the end of the run is handled.
    pub(super) fn note(&mut self, copied: CopiedFiles) {
        self.pending = Some(copied);
    }

    /// Returns the files because of which the present tree is not tested; empty if it is tested or no run has copied any.
    pub(super) fn differing(&self) -> BTreeSet<TreePath> {
        self.differing.values().flatten().cloned().collect()
    }

    /// Notes that a run has ended. `tested` is the tree that it tested, if that is known. Returns the tree on which some tasks are
    /// not run again, and these tasks.
    fn follow(&mut self, task: &TaskId, tested: Option<TreeDigest>) -> Option<(TreeDigest, Vec<TaskId>)> {
        let copied = self.pending.take();
        let tested = copied.as_ref().map(|copied| copied.tested).or(tested)?;
        if self.tree != Some(tested) {
            self.runs.clear();
            self.differing.clear();
        }
        if copied.is_some() || !self.runs.is_empty() {
            *self.runs.entry(task.clone()).or_default() += 1;
        }
        let has_had_enough = self.runs.get(task).is_some_and(|runs| *runs >= MOST_RUNS);
        self.tree = Some(copied.as_ref().map_or(tested, |copied| copied.tree));
        match copied {
            Some(copied) if has_had_enough => drop(self.differing.insert(task.clone(), copied.paths)),
            // The run tested the tree as it is now, or the task may have another run.
            Some(_) | None => drop(self.differing.remove(task)),
        }
        let settled = self.runs.iter().filter(|(_, runs)| **runs >= MOST_RUNS).map(|(task, _)| task.clone()).collect::<Vec<_>>();
        self.tree.filter(|_| !self.differing.is_empty()).map(|tree| (tree, settled))
    }
}

impl Engine {
    /// Notes the end of the current task's run. If only copied files have changed since its last run, the tree that they make counts as
    /// tested, so that it starts no run.
    pub(super) fn follow_copied_files(&mut self, tested: Option<TreeDigest>) {
        if let Some((tree, tasks)) = self.copied_files.follow(&self.current, tested) {
            for task in tasks {
                self.known.entry(task).or_default().last_tree = Some(tree);
            }
        }
    }

    /// Returns what a person is told when the tree is still the one that the last run left.
    pub(super) fn unchanged_notice(&self) -> Notice {
        let paths = self.copied_files.differing();
        if paths.is_empty() { Notice::Unchanged } else { Notice::CopiedFilesDiffer { paths } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::Digest;

    fn tree(number: u32) -> TreeDigest {
        TreeDigest(Digest::of(&number.to_be_bytes()))
    }

    /// Ends a run of a task that tested one tree and, by what it copied, left another one. Returns the tasks that are
    /// not run on the tree that was left.
    fn ended(chain: &mut CopiedFilesChain, name: &str, tested: u32, left: u32) -> Vec<String> {
        if left != tested {
            let paths = BTreeSet::from([TreePath::try_from("coverage.xml").expect("a clean path")]);
            chain.note(CopiedFiles { tested: tree(tested), tree: tree(left), paths });
        }
        let task = TaskId::try_from(name).expect("an id");
        let settled = chain.follow(&task, Some(tree(tested)));
        assert!(settled.as_ref().is_none_or(|(on, _)| *on == tree(left)));
        settled.into_iter().flat_map(|(_, tasks)| tasks).map(|task| task.to_string()).collect()
    }

    #[test]
    fn a_tree_that_only_copied_files_changed_is_tested_once_more() {
        let chain = &mut CopiedFilesChain::default();
        assert_eq!(ended(chain, "a", 0, 1), [""; 0], "one more run is right");
        assert_eq!(ended(chain, "a", 1, 2), ["a"], "it differs after every run");
        // Somebody saves.
        assert_eq!(ended(chain, "a", 10, 11), [""; 0]);
        assert_eq!(ended(chain, "a", 11, 11), [""; 0], "the tree has become stable");
        assert!(chain.differing().is_empty());
    }

    #[test]
    fn tasks_that_take_turns_come_to_an_end_too() {
        let chain = &mut CopiedFilesChain::default();
        assert_eq!([ended(chain, "a", 0, 1), ended(chain, "b", 1, 2)], [[""; 0], [""; 0]]);
        assert_eq!(ended(chain, "a", 2, 3), ["a"]);
        assert_eq!(ended(chain, "b", 3, 4), ["a", "b"]);
    }
}
