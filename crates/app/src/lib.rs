//! The use cases of proctor: what the command line, the service, agents' hooks and the Model Context Protocol ask for.
//!
//! A use case is a function that answers in types of `proctor-api`. It neither prints nor reads the environment; whoever calls it does.

pub mod client;
pub mod hook;
