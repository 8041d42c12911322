//! Opening a project: its root, its configuration, its plan, the store, and the registration.

mod env_file;
pub(crate) mod inputs;
pub mod opening;
pub(crate) mod root_search;
pub mod setup;
pub mod specification_files;

pub use opening::RunResources;
pub use setup::{LastSettings, LoadedProject, Planless};
