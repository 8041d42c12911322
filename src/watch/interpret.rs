//! Turns events of the backend (`notify`) into raw hints. Pure: the file system is not asked.

use std::path::{Path, PathBuf};

use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RenameMode};
use notify::{Event, EventKind};

/// The meaning of an event, before the file system and the matcher have been asked about its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawHint {
    /// Events were lost, so the whole tree must be examined.
    Overflow,
    /// The backend reported an error, with this message.
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

/// Returns whether an event is only about reading a file. Most events are, so they are dropped before they are queued.
pub fn is_noise(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => !event.need_rescan(),
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => false,
    }
}

/// Returns the raw hints of an event: one for each of its paths, none if the event says nothing new, or only an
/// overflow.
///
/// With inotify, a rename inside the watched tree gives the events `From`, `To` and `Both`. `Both` only repeats the
/// other two. A hard link, a symbolic link or a special file gives `Create(File)` and no later event, so a created path
/// must be examined. A change of mode gives a `Metadata` event.
pub fn interpret(event: &Event) -> Vec<RawHint> {
    if event.need_rescan() {
        return vec![RawHint::Overflow];
    }
    let meaning: fn(PathBuf) -> RawHint = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => RawHint::Saved,
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) | EventKind::Access(_) => return Vec::new(),
        EventKind::Create(CreateKind::Any | CreateKind::File | CreateKind::Folder | CreateKind::Other) => RawHint::Created,
        EventKind::Modify(ModifyKind::Data(_)) => RawHint::Writing,
        EventKind::Modify(ModifyKind::Metadata(_)) => RawHint::Touched,
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => RawHint::Vanished,
        EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Any | RenameMode::Other)) => RawHint::Appeared,
        // The inotify backend never sends these kinds of events. For any other backend, the safe answer is to examine
        // the path.
        EventKind::Modify(ModifyKind::Any | ModifyKind::Other) | EventKind::Any | EventKind::Other => RawHint::Appeared,
    };
    event.paths.iter().cloned().map(meaning).collect()
}

/// Returns the raw hint for an error of the backend. The kernel's limit on watches is never reported here: placing a
/// watch returns that error.
pub fn interpret_error(error: &notify::Error) -> RawHint {
    RawHint::Backend(error.to_string())
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
    use std::io;

    use notify::event::{DataChange, Flag, MetadataKind, RemoveKind};

    use super::*;

    fn hints(kind: EventKind) -> Vec<RawHint> {
        interpret(&Event::new(kind).add_path(PathBuf::from("/p/a")))
    }

    #[test]
    fn every_event_of_inotify_has_its_meaning() {
        let path = || PathBuf::from("/p/a");
        let name = |mode| EventKind::Modify(ModifyKind::Name(mode));
        for (kind, expected) in [
            (EventKind::Access(AccessKind::Close(AccessMode::Write)), Some(RawHint::Saved(path()))),
            (EventKind::Access(AccessKind::Close(AccessMode::Read)), None),
            (EventKind::Access(AccessKind::Open(AccessMode::Any)), None),
            (EventKind::Create(CreateKind::File), Some(RawHint::Created(path()))),
            (EventKind::Create(CreateKind::Folder), Some(RawHint::Created(path()))),
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), Some(RawHint::Writing(path()))),
            (EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), Some(RawHint::Touched(path()))),
            (EventKind::Modify(ModifyKind::Metadata(MetadataKind::Permissions)), Some(RawHint::Touched(path()))),
            (name(RenameMode::From), Some(RawHint::Vanished(path()))),
            (name(RenameMode::To), Some(RawHint::Appeared(path()))),
            (name(RenameMode::Both), None),
            (EventKind::Remove(RemoveKind::File), Some(RawHint::Vanished(path()))),
            (EventKind::Remove(RemoveKind::Folder), Some(RawHint::Vanished(path()))),
            (EventKind::Other, Some(RawHint::Appeared(path()))),
        ] {
            assert_eq!(hints(kind), expected.into_iter().collect::<Vec<_>>(), "{kind:?}");
        }
    }

    #[test]
    fn an_overflow_is_seen_before_all_else_whatever_carries_it() {
        for kind in [EventKind::Other, EventKind::Access(AccessKind::Read), EventKind::Modify(ModifyKind::Any)] {
            let event = Event::new(kind).set_flag(Flag::Rescan);
            assert!(!is_noise(&event));
            assert_eq!(interpret(&event), [RawHint::Overflow]);
        }
    }

    #[test]
    fn reading_is_noise_and_nothing_else_is() {
        let is_noise = |kind| super::is_noise(&Event::new(kind));
        assert!(is_noise(EventKind::Access(AccessKind::Open(AccessMode::Any))));
        assert!(is_noise(EventKind::Access(AccessKind::Close(AccessMode::Read))));
        for kind in [
            EventKind::Access(AccessKind::Close(AccessMode::Write)),
            EventKind::Create(CreateKind::File),
            EventKind::Modify(ModifyKind::Any),
            EventKind::Remove(RemoveKind::File),
            EventKind::Any,
            EventKind::Other,
        ] {
            assert!(!is_noise(kind), "{kind:?}");
        }
    }

    #[test]
    fn errors_keep_their_words() {
        let other = notify::Error::io(io::Error::other("broken"));
        assert!(matches!(interpret_error(&other), RawHint::Backend(text) if text.contains("broken")));
    }
}
