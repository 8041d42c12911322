//! The integration tests: one binary, so that the program is linked against them once (house style T12).
//!
//! Every file here is a module of this one; `house` fails when a file is forgotten. Tests that install or run real
//! pytest, tsc and eslint are in modules whose name says so, and can be left out by name (`-- --skip real_tools --skip
//! isolated_tools`).

#![expect(
    clippy::disallowed_methods,
    reason = "the tests are the world the program lives in: they start it, read the clock, signal it and write files"
)]

mod adversaries;
mod agent;
mod agents_file;
mod anchor;
mod approval;
mod architecture;
mod attacks;
mod attest;
mod bad_input;
mod cheats;
mod check_freshness;
mod closed_world;
mod commits;
mod common;
mod conditions_captured;
mod counters;
mod crash;
mod daemon;
mod damaged_ledgers;
mod defaults;
mod docs;
mod doctor;
mod edited_store;
mod exports;
mod failures;
mod faults;

mod compressed_ledger;
mod freshness;
mod full_disk;
mod fuzzed;
mod gate;
mod gate_hostile;
mod gate_records;
mod gate_run;
mod gate_trust;
mod git_objects;
mod govern;
mod harness;
mod history;
mod hook;
mod hostile_texts;
mod house;
mod inputs;
mod isolated_tools;
mod kept_stores;
mod keys;
mod kills;
mod known;
mod large_reports;
mod limits;
mod lsp;
mod mcp;
mod mutations;
mod output;
mod packaging;
mod packed_exports;
mod page;
mod page_views;
mod process;
mod prove;
mod public_specifications;
mod purge;
mod pytest_scenarios;
mod readme;
mod real_checkers;
mod real_projects;
mod real_runners;
mod real_tools;
mod real_tools_counts;
mod real_tools_hanging;
mod real_tools_judged;
mod real_tools_specification;
mod recording;
mod reports;
mod retention;
mod review;
mod rows;
mod run;
mod schemas;
mod seed_004;
mod service;
mod signals;
mod signatures;
mod snapshot_kills;
mod snapshot_storage;
mod soak;
mod specification;
mod specification_actions;
mod specification_runs;
mod specification_values;
mod specified_project;
mod submodules;
mod tamper;
mod tdd;
mod test_runners;
mod tool_places;
mod toolchains;
mod tracked;
mod tree;
mod verify;
mod watch_cli;
mod watch_storm;
mod watching;
mod why;
