//! Sets up the file system of one action, in the new namespaces of the keeper (the process that starts and watches the
//! action). Everything is read-only except the paths that the sandbox names.
//!
//! The order of the steps matters. First, the paths that stay writable are copied (as mounts). Then everything is made
//! read-only. Then the copies are attached; a copy inside another one comes after it. Hidden paths are covered by empty
//! directories of a file system in memory. At the end the fresh `/proc` is mounted over that file system, so the action
//! cannot reach it. The output directory is attached when the action is known, because a keeper may be forked in
//! advance, before its action is known. Sources: user_namespaces(7), mount_namespaces(7), mount_setattr(2).

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sys::inotify::Inotify;
use nix::sys::prctl::set_dumpable;
use nix::unistd::{getegid, geteuid};

use crate::process::covers::Covers;
use crate::process::protocol::Obstacle;
use crate::process::second_paths::refuse_new_second_path;
use crate::process::snapshot_mount::{MEMORY, mount_dropped, mount_snapshot, open_directory};
use crate::process::system_calls::{MountAttribute, MountExtent, attach_mount, clone_mount, restrict_copy, restrict_mount};
use crate::process::written::{WrittenPlaces, open_below};
use proctor_model::{Access, DroppedWrites, Place, Sandbox, SnapshotMount};

/// The device nodes that actions keep if proctor runs as root. If it runs as an ordinary user, actions keep all of
/// `/dev`, because file permissions protect the other nodes.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Files of a fresh `/proc` with which root could change the kernel. They belong to root, so dropping capabilities does
/// not protect them (`proc(5)`).
const KERNEL_SWITCHES: &[&str] = &["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"];

/// A file system that is prepared except for the steps that need to know the action. [`StagedFileSystem::finish`] does
/// these steps.
#[derive(Debug)]
pub(super) struct StagedFileSystem {
    /// The directory of the evidence store, opened before an empty directory was mounted over it, with its path; `None`
    /// if there is no sandbox.
    store: Option<(OwnedFd, PathBuf)>,
    /// `/dev/shm`, opened before an empty one was mounted over it; `None` if the machine has none, or if there is no
    /// sandbox. Layers may lie there.
    memory: Option<OwnedFd>,
    /// The paths of the sandbox, with the device and inode that each had when the sandbox was described.
    places: Vec<Place>,
    /// Says whether the action opened a text that it is shown in place of a file.
    texts: Option<Inotify>,
}

/// A path of the sandbox, and a copy of its mount that was made before everything was made read-only.
struct Copied<'p> {
    place: &'p Place,
    mount: Option<OwnedFd>,
    kind: Kind,
}

/// Whether a mount point is a directory or a file: the mounted thing must be of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
}

/// The user and group of this process before it entered a namespace of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct UserAndGroup {
    user: u32,
    group: u32,
}

impl UserAndGroup {
    /// Returns the user and group of this process now.
    pub(super) fn own() -> Self {
        Self { user: geteuid().as_raw(), group: getegid().as_raw() }
    }
}

