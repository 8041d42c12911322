//! The JSON Schemas of what proctor writes. They are generated from the types, and the result is committed, so that the program need not
//! contain the generator. `PROCTOR_UPDATE_SCHEMA=1 cargo test --lib schemas` writes them anew; a test fails if they are not those of
//! the types.
//!
//! The name of a file has the version of its format. A key is taken away, or changes its meaning, only with a new version.

/// The schema of `proctor.toml`. It is made in `proctor-plan`, by a test that asks the reader of settings about each key:
/// `PROCTOR_UPDATE_SCHEMA=1 cargo test -p proctor-plan --lib schema`.
pub(super) const CONFIGURATION: &str = include_str!("schemas/configuration-v1.json");
/// The schema of `execution-report.json`.
pub(super) const REPORT: &str = include_str!("schemas/report-2.0.0.json");
/// The schema of `technical-debt-data.json`.
pub(super) const DEBT: &str = include_str!("schemas/debt-v1.json");
/// The schema of a line of a ledger.
pub(super) const LEDGER: &str = include_str!("schemas/ledger-v1.json");
/// The schema of what `proctor verify --json` prints.
pub(super) const VERIFY: &str = include_str!("schemas/verify-v1.json");
/// The schema of what `proctor status --json` prints.
pub(super) const STATUS: &str = include_str!("schemas/status-v1.json");

#[cfg(test)]
mod tests;
