//! A small blocking HTTP/1.1 client for the service's control socket. Every request has a limit in time and size.
//!
//! Owns the client's side of the socket; the JSON types are in `api/`. Nothing here reads the environment: callers pass
//! the socket's path.

mod connection;
mod events;

pub use connection::{Client, ClientError};
pub use events::{Events, EventsStopper};
