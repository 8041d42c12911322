//! The release: nothing goes wrong but what does.

use std::io;
use std::path::Path;

use crate::evidence::FileOperation;

/// Lets every operation be carried out.
pub(in crate::evidence) fn before(_operation: FileOperation, _path: &Path) -> io::Result<()> {
    Ok(())
}

/// Lets every write be carried out.
pub(in crate::evidence) fn before_write(
    _path: &Path,
    bytes: &[u8],
    write: impl FnOnce(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    write(bytes)
}