/// Maps the user into the new user namespace, and sets up the file system as the sandbox says. `output` is the output
/// directory of an action; its parent directory is made now, because the actual action will probably have its output
/// directory there.
pub(super) fn stage(
    identity: UserAndGroup,
    sandbox: Option<&Sandbox>,
    output: Option<&Path>,
) -> Result<StagedFileSystem, Obstacle> {
    map_identity(identity).map_err(|error| lasting("cannot be somebody in a new user namespace", &error))?;
    let Some(sandbox) = sandbox else {
        mount_proc()?;
        return Ok(StagedFileSystem { store: None, memory: None, places: Vec::new(), texts: None });
    };
    // The mounts of this namespace were copied after the sandbox was described. From here on, only this process changes them.
    refuse_new_second_path(sandbox).map_err(|error| Obstacle::Place(error.to_string()))?;
    let store = open_store(&sandbox.store)?;
    let memory = open_directory(Path::new(MEMORY)).ok();
    let is_root = identity.user == 0;
    let devices = if is_root { copy_devices()? } else { Vec::new() };
    let copied = copy_all(&sandbox.places)?;
    let attribute = if is_root { MountAttribute::ReadOnlyWithoutDevices } else { MountAttribute::ReadOnly };
    restrict_mount(Path::new("/"), attribute, MountExtent::Tree).map_err(|error| lasting("cannot make `/` read-only", &error))?;
    for (path, device) in &devices {
        attach_mount(device, path).map_err(|error| broken("attach", path, &error))?;
    }
    if is_root {
        mount_terminals()?;
    }
    let mut covers = Covers::open()?;
    let mut pinned = BTreeSet::new();
    for one in &copied {
        if matches!(one.place.access, Access::Hidden | Access::ReadOnly | Access::Text { .. }) {
            pin_ancestors(&one.place.path, sandbox, &mut pinned)?;
        }
        if one.place.access == Access::Hidden && one.kind == Kind::Directory && lies_in_empty_place(one.place, &sandbox.places) {
            // HOME is empty and has to be there, in a directory that is empty itself.
            make_mount_point(&one.place.path, one.kind).map_err(|error| broken("make a place for", &one.place.path, &error))?;
        }
        attach(one, &mut covers)?;
    }
    if let Some((_, path)) = &store {
        pin_ancestors(path, sandbox, &mut pinned)?;
        // The path may be inside a private directory, which is empty at first, so the mount point may have to be made.
        make_mount_point(path, Kind::Directory).map_err(|error| broken("make a place for", path, &error))?;
        covers.cover(path, Kind::Directory, "")?;
        if let Some(around) = output.and_then(Path::parent).filter(|around| around.starts_with(path)) {
            // If the directory cannot be made now, attaching the output directory reports the error.
            let _not_made = fs::create_dir_all(around);
        }
    }
    covers.seal()?;
    mount_proc()?;
    if is_root {
        guard_kernel_switches()?;
    }
    let places = sandbox.places.clone();
    Ok(StagedFileSystem { store, memory, places, texts: covers.into_opened() })
}

impl StagedFileSystem {
    /// Returns whether every writable or read-only path of the sandbox is still the same file or directory as when
    /// the sandbox was described. A path that was removed and made again is a different one.
    pub(super) fn is_current(&self) -> bool {
        let is_named = |place: &&Place| matches!(place.access, Access::Writable | Access::ReadOnly);
        self.places.iter().filter(is_named).all(is_what_it_was)
    }

    /// Returns whether the action opened the configuration of a repository, which git does before it reads anything else there.
    pub(super) fn has_git_read(&self) -> bool {
        self.texts.as_ref().is_some_and(|texts| texts.read_events().is_ok_and(|events| !events.is_empty()))
    }

    /// Attaches the action's output directory, lays the snapshot over the project and layers over the directories whose changes are
    /// dropped, and makes read-only the empty
    /// directory that covers the store.
    pub(super) fn finish(
        &self,
        output: Option<&Path>,
        snapshot: Option<&SnapshotMount>,
        dropped: Option<&DroppedWrites>,
    ) -> io::Result<()> {
        let Some((store, path)) = &self.store else {
            return Ok(());
        };
        if let Some(output) = output {
            let below = output.strip_prefix(path).map_err(io::Error::other)?;
            let copy = clone_mount(Some(store.as_fd()), below, MountExtent::Tree)?;
            restrict_copy(&copy, MountAttribute::WritableAgain)?;
            fs::create_dir_all(output)?;
            attach_mount(&copy, output)?;
        }
        if let Some(snapshot) = snapshot {
            let places = self.places.iter().map(|place| place.path.as_path());
            mount_snapshot(snapshot, store, path, self.memory.as_ref(), places)?;
        }
        if let Some(dropped) = dropped {
            mount_dropped(dropped, store, path, self.memory.as_ref())?;
        }
        restrict_mount(path, MountAttribute::ReadOnly, MountExtent::One)
    }

