//! Asks the service over its control socket: a small blocking HTTP/1.1 client, bounded in time and size.
//!
//! Owns the client's side of the socket only; the shapes are `api/`'s. It knows no environment: the socket's path is handed in.

mod answer;
mod connection;
mod events;

pub use connection::{Client, ClientError};
pub use events::{Events, EventsEnd};
