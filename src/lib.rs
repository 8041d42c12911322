//! proctor runs your checks the moment you save, and gives a verdict that is bound to the exact tree it tested.
//!
//! # From a save to a verdict
//!
//! ```text
//!  save ──► watch ──► settle ──► tree digest ──► schedule ──► run ──────────────────────────────────► publish
//!           hint      burst      what is on      one per      prerequisites → steps → cleanup          screen,
//!           only      is over    disk now        tree         each: prepare → supervise → interpret    link
//!                                                             then: classify → route → report → seal
//! ```
//!
//! | step | where |
//! |---|---|
//! | a save becomes a hint, which only says where to look | [`watch`] |
//! | when no more hints come for a moment, a run is scheduled | [`daemon`]: a pure engine decides, a performer acts |
//! | the files on disk are hashed to the tree digest | [`tree`]; [`ignore`] decides which files belong to it, and [`git`] reads which files are tracked |
//! | shell scripts are parsed: what a script runs, and whether it hides a failure | [`shell`] |
//! | the hashed files are copied, so that checks run on exactly these files | [`snapshot`] |
//! | the plan says which actions run | [`config`] and [`spec`] make a [`model::Plan`] |
//! | the run does the plan: order, attempts, judgement, seal | [`run`], where the folders of the steps below are used together |
//! | data of a project is kept between runs: registration, approvals, freshness, retention | [`project`] |
//! | people, agents and models ask and answer outside of a run | [`collaboration`] |
//! | an action is limited in what it may see and write | [`sandbox`] |
//! | processes are started and stopped, and their output is captured | [`process`] |
//! | a tool is asked for a report, and the report is read | [`tools`] |
//! | a specification's conditions are evaluated | [`condition`] |
//! | actions and runs are judged | [`verdict`] |
//! | the next node of the task is chosen | [`routing`] |
//! | the verdict of a review in free text is read | [`review`] |
//! | a brief becomes an issue, and a person decides at every gate | [`governance`] decides, [`workflow`] acts |
//! | the report for people and agents is written | [`report`] |
//! | the run is sealed and kept | [`evidence`], with an index in [`store`] |
//! | other programs ask the service over the control socket | [`api`] on the service's side, [`client`] on the other side |
//! | agents are answered when they begin and end a turn | [`hook`] decides, [`cli`] reads and writes |
//! | agents ask over the Model Context Protocol | [`mcp`] |
//! | people look at it in a browser | [`page`] decides and has the files, [`daemon`] listens |
//! | the command line: arguments, screens, exit codes | [`cli`] |
//!
//! # Who may import whom
//!
//! `tests/architecture.rs` enforces this; anything not listed is forbidden.
//!
//! ```text
//! model                                → –
//! git, condition, routing              → model
//! ignore                               → model, git
//! review, governance                   → model
//! shell                                → –
//! config                               → model, shell
//! tools                                → model, shell
//! spec                                 → model, shell, config, condition, tools
//! verdict                              → model, condition
//! report                               → model, shell
//! api                                  → model, report
//! page                                 → model, api, report
//! tree, watch                          → model, git, ignore
//! process, store                       → model
//! snapshot                             → model, ignore, tree, process
//! evidence                             → model, report, git
//! sandbox                              → model, config, process, evidence, report
//! project                              → model, git, ignore, config, spec, verdict, routing, report, tree, process, evidence, store, sandbox, snapshot
//! run                                  → model, git, config, spec, tools, verdict, routing, review, report, page, tree, process, evidence, store, sandbox, snapshot, project
//! collaboration                        → model, config, spec, routing, report, tree, process, evidence, store, sandbox, project, run
//! workflow                             → model, governance, review, process, evidence, store
//! daemon                               → everything but cli, client, hook, mcp, workflow
//! client                               → model, api
//! hook                                 → model, api
//! mcp                                  → model, api, client
//! cli                                  → everything
//! ```
//!
//! Code that judges or decides is a pure function of its inputs and of the time `now`. Code that does I/O only does what
//! such code has decided.

#[cfg(not(target_os = "linux"))]
compile_error!("proctor needs Linux: its actions run in namespaces and cgroups, and inotify tells it of saves");

pub mod api;
pub mod cli;
pub mod client;
pub mod collaboration;
pub mod condition;
pub mod config;
pub mod daemon;
pub mod evidence;
pub mod git;
pub mod governance;
pub mod hook;
pub mod ignore;
pub mod mcp;
pub mod model;
pub mod page;
pub mod process;
pub mod project;
pub mod report;
pub mod review;
pub mod routing;
pub mod run;
pub mod sandbox;
pub mod shell;
pub mod snapshot;
pub mod spec;
pub mod store;
pub mod tools;
pub mod tree;
pub mod verdict;
pub mod watch;
pub mod workflow;
