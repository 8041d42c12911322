//! Scheduling: which saves lead to which runs, and how these runs are started and stopped.
//!
//! Owns the engine (pure: `(now, Event) → Vec<Effect>`), the worker that owns everything a run needs, and the one event loop that
//! turns arrivals into events. It judges no results: `verdict/` and `routing/` do.
//!
//! Read in this order: `event_loop.rs` (select → handle), `engine.rs` (every decision about runs),
//! `project_scheduler.rs` (performs what the engine decides). The loop has two hosts: `foreground.rs` shows one project
//! on a screen, `service/` watches many projects and answers requests. `page_alone.rs` answers a browser where no service runs.

mod arrivals;
mod burst;
mod control;
mod effect;
mod engine;
mod errand;
mod event;
mod event_loop;
mod foreground;
pub mod ignore_advice;
pub mod mcp;
#[expect(clippy::disallowed_methods, reason = "a notification is no child of a run; it is started and forgotten")]
mod notify_desktop;
mod os_signals;
mod page_alone;
mod project_scheduler;
mod project_source;
mod service;
mod watched_directory;
mod worker;

pub use control::{ControlSocket, ControlSocketError, make_private_directory};
pub use effect::{Effect, LastRunState, Notice, Order};
pub use engine::{Engine, EngineSettings, Moment};
pub use engine::{busy_lines, differing_lines};
pub use errand::{Errand, ErrandDone, ErrandKind, ErrandTrouble};
pub use event::{Event, Key, OsSignal, RunFinish, SavedContent};
pub use foreground::{ForegroundBeginning, ForegroundError, QuestionEnd, QuestionNumber, Screen, Typed, watch_in_foreground};
pub use ignore_advice::{WayIntoProject, ignore_advice};
pub use notify_desktop::{notify_desktop, notify_person_on_desktop};
pub use os_signals::HangUp;
pub use page_alone::{PageAlone, PageAloneError, serve_page_alone};
pub use project_source::{ProjectDefinition, ProjectSource, engine_settings, pace};
pub use service::{RunnableProgram, ServiceEnd, ServiceError, ServiceHost, ServiceManager, ServiceSettings, list_by_ledger};
pub use worker::{
    FinishedRun, LookTicket, OpenFailure, OpenFailureKind, OpenedProject, RunFailure, SendReport, UnknownCheck, Worker,
    WorkerReport, watched_tasks,
};
