//! Scheduling: which saves lead to which runs, and what carries that out.
//!
//! Owns the engine (pure: `(now, Event) → Vec<Effect>`), the worker that owns everything a run needs, and the loop that
//! turns arrivals into events and effects into calls. It judges nothing: that is `verdict/`'s and `routing/`'s. The
//! `select!` of the loop only builds events; look at `engine.rs` for every decision.

mod burst;
mod control;
mod effect;
mod engine;
mod errand;
mod event;
mod git_state;
#[expect(clippy::disallowed_methods, reason = "a notification is no child of a run; it is started and forgotten")]
mod notify_desktop;
mod os_signals;
mod perform;
mod service;
mod worker;

pub use control::{ControlSocket, ControlSocketError};
pub use effect::{Effect, Notice, Order, Standing};
pub use engine::{Engine, EngineSettings, Moment};
pub use errand::{Errand, ErrandDone, ErrandKind, ErrandTrouble};
pub use event::{Event, Finished, Key, OnDisk, OsSignal};
pub use notify_desktop::notify_desktop;
pub use os_signals::HangUp;
pub use perform::{Beginning, Loop, LoopError, Screen};
pub use service::{OpeningSettings, ProjectReader, ReadProject, ServiceError, ServiceHost, ServiceManager, ServiceSettings};
pub use worker::{
    Closed, ClosedReason, Opened, Opener, Over, Reload, Reloaded, Report, Ticket, Trouble, Worker, WorkerReport, watched_tasks,
};
