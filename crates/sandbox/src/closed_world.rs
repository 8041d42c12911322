//! Which places a closed world hides, so that an action sees only files whose content the verdict names, and files that
//! only root can write.
//!
//! The read-only root stays, and everything in it that is not of the system is hidden. What a program needs inside of the
//! hidden places is made visible again by `visible`.

use std::collections::VecDeque;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread::{self, JoinHandle};

use nix::unistd::{Gid, Uid, geteuid, getgroups};

/// The directories of the system, which belong to root. Directories on the way to one of them show nothing else.
const SYSTEM: &str = "\
    /.dockerenv /bin /dev /etc /gnu/store /lib /lib32 /lib64 /libx32 /nix/store /nix/var/nix/profiles /opt /proc /run /sbin \
    /snap /srv /sys /tmp /usr /usr/local /var/cache /var/guix/profiles /var/lib /var/run /var/tmp";

/// Directories of the system whose entries may belong to a user, and how many levels of entries are looked at. `/tmp` and
/// the like have rules of their own.
const INSPECTED: &[(&str, u32)] =
    &[("/etc", 1), ("/opt", 5), ("/srv", 5), ("/usr", 1), ("/usr/local", 4), ("/var/cache", 2), ("/var/lib", 2)];

/// On how many of these levels files are looked at too, and not only directories.
const LEVELS_OF_FILES: u32 = 2;

/// The most entries of one of these directories that are looked at, the upper ones first.
const MOST_INSPECTED: usize = 4_000;

/// The owner of files of a user that the namespace does not know, such as the machine's root in a container without one.
const OVERFLOW_USER: u32 = 65_534;

/// Who may write files beside root. If proctor itself runs as root, owners and modes tell only of others: the list of directories decides
/// which of root's own files are of the system.
pub(super) struct Writers {
    user: Uid,
    groups: Vec<Gid>,
}

impl Writers {
    pub(super) fn own() -> Self {
        Self { user: geteuid(), groups: getgroups().unwrap_or_default() }
    }

    pub(super) fn are_root(&self) -> bool {
        self.user.is_root()
    }

    /// Returns whether somebody but root may write a file or directory, as far as its owner and mode tell.
    pub(super) fn may_write(&self, metadata: &Metadata) -> bool {
        let (owner, group, mode) = (metadata.uid(), metadata.gid(), metadata.mode());
        let is_users = owner != 0 && (owner != OVERFLOW_USER || owner == self.user.as_raw());
        let is_groups = mode & 0o020 != 0 && group != 0 && self.groups.contains(&Gid::from_raw(group));
        is_users || is_groups || mode & 0o002 != 0
    }
}

/// What users may write in the directories of the system. It is the same for all actions of a run, and takes a thousand looks, so a thread of
/// its own finds it while the run gets ready.
pub struct SystemPlaces(LazyLock<Vec<PathBuf>, Box<dyn FnOnce() -> Vec<PathBuf> + Send>>);

impl SystemPlaces {
    /// Begins to look for them.
    pub fn look() -> Self {
        // Without a thread they are looked for when they are needed.
        let looking = thread::Builder::new().name("system places".to_owned()).spawn(written_places).ok();
        let finish = move || looking.map(JoinHandle::join).and_then(Result::ok).unwrap_or_else(written_places);
        Self(LazyLock::new(Box::new(finish)))
    }
}

fn written_places() -> Vec<PathBuf> {
    let (writers, mut closed) = (Writers::own(), Vec::new());
    for (directory, levels) in INSPECTED {
        close_written(Path::new(directory), *levels, &writers, &mut closed);
    }
    closed
}

/// Returns the directories and files that a closed world hides: everything that is not of the system, HOME, the directories
/// around the project, and what users may write in directories of the system.
pub(super) fn closed_places(project: &Path, home: Option<&Path>, system: &SystemPlaces) -> io::Result<Vec<PathBuf>> {
    let writers = Writers::own();
    let mut closed = Vec::new();
    close_beside_system(Path::new("/"), &writers, &mut closed)?;
    closed.extend(home.map(Path::to_owned));
    // What lies beside the project is not of the project, in a directory of the system either.
    closed.extend(project.ancestors().skip(1).filter(|around| is_inside_system(around)).map(Path::to_owned));
    closed.extend(system.0.iter().cloned());
    Ok(closed)
}

