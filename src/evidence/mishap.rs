//! What a test lets go wrong: an operation that fails, or in the middle of which the program dies. In a release nothing does.
//!
//! [`changes`](crate::evidence::changes) asks here before every operation by which something on disk changes. A test build is told by
//! the environment of the command (`cli::environment` reads it) what is to go wrong where, and writes down what it passes by: the list of
//! places is what the program does, not one that somebody keeps.

#[cfg(not(feature = "test-fakes"))]
mod never;
#[cfg(feature = "test-fakes")]
mod planned;

#[cfg(not(feature = "test-fakes"))]
pub(super) use never::{before, before_write};
#[cfg(feature = "test-fakes")]
pub use planned::{Mishap, Mishaps};
#[cfg(feature = "test-fakes")]
pub(super) use planned::{before, before_write};
