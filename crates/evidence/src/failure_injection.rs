//! Failures for tests: a chosen operation fails, or the program dies at it. A release build has no such failures.
//!
//! [`changes`](crate::changes) calls this module before every operation that changes the disk. A test build reads from
//! the command's environment (`cli::environment`) which operation must fail. It also logs each operation. So tests get the list
//! of operations from a real run, and no list has to be maintained by hand.

#[cfg(feature = "test-fakes")]
mod planned;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod simulated;

#[cfg(feature = "test-fakes")]
pub use planned::{FailureInjection, InjectedFailure};
#[cfg(all(feature = "test-fakes", not(any(test, feature = "testing"))))]
pub(super) use planned::{fail_if_planned, write_unless_planned_to_fail};
#[cfg(all(not(feature = "test-fakes"), not(any(test, feature = "testing"))))]
pub(super) use release::{fail_if_planned, write_unless_planned_to_fail};
#[cfg(any(test, feature = "testing"))]
pub(super) use simulated::{fail_if_planned, write_unless_planned_to_fail};

#[cfg(not(feature = "test-fakes"))]
mod release {
    use std::io;
    use std::path::Path;

    use crate::FileOperation;

    pub(crate) fn fail_if_planned(_operation: FileOperation, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn write_unless_planned_to_fail(
        _path: &Path,
        bytes: &[u8],
        write: impl FnOnce(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        write(bytes)
    }
}
