//! Turns the text of `proctor.toml` into settings, or into a list of problems. Values keep their lines and columns, so
//! that problems that are found later can name the place.
//!
//! Owns the file's keys, their meaning and their defaults. The defaults come from `default.toml`; the defaults of the
//! tools' policies come from the tools' rows in `model/tool.rs`. Nothing here may open files or read the environment.
//! `spec/` makes a plan from the settings.

mod actions;
mod command;
mod default_text;
mod gate;
mod judged;
mod keys;
mod lowered;
mod nearest;
mod paths;
mod policy;
mod read;
mod remote;
mod sandbox;
mod section;
mod service;
mod settings;
mod specification;
#[cfg(test)]
mod tests;
mod user;
mod values;
mod weaker_when;
mod written_value;

pub use default_text::default_text;
pub use judged::{
    ENV_FILE, ENV_FILE_CONTENT, FOLLOW, SHARE_DIRECTORY, SHARE_GIT, default_of, is_asked_first, judged_settings,
    opens_the_machine, weaker_when, written_value,
};
pub use lowered::lowered;
pub use nearest::nearest;
pub use paths::read_writes_pattern;
pub use read::{LONGEST_TEXT, read};
pub use remote::{RemoteSettings, lacking_feature};
pub use settings::{
    ActionSettings, ApprovalSettings, Check, Configuration, EnvironmentSettings, EvidenceSettings, FileVariables, GovernSettings,
    InputSettings, ModelSettings, PolicyOverride, PolicySettings, Prerequisite, QueueSettings, RuleOverride, RunSettings,
    ShareSettings, SpecifiedTasks, TaskSettings, WarningOverride, WatchSettings, WatchedTasks,
};
pub use specification::{PlaceholderValue, SHORTEST_SECRET, SpecificationSettings, ValueSource, is_placeholder_name};
pub use user::{UserAllowance, read_allowed};
pub use values::{duration_text, parse_duration};
pub use weaker_when::{NO_LIMIT, WeakerWhen, missing};
pub use written_value::WrittenValue;
#[cfg(test)]
pub(crate) use {judged::Asked, judged::row_of, keys::keys_of_rules};
