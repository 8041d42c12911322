//! Scheduling: which saves lead to which runs, and what carries that out.
//!
//! Owns the engine (pure: `(now, Event) → Vec<Effect>`), the worker that owns everything a run needs, and the loop that
//! turns arrivals into events and effects into calls. It judges nothing: that is `verdict/`'s and `routing/`'s. The
//! `select!` of the loop only builds events; look at [`engine`] for every decision.

mod burst;
mod engine;
mod message;
#[expect(clippy::disallowed_methods, reason = "a notification is no child of a run; it is started and forgotten")]
mod notify_desktop;
mod perform;
mod worker;

pub use engine::{Engine, EngineSettings};
pub use message::{Effect, Event, Finished, Key, Moment, Notice, OnDisk, Order, OsSignal, Selection, Standing};
pub use notify_desktop::notify_desktop;
pub use perform::{Beginning, Loop, LoopError, Screen};
pub use worker::{Over, Reload, Trouble, Worker, WorkerReport};
