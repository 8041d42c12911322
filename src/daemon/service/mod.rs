//! The service: it watches all served projects in one event loop and answers requests on the control socket.
//!
//! Owns which projects are open, which clients wait, and which messages go to subscribers and to systemd. Every project
//! has its own engine, worker and watcher, so that a project whose disk hangs delays no other project. The engines, the
//! waiters and all other decisions run in the one loop. Start at [`ServiceHost`]. `session` handles one project;
//! `waiters` (pure) decides when each client is answered.
//!
//! Each project also has its own launcher, the process that starts the project's actions. A shared launcher would save
//! one process for each project. But several threads would have to talk to it at once, and its death would stop the
//! runs of all projects instead of one. Measured: a waiting launcher costs 1.6 MB of memory (proportional set size) and
//! no wake-ups.

mod announce;
mod announcement;
mod answering;
mod call;
mod health;
mod host;
mod open;
mod opening;
mod pending_changes;
mod session;
mod subscribers;
mod waiters;

pub use announce::ServiceManager;
pub(crate) use call::{Call, ErrandCall, Peer, Question, Reply, Wait};
pub use health::health_of;
pub use host::{ServiceError, ServiceHost, ServiceSettings};
pub use opening::{OpeningSettings, ProjectReader, ReadProject};
pub(crate) use pending_changes::LookCare;
pub(crate) use subscribers::Subscription;
