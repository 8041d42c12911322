//! `clone3(2)` into new namespaces, and the calls on mounts that work by descriptor (`open_tree(2)`, `move_mount(2)`,
//! `mount_setattr(2)`), which nix does not have.

use std::ffi::CString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use nix::libc;
use nix::sched::{CloneFlags, setns};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::{Forked, end_forked, fork_if_single_threaded, is_single_threaded};

/// How a mount is restricted; other attributes stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::process) enum MountAttribute {
    ReadOnly,
    /// Read-only, and device nodes do not work.
    ReadOnlyWithoutDevices,
    /// Device nodes do not work.
    WithoutDevices,
    /// Writable again, although proctor made the mount it was copied from read-only; device nodes do not work.
    WritableAgain,
}

/// Which mounts a restriction applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::process) enum MountExtent {
    /// The mount at the path.
    One,
    /// The mount at the path and everything mounted below it.
    Tree,
}

/// Forks this process into new user, mount, pid and ipc namespaces, whose first process is the child.
///
/// The child is a copy of this process as after `fork(2)`. A process with several threads is refused with `EBUSY`.
pub(in crate::process) fn fork_into_namespaces() -> io::Result<Forked> {
    clone_into_namespaces(0, libc::SIGCHLD)
}

/// Forks this process as [`fork_into_namespaces`] does, into namespaces that lie within a user namespace and have a network namespace that
/// is there already. The child has no rights over that network.
///
/// Only a process of the outer user namespace may join the network, and it cannot leave that namespace again. So a process in between joins
/// both, makes the child as a child of this process (`CLONE_PARENT`), and ends.
pub(in crate::process) fn fork_into_namespaces_of(user: BorrowedFd<'_>, network: BorrowedFd<'_>) -> io::Result<Forked> {
    let (mut told, mut tell) = io::pipe()?;
    let between = match fork_if_single_threaded()? {
        Some(Forked::Parent(between)) => between,
        None => return Err(io::Error::from_raw_os_error(libc::EBUSY)),
        Some(Forked::Child) => {
            let joined = setns(user, CloneFlags::CLONE_NEWUSER).and_then(|()| setns(network, CloneFlags::CLONE_NEWNET));
            // With CLONE_PARENT the child gets the signal of the process in between, which is SIGCHLD too.
            let made = joined.map_err(io::Error::from).and_then(|()| clone_into_namespaces(libc::CLONE_PARENT, 0));
            let number = match made {
                Ok(Forked::Child) => return Ok(Forked::Child),
                Ok(Forked::Parent(child)) => child.as_raw(),
                Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
            };
            let _unheard = tell.write_all(&number.to_ne_bytes());
            end_forked(0)
        }
    };
    drop(tell);
    let mut number = [0; 4];
    let read = told.read_exact(&mut number);
    let _ended = waitpid(between, None);
    read?;
    match i32::from_ne_bytes(number) {
        child if child > 0 => Ok(Forked::Parent(Pid::from_raw(child))),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// Calls `clone3(2)` with the namespaces of an action and these further flags.
fn clone_into_namespaces(flags: libc::c_int, exit_signal: libc::c_int) -> io::Result<Forked> {
    if !is_single_threaded()? {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    let namespaces = flags | libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    // SAFETY: all-zero bytes are a valid value of this plain C structure: no pointer, no stack, nothing shared.
    let mut request: libc::clone_args = unsafe { std::mem::zeroed() };
    request.flags = u64::from(namespaces.cast_unsigned());
    request.exit_signal = u64::from(exit_signal.cast_unsigned());
    // SAFETY: the structure lives until the call returns. Without CLONE_VM and a stack the child continues here on a copy of this
    // stack, as after fork(2); there is one thread, so no lock is held in it and it may go on with any code.
    let outcome = unsafe { libc::syscall(libc::SYS_clone3, &raw mut request, size_of::<libc::clone_args>()) };
    match outcome {
        0 => Ok(Forked::Child),
        child if child > 0 => Ok(Forked::Parent(Pid::from_raw(i32::try_from(child).unwrap_or(i32::MAX)))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Copies the mount at a path. The path is relative to `directory`, or to the working directory if that is `None`. The
/// copy is not attached anywhere yet.
pub(in crate::process) fn clone_mount(
    directory: Option<BorrowedFd<'_>>,
    path: &Path,
    extent: MountExtent,
) -> io::Result<OwnedFd> {
    let path = to_c_string(path)?;
    let recursion = match extent {
        MountExtent::One => 0,
        MountExtent::Tree => libc::AT_RECURSIVE.cast_unsigned(),
    };
    let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | recursion;
    // SAFETY: the path is a NUL-terminated string that lives until the call returns; the other arguments are integers.
    let outcome = unsafe { libc::syscall(libc::SYS_open_tree, raw(directory), path.as_ptr(), flags) };
    if outcome < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(RawFd::try_from(outcome).unwrap_or(-1)) })
}

/// Attaches, at `path`, a mount that [`clone_mount`] has copied.
pub(in crate::process) fn attach_mount(mount: &OwnedFd, path: &Path) -> io::Result<()> {
    let path = to_c_string(path)?;
    // SAFETY: both strings are NUL-terminated and live until the call returns; the other arguments are integers.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Restricts the mount at a path. From then on, mounts that are made in other namespaces do not appear below the path
/// (private propagation).
pub(in crate::process) fn restrict_mount(path: &Path, attribute: MountAttribute, extent: MountExtent) -> io::Result<()> {
    restrict(libc::AT_FDCWD, &to_c_string(path)?, 0, attribute, extent)
}

/// Restricts a copied mount that is not attached yet.
pub(in crate::process) fn restrict_copy(mount: &OwnedFd, attribute: MountAttribute) -> io::Result<()> {
    restrict(mount.as_raw_fd(), c"", libc::AT_EMPTY_PATH, attribute, MountExtent::Tree)
}

fn restrict(
    directory: RawFd,
    path: &std::ffi::CStr,
    flags: libc::c_int,
    attribute: MountAttribute,
    extent: MountExtent,
) -> io::Result<()> {
    let recursion = match extent {
        MountExtent::One => 0,
        MountExtent::Tree => libc::AT_RECURSIVE,
    };
    let request = libc::mount_attr {
        attr_set: match attribute {
            MountAttribute::ReadOnly => libc::MOUNT_ATTR_RDONLY,
            MountAttribute::ReadOnlyWithoutDevices => libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV,
            MountAttribute::WithoutDevices | MountAttribute::WritableAgain => libc::MOUNT_ATTR_NODEV,
        },
        attr_clr: match attribute {
            MountAttribute::WritableAgain => libc::MOUNT_ATTR_RDONLY,
            MountAttribute::ReadOnly | MountAttribute::ReadOnlyWithoutDevices | MountAttribute::WithoutDevices => 0,
        },
        propagation: libc::MS_PRIVATE,
        userns_fd: 0,
    };
    // SAFETY: path and structure live until the call returns, and the size is the structure's own.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            directory,
            path.as_ptr(),
            flags | recursion,
            &raw const request,
            size_of::<libc::mount_attr>(),
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn raw(directory: Option<BorrowedFd<'_>>) -> RawFd {
    directory.map_or(libc::AT_FDCWD, |directory| directory.as_raw_fd())
}

fn to_c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}
