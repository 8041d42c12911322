//! The service: it watches all served projects in one event loop and answers requests on the control socket.
//!
//! Owns which projects are open, which clients wait, and which messages go to subscribers and to systemd. Every project
//! has its own engine, worker and watcher, so that a project whose disk hangs delays no other project. The engines, the
//! waiters and all other decisions run in the one loop. Start at [`ServiceHost`]. `session` handles one project;
//! `waiters` (pure) decides when each client is answered.
//!
//! A project that waits has no thread, no process and no descriptor: one [`proctor_tree::watch::WatchHub`] watches all projects, and a
//! worker that has nothing to do gives up its thread, its launcher (the process that starts the project's actions) and its
//! open files. A few projects, those that have just had a run, stay ready for a while
//! ([`WorkPlaces`](crate::worker::WorkPlaces)). Launchers are not shared: several threads would have to talk to one at once, and
//! its death would stop the runs of all projects instead of one.

mod announce;
mod announcement;
mod call;
mod fetched_notes;
mod followed_run;
mod health;
mod host;
mod ledger_news;
mod opening;
mod pending_changes;
mod program;
mod session;
#[cfg(test)]
mod simulator;
mod subscribers;
mod waiters;

pub use announce::ServiceManager;
pub(crate) use call::{Call, ErrandCall, Peer, Question, Reply, Wait, from_run_error};
pub use host::{ServiceEnd, ServiceError, ServiceHost, ServiceSettings};
pub(crate) use ledger_news::LedgerNews;
pub use ledger_news::list_by_ledger;
pub(crate) use opening::ProjectOpening;
pub(crate) use pending_changes::LookCare;
pub use program::RunnableProgram;
pub(crate) use subscribers::{NumberedEvent, Subscribers, Subscription};