    /// Returns the places whose content counts for a limit on written bytes. Has to be called after [`Self::finish`].
    pub(super) fn written_places(
        &self,
        most: u64,
        snapshot: Option<&SnapshotMount>,
        dropped: Option<&DroppedWrites>,
    ) -> WrittenPlaces {
        let layers = snapshot.into_iter().flat_map(|snapshot| {
            [&snapshot.written].into_iter().chain(snapshot.environments.iter().map(|environment| &environment.written))
        });
        let dropped = dropped.into_iter().flat_map(|dropped| dropped.places.iter().map(|place| &place.written));
        let private = self.places.iter().filter_map(|place| match &place.access {
            Access::Private { source } | Access::Layer { source } | Access::Overlay { scratch: source } => Some(source.as_path()),
            Access::Writable | Access::ReadOnly | Access::Hidden | Access::Memory | Access::Text { .. } => None,
        });
        let tops = || {
            let store = self.store.iter().map(|(store, path)| (store, path.as_path()));
            store.chain(self.memory.iter().map(|memory| (memory, Path::new(MEMORY))))
        };
        let paths: BTreeSet<&Path> = layers.chain(dropped).map(|layer| layer.upper.as_path()).chain(private).collect();
        let opened = paths.into_iter().filter_map(|path| tops().find_map(|(top, at)| open_below(top, at, path)));
        let memory = self.places.iter().filter(|place| place.access == Access::Memory);
        WrittenPlaces::new(most, opened.collect(), memory.filter_map(|place| open_directory(&place.path).ok()).collect())
    }
}

/// Writes the maps of this process's new user namespace: the process's user id and group id are mapped to the same ids
/// inside.
pub(super) fn map_identity(identity: UserAndGroup) -> io::Result<()> {
    // While a process is not dumpable, its files in `/proc` belong to root.
    set_dumpable(true)?;
    write_to("/proc/self/setgroups", "deny")?;
    write_to("/proc/self/uid_map", &format!("{0} {0} 1", identity.user))?;
    write_to("/proc/self/gid_map", &format!("{0} {0} 1", identity.group))?;
    set_dumpable(false)?;
    Ok(())
}

fn write_to(path: &str, text: &str) -> io::Result<()> {
    File::options().write(true).open(path)?.write_all(text.as_bytes())
}

fn open_store(store: &Path) -> Result<Option<(OwnedFd, PathBuf)>, Obstacle> {
    if store.as_os_str().is_empty() {
        return Ok(None);
    }
    let opened = File::options().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(store);
    let directory = opened.map_err(|error| broken("open", store, &error))?;
    Ok(Some((directory.into(), store.to_owned())))
}

fn copy_devices() -> Result<Vec<(&'static Path, OwnedFd)>, Obstacle> {
    let copy = |path: &'static Path| match clone_mount(None, path, MountExtent::Tree) {
        Ok(device) => Some(Ok((path, device))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(lasting("cannot copy a device for root's commands", &error))),
    };
    DEVICES.iter().map(Path::new).filter_map(copy).collect()
}

/// Copies the mount of every sandbox path (files are not copied). Overlays of HOME come last: once such an overlay is
/// mounted, a path below HOME is no longer the file that was examined when the sandbox was described.
fn copy_all(places: &[Place]) -> Result<Vec<Copied<'_>>, Obstacle> {
    let is_overlay = |place: &Place| matches!(place.access, Access::Overlay { .. });
    // git removes files of its own at any moment. Where nothing can be made in the place of one, the action does not find it.
    let copy = |place| match copy(place) {
        Err(Obstacle::Stale) if !place.path.exists() && lies_in_empty_place(place, places) => Ok(None),
        copied => copied,
    };
    let mut copied = Vec::with_capacity(places.len());
    for (index, place) in places.iter().enumerate().filter(|(_, place)| !is_overlay(place)) {
        copied.extend(copy(place)?.map(|copied| (index, copied)));
    }
    for (index, place) in places.iter().enumerate().filter(|(_, place)| is_overlay(place)) {
        copied.extend(copy(place)?.map(|copied| (index, copied)));
    }
    copied.sort_by_key(|(index, _)| *index);
    Ok(copied.into_iter().map(|(_, copied)| copied).collect())
}

