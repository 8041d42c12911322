//! A server of the Language Server Protocol (3.17) on standard input and output.
//!
//! Diagnostics are the failures and findings of the last verdict. A line of the tested text is found again in the open text by their
//! difference; what cannot be found again is a hint that says `stale`. Code lenses say how each test ended.
//!
//! It runs no check and writes nothing but messages: `proctor-app` answers, and the service carries out `proctor.run`.
//!
//! Where to look: `server` handles messages; `diagnostics` and `lenses` make what an editor shows, and are pure; `moved` finds lines again;
//! `watcher` asks for verdicts on a thread of its own; `frame` reads and writes messages; `uri` makes paths of addresses.

mod diagnostics;
mod frame;
mod lenses;
mod moved;
mod server;
mod watcher;

pub use server::serve;
