//! The published JSON Schema of specification 2.0.0. It is made from the wire types by a test and committed, so that the program
//! need not make it: `PROCTOR_UPDATE_SCHEMA=1 cargo test --lib schema` writes it anew.

#[cfg(test)]
mod generated;

#[cfg(test)]
pub(super) use generated::{action_type_schema, action_types_schema, parameters_by_type, tasks_schema, tool_schema};

/// The JSON Schema (draft 7) that `proctor schema` prints and every specification is held to.
pub const SCHEMA_TEXT: &str = include_str!("schema-2.0.0.json");