/// Copies the mount of a sandbox path while it is still writable. Returns `None` for a path to be hidden that is not there any more, such as
/// the socket of a program that has ended, or that this user cannot reach: the action, which has no more rights, finds nothing there either.
fn copy(place: &Place) -> Result<Option<Copied<'_>>, Obstacle> {
    let refused = |error: &io::Error| broken("copy", &place.path, error);
    let metadata = match fs::metadata(&place.path) {
        Err(error) if place.access == Access::Hidden && is_out_of_reach(&error) => return Ok(None),
        Err(error) if place.access == Access::ReadOnly && error.kind() == io::ErrorKind::NotFound => return Err(Obstacle::Stale),
        found => found.map_err(|error| refused(&error))?,
    };
    let kind = if metadata.is_dir() { Kind::Directory } else { Kind::File };
    let mount = match &place.access {
        Access::Writable | Access::ReadOnly => {
            if identity_of(&metadata) != place.identity && !(place.access == Access::ReadOnly && is_plain_file(&place.path)) {
                return Err(Obstacle::Stale);
            }
            let copy = clone_mount(None, &place.path, MountExtent::Tree).map_err(|error| refused(&error))?;
            let is_writable = place.access == Access::Writable;
            let attribute = if is_writable { MountAttribute::WithoutDevices } else { MountAttribute::ReadOnlyWithoutDevices };
            restrict_copy(&copy, attribute).map_err(|error| refused(&error))?;
            Some(copy)
        }
        Access::Private { source } => {
            make_private(source).map_err(|error| broken("make", source, &error))?;
            let copy = clone_mount(None, source, MountExtent::One).map_err(|error| refused(&error))?;
            restrict_copy(&copy, MountAttribute::WithoutDevices).map_err(|error| refused(&error))?;
            Some(copy)
        }
        Access::Layer { source } => {
            make_in_scratch(source, 2).map_err(|error| broken("make", source, &error))?;
            let copy = clone_mount(None, source, MountExtent::One).map_err(|error| refused(&error))?;
            restrict_copy(&copy, MountAttribute::WithoutDevices).map_err(|error| refused(&error))?;
            Some(copy)
        }
        Access::Overlay { scratch } => Some(overlay(&place.path, scratch)?),
        Access::Hidden | Access::Memory | Access::Text { .. } => None,
    };
    Ok(Some(Copied { place, mount, kind }))
}

pub(super) fn is_out_of_reach(error: &io::Error) -> bool {
    [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory, io::ErrorKind::PermissionDenied].contains(&error.kind())
}

/// Makes a directory that every user in the action may write, with the mode of `/tmp`.
fn make_private(source: &Path) -> io::Result<()> {
    make_in_scratch(source, 2)?;
    fs::set_permissions(source, Permissions::from_mode(0o1777))
}

/// Makes a directory and its missing parents, at most `depth` directories in all. A scratch directory in the evidence
/// store may be missing. But if the whole store was removed, it must not be made again, so the number is limited.
fn make_in_scratch(directory: &Path, depth: usize) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && depth > 1 => {
            directory.parent().map_or(Ok(()), |parent| make_in_scratch(parent, depth - 1))?;
            fs::create_dir(directory)
        }
        made => made,
    }
}

