//! Every operation that changes something on disk. Files of the store are created, never overwritten.
//!
//! Nothing else in this folder changes a file, a link or a directory; `tests/faults.rs` checks that. Each operation
//! asks [`failure_injection`](crate::failure_injection) first, so that a test can make any of them fail.
//!
//! "Private" files and directories belong to the store, and only the user may read them. "Shared" ones are outside the
//! store, in a project or at an anchor's place. They get the permissions that the user's `umask` gives to any new file.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, PosixFadviseAdvice, fallocate, posix_fadvise};
use nix::libc;
use nix::sys::resource::{Resource, getrlimit};

use crate::error::failed;
use crate::failure_injection::{fail_if_planned, write_unless_planned_to_fail};
use crate::files::{if_exists, open_no_follow};
use crate::{EvidenceError, FileOperation};

/// The mode of the store's directories: only the user may use them.
const DIRECTORY_MODE: u32 = 0o700;
/// The mode of a file of the store while the file is written: only the user may read and write it.
const FILE_MODE: u32 = 0o600;
/// The mode of a sealed file: the user may read it, nobody may write it.
const SEALED_MODE: u32 = 0o400;
/// The most threads that sync files at the same time. More were not faster, because concurrent syncs share one commit
/// of the file system's journal.
const SYNC_THREADS: usize = 4;
/// Sealing opens at most one in this many of the allowed file descriptors (the limit is mostly 1,024), and never more than
/// `MOST_OPEN_FILES`.
const SHARE_OF_DESCRIPTORS: u64 = 16;
const MOST_OPEN_FILES: usize = 64;

/// Carries out one operation. If it fails, the error names the operation and the path.
fn change<T>(operation: FileOperation, path: &Path, act: impl FnOnce() -> io::Result<T>) -> Result<T, EvidenceError> {
    fail_if_planned(operation, path).and_then(|()| act()).map_err(failed(operation, path))
}

/// Creates a private directory, and its parents where they are missing.
pub(super) fn create_directories(path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Create, path, || DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path))
}

/// Creates a private directory. An existing directory is an error.
pub(super) fn create_directory(path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Create, path, || DirBuilder::new().mode(DIRECTORY_MODE).create(path))
}

/// Creates a shared directory. An existing directory is an error.
pub(super) fn create_shared_directory(path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Create, path, || DirBuilder::new().create(path))
}

/// Removes all permissions of group and others from a directory, if they have any.
pub(super) fn make_private(path: &Path) -> Result<(), EvidenceError> {
    let mode = std::fs::metadata(path).map_err(failed(FileOperation::Open, path))?.mode();
    if mode & 0o077 == 0 { Ok(()) } else { set_private_directory_mode(path) }
}

/// Gives the user all permissions for a directory, and removes those of all other users.
pub(super) fn set_private_directory_mode(path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Protect, path, || std::fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE)))
}

/// Creates a private file for reading and writing. An existing file is an error. Programs that are executed later do
/// not inherit the file's descriptor.
pub(super) fn create_file(path: &Path) -> Result<File, EvidenceError> {
    change(FileOperation::Create, path, || OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE).open(path))
}

/// Creates a shared file. An existing entry of this name is an error, even a symbolic link.
pub(super) fn create_shared_file(path: &Path) -> Result<File, EvidenceError> {
    change(FileOperation::Create, path, || {
        OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).open(path)
    })
}

/// Creates a file that other users may be allowed to read, with this mode, reduced by the user's `umask`. An existing file is
/// an error.
pub(super) fn create_shared_file_with_mode(path: &Path, mode: u32) -> Result<File, EvidenceError> {
    change(FileOperation::Create, path, || OpenOptions::new().write(true).create_new(true).mode(mode).open(path))
}

/// Opens a private file for reading and writing and creates it if it is missing. A symbolic link in its place is
/// refused.
pub(super) fn open_or_create(path: &Path) -> Result<File, EvidenceError> {
    change(FileOperation::Open, path, || {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE).custom_flags(libc::O_NOFOLLOW).open(path)
    })
}

/// Opens a shared file for reading and appending and creates it if it is missing. A symbolic link in its place is
/// refused, and a pipe is not waited for.
pub(super) fn open_shared_to_append(path: &Path) -> Result<File, EvidenceError> {
    change(FileOperation::Open, path, || {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        OpenOptions::new().read(true).append(true).create(true).mode(0o666).custom_flags(flags).open(path)
    })
}

