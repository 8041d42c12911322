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
//! | a save becomes a hint, which only says where to look | [`proctor_tree::watch`] |
//! | when no more hints come for a moment, a run is scheduled | [`proctor_service`]: a pure engine decides, a performer acts |
//! | the files on disk are hashed to the tree digest | [`proctor_tree`]; [`proctor_tree::ignore`] decides which files belong to it, and [`proctor_git`] reads which files are tracked |
//! | shell scripts are parsed: what a script runs, and whether it hides a failure | [`proctor_tools::shell`] |
//! | the hashed files are copied, so that checks run on exactly these files | [`proctor_sandbox::snapshot`] |
//! | the plan says which actions run | [`proctor_plan::config`] and [`proctor_plan::spec`] make a [`proctor_model::Plan`] |
//! | the run does the plan: order, attempts, judgement, seal | [`proctor_run`], where the crates of the steps below are used together |
//! | data of a project is kept between runs: registration, approvals, freshness, retention | [`proctor_project`] |
//! | people, agents and models ask and answer outside of a run | [`proctor_run::collaboration`] |
//! | an action is limited in what it may see and write | [`proctor_sandbox`] |
//! | processes are started and stopped, and their output is captured | [`proctor_sandbox::process`] |
//! | a tool is asked for a report, and the report is read | [`proctor_tools`] |
//! | a specification's conditions are evaluated | [`proctor_plan::condition`] |
//! | actions and runs are judged | [`proctor_plan::verdict`] |
//! | the next node of the task is chosen | [`proctor_plan::routing`] |
//! | the verdict of a review in free text is read | [`proctor_plan::review`] |
//! | a brief becomes an issue, and a person decides at every gate | [`proctor_govern::governance`] decides, [`proctor_govern::workflow`] acts |
//! | the report for people and agents is written | [`proctor_evidence::report`] |
//! | the run is sealed and kept | [`proctor_evidence`], with an index in [`proctor_index`] |
//! | other programs ask the service over the control socket | [`proctor_api`] on the service's side, [`proctor_app::client`] on the other side |
//! | a project is opened, its state is told, a commit is gated | [`proctor_app`], which command line, service, hooks and MCP call |
//! | agents are answered when they begin and end a turn | [`proctor_app::hook`] decides, [`proctor_app::turn`] answers |
//! | agents ask over the Model Context Protocol | [`proctor_service::mcp`] |
//! | people look at it in a browser | [`proctor_api::page`] decides and has the files, [`proctor_service`] listens |
//! | the command line: arguments, screens, exit codes | [`cli`] |
//!
//! # The crates
//!
//! An arrow means "imports". Which crate imports which is what the manifests say; `tests/architecture.rs` holds what they cannot say.
//!
//! ```text
//!  proctor (this crate: arguments, screens, exit codes)
//!     │
//!     ├──► service ──► app ──► run ──► project ──► plan ──► tools ──► model
//!     ├──► govern               │         ├──────► sandbox ──► tree ──► git ──► model
//!     └──► app                  │         ├──────► evidence ──► git
//!                               │         └──────► index ──► model
//!                               └────► api ──► evidence
//! ```
//!
//! | crate | what it is for |
//! |---|---|
//! | [`proctor_model`] | the words that all share: ids, digests, plans, outcomes. Pure |
//! | [`proctor_wire`] | the attribute of every type that is written or sent |
//! | [`proctor_git`] | reads git's files without running git |
//! | [`proctor_tree`] | which files belong to a project, their digest, hints that they changed |
//! | [`proctor_tools`] | recognise a tool, ask it for a report, read it. Pure |
//! | [`proctor_plan`] | from configuration and specification to a plan, from results to verdict and route. Pure |
//! | [`proctor_sandbox`] | start, isolate, supervise and stop processes; snapshots |
//! | [`proctor_evidence`] | report, ledger, keys, seal, verification |
//! | [`proctor_index`] | the SQLite index over the ledger |
//! | [`proctor_api`] | the shapes of the control socket, and the page |
//! | [`proctor_project`] | what is known of a project between its runs: registration, approvals, trees, freshness, history |
//! | [`proctor_run`] | carries a plan out: actions, judgement, seal |
//! | [`proctor_prove`] | whether the tests of a change fail without it |
//! | [`proctor_govern`] | the issue workflow |
//! | [`proctor_app`] | the use cases that command line, service, hooks and MCP share |
//! | [`proctor_service`] | the daemon: engine, control socket, MCP |
//!
//! Code that judges or decides is a pure function of its inputs and of the time `now`. Code that does I/O only does what
//! such code has decided.

#[cfg(not(target_os = "linux"))]
compile_error!("proctor needs Linux: its actions run in namespaces and cgroups, and inotify tells it of saves");

pub mod cli;
