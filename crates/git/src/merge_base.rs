//! Where two lines of commits part.

use std::collections::{BTreeSet, VecDeque};

use crate::object::ObjectId;
use crate::storage::GitStorage;

/// The most commits that are searched for the one where two branches part.
const MOST_COMMITS: usize = 100_000;

/// Returns the commits right before one.
type Parents<'a> = dyn Fn(ObjectId) -> Vec<ObjectId> + 'a;

impl GitStorage {
    /// Returns the nearest commit that is before both, or one of them; `None` if there is none among the nearest 100,000.
    pub fn merge_base(&self, one: ObjectId, other: ObjectId) -> Option<ObjectId> {
        merge_base(one, other, &|commit| self.parents(commit))
    }

    /// Returns the commit on which this one was made; `None` for a first one, or one that cannot be read.
    pub fn first_parent(&self, commit: ObjectId) -> Option<ObjectId> {
        self.parents(commit).into_iter().next()
    }

    /// Returns how many commits are `tip` or before it, and neither `base` nor before that.
    pub fn commits_since(&self, base: ObjectId, tip: ObjectId) -> usize {
        let parents: &Parents<'_> = &|commit| self.parents(commit);
        ancestors([tip], parents).difference(&ancestors([base], parents)).count()
    }

    fn parents(&self, commit: ObjectId) -> Vec<ObjectId> {
        self.peel(commit).ok().and_then(|(_, object)| object.commit_parents()).unwrap_or_default()
    }
}

/// Returns the nearest commit that is before both, or one of them: none that is an ancestor of another such commit.
fn merge_base(one: ObjectId, other: ObjectId, parents: &Parents<'_>) -> Option<ObjectId> {
    let of_one = ancestors([one], parents);
    let (mut waiting, mut seen, mut common) = (VecDeque::from([other]), BTreeSet::new(), Vec::new());
    while let Some(commit) = waiting.pop_front() {
        if seen.len() < MOST_COMMITS && seen.insert(commit) {
            if of_one.contains(&commit) {
                common.push(commit);
            } else {
                waiting.extend(parents(commit));
            }
        }
    }
    if common.len() > 1 {
        let older = ancestors(common.iter().flat_map(|commit| parents(*commit)), parents);
        common.retain(|commit| !older.contains(commit));
    }
    common.first().copied()
}

/// Returns commits and everything before them.
fn ancestors(tips: impl IntoIterator<Item = ObjectId>, parents: &Parents<'_>) -> BTreeSet<ObjectId> {
    let (mut waiting, mut seen): (VecDeque<ObjectId>, _) = (tips.into_iter().collect(), BTreeSet::new());
    while let Some(commit) = waiting.pop_front() {
        if seen.len() < MOST_COMMITS && seen.insert(commit) {
            waiting.extend(parents(commit));
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::object::GitObject;

    fn id(number: u8) -> ObjectId {
        GitObject::blob(vec![number]).id()
    }

    #[test]
    fn the_base_is_no_ancestor_of_another_common_commit() {
        // 1 ← 2 ← 3 is the main branch; 4 ← 5 the other one: 4 began at 1, and 5 took 2 in.
        let above = BTreeMap::from([(2, vec![1]), (3, vec![2]), (4, vec![1]), (5, vec![4, 2]), (6, vec![2, 1]), (7, vec![1, 2])]);
        let above: BTreeMap<ObjectId, Vec<ObjectId>> =
            above.into_iter().map(|(child, parents)| (id(child), parents.into_iter().map(id).collect())).collect();
        let parents: &Parents<'_> = &|commit| above.get(&commit).cloned().unwrap_or_default();
        for (tip, base) in [(5, 2), (6, 2), (7, 2), (4, 1), (3, 3)] {
            assert_eq!(merge_base(id(3), id(tip), parents), Some(id(base)), "{tip}");
        }
        assert_eq!(merge_base(id(3), id(9), parents), None);
    }
}
