//! Turns the text of `proctor.toml` into settings or a list of problems. Each value remembers where it was written.
//!
//! Owns the file's keys, their meaning and their defaults; `default.toml` is the only source of defaults. It may not open files
//! or read the environment. `spec/` makes a plan from the settings.

mod actions;
mod approval;
mod command;
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

pub use duration::{duration_text, parse_duration};
pub use nearest::nearest;
pub use placed::Placed;
pub use policy::strategy_word;
pub use read::{DEFAULT_TEXT, read};
pub use settings::{
    ActionSettings, ApprovalSettings, Check, Configuration, EnvironmentSettings, EvidenceSettings, GovernSettings, HomeAccess,
    ModelSettings, PolicyOverride, PolicySettings, Prerequisite, QueueSettings, RuleOverride, RunSettings, SandboxMode,
    SandboxSettings, TaskSettings, WarningOverride, WatchSettings, WatchedTasks,
};
