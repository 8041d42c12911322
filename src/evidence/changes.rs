//! The few operations by which anything on disk changes. Files of ours are created, never overwritten.
//!
//! Nothing else in this folder changes a file, a link or a directory (`tests/faults.rs` looks for it): each operation asks
//! [`mishap`](crate::evidence::mishap) first, so that a test can let every one of them fail, and none can be forgotten.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, PosixFadviseAdvice, RenameFlags, posix_fadvise, renameat2};
use nix::libc;
use nix::sys::resource::{Resource, getrlimit};

use crate::evidence::error::failed;
use crate::evidence::files::{if_there, open_plain};
use crate::evidence::mishap::{before, before_write};
use crate::evidence::{EvidenceError, FileOperation};

/// Directories of ours.
const DIRECTORY_MODE: u32 = 0o700;
/// Files of ours while they are written.
const FILE_MODE: u32 = 0o600;
/// Files of ours once they are sealed.
const SEALED_MODE: u32 = 0o400;
/// Concurrent syncs share one commit of the file system's journal; more threads than this gain nothing.
const SYNC_THREADS: usize = 4;
/// So much of the descriptors that the process may have (1,024, mostly) is taken while files are sealed, and no more than this.
const SHARE_OF_DESCRIPTORS: u64 = 16;
const MOST_HELD: usize = 64;

/// Carries one operation out and names it where it fails.
fn change<T>(operation: FileOperation, path: &Path, act: impl FnOnce() -> io::Result<T>) -> Result<T, EvidenceError> {
    before(operation, path).and_then(|()| act()).map_err(failed(operation, path))
}

/// Creates a directory and its parents, where they are missing, for the user alone.
pub(super) fn create_directories(path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Create, path, || DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path))
}

/// Creates a directory that must not exist yet.
pub(super) fn create_directory(path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Create, path, || DirBuilder::new().mode(DIRECTORY_MODE).create(path))
}

/// Creates a directory with the mode that the user gives to new ones.
pub(super) fn create_plain_directory(path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Create, path, || DirBuilder::new().create(path))
}

/// Takes group's and others' permissions from a directory that has any.
pub(super) fn keep_private(path: &Path) -> Result<(), EvidenceError> {
    let mode = std::fs::metadata(path).map_err(failed(FileOperation::Open, path))?.mode();
    if mode & 0o077 == 0 { Ok(()) } else { open_directory_to_owner(path) }
}

/// Gives the user, and nobody else, every permission of a directory.
pub(super) fn open_directory_to_owner(path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Protect, path, || std::fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE)))
}

/// Creates a file that must not exist yet, for reading and writing by the user alone. Descriptors close on exec.
pub(super) fn create_file(path: &Path) -> Result<File, EvidenceError> {
    change(FileOperation::Create, path, || OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE).open(path))
}

/// Creates a file that must not exist yet with the mode that the user gives to new ones.
pub(super) fn create_plain_file(path: &Path) -> Result<File, EvidenceError> {
    change(FileOperation::Create, path, || {
        OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).open(path)
    })
}

/// Creates a file outside the store that must not exist yet, with a mode of which the user's mask is taken.
pub(super) fn create_open_file(path: &Path, mode: u32) -> Result<File, EvidenceError> {
    change(FileOperation::Create, path, || OpenOptions::new().write(true).create_new(true).mode(mode).open(path))
}

/// Opens a file of ours that stays for reading and writing; one that is missing is created. A link in its place is refused.
pub(super) fn open_lasting(path: &Path) -> Result<File, EvidenceError> {
    change(FileOperation::Open, path, || {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE).custom_flags(libc::O_NOFOLLOW).open(path)
    })
}

/// Opens a file for reading and for writing at its end; one that is missing is created with the mode that the user gives to new ones. A
/// link in its place is refused, and a pipe is not waited for.
pub(super) fn open_plain_to_append(path: &Path) -> Result<File, EvidenceError> {
    change(FileOperation::Open, path, || {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        OpenOptions::new().read(true).append(true).create(true).mode(0o666).custom_flags(flags).open(path)
    })
}

/// Creates a file that must not exist yet, with these bytes.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<File, EvidenceError> {
    let mut file = create_file(path)?;
    write_all(&mut file, path, bytes)?;
    Ok(file)
}

/// Writes bytes where the file's last write ended.
pub(super) fn write_all(file: &mut File, path: &Path, bytes: &[u8]) -> Result<(), EvidenceError> {
    before_write(path, bytes, |bytes| file.write_all(bytes)).map_err(failed(FileOperation::Write, path))
}

/// Writes bytes where the file's last write ended, for whoever names the failure themselves.
pub(super) fn write_part(file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    before_write(path, bytes, |bytes| file.write_all(bytes))
}

/// Writes bytes at an offset.
pub(super) fn write_at(file: &File, path: &Path, bytes: &[u8], offset: u64) -> Result<(), EvidenceError> {
    before_write(path, bytes, |bytes| file.write_all_at(bytes, offset)).map_err(failed(FileOperation::Write, path))
}

/// Copies a file with its mode.
pub(super) fn copy_file(from: &Path, to: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Write, to, || std::fs::copy(from, to)).map(drop)
}

/// Cuts a file off.
pub(super) fn cut(file: &File, path: &Path, length: u64) -> Result<(), EvidenceError> {
    change(FileOperation::Write, path, || file.set_len(length))
}

/// Sets the permissions of a file.
pub(super) fn set_mode(file: &File, path: &Path, mode: u32) -> Result<(), EvidenceError> {
    change(FileOperation::Protect, path, || file.set_permissions(Permissions::from_mode(mode)))
}

/// Waits until a file is on disk with everything that is known of it.
pub(super) fn sync_file(file: &File, path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Sync, path, || file.sync_all())
}