/// Mounts a writable overlay over a path and returns a copy of that mount. The caller attaches the copy over the same
/// path later, when everything else is read-only.
fn overlay(path: &Path, scratch: &Path) -> Result<OwnedFd, Obstacle> {
    let refused = |error: &io::Error| broken("lay a writable copy over", path, error);
    let (upper, work) = (scratch.join("changed"), scratch.join("work"));
    for directory in [&upper, &work] {
        make_in_scratch(directory, 3).map_err(|error| refused(&error))?;
    }
    let option = |name: &str, path: &Path| format!("{name}={}", escape_option(path));
    let options = [option("lowerdir", path), option("upperdir", &upper), option("workdir", &work), "userxattr".to_owned()];
    let options = options.join(",");
    mount(Some("overlay"), path, Some("overlay"), MsFlags::MS_NODEV, Some(options.as_str()))
        .map_err(|errno| refused(&errno.into()))?;
    clone_mount(None, path, MountExtent::One).map_err(|error| refused(&error))
}

/// Escapes a path for overlayfs, which separates its options by commas and lower directories by colons.
fn escape_option(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "\\\\").replace(',', "\\,").replace(':', "\\:")
}

/// Returns whether the place around a place shows nothing of what is on disk, so that a mount point in it has to be made.
fn lies_in_empty_place(place: &Place, places: &[Place]) -> bool {
    let around = places.iter().rev().find(|around| place.path.starts_with(&around.path) && around.path != place.path);
    around.is_some_and(|around| matches!(around.access, Access::Hidden | Access::Private { .. } | Access::Layer { .. }))
}

fn attach(one: &Copied<'_>, covers: &mut Covers) -> Result<(), Obstacle> {
    let path = &one.place.path;
    if one.place.access == Access::Hidden {
        return covers.cover(path, one.kind, "");
    }
    make_mount_point(path, one.kind).map_err(|error| broken("make a place for", path, &error))?;
    match (&one.place.access, &one.mount) {
        (Access::Text { content }, _) => covers.cover(path, one.kind, content),
        (Access::Memory, _) => {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
            let refused = |errno: Errno| broken("mount memory at", path, &errno.into());
            mount(Some("tmpfs"), path, Some("tmpfs"), flags, Some("mode=1777")).map_err(refused)
        }
        (_, Some(mount)) => attach_mount(mount, path).map_err(|error| {
            // git has put another file in its place since it was copied.
            let is_gone = one.place.access == Access::ReadOnly && error.kind() == io::ErrorKind::NotFound;
            if is_gone { Obstacle::Stale } else { broken("attach", path, &error) }
        }),
        (_, None) => Ok(()),
    }
}

/// Mounts every directory between a writable path and a protected path inside it onto itself. The kernel refuses to
/// rename a mount point, so the action cannot rename a parent directory to get around the protection.
fn pin_ancestors(path: &Path, sandbox: &Sandbox, pinned: &mut BTreeSet<PathBuf>) -> Result<(), Obstacle> {
    let is_writable = |place: &Place| {
        matches!(place.access, Access::Writable | Access::Overlay { .. } | Access::Private { .. } | Access::Layer { .. })
    };
    // In a place that is not writable itself, nothing can be renamed.
    let around = sandbox.places.iter().rev().find(|place| path.starts_with(&place.path) && path != place.path);
    let Some(nearest) = around.filter(|place| is_writable(place)) else {
        return Ok(());
    };
    let between: Vec<&Path> = path.ancestors().skip(1).take_while(|ancestor| *ancestor != nearest.path).collect();
    for ancestor in between.into_iter().rev().filter(|ancestor| ancestor.exists()) {
        if pinned.insert(ancestor.to_owned()) {
            mount(Some(ancestor), ancestor, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
                .map_err(|errno| broken("pin", ancestor, &errno.into()))?;
        }
    }
    Ok(())
}

/// Makes a mount point if it is missing. It is missing if it lies inside a private directory or inside the empty
/// directory over a hidden path, because both contain nothing at first.
pub(super) fn make_mount_point(path: &Path, kind: Kind) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    match kind {
        Kind::Directory => fs::create_dir_all(path),
        Kind::File => {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            File::create_new(path).map(drop)
        }
    }
}

