//! Covers hidden paths of an action by empty directories and files.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use crate::process::protocol::Obstacle;
use crate::process::stage::{Kind, broken, is_out_of_reach, lasting, make_mount_point};
use crate::process::system_calls::{MountAttribute, MountExtent, restrict_mount};

/// The directory in which covers (empty directories and files to be mounted over hidden paths) are made. At the end the
/// fresh `/proc` is mounted over this directory.
const WORKSHOP: &str = "/proc";

/// Files that their tools cannot read when they are empty, each with a content without settings and secrets that is
/// shown when the file is hidden.
const STAND_INS: &[(&str, &str)] = &[
    (".m2/settings.xml", "<settings/>\n"),
    (".m2/settings-security.xml", "<settingsSecurity/>\n"),
    ("composer/auth.json", "{}\n"),
    (".composer/auth.json", "{}\n"),
];

/// Empty directories and files that are mounted over hidden paths.
pub(super) struct Covers {
    made: usize,
    /// Says whether the action opened a text that it is shown; `None` if there is no such text, or nobody can watch it.
    opened: Option<Inotify>,
    sealable: Vec<Cover>,
}

/// An empty directory or file, and the hidden path that it is mounted over.
struct Cover {
    empty: PathBuf,
    path: PathBuf,
}

/// How often a cover is mounted again, because another file took the place of the hidden one while the isolation was made.
const MOST_REPLACEMENTS: usize = 20;

impl Cover {
    /// Mounts the cover. Returns whether it is mounted: a path that is gone, or lies in a directory that is empty for the action, has nothing
    /// to hide.
    fn mount(&self) -> io::Result<bool> {
        let mut replaced = 0;
        loop {
            match mount(Some(&self.empty), &self.path, None::<&str>, MsFlags::MS_BIND, None::<&str>).map_err(io::Error::from) {
                Ok(()) => return Ok(true),
                Err(error) if is_out_of_reach(&error) && replaced < MOST_REPLACEMENTS => {
                    if fs::symlink_metadata(&self.path).is_err_and(|error| is_out_of_reach(&error)) {
                        return Ok(false);
                    }
                    replaced += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the mounted cover read-only. Removing the hidden file, such as the socket of a program that ends, takes the cover away with
    /// it; another file at its place is covered again.
    fn seal(&self) -> io::Result<()> {
        let mut replaced = 0;
        loop {
            match restrict_mount(&self.path, MountAttribute::ReadOnly, MountExtent::One) {
                Err(error) if is_out_of_reach(&error) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::InvalidInput && replaced < MOST_REPLACEMENTS => {
                    replaced += 1;
                    if !self.mount()? {
                        return Ok(());
                    }
                }
                sealed => return sealed,
            }
        }
    }
}

impl Covers {
    pub(super) fn open() -> Result<Self, Obstacle> {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("tmpfs"), WORKSHOP, Some("tmpfs"), flags, Some("mode=755,size=4m"))
            .map_err(|errno| lasting("cannot mount a file system in memory", &errno.into()))?;
        Ok(Self { made: 0, opened: None, sealable: Vec::new() })
    }

    /// Mounts a directory without entries, or a file with a text, over a path.
    pub(super) fn cover(&mut self, path: &Path, kind: Kind, text: &str) -> Result<(), Obstacle> {
        let refused = |error: &io::Error| broken("hide", path, error);
        let cover = Cover { empty: Path::new(WORKSHOP).join(self.made.to_string()), path: path.to_owned() };
        self.made += 1;
        make_mount_point(&cover.empty, kind).map_err(|error| refused(&error))?;
        let stand_in = STAND_INS.iter().find(|(name, _)| path.ends_with(name)).map(|(_, text)| *text);
        if let Some(text) = stand_in.or(Some(text).filter(|text| !text.is_empty())) {
            let written = File::options().write(true).open(&cover.empty).and_then(|mut file| file.write_all(text.as_bytes()));
            written.map_err(|error| refused(&error))?;
        }
        if !text.is_empty() {
            self.opened = self.opened.take().or_else(|| Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok());
            let _unwatched = self.opened.as_ref().map(|opened| opened.add_watch(&cover.empty, AddWatchFlags::IN_OPEN));
        }
        if cover.mount().map_err(|error| refused(&error))? {
            self.sealable.push(cover);
        }
        Ok(())
    }

    /// Returns what says whether the action opened a text that it is shown.
    pub(super) fn into_opened(self) -> Option<Inotify> {
        self.opened
    }

    /// Makes the covers (the empty directories over hidden paths) read-only once everything inside them is attached.
    /// The last cover, which hides the evidence store, stays writable, because the output directory is attached there
    /// later.
    pub(super) fn seal(&self) -> Result<(), Obstacle> {
        let but_the_last = self.sealable.len().saturating_sub(1);
        let mut covers = self.sealable[..but_the_last].iter();
        covers.try_for_each(|cover| cover.seal().map_err(|error| broken("close", &cover.path, &error)))
    }
}
