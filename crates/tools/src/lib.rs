//! Recognises the tools whose reports proctor can read, prepares their commands, and judges their results.
//!
//! This folder contains everything that proctor knows about test runners, linters, type checkers, compilers and plain commands:
//! how a command is recognised (E2), which project files show that a tool is used, what is added to a command so that it writes a
//! report (E5, E6), which signals stop it (E10), and what exit code, output and report mean together (E3, E4). All of it is pure:
//! nothing here starts a process or opens a file. The folder `run/` does both and passes the bytes; a project's files are read
//! through [`ProjectFiles`].
//!
//! Each tool has two rows: one in `model/tool.rs` with its facts, and one in `table.rs` with its functions. A tool's folder
//! contains the code that reads its output, requests its report and discovers it in a project. Tools with similar output share a
//! folder. No other file names a tool.

mod advise;
mod ansi;
mod asked;
mod cargo_test;
mod checker_call;
mod client;
mod compile;
mod configured_outputs;
mod counting;
mod discover;
mod eslint;
mod expectations;
mod file_validation;
mod gathered;
mod generic;
mod go_test;
mod http_answer;
mod interpret;
mod json_schema;
mod jsonc;
mod junit;
mod known_runners;
mod launch_failure;
mod launchers;
mod leads_out;
mod linter;
mod located;
mod mending;
mod missing_program;
mod no_work;
mod node_test;
mod node_tests;
mod noting_files;
mod npm_settings;
mod option_spelling;
mod output_so_far;
mod places;
mod prepare;
mod printed_tests;
mod project_files;
mod pytest;
mod recognise;
mod reports;
mod retried;
mod server_signs;
mod service;
mod shards;
pub mod shell;
mod signals;
mod strictness;
mod table;
mod test_bodies;
mod test_run;
mod triggers;
mod tsc;
mod xml;

pub use advise::advise_file;
pub use checker_call::find_arguments;
pub use client::{BROWSER_DRIVER, SCREENSHOT, SQLITE_NOT_OPENED};
pub use configured_outputs::{configured_outputs, may_name_outputs};
pub use discover::*;
pub use expectations::{RaisedAt, is_expectation, raised_at, tells_expectations};
pub use file_validation::interpret_file;
pub use http_answer::interpret_exchange;
pub use interpret::{Input, interpret, name_what_hung};
pub use json_schema::without_mark;
pub use jsonc::{parse_jsonc, script_name, scripts};
pub use leads_out::{
    CONFIGURATION_DIRECTORIES, ManifestPlace, PROGRAM_ENDINGS, dependencies_of_package, fits_pattern, is_configuration_above,
    may_lead_out, members_of_workspace, name_of_package, paths_of_environment_file, paths_that_lead_out,
};
pub use linter::*;
pub use mending::{is_lock_file, judge_mended, runs_linter};
pub use noting_files::{AskedFiles, NotingFiles};
pub use npm_settings::{deciding_npm_setting, judge_npm_setting};
pub use output_so_far::OutputSoFar;
pub use places::add_source_lines;
pub use prepare::{Preparation, ReportRequest, prepare, stop_ladder};
pub use project_files::ProjectFiles;
pub use pytest::*;
pub use recognise::{CommandForm, Recognition, recognise, recognise_script, remark};
pub use reports::FILE_MARK;
pub use server_signs::is_asked_behind;
pub use service::{DEV_SERVER_DESCRIPTION, ServiceInput, ServiceLife, health_of_command, interpret_service, port_in_use};
pub use shards::{ShardObstacle, ShardOutcome, ShardPreparation, join_shards, prepare_shard, shard_obstacle};
pub use strictness::{Strictness, StrictnessRead, StrictnessReader, strictness_reader};
pub use test_bodies::add_test_bodies;
pub use triggers::{paths_of_other_packages, proposed_paths};

#[cfg(any(test, feature = "testing"))]
pub mod captured;
#[cfg(test)]
mod fixture_claims;
#[cfg(test)]
mod fixture_tests;
#[cfg(test)]
mod known_runner_tests;
#[cfg(test)]
mod nothing_ran_tests;
#[cfg(test)]
mod property_tests;
#[cfg(any(test, feature = "testing"))]
pub mod samples;

#[cfg(any(test, feature = "testing"))]
pub use project_files::fake::FakeFiles;
