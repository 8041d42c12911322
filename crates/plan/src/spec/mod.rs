//! Makes the plan of a run from the configuration, from the project's own files, or from a test specification.
//!
//! Owns the steps from settings to actions: ids, tools, policies, discovered commands, the text of `proctor init`, and the digest
//! that people approve. It reads files only through [`ProjectFiles`] and runs nothing.

mod action;
mod approval;
mod circle;
mod connection;
mod files;
mod init;
mod installs;
mod made;
mod network;
mod no_checks;
mod policy;
mod resolve;
mod review;
mod rule_changes;
mod settings_changes;
mod signers;
pub mod specification;
mod strictness;
mod task;
mod terms;
#[cfg(test)]
mod tests;

pub use approval::approval_terms;
pub use files::DiskFiles;
pub use init::{init_text, propose_writes};
pub use installs::{plan_with_installs, propose_order, propose_triggers};
pub use network::unreachable_request;
pub use no_checks::{lacks_only_checks, plan_without_checks, proposed_text};
pub use proctor_tools::ProjectFiles;
pub use resolve::{PlannedBefore, plan, plan_command, plan_of_rules, propose_uncovered, resolve};
pub use review::plan_review;
pub use rule_changes::{changed_actions, compare_terms, terms_by_rule};
pub use settings_changes::{compare_settings, first_settings, settings_by_rule};
pub use signers::{StatementSigners, statement_signers};
pub use strictness::compare_with_project;
pub use task::{TaskContext, resolve_task};
pub use terms::{check_digest, plan_digest, plan_terms};
