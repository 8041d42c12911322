//! Carries out one plan: the order of its actions, their attempts, the judgement and the seal.
//!
//! This is the only place where process, tools, verdict, routing, report and evidence meet. It judges nothing itself, but asks
//! the pure crates. A tool that fails is a value here; `ProjectError` is for failures of proctor itself only. Data that
//! outlives a run (registration, approvals, the index, retention) belongs to `proctor-project`.
//!
//! Where to look: `run_plan` has the stages of a run, `perform_all` carries out its actions, and `look_again` looks at the project
//! after them; `run_context` is what all of them know of the run. `order` sorts the checks and picks the next one, `flow`
//! decides which steps are skipped, `concurrency` decides which checks run at the same time; `steps` runs
//! them one after another, `parallel_steps` at the same time. `check_place` decides whether the checks run on a
//! `snapshot`. `seen_layers` decides which writes of others a check sees. `perform` carries out one action: prepare,
//! supervise, interpret. `reuse` decides when an earlier result is used for a check, `queue` waits for the actions of
//! other runs, `http_client` sends a request, and `perform/file_or_request` finds out why no answer came. `environment` looks for
//! changes of the installed packages. `bytecode` shows checks the Python modules that `compile_modules` compiles after
//! a run, `check_caches` the caches of their own tools. `judge_and_seal` judges and seals, `review` writes the debt file,
//! `refuse` handles a specification with errors.

mod bytecode;
mod bytecode_in_place;
mod check_caches;
mod check_place;
mod client_start;
pub mod collaboration;
mod compile_modules;
mod concurrency;
mod connection_variables;
mod criteria_facts;
mod dropped_writes;
mod earlier_runs;
mod environment;
mod exports;
mod flow;
mod followed_file;
mod guarded_files;
mod health;
mod hidden_inputs;
mod http_client;
mod judge_and_seal;
mod kept_files;
mod left_behind;
mod look_again;
mod lowered_verdict;
mod missing_directories;
mod old_report;
mod order;
mod other_results;
mod parallel_steps;
mod perform;
mod perform_all;
mod prerequisite;
mod queue;
mod records;
mod refuse;
mod reuse;
mod review;
mod rewritten_files;
mod run_context;
mod run_plan;
mod seen_layers;
mod snapshot;
mod sqlite_query;
mod steps;
mod surroundings;
mod test_history;
mod written_configuration;
mod written_layer;

/// Whether checks can run on a server, which the feature `remote` decides.
pub const HAS_REMOTE: bool = cfg!(feature = "remote");

pub use check_place::look_and_copy;
pub use client_start::SQLITE_ARGUMENT;
pub use compile_modules::compile_modules;
pub use followed_file::LogFollower;
pub(crate) use perform::ended_not_started;
pub use perform::{ask_server, limits_of, manifests, names_in, read_source, take_report_below};
pub use refuse::{RefusedRequest, refuse};
pub use run_context::RunNetworks;
pub use run_plan::run_plan;
pub use sqlite_query::{SqliteQueryError, query_sqlite};
pub use surroundings::ActionSurroundings;
pub use written_layer::{WrittenFile, write_layer};