fn mount_proc() -> Result<(), Obstacle> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>).map_err(|errno| {
        lasting("cannot mount a fresh `/proc` (in a container that masks parts of it, none can be)", &errno.into())
    })
}

/// Mounts a new file system for terminals, where the machine has one. The mounts of other devices are copied one by one.
/// That does not work for `/dev/ptmx`, which finds its terminals in its own file system.
fn mount_terminals() -> Result<(), Obstacle> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let (terminals, multiplexer) = (Path::new("/dev/pts"), Path::new("/dev/ptmx"));
    if !terminals.exists() || !multiplexer.exists() {
        return Ok(());
    }
    mount(Some("devpts"), terminals, Some("devpts"), flags, Some("newinstance,ptmxmode=0666,mode=620"))
        .and_then(|()| mount(Some("/dev/pts/ptmx"), multiplexer, None::<&str>, MsFlags::MS_BIND, None::<&str>))
        .map_err(|errno| lasting("cannot mount terminals for root's commands", &errno.into()))
}

fn guard_kernel_switches() -> Result<(), Obstacle> {
    for path in KERNEL_SWITCHES.iter().map(Path::new) {
        let laid = mount(Some(path), path, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>);
        let guarded = match laid {
            // Not every kernel has every file in `KERNEL_SWITCHES`.
            Err(Errno::ENOENT) => continue,
            Err(errno) => Err(errno.into()),
            Ok(()) => restrict_mount(path, MountAttribute::ReadOnly, MountExtent::Tree),
        };
        guarded.map_err(|error| broken("guard", path, &error))?;
    }
    Ok(())
}

fn is_what_it_was(place: &Place) -> bool {
    fs::metadata(&place.path).is_ok_and(|metadata| identity_of(&metadata) == place.identity)
}

/// Returns whether a path is a file without another name. git puts a new file in the place of its index and of references all the time; a link
/// or a second name could lead to a file that is hidden.
fn is_plain_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.nlink() == 1)
}

fn identity_of(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

pub(super) fn lasting(what: &str, error: &io::Error) -> Obstacle {
    Obstacle::Level(format!("{what}: {error}"))
}

pub(super) fn broken(verb: &str, path: &Path, error: &io::Error) -> Obstacle {
    Obstacle::Place(format!("cannot {verb} `{}` for the isolation of a command: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_separates_an_option_is_escaped_in_a_path() {
        assert_eq!(escape_option(Path::new("/a,b:c\\d")), "/a\\,b\\:c\\\\d");
    }

    #[test]
    fn what_is_not_there_need_not_be_hidden_and_must_be_there_to_be_shown() {
        let root = tempfile::tempdir().expect("a directory");
        let gone = |access| Place { path: root.path().join("gone.sock"), access, identity: (0, 0) };
        assert!(matches!(copy(&gone(Access::Hidden)), Ok(None)));
        assert!(matches!(copy(&gone(Access::ReadOnly)), Err(Obstacle::Stale)));
        let there = Place { path: root.path().to_owned(), ..gone(Access::Hidden) };
        assert!(matches!(copy(&there), Ok(Some(_))));
    }

    #[test]
    fn what_a_scratch_lies_in_is_never_made_again() {
        let root = tempfile::tempdir().expect("a directory");
        let store = root.path().join("store");
        for (depth, directory, is_made) in [
            (2, "store/run/tmp", false),
            (3, "store/run/home/work", false),
            (2, "run/tmp", true),
            (2, "run/tmp", true),
            (3, "run/home/work", true),
            (3, "other/home/work", true),
        ] {
            let path = root.path().join(directory);
            let made = make_in_scratch(&path, depth);
            assert_eq!((made.is_ok(), path.is_dir(), store.exists()), (is_made, is_made, false), "{directory}: {made:?}");
        }
        File::create_new(root.path().join("run/file")).expect("a file");
        assert!(make_in_scratch(&root.path().join("run/file"), 2).is_err(), "a file is no directory");
    }
}
