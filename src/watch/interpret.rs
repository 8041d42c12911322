//! What an event of the backend means. Pure: nothing is looked up here.

use std::path::{Path, PathBuf};

use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RenameMode};
use notify::{Event, EventKind};

/// What an event says, before the file system and the matcher are asked about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawHint {
    /// Events were lost: everything has to be looked at.
    Overflow,
    /// The backend reported an error, in its words.
    Backend(String),
    /// A file was closed after writing.
    Saved(PathBuf),
    /// A file was written or truncated and may still be open.
    Writing(PathBuf),
    /// A name came to be that was created in place: a file that will be written, a link, a directory.
    Created(PathBuf),
    /// Something came to stand under a name with its content: it was moved there.
    Appeared(PathBuf),
    /// What stood under a name was removed or moved away.
    Vanished(PathBuf),
    /// Mode, owner, times or extended attributes changed.
    Touched(PathBuf),
}

/// Returns whether an event says nothing to anybody here: reading. Such events are the most, and are dropped before all else.
pub fn is_noise(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => !event.need_rescan(),
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => false,
    }
}

/// Returns what an event says about the paths it names.
///
/// With inotify, a rename inside the watched tree comes as `From`, `To` and once more as `Both`; the third repeats the others. A
/// hard link, a link and a special file come as `Create(File)` and nothing after it, so a created name has to be looked at. A
/// changed mode comes as a change of any metadata.
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
        // Said by no event of inotify; whatever it is, the path is worth a look.
        EventKind::Modify(ModifyKind::Any | ModifyKind::Other) | EventKind::Any | EventKind::Other => RawHint::Appeared,
    };
    event.paths.iter().cloned().map(meaning).collect()
}

/// Returns what an error of the backend says. That the limit on watches is reached is said when one is placed, by whoever places it.
pub fn interpret_error(error: &notify::Error) -> RawHint {
    RawHint::Backend(error.to_string())
}

impl RawHint {
    /// Returns what happened and to which path, in words for people; nothing where it is about no path.
    pub(super) fn told(&self) -> Option<(&'static str, &Path)> {
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
