//! Turns events of the kernel (inotify) into raw hints. Pure: the file system is not asked.

use std::path::{Path, PathBuf};

use nix::sys::inotify::AddWatchFlags;

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
