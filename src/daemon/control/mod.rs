//! The control socket: who may open it, what may be asked, how it is answered.
//!
//! Owns HTTP: listening, reading requests strictly, writing answers. It decides nothing: every question goes to the service's loop
//! as a [`Call`](crate::daemon::service::Call) with the way back in it. The shapes and the routes are `api/`'s.

mod handlers;
mod listener;
mod query;
mod server;
mod socket;
mod tasks;

pub(super) use server::ControlServer;
pub use socket::{ControlSocket, ControlSocketError};
