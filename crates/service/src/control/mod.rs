//! The control socket: who may open it, which requests it takes, and how they are answered.
//!
//! Owns HTTP: listening, parsing requests strictly, writing answers. It makes no decisions: every question goes to the service's
//! loop as a [`Call`](crate::service::Call), which carries the sender for the answer. `api/` defines the routes and the
//! shapes of messages.

mod handlers;
mod history;
mod listener;
mod page_server;
mod query;
mod server;
mod socket;

pub(super) use page_server::PageOnly;
pub(super) use server::ControlServer;
pub use socket::{ControlSocket, ControlSocketError, make_private_directory};
