//! `proctor.toml`: text comes in, settings or problems go out; each value knows where it was written.
//!
//! Owns the file's keys, their meaning and their defaults, which live in `default.toml` alone, but for the policies of tools: those follow from the tools' rows. May not open files or look at
//! the environment. What the settings amount to as a plan is `spec/`'s.

mod actions;
mod approval;
mod command;
mod default_text;
mod duration;
mod govern;
mod keys;
mod nearest;
mod paths;
mod placed;
mod policy;
mod read;
mod sandbox;
mod section;
mod service;
mod settings;
#[cfg(test)]
mod tests;
mod values;

pub use default_text::default_text;
pub use duration::{duration_text, parse_duration};
pub use nearest::nearest;
pub use placed::Placed;
pub use policy::strategy_word;
pub use read::read;
pub use settings::{
    ActionDefaults, ActionSettings, ApprovalSettings, Check, Configuration, EnvironmentSettings, EvidenceSettings,
    GovernSettings, HomeAccess, ModelSettings, PolicyOverride, PolicySettings, Prerequisite, QueueSettings, RunSettings,
    SandboxMode, SandboxSettings, TaskSettings, WatchSettings, WatchedTasks,
};
