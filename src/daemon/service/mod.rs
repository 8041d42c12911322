//! The service: all served projects on one loop, and what answers for them on the control socket.
//!
//! Owns which projects are open, who waits for what, and what is told to subscribers and to systemd. Every project has an engine,
//! a worker and a watcher of its own, so that one whose disk hangs holds up no other; the engines, the waiters and everything that
//! decides run on the one loop. Start at [`ServiceHost`]; `served` is one project, `waiters` decides who is answered when (pure).
//!
//! Each project also has a launcher of its own. A shared one would save a process for each project but would have to be spoken to
//! by several threads at once, and its death would stop the runs of all projects instead of one. Measured: one that waits costs
//! 1.6 MB of its own and shared memory (proportional set size), and no wake-up.

mod announce;
mod announcement;
mod answering;
mod call;
mod host;
mod open;
mod opening;
mod pending_changes;
mod session;
mod subscribers;
mod waiters;

pub use announce::ServiceManager;
pub(crate) use call::{Call, ErrandCall, Peer, Question, Reply, Wait};
pub use host::{ServiceError, ServiceHost, ServiceSettings};
pub use opening::{OpeningSettings, ProjectReader, ReadProject};
pub(crate) use pending_changes::LookCare;
pub(crate) use subscribers::Subscription;
