//! Carries an action out on a server that speaks the Remote Execution API (version 2), and believes no byte that it did not hash.
//!
//! The snapshot is sent as the action's root ([`InputFiles`]), by digest, so that a save sends what changed. What comes back is hashed
//! anew against the digest that names it; an answer that does not fit is a [`RemoteFault`]. Exit code, times and the worker's name are the
//! server's word. Nothing here judges: the callers read the tool's report as ever.

mod answer;
mod blob;
mod capabilities;
mod connection;
mod fault;
mod input_root;
mod installed;
mod operation;
mod run;
#[cfg(test)]
mod tests;
mod upload;

pub use capabilities::{Capabilities, ask, echo, require_own_path};
pub use connection::ServerAccess;
pub use fault::RemoteFault;
pub use input_root::{InputFiles, OUT, PROJECT};
pub use run::{RemoteEnd, RemoteOrder, run};
