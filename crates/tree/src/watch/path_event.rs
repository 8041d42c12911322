//! Remembers recent events and which ignore rule decided about each path. Pure, and limited in size.

use std::collections::VecDeque;

use crate::ignore::IgnoreDecision;
use proctor_model::TreePath;

/// The most events that are remembered.
const REMEMBERED: usize = 512;

/// The last event for a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathEvent {
    /// The event in words for people.
    pub event: &'static str,
    /// Whether the path belonged to the tree, and which rule decided that.
    pub decision: IgnoreDecision,
}

/// The newest events in the order in which they came. Several events in a row about one path count as one.
#[derive(Debug, Default)]
pub(super) struct RecentPathEvents {
    accounts: VecDeque<(TreePath, PathEvent)>,
}

impl RecentPathEvents {
    /// Adds an event. It replaces the newest stored event if both are about the same path. If [`REMEMBERED`] events are
    /// stored already, the oldest is forgotten.
    pub(super) fn note(&mut self, path: &TreePath, account: PathEvent) {
        match self.accounts.back_mut() {
            Some((last, known)) if last == path => *known = account,
            Some(_) | None => {
                if self.accounts.len() == REMEMBERED {
                    self.accounts.pop_front();
                }
                self.accounts.push_back((path.clone(), account));
            }
        }
    }

    /// Returns the last event of a path; `None` if there was no event or it has been forgotten.
    pub(super) fn explain(&self, path: &TreePath) -> Option<PathEvent> {
        self.accounts.iter().rev().find(|(known, _)| known == path).map(|(_, account)| account.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ignore::IgnoreVerdict;

    #[test]
    fn the_last_word_on_a_path_is_kept_until_too_many_others_came() {
        let mut recent = RecentPathEvents::default();
        let path = |name: &str| TreePath::try_from(name).expect("a clean path");
        let account = |event| PathEvent { event, decision: IgnoreDecision { verdict: IgnoreVerdict::In, rule: None } };
        recent.note(&path("a"), account("created"));
        recent.note(&path("a"), account("saved"));
        recent.note(&path("b"), account("saved"));
        assert_eq!((recent.explain(&path("a")), recent.accounts.len()), (Some(account("saved")), 2));
        for number in 0..REMEMBERED {
            recent.note(&path(&format!("f{number}")), account("saved"));
        }
        assert_eq!((recent.explain(&path("a")), recent.accounts.len()), (None, REMEMBERED));
    }
}
