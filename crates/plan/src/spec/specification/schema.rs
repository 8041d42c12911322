//! The published JSON Schema of specification 2.0.0. A test generates the schema from the types of the file format, and
//! the result is committed, so that the program need not contain the generator. `PROCTOR_UPDATE_SCHEMA=1 cargo test
//! --lib schema` writes the file anew.

#[cfg(test)]
mod generated;

#[cfg(test)]
pub(super) use generated::{action_type_schema, action_types_schema, parameters_by_type, tasks_schema, tool_schema};

/// The JSON Schema (draft 7) that `proctor generate schema` prints and that every specification must satisfy.
pub const SCHEMA_TEXT: &str = include_str!("schema-2.0.0.json");
