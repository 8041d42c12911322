//! Turns events of the kernel (inotify) into raw hints. Pure: the file system is not asked.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use nix::sys::inotify::AddWatchFlags;

use crate::ignore::IgnoreDecision;
use proctor_model::TreePath;

/// The meaning of an event, before the file system and the matcher have been asked about its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawHint {
    /// Events were lost, so the whole tree must be examined.
    Overflow,
    /// The events could not be read, with this message.
    Backend(String),
    /// A file was closed after writing.
    Saved(PathBuf),
    /// A file was written or truncated and may still be open.
    Writing(PathBuf),
    /// A name was created: a file that will be written to, a link or a directory.
    Created(PathBuf),
    /// A file or directory is at this path with its whole content, for example because it was moved there.
    Appeared(PathBuf),
    /// The path was removed or moved away.
    Vanished(PathBuf),
    /// Mode, owner, times or extended attributes changed.
    Touched(PathBuf),
}

/// Makes the hint that a kind of event gives for a path.
type Meaning = fn(PathBuf) -> RawHint;

/// The meaning of each kind of event, in the order in which several kinds of one event are reported.
///
/// A hard link, a symbolic link or a special file gives `IN_CREATE` and no later event, so a created path must be examined.
const MEANINGS: [(AddWatchFlags, Meaning); 9] = [
    (AddWatchFlags::IN_MOVED_FROM, RawHint::Vanished),
    (AddWatchFlags::IN_MOVED_TO, RawHint::Appeared),
    (AddWatchFlags::IN_MOVE_SELF, RawHint::Vanished),
    (AddWatchFlags::IN_CREATE, RawHint::Created),
    (AddWatchFlags::IN_DELETE, RawHint::Vanished),
    (AddWatchFlags::IN_DELETE_SELF, RawHint::Vanished),
    (AddWatchFlags::IN_MODIFY, RawHint::Writing),
    (AddWatchFlags::IN_CLOSE_WRITE, RawHint::Saved),
    (AddWatchFlags::IN_ATTRIB, RawHint::Touched),
];

/// Returns the raw hints of an event about a path. None for an event that is only about reading, and for `IN_IGNORED`
/// and `IN_UNMOUNT`: [`crate::watch`] compares the list of mounts instead.
pub fn interpret(mask: AddWatchFlags, path: &Path) -> Vec<RawHint> {
    if mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
        return vec![RawHint::Overflow];
    }
    MEANINGS.iter().filter(|(kind, _)| mask.contains(*kind)).map(|(_, meaning)| meaning(path.to_owned())).collect()
}

impl RawHint {
    /// Returns what happened, in words for people, and the event's path; `None` if the hint has no path.
    pub(super) fn describe(&self) -> Option<(&'static str, &Path)> {
        match self {
            Self::Overflow | Self::Backend(_) => None,
            Self::Saved(path) => Some(("closed after writing", path)),
            Self::Writing(path) => Some(("written", path)),
            Self::Created(path) => Some(("created", path)),
            Self::Appeared(path) => Some(("moved to this name", path)),
            Self::Vanished(path) => Some(("removed or moved away", path)),
            Self::Touched(path) => Some(("changed in its mode, owner, times or attributes", path)),
        }
    }
}

// Remembers recent events and which ignore rule decided about each path. Pure, and limited in size.

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

    fn hints(mask: AddWatchFlags) -> Vec<RawHint> {
        interpret(mask, Path::new("/p/a"))
    }

    #[test]
    fn every_event_of_inotify_has_its_meaning() {
        let path = || PathBuf::from("/p/a");
        for (mask, expected) in [
            (AddWatchFlags::IN_CLOSE_WRITE, Some(RawHint::Saved(path()))),
            (AddWatchFlags::IN_CLOSE_NOWRITE, None),
            (AddWatchFlags::IN_OPEN, None),
            (AddWatchFlags::IN_ACCESS, None),
            (AddWatchFlags::IN_CREATE, Some(RawHint::Created(path()))),
            (AddWatchFlags::IN_CREATE | AddWatchFlags::IN_ISDIR, Some(RawHint::Created(path()))),
            (AddWatchFlags::IN_MODIFY, Some(RawHint::Writing(path()))),
            (AddWatchFlags::IN_ATTRIB, Some(RawHint::Touched(path()))),
            (AddWatchFlags::IN_MOVED_FROM, Some(RawHint::Vanished(path()))),
            (AddWatchFlags::IN_MOVED_TO, Some(RawHint::Appeared(path()))),
            (AddWatchFlags::IN_MOVE_SELF, Some(RawHint::Vanished(path()))),
            (AddWatchFlags::IN_DELETE, Some(RawHint::Vanished(path()))),
            (AddWatchFlags::IN_DELETE_SELF | AddWatchFlags::IN_ISDIR, Some(RawHint::Vanished(path()))),
            (AddWatchFlags::IN_IGNORED, None),
            (AddWatchFlags::IN_UNMOUNT, None),
        ] {
            assert_eq!(hints(mask), expected.into_iter().collect::<Vec<_>>(), "{mask:?}");
        }
    }

    #[test]
    fn an_overflow_is_seen_before_all_else_whatever_carries_it() {
        for mask in [AddWatchFlags::empty(), AddWatchFlags::IN_ACCESS, AddWatchFlags::IN_MODIFY] {
            assert_eq!(hints(mask | AddWatchFlags::IN_Q_OVERFLOW), [RawHint::Overflow]);
        }
    }
}

#[cfg(test)]
mod path_event_tests {
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
