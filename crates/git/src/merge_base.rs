//! Where two lines of commits part.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use crate::object::ObjectId;
use crate::storage::GitStorage;

/// The most commits that are searched for the one where two branches part.
const MOST_COMMITS: usize = 100_000;

/// Returns the commits right before one.
type Parents<'a> = dyn Fn(ObjectId) -> Vec<ObjectId> + 'a;

impl GitStorage {
    /// Returns the nearest commit that is before both, or one of them; `None` if there is none among the nearest 100,000.
    pub fn merge_base(&self, one: ObjectId, other: ObjectId) -> Option<ObjectId> {
        let made = |commit| self.peel(commit).ok().and_then(|(_, object)| object.commit_time()).unwrap_or_default();
        merge_base(one, other, &|commit| self.parents(commit), &made)
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

/// By which of the two a commit is found, and whether a common one comes after it.
const FROM_ONE: u8 = 1;
const FROM_OTHER: u8 = 2;
const COMMON: u8 = FROM_ONE | FROM_OTHER;
const BEFORE_COMMON: u8 = 4;

/// Returns the nearest commit that is before both, or one of them: none that is an ancestor of another such commit. `made` returns when a
/// commit was made: with the newest first, the search ends soon after the commit is found, and not at the beginning of everything.
fn merge_base(one: ObjectId, other: ObjectId, parents: &Parents<'_>, made: &dyn Fn(ObjectId) -> u64) -> Option<ObjectId> {
    let mut marks = BTreeMap::from([(one, FROM_ONE)]);
    *marks.entry(other).or_default() |= FROM_OTHER;
    let mut waiting: BinaryHeap<(u64, ObjectId)> = [one, other].map(|commit| (made(commit), commit)).into();
    let (mut common, mut searched) = (Vec::new(), 0);
    while searched < MOST_COMMITS && waiting.iter().any(|(_, commit)| marks[commit] & BEFORE_COMMON == 0) {
        let Some((_, commit)) = waiting.pop() else { break };
        searched += 1;
        let mut mark = marks[&commit];
        if mark == COMMON && !common.contains(&commit) {
            common.push(commit);
        }
        if mark & COMMON == COMMON {
            mark |= BEFORE_COMMON;
        }
        for parent in parents(commit) {
            let known = marks.entry(parent).or_default();
            if *known & mark != mark {
                *known |= mark;
                waiting.push((made(parent), parent));
            }
        }
    }
    common.retain(|commit| marks[commit] & BEFORE_COMMON == 0);
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
        // By clocks that go right, stand still, and go backwards.
        let clocks: [fn(u64) -> u64; 3] = [|number| number, |_| 0, |number| 9 - number];
        for clock in clocks {
            let made = |commit| clock((1..=9_u8).find(|number| id(*number) == commit).map_or(0, u64::from));
            for (tip, base) in [(5, 2), (6, 2), (7, 2), (4, 1), (3, 3), (2, 2), (1, 1)] {
                assert_eq!(merge_base(id(3), id(tip), parents, &made), Some(id(base)), "{tip}");
                assert_eq!(merge_base(id(tip), id(3), parents, &made), Some(id(base)), "{tip}");
            }
            assert_eq!(merge_base(id(3), id(9), parents, &made), None);
        }
    }

    #[test]
    fn a_search_ends_soon_after_the_base() {
        // One long line; two commits stand on its last one.
        let number = |commit: ObjectId| (0..=250_u8).find(|one| id(*one) == commit).unwrap_or_default();
        let read = std::cell::Cell::new(0);
        let parents: &Parents<'_> = &|commit| {
            read.set(read.get() + 1);
            match number(commit) {
                0 => Vec::new(),
                250 => vec![id(248)],
                other => vec![id(other - 1)],
            }
        };
        assert_eq!(merge_base(id(249), id(250), parents, &|commit| u64::from(number(commit))), Some(id(248)));
        assert!(read.get() < 10, "{}", read.get());
    }
}
