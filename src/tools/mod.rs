//! Recognises the tools whose reports proctor can read, prepares their commands, and interprets what came back.
//!
//! Owns everything that is known about test runners, linters, type checkers, compilers and plain commands: how a command is recognised (E2), what is added to
//! it so that it leaves a report (E5, E6), which signals stop it (E10), and what exit status, output and report amount to
//! (E3, E4). All of it is pure: nothing here spawns a process or reads a file; `run/` does both and hands over bytes.
//!
//! To add a tool: its row in `model/tool.rs`, a row in `launchers.rs` for its program, an arm in [`prepare`] and [`interpret`], a
//! file that reads its output (a linter: a row in `linter/rows.rs`), and captured outputs under `fixtures/tools/`.

mod ansi;
mod checker_call;
mod compile;
mod discover;
mod eslint;
mod file_validation;
mod gathered;
mod generic;
mod http_answer;
mod interpret;
mod json_schema;
mod jsonc;
mod launch_failure;
mod launchers;
mod linter;
mod located;
mod node_tests;
mod package_json;
mod places;
mod prepare;
mod project_files;
mod pytest;
mod recognise;
mod service;
mod signals;
mod strictness;
mod subcommands;
mod table;
mod tsc;

pub(crate) use checker_call::call_of;
pub(crate) use discover::{FoundCheck, FoundChecks, FoundPolicy, command_text, find_checks, policy_of_command, policy_of_script};
pub use file_validation::interpret_file;
pub use http_answer::interpret_exchange;
pub use interpret::{Input, interpret};
pub(crate) use package_json::{script_name, scripts};
pub use prepare::{Preparation, ReportRequest, prepare, stop_ladder};
pub use project_files::ProjectFiles;
pub use pytest::{ControlPreparation, interpret_control, may_have_control, not_found, prepare_control};
pub use recognise::{CommandForm, Recognition, recognise, recognise_script};
pub use service::{ServiceInput, ServiceLife, health_of_command, interpret_service, port_in_use};
pub(crate) use strictness::{Strictness, StrictnessRead, StrictnessReader, strictness_reader};

#[cfg(test)]
mod fixture_claims;
#[cfg(test)]
mod fixture_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod samples;

#[cfg(test)]
pub(crate) use fixture_tests::captured;
#[cfg(test)]
pub(crate) use project_files::fake::FakeFiles;
