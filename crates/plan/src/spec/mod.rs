//! Makes the plan of a run from the configuration, from the project's own files, or from a test specification.
//!
//! Owns the steps from settings to actions: ids, tools, policies, discovered commands, the text of `proctor init`, and the digest
//! that people approve. It reads files only through [`ProjectFiles`] and runs nothing.

mod action;
mod approval;
mod circle;
mod connection;
mod correction;
mod digest;
mod files;
mod init;
mod made;
mod new_actions;
mod no_checks;
mod policy;
mod propose_triggers;
mod propose_writes;
mod query_kind;
mod recognised;
mod resolve;
mod review;
mod same_program;
mod settings_weakening;
mod signers;
pub mod specification;
mod strictness;
mod task;
mod terms;
#[cfg(test)]
mod tests;
mod weakening;
mod word_difference;

pub use approval::approval_terms;
pub use correction::with_free_corrections;
pub use digest::{check_digest, plan_digest};
pub use files::DiskFiles;
pub use init::init_text;
pub use no_checks::{lacks_only_checks, plan_without_checks};
pub use proctor_tools::{FoundBefore, ProjectFiles};
pub use propose_triggers::{propose_order, propose_triggers};
pub use propose_writes::propose_writes;
pub use resolve::{discover, plan, plan_again, plan_command, resolve};
pub use review::plan_review;
pub use same_program::{IsSameProgram, with_same_programs};
pub use settings_weakening::{
    WeakerSetting, first_settings, settings_by_rule, stricter_settings, unrecorded_env_file, weaker_settings,
};
pub use signers::{StatementSigners, statement_signers};
pub use strictness::compare_with_project;
pub use task::{TaskContext, resolve_task};
pub use terms::plan_terms;
pub use weakening::{renamings, strengthenings, terms_by_rule, weakenings, weaker_actions};