/// Waits until the content of a file is on disk, and its length.
pub(super) fn sync_content(file: &File, path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Sync, path, || file.sync_data())
}

/// Waits until the entries of a directory are on disk.
pub(super) fn sync_directory(path: &Path) -> Result<(), EvidenceError> {
    let directory = File::open(path).map_err(failed(FileOperation::Open, path))?;
    sync_file(&directory, path)
}

/// Creates a directory outside the store, and its parents, where they are missing; the user's mask applies.
pub(super) fn create_open_directories(path: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Create, path, || DirBuilder::new().recursive(true).create(path))
}

/// Puts a file that others may read outside the store, in the place of the one there: whoever reads it sees the one or the other, whole.
pub(super) fn replace_open_file(path: &Path, bytes: &[u8]) -> Result<(), EvidenceError> {
    let name = format!(".{}.{}.new", path.file_name().unwrap_or_default().to_string_lossy(), std::process::id());
    let new = path.with_file_name(name);
    // What a dead process of the same id left.
    remove_file(&new)?;
    let mut file = create_plain_file(&new)?;
    write_all(&mut file, &new, bytes)?;
    sync_file(&file, &new)?;
    rename(&new, path)
}

/// Makes files read-only and waits until they are on disk, several at a time. All are tried; the first failure is returned.
pub(super) fn seal_files(paths: &[PathBuf]) -> Result<(), EvidenceError> {
    paths.chunks(held_at_once()).map(seal_some).fold(Ok(()), Result::and)
}

/// Returns how many files may be open at once while they are sealed.
fn held_at_once() -> usize {
    let (soft, _hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or_default();
    usize::try_from(soft / SHARE_OF_DESCRIPTORS).unwrap_or(MOST_HELD).clamp(SYNC_THREADS, MOST_HELD)
}

fn seal_some(paths: &[PathBuf]) -> Result<(), EvidenceError> {
    // The modes of all of them first, so that the syncs cover them: one that changed behind a sync would need the journal once more.
    let (protected, refused): (Vec<_>, Vec<_>) = paths.iter().map(|path| protect(path)).partition(Result::is_ok);
    let protected: Vec<(File, &Path)> = protected.into_iter().flatten().collect();
    // Of more than are synced at a time, all are on their way before one is waited for: what a journal must note of them is noted once, too.
    if protected.len() > SYNC_THREADS {
        protected.iter().for_each(|(file, _)| begin_writing(file));
    }
    refused.into_iter().map(|refused| refused.map(drop)).fold(Ok(()), Result::and).and(sync_files(&protected))
}

fn protect(path: &Path) -> Result<(File, &Path), EvidenceError> {
    let file = open_plain(path)?;
    set_mode(&file, path, SEALED_MODE)?;
    Ok((file, path))
}

/// Lets the kernel begin to write what it holds of a file. Only the time of a sync that follows depends on it.
fn begin_writing(file: &File) {
    // Linux writes dirty pages out before it would give them up (`mm/fadvise.c`). What it gives up is read from the disk again.
    let _no_promise = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
}

fn sync_files(files: &[(File, &Path)]) -> Result<(), EvidenceError> {
    let sync = |share: &[(File, &Path)]| share.iter().map(|(file, path)| sync_file(file, path)).fold(Ok(()), Result::and);
    let share = files.len().div_ceil(SYNC_THREADS).max(1);
    thread::scope(|scope| {
        let mut shares = files.chunks(share);
        let own = shares.next().unwrap_or_default();
        let beside = |share| thread::Builder::new().spawn_scoped(scope, move || sync(share)).map_err(|_refused| share);
        let others: Vec<_> = shares.map(beside).collect();
        others.into_iter().fold(sync(own), |outcome, other| match other {
            Ok(thread) => outcome.and(thread.join().expect("syncing does not panic")),
            // There is no further thread to be had: one after the other is as good.
            Err(share) => outcome.and(sync(share)),
        })
    })
}

/// Creates a link.
pub(super) fn make_link(target: &Path, link: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Link, link, || symlink(target, link))
}

/// Gives a file a second name, which nobody may have yet.
pub(super) fn give_second_name(path: &Path, name: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Link, name, || std::fs::hard_link(path, name))
}

/// Renames within one directory of ours; what has the name is replaced.
#[expect(clippy::disallowed_methods, reason = "the one rename: links that are switched and files that are recovered")]
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), EvidenceError> {
    change(FileOperation::Rename, from, || std::fs::rename(from, to))
}

/// Renames where nobody has the name yet; returns whether that was so.
pub(super) fn rename_to_free(from: &Path, to: &Path) -> Result<bool, EvidenceError> {
    let outcome =
        change(FileOperation::Rename, to, || Ok(renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE)?));
    match outcome {
        Ok(()) => Ok(true),
        Err(EvidenceError::File { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Exchanges two files of one directory in one step.
pub(super) fn exchange(one: &Path, other: &Path) -> Result<(), Errno> {
    let to_errno = |error: io::Error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO));
    before(FileOperation::Rename, other).map_err(to_errno)?;
    renameat2(AT_FDCWD, one, AT_FDCWD, other, RenameFlags::RENAME_EXCHANGE)
}

/// Removes a file or link; that it is not there is no error.
pub(super) fn remove_file(path: &Path) -> Result<(), EvidenceError> {
    if_there(change(FileOperation::Remove, path, || std::fs::remove_file(path))).map(drop)
}

/// Removes a directory with everything in it; that it is not there is no error.
pub(super) fn remove_directory(path: &Path) -> Result<(), EvidenceError> {
    if_there(change(FileOperation::Remove, path, || std::fs::remove_dir_all(path))).map(drop)
}