fn is_system(path: &Path) -> bool {
    SYSTEM.split(' ').any(|system| path == Path::new(system))
}

fn is_inside_system(path: &Path) -> bool {
    !is_system(path) && SYSTEM.split(' ').any(|system| path.starts_with(system))
}

fn close_beside_system(directory: &Path, writers: &Writers, closed: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)?.flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        // A link shows what its target shows, and the target has a place of its own.
        if kind.is_symlink() || is_system(&path) {
            continue;
        }
        if SYSTEM.split(' ').any(|system| Path::new(system).starts_with(&path)) {
            close_beside_system(&path, writers, closed)?;
        } else if kind.is_dir() || writers.are_root() || entry.metadata().is_ok_and(|metadata| writers.may_write(&metadata)) {
            closed.push(path);
        }
    }
    Ok(())
}

/// Closes a directory of the system if users may write it, otherwise those of its entries, down to this many levels.
fn close_written(directory: &Path, levels: u32, writers: &Writers, closed: &mut Vec<PathBuf>) {
    let (mut waiting, mut inspected) = (VecDeque::from([(directory.to_owned(), 0)]), 0);
    while let Some((path, level)) = waiting.pop_front().filter(|_| inspected < MOST_INSPECTED) {
        inspected += 1;
        let Some(metadata) = path.symlink_metadata().ok().filter(|metadata| !metadata.is_symlink()) else { continue };
        if writers.may_write(&metadata) {
            closed.push(path);
        } else if metadata.is_dir() && level < levels {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            let counts = |entry: &DirEntry| level < LEVELS_OF_FILES || entry.file_type().is_ok_and(|kind| kind.is_dir());
            waiting.extend(entries.filter(counts).map(|entry| (entry.path(), level + 1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_stays_and_what_lies_beside_it_is_closed() {
        let closed =
            closed_places(Path::new("/srv/sites/shop"), Some(Path::new("/nowhere/ada")), &SystemPlaces::look()).expect("a root");
        let is_closed = |path: &str| closed.iter().any(|closed| Path::new(path).starts_with(closed));
        for path in ["/home/x", "/root/x", "/nowhere/ada", "/var/log", "/srv/sites"] {
            assert!(is_closed(path) || !Path::new(path).exists() && !path.starts_with("/srv"), "{path}: {closed:?}");
        }
        for path in ["/usr/bin", "/etc/passwd", "/proc/self", "/dev/null", "/srv", "/bin"] {
            assert!(!is_closed(path), "{path}: {closed:?}");
        }
    }

    /// Only root can make the entry, and for root it was not closed.
    #[test]
    fn what_others_may_write_is_closed_for_root_too() {
        use std::os::unix::fs::PermissionsExt as _;
        let Ok(open) = tempfile::tempdir_in("/srv").or_else(|_| tempfile::tempdir_in("/opt")) else { return };
        let places = || closed_places(Path::new("/nowhere/shop"), None, &SystemPlaces::look()).expect("a root");
        let closed = || places().contains(&open.path().to_owned());
        assert!(!closed(), "only its owner writes it");
        fs::set_permissions(open.path(), fs::Permissions::from_mode(0o777)).expect("ours");
        assert!(closed());
    }

    #[test]
    fn an_entry_of_a_directory_of_the_system_is_closed_if_users_may_write_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let system = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(system.path().join("tool/share")).expect("made");
        fs::create_dir_all(system.path().join("open")).expect("made");
        fs::create_dir_all(system.path().join("tool/a/b/shared")).expect("made");
        for open in ["open", "tool/a/b/shared"] {
            fs::set_permissions(system.path().join(open), fs::Permissions::from_mode(0o777)).expect("ours");
        }
        let closed = |user: u32| {
            let mut closed = Vec::new();
            let writers = Writers { user: Uid::from_raw(user), groups: Vec::new() };
            close_written(system.path(), 5, &writers, &mut closed);
            closed
        };
        let owner = system.path().metadata().expect("it is there").uid();
        let open = ["open", "tool/a/b/shared"].map(|open| system.path().join(open)).to_vec();
        assert_eq!(closed(1000), if owner == 0 { open } else { vec![system.path().to_owned()] });
    }
}
