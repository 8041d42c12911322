//! Helpers for the tests: temporary projects, commands that run in them, and access to the files that proctor writes.
//!
//! The helpers know how proctor's files are laid out, and assume nothing else about proctor. Start at [`Project`].

mod disk;
mod family;
mod invocation;
mod kept;
mod leftovers;
mod machine;
mod many_runs;
mod output;
mod poll;
mod ports;
mod process;
mod project;
mod redact;
mod sources;
mod store;
mod supervised;
mod sweep;
mod terminal;
mod tools;
mod watch;

pub(crate) use disk::{Disk, SilentMount};
pub(crate) use family::{children_of, expect_all_to_be_gone, family_of, ignored, own_memory_kib, stat_fields, status_number};
pub(crate) use invocation::Invocation;
pub(crate) use kept::{Committed, KeptEvidence};
pub(crate) use leftovers::processes_of;
pub(crate) use machine::{Machine, Owner, delegating, inside, name_of};
pub(crate) use many_runs::seal_many_runs;
pub(crate) use output::Output;
pub(crate) use poll::poll;
pub(crate) use ports::free_port;
pub(crate) use project::{
    IN_PLACE, Project, SHARED_AND_IN_PLACE, USER_CONFIGURATION, WRITES_TO_SHARED, copy_program,
    directory_outside_of_temporary_ones, fake_tool, proctor,
};
pub(crate) use redact::{Redactions, redact};
pub(crate) use sources::{SourceFile, is_for_tests, production_code, production_lines, program_files, repository, source_files};
pub(crate) use supervised::{Job, LEVELS, Living, Returned, Supervised, User, end_all_with, levels, living_with, new_cookie};
pub(crate) use sweep::Extent;
pub(crate) use terminal::{APPROVAL_QUESTION, Terminal};
pub(crate) use tools::{
    PYTEST_COV_VERSION, PYTEST_VERSION, checker_modules, codex_modules, conformance_modules, export_modules, jest_modules,
    node_modules, opencode_modules, playwright_modules, python_attestations, python_buildbox, python_buildgrid, python_checkers,
    python_junit, python_mcp, python_mcp_1, python_parallel, python_plain, python_plugins, python_pytest_7, python_pytest_8,
    python_real, python_sarif, python_schemas, python_signatures, python_suites, python_timeouts, python_type_checkers,
    runner_modules, shop_modules, source_distribution, taplo_modules, vitest_modules,
};
pub(crate) use watch::Watch;
