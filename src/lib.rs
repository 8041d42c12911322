//! proctor runs your checks the moment you save, and gives a verdict that is bound to the exact tree it tested.
//!
//! # The way of one save
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
//! | a save becomes a hint | [`watch`] |
//! | a burst settles, a run is scheduled | [`daemon`]: one event loop around a pure engine, and a thin performer |
//! | what is on disk now | [`tree`], with [`ignore`] saying what belongs to it, and [`git`] which files are tracked |
//! | reading shell: what a script runs, and whether it hides a failure | [`shell`] |
//! | a copy of what was digested, for checks to run on | [`snapshot`] |
//! | what to run | [`config`] and [`spec`] make a [`model::Plan`] |
//! | carrying it out | [`run`], the only place where the folders below meet: order, attempts, judgement, seal |
//! | what outlives a run | [`project`]: registration, approvals, freshness, retention |
//! | what people, agents and models ask and answer | [`collaboration`] |
//! | what an action may see and write | [`sandbox`] |
//! | starting, stopping, capturing | [`process`] |
//! | asking a tool for a report, reading it | [`tools`] |
//! | what a specification's conditions say | [`condition`] |
//! | what it amounts to | [`verdict`] |
//! | where the task goes next | [`routing`] |
//! | what a review that comes as free text decides | [`review`] |
//! | how a brief becomes an issue, with a person at every gate | [`governance`], carried out by [`workflow`] |
//! | the file people and agents read | [`report`] |
//! | keeping it | [`evidence`], indexed by [`store`] |
//! | what is spoken on the control socket, and to it | [`api`], [`client`] |
//! | arguments, screens, exit codes | [`cli`] |
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
//! report                               → model
//! api                                  → model, report
//! tree, watch                          → model, git, ignore
//! process, store                       → model
//! snapshot                             → model, tree
//! evidence                             → model, report
//! sandbox                              → model, config, process, evidence, report
//! project                              → model, ignore, config, spec, verdict, routing, report, tree, process, evidence, store, sandbox, snapshot
//! run                                  → model, config, spec, tools, verdict, routing, review, report, tree, process, evidence, store, sandbox, snapshot, project
//! collaboration                        → model, config, spec, routing, report, tree, process, evidence, store, sandbox, project, run
//! workflow                             → model, governance, review, process, evidence, store
//! daemon                               → everything but cli, client, workflow
//! client                               → model, api
//! cli                                  → everything
//! ```
//!
//! Everything that judges is a pure function of its inputs and of `now`; everything that touches the world only carries out.

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
pub mod ignore;
pub mod model;
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