/// Creates a private file with this content. An existing file is an error.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<File, EvidenceError> {
    let mut file = create_file(path)?;
    write_all(&mut file, path, bytes)?;
    Ok(file)
}

/// Writes all bytes to the file, after those of the last write.
pub(super) fn write_all(file: &mut File, path: &Path, bytes: &[u8]) -> Result<(), EvidenceError> {
    write_unless_planned_to_fail(path, bytes, |bytes| file.write_all(bytes)).map_err(failed(FileOperation::Write, path))
}

/// Writes all bytes to the file, after those of the last write. Returns the plain I/O error, for callers that name the
/// file themselves.
pub(super) fn write_raw(file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_unless_planned_to_fail(path, bytes, |bytes| file.write_all(bytes))
}

pub(super) fn write_at(file: &File, path: &Path, bytes: &[u8], offset: u64) -> Result<(), EvidenceError> {
    write_unless_planned_to_fail(path, bytes, |bytes| file.write_all_at(bytes, offset))
        .map_err(failed(FileOperation::Write, path))
}

/// Copies a file's content and permissions; an existing file at `to` is overwritten.
pub(super) fn copy_file(from: &Path, to: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Write, to, || std::fs::copy(from, to)).map(drop)
}

pub(super) fn truncate(file: &File, path: &Path, length: u64) -> Result<(), EvidenceError> {
    change(FileOperation::Write, path, || file.set_len(length))
}

/// Takes a range of bytes out of a file: they are zero then, and take no room. The file keeps its length.
pub(super) fn punch_hole(file: &File, path: &Path, range: Range<u64>) -> Result<(), EvidenceError> {
    let offset = |bytes: u64| i64::try_from(bytes).map_err(io::Error::other);
    let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    change(FileOperation::Write, path, || Ok(fallocate(file, flags, offset(range.start)?, offset(range.end - range.start)?)?))
}

pub(super) fn set_mode(file: &File, path: &Path, mode: u32) -> Result<(), EvidenceError> {
    change(FileOperation::Protect, path, || file.set_permissions(Permissions::from_mode(mode)))
}

/// Waits until a file's content and metadata are on disk.
pub(super) fn sync_file(file: &File, path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Sync, path, || file.sync_all())
}

/// Waits until a file's content and length are on disk; its times need not be.
pub(super) fn sync_data(file: &File, path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Sync, path, || file.sync_data())
}

/// Waits until the entries of a directory are on disk.
pub(super) fn sync_directory(path: &Path) -> Result<(), EvidenceError> {
    let directory = File::open(path).map_err(failed(FileOperation::Open, path))?;
    sync_file(&directory, path)
}

/// Creates a shared directory, and its parents where they are missing.
pub(super) fn create_shared_directories(path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Create, path, || DirBuilder::new().recursive(true).create(path))
}

/// Replaces a shared file atomically: a reader sees the old content or the new one, never a part.
pub(super) fn replace_shared_file(path: &Path, bytes: &[u8]) -> Result<(), EvidenceError> {
    let name = format!(".{}.{}.new", path.file_name().unwrap_or_default().to_string_lossy(), std::process::id());
    let new = path.with_file_name(name);
    // A process with the same id may have died and left this file.
    remove_file(&new)?;
    let mut file = create_shared_file(&new)?;
    write_all(&mut file, &new, bytes)?;
    sync_file(&file, &new)?;
    rename(&new, path)
}

/// Makes files read-only and waits until they are on disk, several at a time. All files are tried; the first failure is
/// returned.
pub(super) fn seal_files(paths: &[PathBuf]) -> Result<(), EvidenceError> {
    paths.chunks(files_open_at_once()).map(seal_batch).fold(Ok(()), Result::and)
}

