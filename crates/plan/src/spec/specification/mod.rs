//! Reads test specifications of schema 2.0.0: a text becomes tasks, or a list of all of its errors.
//!
//! Owns the types of the file format, the published JSON Schema, the reader and the lint. Reading has three parts: `scan` finds
//! the positions of values, `shape` validates the text against the schema, and `lint` checks its meaning. This module may not open
//! files or run anything. `spec/task/` makes plans from
//! specifications.

mod address;
mod fill;
mod lacking;
mod lint;
mod outline;
mod raw;
mod read;
mod scan;
mod schema;
mod shape;
#[cfg(test)]
mod tests;

pub(super) use lint::{ROOT_WORD, STRICTNESS_UNCHECKED, SUITE_TIMEOUT, below, checked_kind, server_prerequisite};

pub use fill::FilledPlaceholder;
pub use lint::{LINTS, LintRow};
pub use outline::{DependencyOutline, OutlinedAction, TaskOutline};
pub use raw::*;
pub use read::{
    SPECIFICATION_SUFFIX, Specification, SpecificationContext, SpecificationReading, read_filled_specification,
    read_specification,
};
pub use schema::SCHEMA_TEXT;
