//! Extended attributes of files, which nix does not have (`xattr(7)`).

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use nix::libc;

/// Reads an extended attribute of an open file into `value` and returns its length. Returns `None` if the file has no
/// such attribute, or if its file system does not support attributes. A value longer than the buffer is an error.
pub(in crate::process) fn read_attribute(file: BorrowedFd<'_>, name: &CStr, value: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: the name is NUL-terminated, and name and buffer live until the call returns; the length is the buffer's
    // own.
    let length = unsafe { libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    match usize::try_from(length) {
        Ok(length) => Ok(Some(length)),
        Err(_) => match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::ENODATA | libc::ENOTSUP)) => Ok(None),
            error => Err(error),
        },
    }
}

/// Sets an extended attribute of an open file.
#[cfg(test)]
pub(in crate::process) fn set_attribute(file: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> io::Result<()> {
    // SAFETY: the name is NUL-terminated, name and value live until the call returns, and the value is only read.
    let outcome = unsafe { libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