/// Returns how many files are open at once while files are sealed.
fn files_open_at_once() -> usize {
    let (soft, _hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or_default();
    usize::try_from(soft / SHARE_OF_DESCRIPTORS).unwrap_or(MOST_OPEN_FILES).clamp(SYNC_THREADS, MOST_OPEN_FILES)
}

fn seal_batch(paths: &[PathBuf]) -> Result<(), EvidenceError> {
    // All modes are changed before the first sync, so that the syncs cover them: a mode that changes after its file's
    // sync would need another commit of the journal.
    let (protected, refused): (Vec<_>, Vec<_>) = paths.iter().map(|path| make_read_only(path)).partition(Result::is_ok);
    let protected: Vec<(File, &Path)> = protected.into_iter().flatten().collect();
    // If there are more files than sync threads, the kernel is told to write all files before the first one is synced,
    // so that one commit of the journal covers many files.
    if protected.len() > SYNC_THREADS {
        protected.iter().for_each(|(file, _)| begin_writing(file));
    }
    refused.into_iter().map(|refused| refused.map(drop)).fold(Ok(()), Result::and).and(sync_files(&protected))
}

fn make_read_only(path: &Path) -> Result<(File, &Path), EvidenceError> {
    let file = open_no_follow(path)?;
    set_mode(&file, path, SEALED_MODE)?;
    Ok((file, path))
}

/// Tells the kernel to begin writing a file's data. This only makes the sync that follows faster.
fn begin_writing(file: &File) {
    // Linux writes dirty pages before it drops them from its cache (`mm/fadvise.c`). Dropped pages are read from the
    // disk again when needed.
    let _no_promise = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
}

fn sync_files(files: &[(File, &Path)]) -> Result<(), EvidenceError> {
    let sync = |share: &[(File, &Path)]| share.iter().map(|(file, path)| sync_file(file, path)).fold(Ok(()), Result::and);
    let share = files.len().div_ceil(SYNC_THREADS).max(1);
    thread::scope(|scope| {
        let mut shares = files.chunks(share);
        let own = shares.next().unwrap_or_default();
        let spawn = |share| thread::Builder::new().spawn_scoped(scope, move || sync(share)).map_err(|_refused| share);
        let others: Vec<_> = shares.map(spawn).collect();
        others.into_iter().fold(sync(own), |outcome, other| match other {
            Ok(thread) => outcome.and(thread.join().expect("syncing does not panic")),
            // If the system refuses another thread, these files are synced on the present thread.
            Err(share) => outcome.and(sync(share)),
        })
    })
}

pub(super) fn make_link(target: &Path, link: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Link, link, || symlink(target, link))
}

/// Gives a file a second name (hard link). An existing file of that name is an error.
pub(super) fn hard_link(path: &Path, name: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Link, name, || std::fs::hard_link(path, name))
}

/// Renames a file; an existing file of the new name is replaced.
#[expect(clippy::disallowed_methods, reason = "the one rename: links that are switched and files that are recovered")]
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Rename, from, || std::fs::rename(from, to))
}

/// Renames a file unless the new name is taken; returns whether it was renamed.
pub(super) fn rename_if_free(from: &Path, to: &Path) -> Result<bool, EvidenceError> {
    let outcome = change(FileOperation::Rename, to, || Ok(rename_with(from, to, Taken::Refused)?));
    match outcome {
        Ok(()) => Ok(true),
        Err(EvidenceError::File { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Exchanges two files of one directory atomically.
pub(super) fn exchange(one: &Path, other: &Path) -> Result<(), Errno> {
    let to_errno = |error: io::Error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO));
    fail_if_planned(FileOperation::Rename, other).map_err(to_errno)?;
    rename_with(one, other, Taken::Exchanged)
}

/// What happens to a file that has the new name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Refused,
    Exchanged,
}

/// Renames by renameat2(2), which nix has for the C library of GNU alone.
#[cfg(target_env = "gnu")]
fn rename_with(from: &Path, to: &Path, taken: Taken) -> Result<(), Errno> {
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    let flags = match taken {
        Taken::Refused => RenameFlags::RENAME_NOREPLACE,
        Taken::Exchanged => RenameFlags::RENAME_EXCHANGE,
    };
    renameat2(AT_FDCWD, from, AT_FDCWD, to, flags)
}

#[cfg(not(target_env = "gnu"))]
fn rename_with(from: &Path, to: &Path, taken: Taken) -> Result<(), Errno> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let flags = match taken {
        Taken::Refused => RenameFlags::NOREPLACE,
        Taken::Exchanged => RenameFlags::EXCHANGE,
    };
    renameat_with(CWD, from, CWD, to, flags).map_err(|errno| Errno::from_raw(errno.raw_os_error()))
}

/// Removes a file or link. A missing file is not an error.
pub(super) fn remove_file(path: &Path) -> Result<(), EvidenceError> {
    if_exists(change(FileOperation::Remove, path, || std::fs::remove_file(path))).map(drop)
}

/// Removes a directory with everything in it. A missing directory is not an error.
pub(super) fn remove_directory(path: &Path) -> Result<(), EvidenceError> {
    if_exists(change(FileOperation::Remove, path, || std::fs::remove_dir_all(path))).map(drop)
}
