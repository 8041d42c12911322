//! Failures that a test injects: a chosen operation fails, or the program dies at it. A release build injects none.
//!
//! [`changes`](crate::evidence::changes) asks here before every operation that changes something on disk. A test build learns
//! from the command's environment (`cli::environment` reads it) which operation is to fail. It also logs every operation it
//! passes, so that tests get their list of operations from a real run and not from a list that somebody maintains.

#[cfg(feature = "test-fakes")]
mod planned;

#[cfg(feature = "test-fakes")]
pub use planned::{FailureInjection, InjectedFailure};
#[cfg(feature = "test-fakes")]
pub(super) use planned::{fail_if_planned, write_unless_planned_to_fail};
#[cfg(not(feature = "test-fakes"))]
pub(super) use release::{fail_if_planned, write_unless_planned_to_fail};

#[cfg(not(feature = "test-fakes"))]
mod release {
    use std::io;
    use std::path::Path;

    use crate::evidence::FileOperation;

    pub(in crate::evidence) fn fail_if_planned(_operation: FileOperation, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    pub(in crate::evidence) fn write_unless_planned_to_fail(
        _path: &Path,
        bytes: &[u8],
        write: impl FnOnce(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        write(bytes)
    }
}
